//! Figures 8 and 9: the effect of the two thresholds on one MLR.

use fairways_chip::ChipError;
use fairways_core::Q32;
use fairways_policy::dcat::Parameters;
use rayon::prelude::*;

use super::claims;
use super::setup::{CacheMode, DcatBench, among, tenant};
use crate::paper::{Findings, Line};

/// The baseline of each tenant in these experiments.
const BASELINE: u32 = 2;

/// Rounds of a run: with the lowest thresholds, MLR-8MB has settled by then (§5.1: 30 s).
const ROUNDS: u32 = 16;

/// Percent of misses, and of IPC.
const MISSES: [u32; 7] = [1, 3, 5, 10, 20, 30, 40];
const IPC: [u32; 6] = [3, 5, 10, 20, 30, 40];

/// Ways and latency at the end, by threshold.
fn sweep(bench: DcatBench<'_>, settings: &[Parameters]) -> Result<Vec<(u32, f64)>, ChipError> {
    let tenants = among(&[tenant("mlr:8M", BASELINE)], 5, BASELINE);
    settings
        .par_iter()
        .map(|parameters| {
            let run = bench.run(&tenants, CacheMode::Dcat(*parameters), ROUNDS)?;
            Ok((run.final_ways(0), 1.0 / run.ipc(0, 3)))
        })
        .collect()
}

/// How often the next value is not as expected.
fn violations<T>(values: &[T], fine: impl Fn(&T, &T) -> bool) -> f64 {
    values.windows(2).filter(|pair| !fine(&pair[0], &pair[1])).count() as f64
}

/// Runs the sweeps.
pub(super) fn run(bench: DcatBench<'_>, findings: &mut Findings) -> Result<Vec<Line>, ChipError> {
    let published = bench.dcat;
    let misses = |stops| {
        MISSES.map(|percent| Parameters {
            llc_miss_rate_thr: Q32::from_int(percent),
            receiver_stops_on_misses: stops,
            ..published
        })
    };
    // The rule of §3.4, under which the threshold decides; the results of the other rule stand
    // beside.
    let printed = sweep(bench, &misses(true))?;
    fn fewer(a: &(u32, f64), b: &(u32, f64)) -> bool {
        b.0 <= a.0
    }
    // Latencies of equal ways differ in the fourth digit.
    // A curve that does not fall at all would be a violation, too.
    let flat = printed.first().map(|one| one.0) <= printed.last().map(|one| one.0);
    findings.add(claims::WAYS_BY_MISSES, violations(&printed, fewer) + f64::from(u8::from(flat)));
    findings.add(
        claims::LATENCY_BY_MISSES,
        violations(&printed, |a: &(u32, f64), b: &(u32, f64)| b.1 >= a.1 * 0.99),
    );
    let default = sweep(bench, &misses(false))?;
    for (stops, found) in [(true, &printed), (false, &default)] {
        for (percent, (ways, _)) in MISSES.iter().zip(found) {
            let rule = if stops { "as printed in §3.4" } else { "while IPC improves" };
            let case = format!("MLR-8MB, miss threshold {percent} %, {rule}");
            findings.add_beside("Figure 8", &case, "ways", Some(f64::from(*ways)));
        }
    }
    let improvements =
        IPC.map(|percent| Parameters { ipc_imp_thr: Q32::from_int(percent), ..published });
    let found = sweep(bench, &improvements)?;
    findings.add(claims::WAYS_AT_3_PERCENT, f64::from(found[0].0));
    findings.add(claims::WAYS_BY_IPC, violations(&found, fewer));
    for (percent, (ways, _)) in IPC.iter().zip(&found).skip(1) {
        let case = format!("MLR-8MB, baseline 2, threshold {percent} %");
        findings.add_beside("Figure 9", &case, "ways", Some(f64::from(*ways)));
    }
    findings.add(claims::SWEEPS_BASELINE, f64::from(BASELINE));
    Ok(vec![
        line("Figure 8: llc_miss_rate_thr, as printed in §3.4", &MISSES, &printed),
        line("Figure 9: ipc_imp_thr", &IPC, &found),
    ])
}

/// The ways by a threshold in percent.
fn line(name: &str, percents: &[u32], found: &[(u32, f64)]) -> Line {
    let ways = found.iter().map(|(ways, _)| f64::from(*ways));
    let points = percents.iter().map(|percent| f64::from(*percent)).zip(ways);
    Line { name: name.to_owned(), points: points.collect() }
}
