//! One mix under several policies.

use std::sync::Arc;

use fairways_core::{AppId, Llc, Partition, PartitionError, Policy, Profile, WayMask, Wish, run};
use fairways_profiles::{DemandError, FairnessMetrics, MemoryBandwidth, Mix, ProfileTable, Scorer};
use thiserror::Error;

use crate::StaticMachine;

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
    /// The policy's partition; app `i` is the mix's program `i`.
    pub partition: Partition,
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
    let programs: Vec<(Option<Arc<Profile>>, Wish)> = mix
        .programs
        .iter()
        .map(|&program| {
            let wish = settings.wishes.get(program).copied().unwrap_or_default();
            (Some(Arc::new(table.profile(program))), wish)
        })
        .collect();
    let ways = settings.llc.ways;
    let mut scorer = Scorer::new(table, &mix.programs, ways, settings.bandwidth);
    let mut score = |policy, masks: &[WayMask]| {
        scorer.score(masks).map(<[f64]>::to_vec).map_err(|why| {
            let program = table.names()[mix.programs[why.program]].clone();
            CompareError::Demand { mix: mix.name.clone(), policy, program, why }
        })
    };
    let stock = FairnessMetrics::from_slowdowns(&score(
        "stock",
        &vec![WayMask::full(ways); programs.len()],
    )?);
    let mut outcomes = Vec::new();
    for mut policy in policies {
        let mut machine = StaticMachine::new(settings.llc, programs.iter().cloned());
        run(&mut machine, policy.as_mut());
        let policy = policy.name();
        let (None, Some((partition, reason))) = (machine.refused(), machine.partition()) else {
            let why = machine.refused();
            return Err(CompareError::NoPlan { mix: mix.name.clone(), policy, why });
        };
        let apps = (0..).map(AppId).take(programs.len());
        let masks: Vec<_> = apps
            .map(|app| partition.mask_of(app).expect("the machine checked that each has a place"))
            .collect();
        let slowdowns = score(policy, &masks)?;
        let metrics = FairnessMetrics::from_slowdowns(&slowdowns);
        let (partition, reason) = (partition.clone(), reason.to_owned());
        outcomes.push(PolicyOutcome { policy, partition, reason, slowdowns, metrics });
    }
    Ok(Comparison { stock, outcomes })
}
