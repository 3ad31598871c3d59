//! The limit of memory bandwidth, which the simulator of §3 models and the machine of §5 has.

use fairways_profiles::{BandwidthModel, MemoryBandwidth, ProfiledProgram};

use super::{Lfoc, Setting};
use crate::paper::{self, ClaimKind, Findings, Ground, MeasuredValue};

/// Decision LFOC 21: limits in MB/s, and models, with which the figures are repeated. The first is
/// the example of the authors' simulator on the profiles of the paper's machine (PBBCache's first
/// README: `-s input/metrics.csv -b 35000 -m stalls`). The second is the limit of its
/// `benchmark.sh`, which has the model `simple` and profiles that are not public. The third is the
/// other model under the first limit.
const MEMORIES: [(&str, f64, BandwidthModel); 3] = [
    ("memory of 35 GB/s (stalls)", 35_000.0, BandwidthModel::Stalls),
    ("memory of 76 GB/s (stalls)", 76_000.0, BandwidthModel::Stalls),
    ("memory of 35 GB/s (simple)", 35_000.0, BandwidthModel::Simple),
];

/// The length of these runs over time relative to the judged ones: a machine with a limit takes
/// five times as long to simulate.
const SHORTER: f64 = 0.2;
const SHORTER_NAME: &str = "runs a fifth as long";

/// The most programs for which the fairest clustering under a limit is found within seconds.
pub(super) const MOST_LIMITED: usize = 12;

impl Lfoc<'_> {
    /// Repeats Figures 2, 3, 6 and 7 with limits of memory, as rows beside the claims'. A memory
    /// that can't serve some mix has no rows.
    pub(super) fn memories(
        &self,
        findings: &mut Findings,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) {
        let with = |setting| Self::new(self.programs, setting);
        let short = Setting { time_scale: SHORTER * self.setting.time_scale, ..self.setting };
        for (place, (name, limit, model)) in MEMORIES.into_iter().enumerate() {
            if !self.is_served(limit) {
                continue;
            }
            let named_progress =
                |what: &str, done, count| progress(&format!("{name}, {what}"), done, count);
            let machine = self.setting.machine;
            let bandwidth = MemoryBandwidth::new(limit, model);
            let machine = fairways_model::Settings { bandwidth, ..machine };
            let limited = with(Setting { machine, ..short });
            let mut found = Findings::default();
            let analysed = limited.analysis(&mut found, &named_progress).is_ok();
            if !analysed || limited.score_statically(&mut found, &named_progress).is_err() {
                continue;
            }
            beside(name, found, findings);
            // Over time, a limit costs minutes.
            if place == 0 {
                for (lab, name) in [
                    (with(short), SHORTER_NAME.into()),
                    (limited, format!("{name}, {SHORTER_NAME}")),
                ] {
                    let mut found = Findings::default();
                    if lab.run_over_time(&mut found, &named_progress).is_ok() {
                        beside(&name, found, findings);
                    }
                }
            }
        }
    }

    /// Whether every program alone demands less than memory can serve.
    fn is_served(&self, limit_mbps: f64) -> bool {
        let (table, ways) = (self.programs.table(), self.setting.llc.ways);
        (0..table.names().len()).all(|program| {
            let program = ProfiledProgram::new(table, program, ways);
            let mut demands = (0..=ways.get()).map(|ways| program.demand(f64::from(ways)).mbps);
            demands.all(|mbps| mbps < limit_mbps)
        })
    }
}

/// Adds the outcomes with another memory under its name, and how many of them lie in their bands.
fn beside(name: &str, found: Findings, findings: &mut Findings) {
    let claims = paper::claims(paper::LFOC).expect("the claims of this project");
    let (mut within, mut judged, mut figures) = (0_u32, 0_u32, Vec::new());
    for row in paper::rows("lfoc", claims, found, Findings::default()) {
        let value = row.models.as_ref().map(|found| &found.value);
        let (Some(in_band), Some(MeasuredValue::Number(value)), ClaimKind::Outcome) =
            (row.in_band(Ground::Models), value, row.kind)
        else {
            continue;
        };
        let paper::Claim { item, case, unit, .. } = row.claim;
        findings.add_beside(&item, &format!("{case}, {name}"), &unit, Some(*value));
        (within, judged) = (within + u32::from(in_band), judged + 1);
        if !figures.contains(&item) {
            figures.push(item);
        }
    }
    let case = format!("outcomes of {judged} within their bands, {name}");
    findings.add_beside(&figures.join(", "), &case, "count", Some(f64::from(within)));
}
