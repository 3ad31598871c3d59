//! The numbers in the text: the machine, parameters and schedules.

use fairways_chip::CacheShape;
use fairways_core::Time;
use fairways_policy::cache_fair::Parameters;

use super::setup::{SEGMENT, ScheduleRun, TABLE_2, THREADS, chip};
use crate::paper::Findings;

pub(super) fn findings(findings: &mut Findings) {
    let chip = chip(false);
    fn kb(shape: CacheShape) -> u32 {
        shape.sets * shape.ways * 64 / 1024
    }
    let cores = format!("{} single-threaded, {} MHz", chip.cores, chip.mhz);
    let single = if chip.threads == 1 { cores } else { format!("{} threads", chip.threads) };
    findings.add_text("Table 1", "cores", single);
    let l1 = format!("{} / {}, {}", chip.l1i.map_or(0, kb), kb(chip.l1), chip.l1.ways);
    findings.add_text("Table 1", "L1I / L1D, ways", l1);
    let l2 = chip.way_bytes() * u64::from(chip.llc.ways.get()) / 1024;
    findings.add_text(
        "Table 1",
        "L2, ways, banks",
        format!("{l2}, {}, {}", chip.llc.ways, chip.banks),
    );
    findings.add("Table 1", "bus", chip.bandwidth_mbps / 1e3);
    let p = Parameters::default();
    findings.add("§4.1", "data points", f64::from(p.data_points));
    findings.add("§4.3", "reconnaissance", p.reconnaissance as f64);
    findings.add("§4.3", "calibration period", p.calibration as f64);
    findings.add("§4.3", "repeat of reconnaissance", p.repetition as f64);
    findings.add("§5.1", "measured segment in calibration phase", SEGMENT as f64);
    findings.add("§5.1", "application threads in a schedule", THREADS as f64);
    let jobs = ScheduleRun::first().jobs(vec![Time::ZERO; THREADS]);
    let best_effort = jobs.filter(|job| job.wish.best_effort).count();
    findings.add("§5.1", "of them best-effort", best_effort as f64);
    for (principal, fast, slow) in TABLE_2 {
        let schedules = format!("{principal},{} / {principal},{}", fast.join(","), slow.join(","));
        findings.add_text("Table 2", &format!("{principal}: fast / slow schedule"), schedules);
    }
    findings.add_text("§5.6", "regression steps", super::pairs::steps());
}
