//! Figures 1 to 3: waits that other hardware threads hide, and those that they do not.

use std::time::Duration;

use fairways_chip::program::{Accesses, Mixture, MixturePart};
use fairways_chip::{CacheShape, Chip, ChipError, Geometry, Job, SimulatedProgram};
use fairways_core::{NoPolicy, Time};
use rayon::prelude::*;

use super::setup::{SIZES, chip};
use super::{Setting, claims};
use crate::paper::programs::BenchProgram;
use crate::paper::turns::{Stretch, accounts, least, most, run_until, solaris_settings};
use crate::paper::{ClaimName, Findings};

/// The paper's load is "a multithreaded SPEC CPU2000 workload".
const LOAD: [&str; 8] = ["gzip", "crafty", "twolf", "parser", "vpr", "vortex", "gcc", "art"];

/// The sizes of L1 data caches, KB.
const L1_KB: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// A cache's size in KB, instructions per cycle of all cores, and misses per 100 references.
pub(super) type Point = (u32, f64, f64);

/// Counts programs with a hardware thread each, in the second half of `span`.
fn count(chip: Geometry, seed: u64, jobs: Vec<Job>, span: Duration) -> Result<Stretch, ChipError> {
    let count = jobs.len();
    let mut chip = Chip::new(solaris_settings(chip, seed), jobs)?;
    let [before, after] = [span / 2, span].map(|end| {
        run_until(&mut chip, &mut NoPolicy, Time::ZERO.after(end));
        accounts(&chip, count)
    });
    Ok(Stretch::between(&before, &after, span.as_secs_f64() / 2.0))
}

fn ipc(stretch: &Stretch, chip: &Geometry) -> f64 {
    stretch.throughput() / (f64::from(chip.mhz) * 1e6)
}

/// Figure 1: a thread that runs 20 % of its time, and four of them.
pub(super) fn hidden(findings: &mut Findings) -> Result<(), ChipError> {
    let parts = vec![MixturePart { share: 1.0, lines: 64 }];
    let mixture = Mixture { parts, per_kilo_instructions: 1000.0, stores: 0.0, missed: true };
    let program = SimulatedProgram::new(Accesses::Mixture(mixture), 1.0, 1.0);
    let mut chip = Geometry { cores: 1, ..chip(768) };
    // An instruction, and four cycles of waiting.
    (chip.latency.l2, chip.latency.llc) = (4, 4);
    for (claim, threads) in [(claims::IPC_OF_ONE, 1), (claims::IPC_OF_FOUR, 4)] {
        let jobs = vec![Job::new(program.clone()); threads];
        let stretch = count(chip, 1, jobs, Duration::from_millis(10))?;
        // To three digits: the counted time does not begin and end with a cycle.
        findings.add(claim, (ipc(&stretch, &chip) * 1e3).round() / 1e3);
    }
    Ok(())
}

/// Runs L1 data caches of other sizes on one core; `l2_cycles` is the latency of an L2 hit.
fn l1_points(seed: u64, l2_cycles: Option<u32>) -> Result<Vec<Point>, ChipError> {
    L1_KB
        .par_iter()
        .map(|&kb| {
            let mut chip = Geometry { cores: 1, l1: CacheShape::from_kb(kb, 4), ..chip(768) };
            if let Some(cycles) = l2_cycles {
                (chip.latency.l2, chip.latency.llc) = (cycles, cycles);
            }
            let jobs = LOAD[..4]
                .iter()
                .map(|name| BenchProgram::Model(name).job(&chip, Time::ZERO))
                .collect();
            let stretch = count(chip, seed, jobs, Duration::from_millis(100))?;
            let misses = 100.0 * stretch.sum(|account| account.l1_misses);
            let rate = misses / stretch.sum(|account| account.l1_references);
            Ok((kb, ipc(&stretch, &chip), rate))
        })
        .collect()
}

/// Figure 2: L1 data caches of other sizes, on one core; and with an L2 twice as fast.
pub(super) fn l1(seed: u64, findings: &mut Findings) -> Result<Vec<Point>, ChipError> {
    let points = l1_points(seed, None)?;
    let rates: Vec<f64> = points.iter().map(|point| point.2).collect();
    findings.add(claims::IPC_OVER_L1_SIZES, evenness(&points));
    findings.add(claims::L1_MISS_RATES, most(&rates) / least(&rates));
    let fast = chip(768).latency.llc / 2;
    let ClaimName { item, case } = claims::IPC_OVER_L1_SIZES;
    let case = format!("{case}, an L2 hit in {fast} cycles");
    findings.add_beside(item, &case, "ratio", Some(evenness(&l1_points(seed, Some(fast))?)));
    Ok(points)
}

/// The least instructions per cycle over the most.
fn evenness(points: &[Point]) -> f64 {
    let ipcs: Vec<f64> = points.iter().map(|point| point.1).collect();
    least(&ipcs) / most(&ipcs)
}

/// Figure 3: L2 caches of other sizes, on two cores.
pub(super) fn l2(setting: Setting, findings: &mut Findings) -> Result<Vec<Point>, ChipError> {
    let load = LOAD.map(|name| BenchProgram::of_benchmark(name, setting.ground));
    let point = |&kb: &u32| {
        let chip = chip(kb);
        let jobs = load.iter().map(|program| program.job(&chip, Time::ZERO)).collect();
        let stretch = count(chip, setting.seed, jobs, Duration::from_millis(400))?;
        Ok((kb, ipc(&stretch, &chip), stretch.miss_rate()))
    };
    let sizes: Vec<u32> = SIZES.into_iter().chain([1536]).collect();
    let points: Vec<Point> = sizes.par_iter().map(point).collect::<Result<_, ChipError>>()?;
    let mut by_rate = points.clone();
    by_rate.sort_by(|a, b| a.2.total_cmp(&b.2));
    let violations = by_rate.windows(2).filter(|pair| pair[1].1 > pair[0].1).count();
    findings.add(claims::IPC_RISES, violations as f64);
    let (first, last) = (points[0].1, points[points.len() - 1].1);
    findings.add(claims::IPC_OVER_L2_SIZES, first / last);
    Ok(points)
}
