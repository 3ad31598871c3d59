//! The comparison as JSON; docs/simulate.md describes it.

use std::io::Write;

use fairways_core::{BandwidthLevel, Partition, Resources, Ways};
use fairways_experiments::{LiveOutcome, PolicyOutcome, Rate};
use fairways_profiles::{FairnessMetrics, Mix};
use serde::Serialize;

use super::{ComparedMixes, Results};
use crate::services::Answers;

/// Changes when a field changes its meaning or goes; new fields do not change it.
pub(crate) const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    ways: u32,
    /// The ways of each cache, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    caches: Vec<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dynamic: bool,
    mixes: Vec<MixReport<'a>>,
}

#[derive(Serialize)]
struct MixReport<'a> {
    mix: String,
    apps: Vec<&'a str>,
    policies: Vec<PolicyReport<'a>>,
}

/// How a mix fares under a policy.
#[derive(Serialize)]
pub(crate) struct PolicyReport<'a> {
    policy: &'a str,
    unfairness: f64,
    stp: f64,
    antt: f64,
    jain: f64,
    #[serde(flatten)]
    how: How<'a>,
    slowdowns: &'a [f64],
}

#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum How<'a> {
    Scored {
        reason: &'a str,
        partition: Vec<ClusterReport>,
    },
    Live(Activity),
    Chip {
        #[serde(flatten)]
        activity: Activity,
        #[serde(skip_serializing_if = "Option::is_none")]
        least_time_scale: Option<f64>,
        programs: Vec<Did>,
    },
}

#[derive(Serialize)]
pub(crate) struct Activity {
    seconds: f64,
    plans: u64,
    refused: u64,
    samplings: u64,
    sampling_share: f64,
    sampling_instructions_share: f64,
    sampling_loss: Option<f64>,
}

#[derive(Serialize)]
pub(crate) struct ClusterReport {
    /// The cache that it is on, on a machine that has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<usize>,
    apps: Vec<u32>,
    mask: String,
    ways: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    bandwidth_level: Option<u32>,
}

/// What a program did.
#[derive(Serialize)]
pub(crate) struct Did {
    ipc: f64,
    llcrpki: f64,
    llcmpki: f64,
    bandwidth_mbps: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    occupancy_ways: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<Answers>,
    /// Its slowdown is not of the same instructions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) not_comparable: bool,
}

impl Did {
    pub(crate) fn of(rate: &Rate, occupancy_ways: Option<f64>, service: Option<Answers>) -> Self {
        let Rate { ipc, llcrpki, llcmpki, bandwidth_mbps, .. } = *rate;
        Self {
            ipc,
            llcrpki,
            llcmpki,
            bandwidth_mbps,
            occupancy_ways,
            service,
            not_comparable: false,
        }
    }
}

/// Writes one object and a newline.
///
/// # Errors
/// If it can't be written.
pub fn write(compared: &ComparedMixes<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let ComparedMixes { programs, ways, results, .. } = compared;
    let report = |mix: &'_ Mix, policies| MixReport {
        mix: mix.name.clone(),
        apps: mix.programs.iter().map(|&program| programs.name(program)).collect(),
        policies,
    };
    let mixes = match results {
        Results::Scored(results) => results
            .iter()
            .map(|(mix, c)| report(mix, c.outcomes.iter().map(scored).collect()))
            .collect(),
        Results::Live(results) => results
            .iter()
            .map(|(mix, c)| report(mix, c.outcomes.iter().map(live).collect()))
            .collect(),
    };
    let dynamic = matches!(results, Results::Live(_));
    let (ways, caches) = ways_of(ways);
    serde_json::to_writer(&mut *out, &Report { schema: SCHEMA, ways, caches, dynamic, mixes })?;
    writeln!(out)?;
    Ok(())
}

/// The ways of the largest cache; and of each, if there are several.
pub(crate) fn ways_of(caches: &[Ways]) -> (u32, Vec<u32>) {
    let all: Vec<u32> = caches.iter().map(|ways| ways.get()).collect();
    let largest = all.iter().copied().max().unwrap_or(0);
    (largest, if all.len() > 1 { all } else { Vec::new() })
}

fn scored(outcome: &PolicyOutcome) -> PolicyReport<'_> {
    let PolicyOutcome { policy, plans, reason, slowdowns, metrics } = outcome;
    decided(policy, plans, reason, metrics, slowdowns)
}

/// What was decided on, and how the programs fare with it.
pub(crate) fn decided<'a>(
    name: &'a str,
    plans: &[Partition],
    reason: &'a str,
    metrics: &FairnessMetrics,
    slowdowns: &'a [f64],
) -> PolicyReport<'a> {
    let clusters = plans.iter().enumerate().flat_map(|(cache, plan)| {
        let cache = (plans.len() > 1).then_some(cache);
        let clusters = (0..).zip(plan.clusters());
        clusters.map(move |(cluster, of)| cluster_report(cache, plan, cluster, *of))
    });
    let partition = clusters.collect();
    policy(name, metrics, How::Scored { reason, partition }, slowdowns)
}

fn cluster_report(
    cache: Option<usize>,
    partition: &Partition,
    cluster: u32,
    of: Resources,
) -> ClusterReport {
    let mut apps: Vec<u32> = partition.members(cluster).map(|app| app.0).collect();
    apps.sort_unstable();
    let bandwidth_level = of.bandwidth.map(BandwidthLevel::get);
    let (mask, ways) = (of.mask.to_string(), of.mask.count());
    ClusterReport { cache, apps, mask, ways, bandwidth_level }
}

fn live(outcome: &LiveOutcome) -> PolicyReport<'_> {
    let how = How::Live(lived(&outcome.activity));
    policy(outcome.policy, &outcome.metrics, how, &outcome.slowdowns)
}

/// What a policy did over time.
pub(crate) fn lived(activity: &fairways_experiments::Activity) -> Activity {
    Activity {
        seconds: activity.end.nanos() as f64 / 1e9,
        plans: activity.plans,
        refused: activity.refused,
        samplings: activity.samplings,
        sampling_share: activity.sampling_share(),
        sampling_instructions_share: activity.sampling_instructions_share(),
        sampling_loss: activity.sampling_loss(),
    }
}

pub(crate) fn policy<'a>(
    policy: &'a str,
    metrics: &FairnessMetrics,
    how: How<'a>,
    slowdowns: &'a [f64],
) -> PolicyReport<'a> {
    let FairnessMetrics { unfairness, stp, antt, jain } = *metrics;
    PolicyReport { policy, unfairness, stp, antt, jain, how, slowdowns }
}
