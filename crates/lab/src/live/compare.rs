//! One mix under several policies on the machine over time, by the protocol of LFOC §5.

use std::sync::Arc;

use fairways_core::{Policy, Wish};
use fairways_model::{AfterRun, Job, Model, Settings};
use fairways_policy::{Descriptor, descriptor};
use fairways_profiles::{DemandError, FairnessMetrics, Mix, ProgramCatalog};
use thiserror::Error;

use super::jobs::{job, scaled};
use super::watch::{Activity, watch};

/// How long a mix runs, and what is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// Instructions of a run (LFOC §5: 150 G).
    pub instructions: u64,
    /// The mix ends once every program has completed so many runs (LFOC §5: until the longest has
    /// completed three times).
    pub completions: u32,
    /// Runs and phases are so many times as long: less than 1 for quick runs. What a policy
    /// spends per run (sampling, say) weighs as many times more.
    pub scale: f64,
    /// Whether policies that learn are told profiles too: then they decide at once.
    pub known: bool,
    /// What was promised to each program, by index; shorter means nothing.
    pub wishes: Vec<Wish>,
}

impl Default for Protocol {
    fn default() -> Self {
        Self {
            instructions: 150_000_000_000,
            completions: 3,
            scale: 1.0,
            known: false,
            wishes: Vec::new(),
        }
    }
}

/// How one policy did on one mix over time.
#[derive(Clone, Debug)]
pub struct LiveOutcome {
    /// The policy's name.
    pub policy: &'static str,
    /// The slowdown of each program of the mix, in order: the geometric mean of the times that its
    /// runs took, over the time of a run at its best way count (docs/decisions.md, LFOC 1).
    pub slowdowns: Vec<f64>,
    /// What they sum up to.
    pub metrics: FairnessMetrics,
    /// What the policy did.
    pub activity: Activity,
}

/// How several policies did on one mix over time.
#[derive(Clone, Debug)]
pub struct LiveComparison {
    /// Without partitioning: what the others are compared against.
    pub stock: FairnessMetrics,
    /// Each policy, in the order asked for.
    pub outcomes: Vec<LiveOutcome>,
}

/// Memory can't serve a mix.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("mix {mix}, policy {policy}: {why}")]
pub struct LiveError {
    /// The mix.
    pub mix: String,
    /// The policy under which.
    pub policy: &'static str,
    /// What is asked for.
    pub why: DemandError,
}

/// Runs a mix on a machine under a policy that starts afresh.
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
    let told = protocol.known || !descriptor(policy.name()).is_some_and(Descriptor::learns);
    let jobs: Vec<Job> = mix
        .programs
        .iter()
        .map(|&index| Job {
            instructions: Some(instructions),
            then: AfterRun::Restart,
            wish: protocol.wishes.get(index).copied().unwrap_or_default(),
            profile: told.then(|| Arc::new(programs.profile(index, protocol.instructions))),
            ..job(programs, index, settings.llc.ways, protocol.scale)
        })
        .collect();
    let best = jobs.iter().map(|job| job.best_seconds(settings.mhz));
    let best: Vec<f64> = best.map(|seconds| seconds.expect("a run has an end")).collect();
    let mut model = Model::new(*settings, jobs);
    model.stop_after(protocol.completions as usize);
    let activity = watch(&mut model, policy, |_, _, _, _| ());
    if let Some(why) = model.failure() {
        return Err(LiveError { mix: mix.name.clone(), policy: policy.name(), why });
    }
    let slowdown = |(job, best): (usize, &f64)| geometric_mean(model.completions(job)) / best;
    let slowdowns: Vec<f64> = best.iter().enumerate().map(slowdown).collect();
    let metrics = FairnessMetrics::from_slowdowns(&slowdowns);
    Ok(LiveOutcome { policy: policy.name(), slowdowns, metrics, activity })
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
    let outcome = |mut policy: Box<dyn Policy>| {
        if policy.name() == stock.policy {
            return Ok(stock.clone());
        }
        live(programs, mix, settings, protocol, policy.as_mut())
    };
    let outcomes = policies.into_iter().map(outcome).collect::<Result<_, _>>()?;
    Ok(LiveComparison { stock: stock.metrics, outcomes })
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}
