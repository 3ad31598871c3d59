//! Every real program of the corpus: how much its completion time varies, and by which factor
//! cache-fair reduces the variation.
//!
//! Co-runners are chosen as Table 2's are, among all real programs: a program's fast schedule has
//! the three others that miss least often by themselves, in misses per cycle with the chip's L2,
//! its slow schedule the three that miss most often. The last of them, which misses least among the
//! three, is the best-effort one. No program is left out; a quick run takes every sixth of the
//! profiles' order. This was written down before any policy ran on real programs.

mod causes;

use std::sync::atomic::{AtomicUsize, Ordering};

use fairways_chip::ChipError;
use fairways_policy::cache_fair::Parameters;
use rayon::prelude::*;

use super::Setting;
use super::setup::{ScheduleRun, SchedulingMode, THREADS, chip};
use crate::paper::Findings;
use crate::paper::programs::BenchProgram;
use crate::paper::turns::{least, mean, median, most};

const ITEM: &str = "Every real program";

/// The least variation for which the paper's factors count, percent (§5.3).
const VARIES: f64 = 8.0;

/// The paper's least factor for those programs.
const FACTOR: f64 = 2.0;

/// A quick run takes one in this many programs, in the profiles' order.
const QUICK_STEP: usize = 6;

/// The least factor by which everything is shorter: there are many programs.
const SHORTER: u32 = 4;

/// A program's fast and slow schedule, itself first.
type SchedulePair = [[BenchProgram; THREADS]; 2];

/// Seconds of a program's segment: by schedule, fast and slow, under the conventional scheduler and
/// under cache-fair.
type SegmentTimes = [[f64; 2]; 2];

fn schedules(principal: BenchProgram) -> SchedulePair {
    let mut others: Vec<BenchProgram> =
        BenchProgram::every_real().filter(|other| *other != principal).collect();
    others.sort_by(|one, other| miss_rate(*other).total_cmp(&miss_rate(*one)));
    [&others[others.len() - 3..], &others[..3]]
        .map(|beside| [principal, beside[0], beside[1], beside[2]])
}

/// Misses per 1000 cycles by itself.
fn miss_rate(program: BenchProgram) -> f64 {
    program.misses_per_kilocycle(&chip(false)).unwrap_or(0.0)
}

fn schedule_run(
    schedule: [BenchProgram; THREADS],
    mode: SchedulingMode,
    number: u64,
) -> ScheduleRun {
    ScheduleRun { schedule, mode, unlimited: false, overlap: 1.0, number }
}

fn run(schedules: SchedulePair, number: u64, setting: Setting) -> Result<SegmentTimes, ChipError> {
    let unbounded = Parameters { penalty_limit: 0, ..Parameters::default() };
    let mut times = SegmentTimes::default();
    for (schedule, by_mode) in schedules.into_iter().zip(&mut times) {
        let modes = [SchedulingMode::Conventional, SchedulingMode::CacheFair(unbounded)];
        for (mode, seconds) in modes.into_iter().zip(by_mode) {
            *seconds = schedule_run(schedule, mode, number).run(setting)?.seconds;
        }
    }
    Ok(times)
}

pub(super) fn findings(
    setting: Setting,
    findings: &mut Findings,
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<(), ChipError> {
    let setting = Setting { time_scale: setting.time_scale.max(SHORTER), ..setting };
    let step = if setting.variants { 1 } else { QUICK_STEP };
    let programs: Vec<BenchProgram> = BenchProgram::every_real().step_by(step).collect();
    let runs: Vec<(BenchProgram, u64)> = programs
        .iter()
        .flat_map(|&program| (0..setting.runs).map(move |number| (program, number)))
        .collect();
    let done = AtomicUsize::new(0);
    let times: Vec<SegmentTimes> = runs
        .par_iter()
        .map(|&(program, number)| {
            let times = run(schedules(program), number, setting);
            progress(ITEM, 1 + done.fetch_add(1, Ordering::Relaxed), runs.len());
            times
        })
        .collect::<Result<_, ChipError>>()?;
    let runs = usize::try_from(setting.runs).unwrap_or(1);
    let by_program: Vec<&[SegmentTimes]> = times.chunks(runs).collect();
    add(&programs, &by_program, findings);
    if runs > 1 {
        let seeds = (0..runs).map(|run| {
            let mut findings = Findings::default();
            let only: Vec<&[SegmentTimes]> =
                by_program.iter().map(|times| &times[run..=run]).collect();
            add(&programs, &only, &mut findings);
            findings
        });
        findings.note_seeds(&seeds.collect::<Vec<_>>());
    }
    let varying = programs.iter().zip(&by_program);
    let varying: Vec<(BenchProgram, f64)> = varying
        .map(|(&program, times)| (program, variability(times, 0)))
        .filter(|(_, varies)| *varies >= VARIES)
        .collect();
    if !varying.is_empty() {
        causes::findings(setting, &varying, findings)?;
    }
    for &program in &programs {
        for (beside, what) in schedules(program).iter().zip(["fast", "slow"]) {
            let names: Vec<&str> = beside[1..].iter().map(|other| other.name()).collect();
            let case = format!("{}, {what} schedule beside", program.name());
            findings.add_text_beside(ITEM, &case, names.join(", "));
        }
    }
    Ok(())
}

/// How much longer a segment takes in the slow schedule, percent, in one of the ways to run it;
/// from the means of the runs.
fn variability<const WAYS: usize>(times: &[[[f64; WAYS]; 2]], way: usize) -> f64 {
    let [fast, slow] = [0, 1]
        .map(|schedule| mean(&times.iter().map(|run| run[schedule][way]).collect::<Vec<f64>>()));
    100.0 * (slow / fast - 1.0)
}

/// The factor by which a variation is reduced. A larger factor agrees with the paper, without
/// limit.
fn factor(conventional: f64, fair: f64) -> f64 {
    (conventional / fair.abs()).min(99.0)
}

/// The factor of a program that varies enough.
fn large_factor(conventional: f64, fair: f64) -> Option<f64> {
    (conventional >= VARIES).then(|| factor(conventional, fair))
}

/// Adds the variation of every program, and the factors of those that vary enough.
fn add(programs: &[BenchProgram], times: &[&[SegmentTimes]], findings: &mut Findings) {
    let varies: Vec<[f64; 2]> =
        times.iter().map(|times| [0, 1].map(|scheduler| variability(times, scheduler))).collect();
    let factors: Vec<f64> = varies
        .iter()
        .filter_map(|&[conventional, fair]| large_factor(conventional, fair))
        .collect();
    let reduced = factors.iter().filter(|factor| **factor >= FACTOR).count();
    for (case, count) in [
        ("programs", programs.len()),
        ("that vary by 8 % or more", factors.len()),
        ("of those, with a factor of 2 or more", reduced),
    ] {
        findings.add_beside(ITEM, case, "programs", Some(count as f64));
    }
    add_factors(&factors, "their factor", findings);
    for (program, varies) in programs.iter().zip(&varies) {
        let name = program.name();
        for (varies, scheduler) in varies.iter().zip(["conventional", "cache-fair"]) {
            let case = format!("{name}, {scheduler}, slow over fast");
            findings.add_beside(ITEM, &case, "percent", Some(*varies));
        }
        let [conventional, fair] = *varies;
        let case = format!("{name}, reduction factor");
        findings.add_beside(ITEM, &case, "ratio", large_factor(conventional, fair));
    }
}

/// Adds the least, the median and the largest factor, if there is any.
fn add_factors(factors: &[f64], what: &str, findings: &mut Findings) {
    if factors.is_empty() {
        return;
    }
    for (which, value) in
        [("least", least(factors)), ("median", median(factors)), ("most", most(factors))]
    {
        findings.add_beside(ITEM, &format!("{what}, {which}"), "ratio", Some(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::{ClaimResult, MeasuredValue, rows};

    #[test]
    fn co_runners_are_the_others_that_miss_least_and_most() {
        for principal in BenchProgram::every_real() {
            let [fast, slow] = schedules(principal);
            assert!(fast[0] == principal && slow[0] == principal);
            let [few, many] =
                [fast, slow].map(|[_, one, two, three]| [one, two, three].map(miss_rate));
            assert!(many.is_sorted_by(|one, next| one >= next) && few[0] < many[2]);
            let others = BenchProgram::every_real().filter(|other| {
                *other != principal && !fast.contains(other) && !slow.contains(other)
            });
            assert!(others.map(miss_rate).all(|rate| few[0] <= rate && rate <= many[2]));
        }
    }

    #[test]
    fn factors_are_of_programs_that_vary_enough() {
        let programs: Vec<BenchProgram> = BenchProgram::every_real().take(3).collect();
        // By schedule, fast and slow; by scheduler, conventional and cache-fair.
        let times =
            [[[1.0, 1.0], [1.2, 1.05]], [[1.0, 1.0], [1.1, 0.9]], [[1.0, 1.0], [1.05, 1.0]]];
        let by_program: Vec<&[SegmentTimes]> = times.chunks(1).collect();
        let mut findings = Findings::default();
        add(&programs, &by_program, &mut findings);
        let rows = rows("cache-fair", Vec::new(), Findings::default(), findings);
        fn value(rows: &[ClaimResult], case: &str) -> f64 {
            let row = rows.iter().find(|row| row.claim.case == case).expect("a row");
            match row.corpus.as_ref().map(|found| &found.value) {
                Some(MeasuredValue::Number(number)) => *number,
                _ => f64::NAN,
            }
        }
        assert_eq!(value(&rows, "that vary by 8 % or more"), 2.0);
        assert_eq!(value(&rows, "of those, with a factor of 2 or more"), 1.0);
        assert!((value(&rows, "their factor, most") - 4.0).abs() < 1e-9);
        assert!((value(&rows, "their factor, least") - 1.0).abs() < 1e-9);
    }
}
