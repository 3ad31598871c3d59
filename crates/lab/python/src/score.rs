//! Scores of plans by the static model.

use arrow_array::ArrayRef;
use fairways_core::{WayMask, Ways};
use fairways_profiles::{FairnessMetrics, Scorer};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::error::CallFailure;
use crate::mix::{MixArgument, PyMix};
use crate::table::{PyTable, number_lists, numbers, texts};
use crate::watched::{Steps, watched};

/// The masks of a mix's programs, or those of each mix.
#[derive(FromPyObject)]
pub(crate) enum PlanArgument {
    #[pyo3(transparent)]
    ForAll(Vec<u32>),
    #[pyo3(transparent)]
    Each(Vec<Vec<u32>>),
}

/// How a mix fares: its slowdowns and their metrics.
pub(crate) struct Scored {
    pub(crate) slowdowns: Vec<f64>,
    pub(crate) metrics: FairnessMetrics,
}

/// The slowdowns of mixes under plans, and their metrics: a row for each mix.
#[pyfunction]
#[pyo3(signature = (mixes, plan = None, *, progress = None))]
pub(crate) fn score(
    py: Python<'_>,
    mixes: MixArgument,
    plan: Option<PlanArgument>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<PyTable> {
    let mixes = mixes.each();
    if let Some(PlanArgument::Each(plans)) = &plan
        && plans.len() != mixes.len()
    {
        let (mixes, plans) = (mixes.len(), plans.len());
        let why = format!("plan: expected one for each of the {mixes} mixes, found {plans}");
        return Err(CallFailure::Said(why).into());
    }
    let steps = Steps { total: mixes.len() as u64, unit: "mix" };
    let scored = watched(py, progress.as_ref(), steps, |watch| {
        let each = mixes.par_iter().enumerate().map(|(place, mix)| {
            watch.go_on()?;
            mix.is_constant()?;
            let masks = match &plan {
                None => None,
                Some(PlanArgument::ForAll(masks)) => Some(&**masks),
                Some(PlanArgument::Each(plans)) => Some(&*plans[place]),
            };
            let scored = one(mix, masks)?;
            watch.step();
            Ok(scored)
        });
        each.collect::<Result<Vec<Scored>, CallFailure>>()
    })?;
    let names = mixes.iter().map(|mix| Some(&mix.mix.name));
    let mut columns = vec![("mix", texts(names))];
    columns.extend(metric_columns(&scored));
    Ok(PyTable::new(columns)?)
}

/// The columns of the metrics, and of the slowdowns.
pub(crate) fn metric_columns(scored: &[Scored]) -> [crate::table::Column; 4] {
    [
        ("unfairness", metric(scored, |metrics| metrics.unfairness)),
        ("stp", metric(scored, |metrics| metrics.stp)),
        ("antt", metric(scored, |metrics| metrics.antt)),
        ("slowdowns", number_lists(scored.iter().map(|scored| Some(&*scored.slowdowns)))),
    ]
}

/// The column of one metric.
fn metric(scored: &[Scored], of: fn(&FairnessMetrics) -> f64) -> ArrayRef {
    numbers(scored.iter().map(|scored| Some(of(&scored.metrics))))
}

/// Scores a mix under masks, a mask for each program; without masks, all share all ways.
fn one(mix: &PyMix, masks: Option<&[u32]>) -> Result<Scored, CallFailure> {
    let ways = mix.world.llc.ways;
    let programs = &mix.mix.programs;
    let masks = match masks {
        None => vec![WayMask::full(ways); programs.len()],
        Some(masks) => checked(masks, programs.len(), ways)
            .map_err(|why| CallFailure::Said(format!("mix {}: plan: {why}", mix.mix.name)))?,
    };
    let table = mix.world.programs.table();
    let mut scorer = Scorer::new(table, programs, ways, mix.world.bandwidth);
    let slowdowns = scorer.score(&masks).map_err(|why| {
        let program = mix.world.programs.name(programs[why.program]);
        CallFailure::Said(format!("mix {}, program {program}: {why}", mix.mix.name))
    })?;
    let metrics = FairnessMetrics::from_slowdowns(slowdowns);
    Ok(Scored { slowdowns: slowdowns.to_vec(), metrics })
}

fn checked(masks: &[u32], programs: usize, ways: Ways) -> Result<Vec<WayMask>, String> {
    if masks.len() != programs {
        let found = masks.len();
        return Err(format!("expected a mask for each of the {programs} programs, found {found}"));
    }
    let full = WayMask::full(ways).bits();
    masks
        .iter()
        .map(|&mask| match mask {
            mask if mask != 0 && mask & !full == 0 => Ok(WayMask::from_bits(mask)),
            mask => Err(format!("expected masks from 0x1 to {full:#x}, found {mask:#x}")),
        })
        .collect()
}
