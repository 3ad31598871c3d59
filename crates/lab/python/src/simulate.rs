//! Mixes under policies, compared.

use std::time::Duration;

use fairways_core::{AppId, Partition};
use fairways_experiments::{BestStatic, ComparisonSettings, Protocol, compare, live};
use fairways_simulation::profile_needs;
use fairways_simulation::suits::{self, MachineUse};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

use crate::error::CallFailure;
use crate::mix::{MixArgument, PyMix};
use crate::policy::{Choice, Choices, MadePolicy, raised};
use crate::score::{Scored, metric_columns};
use crate::table::{Column, PyTable, numbers, texts, whole_lists, wholes};
use crate::watched::{Steps, WatchedWork, watched};

/// What one policy did on one mix.
struct MixOutcome {
    scored: Scored,
    how: OutcomeDetails,
}

enum OutcomeDetails {
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
    mixes: MixArgument,
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
) -> PyResult<PyTable> {
    let mixes = mixes.each();
    let policy = policy
        .unwrap_or_else(|| pyo3::types::PyString::new(py, fairways_policy::DEFAULT).into_any());
    let choices = Choices::read(&policy, parameters.as_ref())?;
    let is_memory_limited = mixes.iter().all(|mix| mix.world.bandwidth.is_some());
    let machine = MachineUse { is_model: true, is_dynamic: dynamic, is_memory_limited };
    suits::check("policy", &choices.names(), machine).map_err(CallFailure::from)?;
    for mix in &mixes {
        let profiles = mix.world.programs.table();
        let checked = match dynamic || choices.has_python() {
            true => profile_needs::check_all("dynamic, or a policy in Python", profiles),
            false => profile_needs::check_policies("policy", &choices.names(), profiles),
        };
        checked.map_err(CallFailure::from)?;
    }
    choices.check_runs(mixes.len())?;
    if instructions == 0 || completions == 0 {
        let why = "instructions, completions: expected whole numbers, at least 1, found 0";
        return Err(CallFailure::Said(why.to_owned()).into());
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
    let runs: Vec<(&PyMix, &Choice)> =
        mixes.iter().flat_map(|mix| choices.each.iter().map(move |one| (*mix, one))).collect();
    let steps = Steps { total: runs.len() as u64, unit: "run" };
    let outcomes = watched(py, progress.as_ref(), steps, |watch| {
        let outcomes: Result<Vec<MixOutcome>, CallFailure> = match choices.has_python() {
            true => runs.iter().map(|run| one(run, &choices, over_time.as_ref(), watch)).collect(),
            false => {
                runs.par_iter().map(|run| one(run, &choices, over_time.as_ref(), watch)).collect()
            }
        };
        choices.no_faults().and(outcomes)
    })?;
    table(&runs, outcomes)
}

fn one(
    (mix, choice): &(&PyMix, &Choice),
    choices: &Choices,
    over_time: Option<&OverTime>,
    watch: &WatchedWork,
) -> Result<MixOutcome, CallFailure> {
    watch.go_on()?;
    let outcome = match over_time {
        None => planned(mix, choices, choice)?,
        Some(over_time) => over_time.run(mix, choices, choice)?,
    };
    watch.step();
    Ok(outcome)
}

fn table(runs: &[(&PyMix, &Choice)], outcomes: Vec<MixOutcome>) -> PyResult<PyTable> {
    let (scored, hows): (Vec<Scored>, Vec<OutcomeDetails>) =
        outcomes.into_iter().map(|outcome| (outcome.scored, outcome.how)).unzip();
    let mut columns = vec![
        ("mix", texts(runs.iter().map(|(mix, _)| Some(&mix.mix.name)))),
        ("policy", texts(runs.iter().map(|(_, choice)| Some(choice.name())))),
    ];
    columns.extend(metric_columns(&scored));
    if hows.iter().all(|how| matches!(how, OutcomeDetails::Planned { .. })) {
        let (masks, reasons): (Vec<Vec<u64>>, Vec<String>) = hows
            .into_iter()
            .filter_map(|how| match how {
                OutcomeDetails::Planned { masks, reason } => Some((masks, reason)),
                OutcomeDetails::Ran { .. } => None,
            })
            .unzip();
        columns.push(("masks", whole_lists(masks.iter().map(|masks| Some(&**masks)))));
        columns.push(("reason", texts(reasons.iter().map(Some))));
    } else {
        columns.extend(ran_columns(&hows));
        let spans = hows.iter().map(|how| match how {
            OutcomeDetails::Ran { simulated, .. } => Some(simulated.as_secs_f64()),
            OutcomeDetails::Planned { .. } => None,
        });
        columns.push(("seconds", numbers(spans)));
    }
    Ok(PyTable::new(columns)?)
}

/// The columns of what policies did over time.
fn ran_columns(hows: &[OutcomeDetails]) -> [Column; 3] {
    let counts = hows.iter().map(|how| match how {
        OutcomeDetails::Ran { plans, refused, samplings, .. } => {
            Some([*plans, *refused, *samplings])
        }
        OutcomeDetails::Planned { .. } => None,
    });
    let counts: Vec<Option<[u64; 3]>> = counts.collect();
    [("plans", 0), ("refused", 1), ("samplings", 2)].map(|(name, place)| {
        (name, wholes(counts.iter().map(|counts| counts.map(|counts| counts[place]))))
    })
}

/// A number of the user's, if it is within bounds.
pub(crate) fn within(what: &str, found: f64, least: f64, most: f64) -> Result<f64, CallFailure> {
    match found {
        found if (least..=most).contains(&found) => Ok(found),
        found => {
            let expected = format!("expected a number from {least} to {most}, found {found}");
            Err(CallFailure::Said(format!("{what}: {expected}")))
        }
    }
}

/// The mask of each program of a mix.
pub(crate) fn masks_of(plan: &Partition, programs: usize) -> Vec<u64> {
    let apps = (0..).map(AppId).take(programs);
    apps.map(|app| plan.mask_of(app).map_or(0, |mask| u64::from(mask.bits()))).collect()
}

/// The policy that keeps the fairest plan.
fn best(mix: &PyMix) -> Result<BestStatic, CallFailure> {
    mix.is_constant()?;
    let world = &mix.world;
    let (table, llc) = (world.programs.table(), world.llc);
    BestStatic::new(table, &mix.mix.programs, llc, world.bandwidth, &world.levels)
        .map_err(|why| CallFailure::Said(format!("mix {}: {why}", mix.mix.name)))
}

fn made(
    mix: &PyMix,
    choices: &Choices,
    choice: &Choice,
    is_static: bool,
) -> Result<MadePolicy, CallFailure> {
    match choices.make(choice, is_static)? {
        Some(made) => Ok(made),
        None => Ok(MadePolicy { policy: Box::new(best(mix)?), fault: std::sync::Arc::default() }),
    }
}

/// Scores the plan that a policy decides on with the programs' profiles.
fn planned(mix: &PyMix, choices: &Choices, choice: &Choice) -> Result<MixOutcome, CallFailure> {
    mix.is_constant()?;
    let world = &mix.world;
    let MadePolicy { policy, fault } = made(mix, choices, choice, true)?;
    let settings = ComparisonSettings {
        llc: world.llc,
        bandwidth: world.bandwidth,
        wishes: world.wishes.clone(),
    };
    let compared = compare(world.programs.table(), &mix.mix, &settings, [policy]);
    raised(&fault)?;
    let compared = compared.map_err(|why| CallFailure::Said(why.to_string()))?;
    let outcome = compared.outcomes.into_iter().next();
    let outcome = outcome.ok_or_else(|| CallFailure::Said("no outcome".to_owned()))?;
    let masks = masks_of(&outcome.plans[0], mix.mix.programs.len());
    let scored = Scored { slowdowns: outcome.slowdowns, metrics: outcome.metrics };
    Ok(MixOutcome { scored, how: OutcomeDetails::Planned { masks, reason: outcome.reason } })
}

/// The machine over time.
struct OverTime {
    protocol: Protocol,
    noise: f64,
    lost: f64,
    seed: u64,
}

impl OverTime {
    fn run(
        &self,
        mix: &PyMix,
        choices: &Choices,
        choice: &Choice,
    ) -> Result<MixOutcome, CallFailure> {
        let world = &mix.world;
        let settings = fairways_model::Settings {
            noise: self.noise,
            lost: self.lost,
            seed: self.seed,
            ..world.model(mix.llc_mb)
        };
        let protocol = Protocol { wishes: world.wishes.clone(), ..self.protocol.clone() };
        let is_known = protocol.profiles_known;
        let MadePolicy { mut policy, fault } = made(mix, choices, choice, is_known)?;
        let ran = live(&world.programs, &mix.mix, &settings, &protocol, policy.as_mut());
        raised(&fault)?;
        let ran = ran.map_err(|why| CallFailure::Said(why.to_string()))?;
        let how = OutcomeDetails::Ran {
            plans: ran.activity.plans,
            refused: ran.activity.refused,
            samplings: ran.activity.samplings,
            simulated: ran.activity.end.since(fairways_core::Time::ZERO),
        };
        Ok(MixOutcome { scored: Scored { slowdowns: ran.slowdowns, metrics: ran.metrics }, how })
    }
}
