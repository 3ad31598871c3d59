//! One mix under several policies on the machine over time, by the protocol of LFOC §5.

use std::sync::Arc;

use fairways_core::{Policy, Wish};
use fairways_exec_policy::descriptor;
use fairways_model::{AfterRun, Job, Model, Settings};
use fairways_policy::Descriptor;
use fairways_profiles::{DemandError, FairnessMetrics, Mix, ProgramCatalog};
use thiserror::Error;

use super::jobs::{job, scaled};
use super::watch::{Activity, watch};

/// The length of a mix's run, and the policies' knowledge.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// Instructions of a run (LFOC §5: 150 G).
    pub instructions: u64,
    /// The mix ends once every program has completed this many runs (LFOC §5: until the longest has
    /// completed three times).
    pub completions: u32,
    /// The factor by which runs and phases are longer; less than 1 for quick runs. A policy's cost
    /// per run, such as sampling, weighs more in shorter runs.
    pub scale: f64,
    /// Whether policies that learn get profiles too, so that they decide at once.
    pub profiles_known: bool,
    /// What the owner of each program asks for, by index; missing entries ask for nothing.
    pub wishes: Vec<Wish>,
}

impl Default for Protocol {
    fn default() -> Self {
        Self {
            instructions: 150_000_000_000,
            completions: 3,
            scale: 1.0,
            profiles_known: false,
            wishes: Vec::new(),
        }
    }
}

/// The result of one policy on one mix over time.
#[derive(Clone, Debug)]
pub struct LiveOutcome {
    /// The policy's name.
    pub policy: &'static str,
    /// The slowdown of each program of the mix, in order: the geometric mean of its runs' times
    /// over the time of a run at its best way count (docs/decisions.md, LFOC 1).
    pub slowdowns: Vec<f64>,
    /// The metrics of the slowdowns.
    pub metrics: FairnessMetrics,
    /// The policy's activity.
    pub activity: Activity,
}

/// The results of several policies on one mix over time.
#[derive(Clone, Debug)]
pub struct LiveComparison {
    /// Without partitioning: what the others are compared with.
    pub stock: FairnessMetrics,
    /// Each policy, in the order requested.
    pub outcomes: Vec<LiveOutcome>,
}

/// Memory can't serve a mix.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("mix {mix}, policy {policy}: {why}")]
pub struct LiveError {
    /// The mix.
    pub mix: String,
    /// The policy's name.
    pub policy: &'static str,
    /// The demand that memory can't serve.
    pub why: DemandError,
}

/// Runs a mix under a policy that starts afresh.
///
/// # Errors
/// If memory can't serve the mix at some time.
pub fn live(
    programs: &ProgramCatalog,
    mix: &Mix,
    settings: &Settings,
    protocol: &Protocol,
    policy: &mut dyn Policy,
) -> Result<LiveOutcome, LiveError> {
    let instructions = scaled(protocol.instructions, protocol.scale);
    let has_profiles =
        protocol.profiles_known || !descriptor(policy.name()).is_some_and(Descriptor::learns);
    let jobs: Vec<Job> = mix
        .programs
        .iter()
        .map(|&index| Job {
            instructions: Some(instructions),
            then: AfterRun::Restart,
            wish: protocol.wishes.get(index).copied().unwrap_or_default(),
            profile: has_profiles.then(|| Arc::new(programs.profile(index, protocol.instructions))),
            ..job(programs, index, settings.llc.ways, protocol.scale)
        })
        .collect();
    let mut model = Model::new(*settings, jobs.iter().cloned());
    model.stop_after(protocol.completions as usize);
    let activity = watch(&mut model, policy);
    if let Some(why) = model.failure() {
        return Err(LiveError { mix: mix.name.clone(), policy: policy.name(), why });
    }
    let (slowdowns, metrics) = metrics_of_runs(&model, &jobs, settings.mhz);
    Ok(LiveOutcome { policy: policy.name(), slowdowns, metrics, activity })
}

/// The slowdowns of the runs of jobs that a machine has completed, and their metrics.
pub(super) fn metrics_of_runs(
    model: &Model,
    jobs: &[Job],
    mhz: f64,
) -> (Vec<f64>, FairnessMetrics) {
    let each = jobs.iter().enumerate().map(|(number, job)| {
        let best = job.best_seconds(mhz).expect("a run has an end");
        geometric_mean(model.completions(number)) / best
    });
    let slowdowns: Vec<f64> = each.collect();
    let metrics = FairnessMetrics::from_slowdowns(&slowdowns);
    (slowdowns, metrics)
}

/// Runs a mix under each of these policies.
///
/// # Errors
/// If memory can't serve the mix under some policy.
pub fn compare_live(
    programs: &ProgramCatalog,
    mix: &Mix,
    settings: &Settings,
    protocol: &Protocol,
    policies: impl IntoIterator<Item = Box<dyn Policy>>,
) -> Result<LiveComparison, LiveError> {
    let mut stock = fairways_policy::stock::Stock::default();
    let stock = live(programs, mix, settings, protocol, &mut stock)?;
    let outcomes = policies
        .into_iter()
        .map(|mut policy| {
            if policy.name() == stock.policy {
                return Ok(stock.clone());
            }
            live(programs, mix, settings, protocol, policy.as_mut())
        })
        .collect::<Result<_, _>>()?;
    Ok(LiveComparison { stock: stock.metrics, outcomes })
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}
