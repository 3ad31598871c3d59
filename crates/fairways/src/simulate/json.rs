//! The comparison as JSON; docs/simulate.md describes it.

use std::io::Write;

use fairways_lab::{Comparison, Outcome};
use fairways_profiles::Mix;
use serde::Serialize;

use super::settings::Checked;

/// Changes when a field changes its meaning or goes; new fields do not change it.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    ways: u32,
    mixes: Vec<MixReport<'a>>,
}

#[derive(Serialize)]
struct MixReport<'a> {
    mix: &'a str,
    apps: Vec<&'a str>,
    policies: Vec<PolicyReport<'a>>,
}

#[derive(Serialize)]
struct PolicyReport<'a> {
    policy: &'a str,
    unfairness: f64,
    stp: f64,
    antt: f64,
    jain: f64,
    reason: &'a str,
    partition: Vec<ClusterReport>,
    slowdowns: &'a [f64],
}

#[derive(Serialize)]
struct ClusterReport {
    apps: Vec<u32>,
    mask: String,
    ways: u32,
}

/// Writes one object and a newline.
pub(super) fn write(
    checked: &Checked,
    results: &[(&Mix, Comparison)],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let names = checked.table().names();
    let mixes = results.iter().map(|(mix, comparison)| MixReport {
        mix: &mix.name,
        apps: mix.programs.iter().map(|&program| names[program].as_str()).collect(),
        policies: comparison.outcomes.iter().map(policy).collect(),
    });
    let ways = checked.settings.llc.ways.get();
    serde_json::to_writer(&mut *out, &Report { schema: SCHEMA, ways, mixes: mixes.collect() })?;
    writeln!(out)?;
    Ok(())
}

fn policy(outcome: &Outcome) -> PolicyReport<'_> {
    let partition = &outcome.partition;
    let cluster = |(cluster, mask): (u32, &fairways_core::WayMask)| {
        let mut apps: Vec<u32> = partition.members(cluster).map(|app| app.0).collect();
        apps.sort_unstable();
        ClusterReport { apps, mask: mask.to_string(), ways: mask.count() }
    };
    PolicyReport {
        policy: outcome.policy,
        unfairness: outcome.metrics.unfairness,
        stp: outcome.metrics.stp,
        antt: outcome.metrics.antt,
        jain: outcome.metrics.jain,
        reason: outcome.reason,
        partition: (0..).zip(partition.masks()).map(cluster).collect(),
        slowdowns: &outcome.slowdowns,
    }
}
