//! Results as CSV: a row for each program under each policy, as data frames want them.

use std::io::Write;

use fairways_core::{AppId, BandwidthLevel, Partition};
use fairways_experiments::Rate;
use fairways_profiles::FairnessMetrics;
use serde::Serialize;

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultFormat {
    /// Tables for people.
    Table,
    /// One JSON object.
    Json,
    /// CSV with a header.
    Csv,
}

/// How a mix fares under a policy, without its programs.
#[derive(Clone, Copy)]
pub(crate) struct PolicyScore<'a> {
    pub(crate) mix: &'a str,
    pub(crate) policy: &'a str,
    pub(crate) metrics: &'a FairnessMetrics,
    pub(crate) slowdowns: &'a [f64],
    /// For the best plan that was found.
    pub(crate) proof: Option<Proof>,
}

/// How good the best plan is that was found.
#[derive(Clone, Copy)]
pub(crate) struct Proof {
    /// Whether it is proven that none is better.
    pub(crate) is_complete: bool,
    /// No plan has a better value of the objective than this.
    pub(crate) bound: f64,
}

/// A program of a mix under a policy. An empty cell is a value that this kind of result has not.
#[derive(Serialize)]
struct TidyRow<'a> {
    mix: &'a str,
    policy: &'a str,
    app: usize,
    program: &'a str,
    slowdown: Option<f64>,
    /// The cache that it is on, on a machine that has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<usize>,
    /// The ways that it may fill.
    mask: Option<String>,
    /// The percent of memory's bandwidth that its cluster may use; empty if that has no limit.
    bandwidth_level: Option<u32>,
    ipc: Option<f64>,
    llcmpki: Option<f64>,
    bandwidth_mbps: Option<f64>,
    unfairness: Option<f64>,
    stp: Option<f64>,
    antt: Option<f64>,
    jain: Option<f64>,
    /// Whether an optimum is proven.
    proven: Option<bool>,
    /// No plan is better than this in what an optimum is best in.
    bound: Option<f64>,
}

/// A number that is known.
fn known(value: f64) -> Option<f64> {
    (!value.is_nan()).then_some(value)
}

/// Writes rows of programs.
pub(crate) struct TidyWriter<'a>(csv::Writer<&'a mut dyn Write>);

impl<'a> TidyWriter<'a> {
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Self(csv::Writer::from_writer(out))
    }

    /// Writes the programs of a mix under a policy, by name; `plans` have their ways, one for each
    /// cache, and `rates` what they did, where that is known.
    pub(crate) fn write(
        &mut self,
        of: PolicyScore<'_>,
        programs: &[&str],
        plans: &[Partition],
        rates: &[Rate],
    ) -> anyhow::Result<()> {
        let FairnessMetrics { unfairness, stp, antt, jain } = *of.metrics;
        for (app, (program, &slowdown)) in programs.iter().zip(of.slowdowns).enumerate() {
            let id = AppId(u32::try_from(app)?);
            let mut places = plans.iter().enumerate();
            let own = places.find_map(|(cache, plan)| Some((cache, plan.resources_of(id)?)));
            let cache = own.filter(|_| plans.len() > 1).map(|(cache, _)| cache);
            let own = own.map(|(_, own)| own);
            let rate = rates.get(app);
            self.0.serialize(TidyRow {
                mix: of.mix,
                policy: of.policy,
                app,
                program,
                slowdown: known(slowdown),
                cache,
                mask: own.map(|own| own.mask.to_string()),
                bandwidth_level: own.and_then(|own| own.bandwidth).map(BandwidthLevel::get),
                ipc: rate.and_then(|rate| known(rate.ipc)),
                llcmpki: rate.and_then(|rate| known(rate.llcmpki)),
                bandwidth_mbps: rate.map(|rate| rate.bandwidth_mbps),
                unfairness: known(unfairness),
                stp: known(stp),
                antt: known(antt),
                jain: known(jain),
                proven: of.proof.map(|proof| proof.is_complete),
                bound: of.proof.map(|proof| proof.bound),
            })?;
        }
        Ok(self.0.flush()?)
    }
}
