//! The numbers in dCat's text: parameters, the machine, and events.

use fairways_chip::preset;
use fairways_core::Q32;
use fairways_policy::dcat::Parameters;

use super::claims;
use crate::paper::{ClaimName, Findings};

/// Table 2: the paper's events, as event and umask, or register. They belong to its processor; a
/// host chooses its own events.
const EVENTS: [(ClaimName, &str); 5] = [
    (claims::LLC_MISSES, "2EH/41H"),
    (claims::LLC_REFERENCES, "2EH/4FH"),
    (claims::L1_MISSES, "D1H/08H"),
    (claims::L1_HITS, "D1H/01H"),
    (claims::FIXED_COUNTERS, "309/30A"),
];

pub(super) fn findings(findings: &mut Findings) {
    let p = Parameters::default();
    fn percent(value: Q32) -> f64 {
        value.raw() as f64 / (1u64 << 32) as f64
    }
    findings.add(claims::PHASE_CHANGE, percent(p.phase_change_thr));
    findings.add(claims::PERIOD, p.period.as_secs_f64());
    findings.add(claims::LLC_MISS_RATE_THR, percent(p.llc_miss_rate_thr));
    findings.add(claims::IPC_IMP_THR, percent(p.ipc_imp_thr));
    findings.add(claims::STREAMING_THRESHOLD, f64::from(p.streaming_thr));
    let chip = preset::preset("xeon-e5").expect("a preset's name");
    findings.add(claims::SMALLEST_ALLOCATION, f64::from(chip.llc.min_ways()));
    findings.add(claims::CLASSES_OF_SERVICE, f64::from(chip.llc.clos));
    for (claim, event) in EVENTS {
        findings.add_text(claim, event);
    }
    let way = chip.way_bytes() as f64 / f64::from(1 << 20);
    let (ways, ghz) = (chip.llc.ways.get(), f64::from(chip.mhz) / 1e3);
    let all = way * f64::from(ways);
    let machine =
        format!("E5-2697 v4 {} cores {ghz} GHz {ways} ways {all} MB, {way} MB a way", chip.cores);
    findings.add_text(claims::MACHINE, machine);
}
