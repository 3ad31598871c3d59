//! The best plans.

use std::time::{Duration, Instant};

use fairways_optimum::{Goal, Problem, SharingKind, Solution, solve};
use pyo3::prelude::*;

use crate::error::CallFailure;
use crate::mix::{MixArgument, PyMix};
use crate::score::{Scored, metric_columns};
use crate::simulate::masks_of;
use crate::table::{PyTable, numbers, texts, truths, whole_lists};
use crate::watched::{Steps, watched};

/// The goals, as `fairways-lab optimum --objective` calls them.
const GOALS: [(&str, Goal); 4] = [
    ("unfairness", Goal::Unfairness),
    ("stp", Goal::Stp),
    ("max-slowdown", Goal::MaxSlowdown),
    ("antt", Goal::Antt),
];

/// Whether programs may share ways, as `fairways-lab optimum --kind` says it.
const KINDS: [(&str, SharingKind); 2] =
    [("clustering", SharingKind::Clustering), ("partitioning", SharingKind::Partitioning)];

/// The best plan of each mix by the static model: a row for each mix.
#[pyfunction]
#[pyo3(signature = (
    mixes, objective = "unfairness", *, kind = "clustering", tolerance = 0.0, time_limit = None,
    progress = None
))]
pub(crate) fn optimum(
    py: Python<'_>,
    mixes: MixArgument,
    objective: &str,
    kind: &str,
    tolerance: f64,
    time_limit: Option<f64>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<PyTable> {
    let mixes = mixes.each();
    let goal = named("objective", objective, &GOALS)?;
    let kind = named("kind", kind, &KINDS)?;
    let limit = time_limit.map(seconds).transpose()?;
    let tolerance = Tolerance::of(tolerance, goal, &mixes)?;
    let steps = Steps { total: mixes.len() as u64, unit: "mix" };
    let solved = watched(py, progress.as_ref(), steps, |watch| {
        let each = mixes.iter().map(|mix| {
            mix.is_constant()?;
            let solution = one(mix, kind, (goal, tolerance), limit, || watch.leave_if_stopped())?;
            watch.step();
            Ok(solution)
        });
        each.collect::<Result<Vec<Solution>, CallFailure>>()
    })?;
    let masks: Vec<Vec<u64>> = solved
        .iter()
        .zip(&mixes)
        .map(|(solution, mix)| masks_of(&solution.plans[0], mix.mix.programs.len()))
        .collect();
    let scored: Vec<Scored> = solved
        .iter()
        .map(|of| Scored { slowdowns: of.slowdowns.clone(), metrics: of.metrics })
        .collect();
    let mut columns = vec![
        ("mix", texts(mixes.iter().map(|mix| Some(&mix.mix.name)))),
        ("value", numbers(solved.iter().map(|of| Some(of.value)))),
        ("bound", numbers(solved.iter().map(|of| Some(of.bound)))),
        ("is_proven", truths(solved.iter().map(|of| Some(of.is_proven)))),
    ];
    columns.extend(metric_columns(&scored));
    columns.push(("masks", whole_lists(masks.iter().map(|masks| Some(&**masks)))));
    Ok(PyTable::new(columns)?)
}

/// By which part the objective may exceed the least.
#[derive(Clone, Copy)]
struct Tolerance(f64);

impl Tolerance {
    /// From percent, as `fairways-lab optimum --tolerance` takes them.
    fn of(percent: f64, goal: Goal, mixes: &[&PyMix]) -> Result<Self, CallFailure> {
        if !(0.0..=100.0).contains(&percent) {
            let said = format!("tolerance: expected percent from 0 to 100, found {percent}");
            return Err(CallFailure::Said(said));
        }
        let is_weighed = matches!(goal, Goal::Unfairness | Goal::MaxSlowdown);
        let is_limited = mixes.iter().any(|mix| mix.world.bandwidth.is_some());
        if percent > 0.0 && (!is_weighed || is_limited) {
            let said = "tolerance: expected the objective unfairness or max-slowdown with it, and \
                        no bandwidth_mbps";
            return Err(CallFailure::Said(said.to_owned()));
        }
        Ok(Self(percent / 100.0))
    }
}

fn one(
    mix: &PyMix,
    kind: SharingKind,
    (goal, Tolerance(tolerance)): (Goal, Tolerance),
    limit: Option<Duration>,
    step: impl Fn(),
) -> Result<Solution, CallFailure> {
    let problem = Problem {
        profiles: mix.world.programs.table(),
        mix: &mix.mix.programs,
        llc: mix.world.llc,
        kind,
        bandwidth: mix.world.bandwidth,
        levels: &mix.world.levels,
        goal,
        tolerance,
    };
    let deadline = limit.map(|limit| Instant::now() + limit);
    step();
    let solution = solve(&problem, deadline, |_, _| step());
    solution.map_err(|why| CallFailure::Said(format!("mix {}: {why}", mix.mix.name)))
}

fn named<T: Copy>(what: &str, found: &str, known: &[(&str, T)]) -> Result<T, CallFailure> {
    known.iter().find(|(name, _)| *name == found).map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let known = known.join(", ");
        CallFailure::Said(format!("{what}: expected one of {known}, found {found:?}"))
    })
}

/// A time that a user gave in seconds.
pub(crate) fn seconds(found: f64) -> Result<Duration, CallFailure> {
    let most = 1e9;
    match found {
        found if (0.0..=most).contains(&found) => Ok(Duration::from_secs_f64(found)),
        found => {
            Err(CallFailure::Said(format!("expected seconds from 0 to {most}, found {found}")))
        }
    }
}
