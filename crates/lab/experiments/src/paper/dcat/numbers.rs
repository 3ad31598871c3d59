//! The numbers in dCat's text: parameters, the machine, and events.

use fairways_chip::preset;
use fairways_core::Q32;
use fairways_policy::dcat::Parameters;

use crate::paper::Findings;

/// Table 2: the paper's events, as event and umask, or register. They belong to its processor; a
/// host chooses its own events.
const EVENTS: [(&str, &str); 5] = [
    ("LLC misses", "2EH/41H"),
    ("LLC references", "2EH/4FH"),
    ("L1 misses", "D1H/08H"),
    ("L1 hits", "D1H/01H"),
    ("retired instructions, unhalted cycles (MSR)", "309/30A"),
];

pub(super) fn findings(findings: &mut Findings) {
    let p = Parameters::default();
    fn percent(value: Q32) -> f64 {
        value.raw() as f64 / (1u64 << 32) as f64
    }
    findings.add("§3.3", "phase change threshold", percent(p.phase_change_thr));
    findings.add("§4", "period", p.period.as_secs_f64());
    findings.add("§5.1", "llc_miss_rate_thr", percent(p.llc_miss_rate_thr));
    findings.add("§5.1", "ipc_imp_thr", percent(p.ipc_imp_thr));
    findings.add("§3.4", "streaming threshold over baseline", f64::from(p.streaming_thr));
    let chip = preset::preset("xeon-e5").expect("a preset's name");
    findings.add("§3.4", "smallest allocation", f64::from(chip.llc.min_ways()));
    findings.add("§4, §6", "classes of service", f64::from(chip.llc.clos));
    for (case, event) in EVENTS {
        findings.add_text("Table 2", case, event);
    }
    let way = chip.way_bytes() as f64 / f64::from(1 << 20);
    let (ways, ghz) = (chip.llc.ways.get(), f64::from(chip.mhz) / 1e3);
    let all = way * f64::from(ways);
    let machine =
        format!("E5-2697 v4 {} cores {ghz} GHz {ways} ways {all} MB, {way} MB a way", chip.cores);
    findings.add_text("§5", "machine", machine);
}
