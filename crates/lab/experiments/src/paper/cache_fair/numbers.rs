//! The numbers in the text: the machine, parameters and schedules.

use fairways_chip::CacheShape;
use fairways_core::Time;
use fairways_policy::cache_fair::Parameters;

use super::claims;
use super::setup::{SEGMENT, ScheduleRun, TABLE_2, THREADS, chip};
use crate::paper::Findings;

pub(super) fn findings(findings: &mut Findings) {
    let chip = chip(false);
    fn kb(shape: CacheShape) -> u32 {
        shape.sets * shape.ways * 64 / 1024
    }
    let cores = format!("{} single-threaded, {} MHz", chip.cores, chip.mhz);
    let single = if chip.threads == 1 { cores } else { format!("{} threads", chip.threads) };
    findings.add_text(claims::CORES, single);
    let l1 = format!("{} / {}, {}", chip.l1i.map_or(0, kb), kb(chip.l1), chip.l1.ways);
    findings.add_text(claims::L1, l1);
    let l2 = chip.way_bytes() * u64::from(chip.llc.ways.get()) / 1024;
    findings.add_text(claims::L2, format!("{l2}, {}, {}", chip.llc.ways, chip.banks));
    findings.add(claims::BUS, chip.bandwidth_mbps / 1e3);
    let p = Parameters::default();
    findings.add(claims::DATA_POINTS, f64::from(p.data_points));
    findings.add(claims::RECONNAISSANCE, p.reconnaissance as f64);
    findings.add(claims::CALIBRATION_PERIOD, p.calibration as f64);
    findings.add(claims::REPETITION, p.repetition as f64);
    findings.add(claims::SEGMENT, SEGMENT as f64);
    findings.add(claims::THREADS, THREADS as f64);
    let jobs = ScheduleRun::first().jobs(vec![Time::ZERO; THREADS]);
    let best_effort = jobs.filter(|job| job.wish.best_effort).count();
    findings.add(claims::BEST_EFFORT_THREADS, best_effort as f64);
    for (principal, fast, slow, claim) in TABLE_2 {
        let schedules = format!("{principal},{} / {principal},{}", fast.join(","), slow.join(","));
        findings.add_text(claim, schedules);
    }
    findings.add_text(claims::REGRESSION_STEPS, super::pairs::steps());
}
