//! Mixes under policies, compared.

use std::time::Duration;

use fairways_core::{AppId, Partition};
use fairways_lab::{BestStatic, ComparisonSettings, Protocol, compare, live};
use fairways_simulation::suits::{self, MachineUse};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

use crate::error::Failure;
use crate::mix::{Mix, Mixes};
use crate::policy::{Choice, Choices, Made, raised};
use crate::score::{Scored, metric_columns};
use crate::table::{Table, numbers, texts, whole_lists, wholes};
use crate::watched::{Steps, watched};

/// How one policy did on one mix.
struct Outcome {
    scored: Scored,
    how: How,
}

enum How {
    Planned { masks: Vec<u64>, reason: String },
    Ran { plans: u64, refused: u64, samplings: u64, simulated: Duration },
}

/// Mixes under policies: a row for each policy on each mix.
#[pyfunction]
#[pyo3(signature = (
    mixes, policy = None, *, dynamic = false, instructions = 150_000_000_000, completions = 3,
    time_scale = 1.0, known_profiles = false, noise = 0.0, lost = 0.0, seed = 1, progress = None,
    **parameters
))]
#[expect(clippy::too_many_arguments, reason = "Python's keywords")]
pub(crate) fn simulate(
    py: Python<'_>,
    mixes: Mixes,
    policy: Option<Bound<'_, PyAny>>,
    dynamic: bool,
    instructions: u64,
    completions: u32,
    time_scale: f64,
    known_profiles: bool,
    noise: f64,
    lost: f64,
    seed: u64,
    progress: Option<Bound<'_, PyAny>>,
    parameters: Option<Bound<'_, PyDict>>,
) -> PyResult<Table> {
    let mixes = mixes.each();
    let policy = policy.unwrap_or_else(|| pyo3::types::PyString::new(py, "lfoc").into_any());
    let choices = Choices::read(&policy, parameters.as_ref())?;
    let is_memory_limited = mixes.iter().all(|mix| mix.world.bandwidth.is_some());
    let machine = MachineUse { is_model: true, is_dynamic: dynamic, is_memory_limited };
    suits::check("policy", &choices.names(), machine).map_err(Failure::from)?;
    choices.check_runs(mixes.len())?;
    if instructions == 0 || completions == 0 {
        let why = "instructions, completions: expected whole numbers, at least 1, found 0";
        return Err(Failure::Said(why.to_owned()).into());
    }
    within("time_scale", time_scale, 1e-6, 1e6)?;
    let protocol = Protocol {
        instructions,
        completions,
        scale: time_scale,
        profiles_known: known_profiles,
        wishes: Vec::new(),
    };
    let over_time = dynamic.then_some(OverTime {
        protocol,
        noise: within("noise", noise, 0.0, 50.0)? / 100.0,
        lost: within("lost", lost, 0.0, 100.0)? / 100.0,
        seed,
    });
    let runs: Vec<(&Mix, &Choice)> =
        mixes.iter().flat_map(|mix| choices.each.iter().map(move |one| (*mix, one))).collect();
    let steps = Steps { total: runs.len() as u64, unit: "run" };
    let outcomes = watched(py, progress.as_ref(), steps, |watch| {
        let run = |(mix, choice): &(&Mix, &Choice)| {
            watch.go_on()?;
            let outcome = match &over_time {
                None => planned(mix, &choices, choice)?,
                Some(over_time) => over_time.run(mix, &choices, choice)?,
            };
            watch.step();
            Ok(outcome)
        };
        let outcomes: Result<Vec<Outcome>, Failure> = match choices.has_python() {
            true => runs.iter().map(run).collect(),
            false => runs.par_iter().map(run).collect(),
        };
        choices.no_faults().and(outcomes)
    })?;
    table(&runs, outcomes)
}

fn table(runs: &[(&Mix, &Choice)], outcomes: Vec<Outcome>) -> PyResult<Table> {
    let (scored, hows): (Vec<Scored>, Vec<How>) =
        outcomes.into_iter().map(|outcome| (outcome.scored, outcome.how)).unzip();
    let mut columns = vec![
        ("mix", texts(runs.iter().map(|(mix, _)| Some(&mix.mix.name)))),
        ("policy", texts(runs.iter().map(|(_, choice)| Some(choice.name())))),
    ];
    columns.extend(metric_columns(&scored));
    if hows.iter().all(|how| matches!(how, How::Planned { .. })) {
        let (masks, reasons): (Vec<Vec<u64>>, Vec<String>) = hows
            .into_iter()
            .filter_map(|how| match how {
                How::Planned { masks, reason } => Some((masks, reason)),
                How::Ran { .. } => None,
            })
            .unzip();
        columns.push(("masks", whole_lists(masks.iter().map(|masks| Some(&**masks)))));
        columns.push(("reason", texts(reasons.iter().map(Some))));
    } else {
        let ran = |of: fn(u64, u64, u64) -> u64| {
            wholes(hows.iter().map(|how| match how {
                How::Ran { plans, refused, samplings, .. } => {
                    Some(of(*plans, *refused, *samplings))
                }
                How::Planned { .. } => None,
            }))
        };
        columns.push(("plans", ran(|plans, _, _| plans)));
        columns.push(("refused", ran(|_, refused, _| refused)));
        columns.push(("samplings", ran(|_, _, samplings| samplings)));
        let spans = hows.iter().map(|how| match how {
            How::Ran { simulated, .. } => Some(simulated.as_secs_f64()),
            How::Planned { .. } => None,
        });
        columns.push(("seconds", numbers(spans)));
    }
    Ok(Table::new(columns)?)
}

pub(crate) fn within(what: &str, found: f64, least: f64, most: f64) -> Result<f64, Failure> {
    match found {
        found if (least..=most).contains(&found) => Ok(found),
        found => {
            let expected = format!("expected a number from {least} to {most}, found {found}");
            Err(Failure::Said(format!("{what}: {expected}")))
        }
    }
}

/// The mask of each program of a mix.
pub(crate) fn masks_of(plan: &Partition, programs: usize) -> Vec<u64> {
    let apps = (0..).map(AppId).take(programs);
    apps.map(|app| plan.mask_of(app).map_or(0, |mask| u64::from(mask.bits()))).collect()
}

/// The policy that keeps the fairest plan.
fn best(mix: &Mix) -> Result<BestStatic, Failure> {
    mix.is_constant()?;
    let world = &mix.world;
    let (table, llc) = (world.programs.table(), world.llc);
    BestStatic::new(table, &mix.mix.programs, llc, world.bandwidth, &world.levels)
        .map_err(|why| Failure::Said(format!("mix {}: {why}", mix.mix.name)))
}

fn made(mix: &Mix, choices: &Choices, choice: &Choice, is_static: bool) -> Result<Made, Failure> {
    match choices.make(choice, is_static)? {
        Some(made) => Ok(made),
        None => Ok(Made { policy: Box::new(best(mix)?), fault: std::sync::Arc::default() }),
    }
}

/// Scores the plan that a policy decides on with the programs' profiles.
fn planned(mix: &Mix, choices: &Choices, choice: &Choice) -> Result<Outcome, Failure> {
    mix.is_constant()?;
    let world = &mix.world;
    let Made { policy, fault } = made(mix, choices, choice, true)?;
    let settings = ComparisonSettings {
        llc: world.llc,
        bandwidth: world.bandwidth,
        wishes: world.wishes.clone(),
    };
    let compared = compare(world.programs.table(), &mix.mix, &settings, [policy]);
    raised(&fault)?;
    let compared = compared.map_err(|why| Failure::Said(why.to_string()))?;
    let outcome = compared.outcomes.into_iter().next();
    let outcome = outcome.ok_or_else(|| Failure::Said("no outcome".to_owned()))?;
    let masks = masks_of(&outcome.partition, mix.mix.programs.len());
    let scored = Scored { slowdowns: outcome.slowdowns, metrics: outcome.metrics };
    Ok(Outcome { scored, how: How::Planned { masks, reason: outcome.reason } })
}

/// The machine over time.
struct OverTime {
    protocol: Protocol,
    noise: f64,
    lost: f64,
    seed: u64,
}

impl OverTime {
    fn run(&self, mix: &Mix, choices: &Choices, choice: &Choice) -> Result<Outcome, Failure> {
        let world = &mix.world;
        let settings = fairways_model::Settings {
            noise: self.noise,
            lost: self.lost,
            seed: self.seed,
            ..world.model(mix.llc_mb)
        };
        let protocol = Protocol { wishes: world.wishes.clone(), ..self.protocol.clone() };
        let is_known = protocol.profiles_known;
        let Made { mut policy, fault } = made(mix, choices, choice, is_known)?;
        let ran = live(&world.programs, &mix.mix, &settings, &protocol, policy.as_mut());
        raised(&fault)?;
        let ran = ran.map_err(|why| Failure::Said(why.to_string()))?;
        let how = How::Ran {
            plans: ran.activity.plans,
            refused: ran.activity.refused,
            samplings: ran.activity.samplings,
            simulated: ran.activity.end.since(fairways_core::Time::ZERO),
        };
        Ok(Outcome { scored: Scored { slowdowns: ran.slowdowns, metrics: ran.metrics }, how })
    }
}
