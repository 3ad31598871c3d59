//! One mix under several policies.

use std::sync::Arc;
use std::time::Duration;

use fairways_core::{
    AppId, Levers, Llc, Partition, PartitionError, Policy, Profile, WayMask, Wish, run,
};
use fairways_model::{Job, JobPhase, Model};
use fairways_optimum::Impossible;
use fairways_profiles::{
    DemandError, FairnessMetrics, MemoryBandwidth, Mix, ProfileTable, ProfiledProgram, Scorer,
};
use thiserror::Error;

use crate::StaticMachine;
use crate::settled::{Undecided, settled};

/// The conditions of a comparison.
#[derive(Clone, Debug)]
pub struct ComparisonSettings {
    /// The cache; it has at most as many ways as the table.
    pub llc: Llc,
    /// The memory's limit, if it has one.
    pub bandwidth: Option<MemoryBandwidth>,
    /// What the owner of each program asks for, by index; missing entries ask for nothing.
    pub wishes: Vec<Wish>,
}

/// The result of one policy on one mix.
#[derive(Clone, Debug)]
pub struct PolicyOutcome {
    /// The policy's name.
    pub policy: &'static str,
    /// The plan of each cache, for its programs alone; app `i` is the mix's program `i`.
    pub plans: Vec<Partition>,
    /// The policy's reason.
    pub reason: String,
    /// The slowdown of each program of the mix, in order.
    pub slowdowns: Vec<f64>,
    /// The metrics of the slowdowns.
    pub metrics: FairnessMetrics,
}

/// The results of several policies on one mix.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Without partitioning: what the others are compared with.
    pub stock: FairnessMetrics,
    /// Each policy, in the order requested.
    pub outcomes: Vec<PolicyOutcome>,
}

/// Why a mix could not be compared.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CompareError {
    /// Memory can't serve the mix.
    #[error("mix {mix}, policy {policy}, program {program}: {why}")]
    Demand {
        /// The mix.
        mix: String,
        /// The policy's name.
        policy: &'static str,
        /// The program with too high a demand.
        program: String,
        /// Its demand.
        why: DemandError,
    },
    /// The caches have too few CPUs for the mix, or there are too many programs to place.
    #[error(
        "mix {mix}: expected at most 64 programs, and a CPU for each (--cpus), found {programs} \
         programs and {cpus} CPUs"
    )]
    NoRoom {
        /// The mix.
        mix: String,
        /// Its programs.
        programs: usize,
        /// The CPUs of all caches.
        cpus: u32,
    },
    /// The mix can't be placed as well as possible.
    #[error("mix {mix}: {why}")]
    Impossible {
        /// The mix.
        mix: String,
        /// Why.
        why: Impossible,
    },
    /// The policy made no plan that the machine could carry out. This is a defect of the policy.
    #[error("mix {mix}: policy {policy} made no plan that the machine could carry out{}", because(.why))]
    NoPlan {
        /// The mix.
        mix: String,
        /// The policy.
        policy: &'static str,
        /// Why the machine refused the last plan, if it did.
        why: Option<PartitionError>,
    },
}

fn because(why: &Option<PartitionError>) -> String {
    why.map_or_else(String::new, |why| format!(": {why}"))
}

/// What a policy decided on: its partition, and its reason.
type Decided = (Partition, String);

/// A program as a policy sees it.
pub(crate) type KnownProgram = (Option<Arc<Profile>>, Wish);

/// Runs a mix of programs of `table` under each policy, and scores the partitions. Every policy
/// starts afresh.
///
/// # Errors
/// If memory can't serve the mix under some policy, or a policy makes no plan.
pub fn compare(
    table: &ProfileTable,
    mix: &Mix,
    settings: &ComparisonSettings,
    policies: impl IntoIterator<Item = Box<dyn Policy>>,
) -> Result<Comparison, CompareError> {
    let bandwidth = settings.bandwidth.and_then(MemoryBandwidth::lever);
    let levers = Levers { llc: settings.llc, bandwidth };
    score_each(table, mix, settings, policies, |programs, policy| {
        let mut machine = StaticMachine::new(levers, programs.iter().cloned());
        run(&mut machine, policy, &mut []);
        match (machine.refused(), machine.partition()) {
            (None, Some((partition, reason))) => Ok((partition.clone(), reason.to_owned())),
            (why, _) => Err(Undecided::NoPlan(why)),
        }
    })
}

/// The same of the plan that each policy has after `span` on `machine`, the model over time. So
/// policies that limit memory bandwidth have tried their limits. The programs run without end, and
/// every policy gets their profiles.
///
/// # Errors
/// If memory can't serve the mix under some policy, or a policy makes no plan.
pub fn compare_settled(
    table: &ProfileTable,
    mix: &Mix,
    settings: &ComparisonSettings,
    machine: &fairways_model::Settings,
    span: Duration,
    policies: impl IntoIterator<Item = Box<dyn Policy>>,
) -> Result<Comparison, CompareError> {
    score_each(table, mix, settings, policies, |programs, policy| {
        let jobs = mix.programs.iter().zip(programs).map(|(&program, (profile, wish))| {
            let program = Arc::new(ProfiledProgram::new(table, program, settings.llc.ways));
            let phase = JobPhase { program, instructions: None };
            Job { profile: profile.clone(), wish: *wish, ..Job::new(vec![phase]) }
        });
        settled(Model::new(*machine, jobs), span, policy)
    })
}

/// Scores what each policy decides on, as `decide` finds out.
fn score_each(
    table: &ProfileTable,
    mix: &Mix,
    settings: &ComparisonSettings,
    policies: impl IntoIterator<Item = Box<dyn Policy>>,
    decide: impl Fn(&[KnownProgram], &mut dyn Policy) -> Result<Decided, Undecided>,
) -> Result<Comparison, CompareError> {
    let programs = known_programs(table, mix, &settings.wishes);
    let mut scorer = Scorer::new(table, &mix.programs, settings.llc.ways, settings.bandwidth);
    let mut unpartitioned = Partition::default();
    unpartitioned.add_cluster(WayMask::full(settings.llc.ways));
    unpartitioned.place_all((0..).map(AppId).take(programs.len()), 0..=0);
    let stock = scorer.score_plan(&unpartitioned).map(FairnessMetrics::from_slowdowns);
    let stock = stock.map_err(|why| named(Undecided::Demand(why), table, mix, "stock"))?;
    let mut outcomes = Vec::new();
    for mut policy in policies {
        let decided = decide(&programs, policy.as_mut());
        let policy = policy.name();
        let scored = decided.and_then(|(partition, reason)| {
            let slowdowns = scorer.score_plan(&partition).map_err(Undecided::Demand)?.to_vec();
            let metrics = FairnessMetrics::from_slowdowns(&slowdowns);
            Ok(PolicyOutcome { policy, plans: vec![partition], reason, slowdowns, metrics })
        });
        outcomes.push(scored.map_err(|why| named(why, table, mix, policy))?);
    }
    Ok(Comparison { stock, outcomes })
}

/// The programs of a mix, with their profiles, as a policy sees them.
pub(crate) fn known_programs(
    table: &ProfileTable,
    mix: &Mix,
    wishes: &[Wish],
) -> Vec<KnownProgram> {
    let programs = mix.programs.iter().map(|&program| {
        let wish = wishes.get(program).copied().unwrap_or_default();
        (Some(Arc::new(table.profile(program))), wish)
    });
    programs.collect()
}

/// The error of a policy on a mix.
fn named(why: Undecided, table: &ProfileTable, mix: &Mix, policy: &'static str) -> CompareError {
    let name = mix.name.clone();
    match why {
        Undecided::NoPlan(why) => CompareError::NoPlan { mix: name, policy, why },
        Undecided::Demand(why) => {
            let program = table.names()[mix.programs[why.program]].clone();
            CompareError::Demand { mix: name, policy, program, why }
        }
    }
}
