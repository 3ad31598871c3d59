//! Figure 4: fair miss rates estimated from pairs, and measured with the cache divided equally.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fairways_chip::{Chip, ChipError};
use fairways_core::{NoPolicy, Time, WayMask};
use fairways_policy::cache_fair::{DataPoint, fair_miss_rate};
use fairways_policy::regression::least_squares;
use rayon::prelude::*;

use super::setup::{TABLE_2, chip, q32};
use super::{Setting, claims};
use crate::paper::Findings;
use crate::paper::programs::BenchProgram;
use crate::paper::turns::{mean, median, run_until, solaris_settings};

/// The warm-up of a pair, and the time in which it is counted.
const WARM: Duration = Duration::from_millis(50);
const SPAN: Duration = Duration::from_millis(100);

/// A program's fair miss rate, misses per cycle.
#[derive(Clone, Debug)]
pub(super) struct FairRate {
    pub(super) name: &'static str,
    /// `None` if the regression failed.
    pub(super) estimated: Option<f64>,
    pub(super) actual: f64,
}

/// The misses per cycle of two programs on a core each; with `divided`, each has half of the ways.
fn pair(
    programs: [BenchProgram; 2],
    divided: bool,
    setting: Setting,
) -> Result<[f64; 2], ChipError> {
    let settings = solaris_settings(chip(false), setting.seed);
    let mut chip =
        Chip::new(settings, programs.map(|program| program.job(&settings.chip, Time::ZERO)))?;
    if divided {
        let half = settings.chip.llc.ways.get() / 2;
        chip.fill_by_cpu(vec![WayMask::span(0, half), WayMask::span(half, half)]);
    }
    let [before, after] = [WARM, WARM + SPAN].map(|time| {
        let end = Time::ZERO.after(time / setting.time_scale.min(4));
        run_until(&mut chip, &mut NoPolicy, end);
        [chip.account(0), chip.account(1)]
    });
    Ok([0, 1].map(|core| {
        let counted = after[core].minus(&before[core]);
        counted.llc_misses as f64 / counted.cycles()
    }))
}

pub(super) fn run(
    setting: Setting,
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<Vec<FairRate>, ChipError> {
    let names = TABLE_2.map(|(name, ..)| name);
    let pairs: Vec<(usize, usize)> =
        (0..names.len()).flat_map(|one| (0..one).map(move |other| (other, one))).collect();
    let (done, all) = (AtomicUsize::new(0), 2 * pairs.len());
    let programs = names.map(|name| BenchProgram::of_benchmark(name, setting.ground));
    let one = |&(one, other): &(usize, usize)| {
        let run = |divided| {
            let rates = pair([programs[one], programs[other]], divided, setting);
            progress("Figure 4", 1 + done.fetch_add(1, Ordering::Relaxed), all);
            rates
        };
        Ok((run(false)?, run(true)?))
    };
    let found: Vec<([f64; 2], [f64; 2])> =
        pairs.par_iter().map(one).collect::<Result<_, ChipError>>()?;
    Ok((0..names.len())
        .map(|program| {
            let (mut points, mut actual) = (Vec::new(), Vec::new());
            for (&(one, other), (shared, divided)) in pairs.iter().zip(&found) {
                let (own, beside, group) = match program {
                    program if program == one => (0, 1, other),
                    program if program == other => (1, 0, one),
                    _ => continue,
                };
                let (memory_stalls, store_buffer_stalls) = (None, None);
                let (own_rate, others) = (q32(shared[own]), q32(shared[beside]));
                points.push(DataPoint {
                    own: own_rate,
                    others,
                    group: group as u64,
                    memory_stalls,
                    store_buffer_stalls,
                });
                actual.push(divided[own]);
            }
            let estimated = fair_miss_rate(&points, 1);
            FairRate {
                name: names[program],
                estimated: estimated.map(|rate| rate.raw() as f64 / (1u64 << 32) as f64),
                actual: mean(&actual),
            }
        })
        .collect())
}

pub(super) fn findings(pairs: &[FairRate], findings: &mut Findings) {
    // A regression that failed counts as the largest error.
    let errors: Vec<f64> = pairs
        .iter()
        .map(|fair| {
            fair.estimated.map_or(100.0, |rate| 100.0 * (rate - fair.actual).abs() / fair.actual)
        })
        .collect();
    let item = "Figure 4";
    findings.add(claims::ESTIMATE_ERROR, median(&errors));
    let estimated: Vec<f64> = pairs.iter().map(|fair| fair.estimated.unwrap_or(0.0)).collect();
    let actual: Vec<f64> = pairs.iter().map(|fair| fair.actual).collect();
    let correlation = rank_correlation(&estimated, &actual);
    findings.add(claims::RANK_CORRELATION, correlation);
    for fair in pairs {
        fn per_kilo(rate: f64) -> Option<f64> {
            Some(1e3 * rate)
        }
        let mut beside = |what: &str, value| {
            let case = format!("{}, {what}", fair.name);
            findings.add_beside(item, &case, "misses/1000 cycles", value);
        };
        beside("estimated", fair.estimated.and_then(per_kilo));
        beside("actual", per_kilo(fair.actual));
        let case = format!("{}, estimated over actual", fair.name);
        let off = fair.estimated.map(|rate| 100.0 * (rate / fair.actual - 1.0));
        findings.add_beside(item, &case, "percent more", off);
    }
}

/// Spearman's; there are no ties.
fn rank_correlation(one: &[f64], other: &[f64]) -> f64 {
    fn rank(of: &[f64], value: f64) -> f64 {
        of.iter().filter(|other| **other < value).count() as f64
    }
    let squares = one.iter().zip(other).map(|(&a, &b)| (rank(one, a) - rank(other, b)).powi(2));
    let n = one.len() as f64;
    1.0 - 6.0 * squares.sum::<f64>() / (n * (n * n - 1.0))
}

/// How the regression's steps grow with its points (§5.6): it visits them once and keeps none,
/// because it has no memory for them (`no_std`, and no allocation in `regression.rs`).
pub(super) fn steps() -> &'static str {
    fn taken(count: i64) -> u32 {
        let taken = Cell::new(0u32);
        let _ = least_squares((0..count).map(|x| {
            taken.set(taken.get() + 1);
            (x, 2 * x)
        }));
        taken.get()
    }
    if (taken(10), taken(20)) == (10, 20) { "O(N)" } else { "more" }
}
