//! The numbers in the text: parameters and the machine.

use fairways_chip::Shape;
use fairways_policy::casc::Parameters;

use super::setup::{PROGRAMS, SIZES, THREADS, chip};
use crate::paper::Findings;

pub(super) fn findings(findings: &mut Findings) {
    let p = Parameters::default();
    let milliseconds = |span: std::time::Duration| span.as_secs_f64() * 1e3;
    findings.add("§4.2.2", "MIN_RUNLENGTH", milliseconds(p.min_runlength));
    findings.add("§5.3.2", "delay before measuring a thread", milliseconds(p.delay));
    let kept = milliseconds(p.shortest_interval);
    findings.add("§5.3.2", "shortest interval kept, as printed", kept);
    findings.add("§4.3.1", "m, CPU-bound load", f64::from(p.m));
    let threshold = p.threshold.raw() as f64 / (1u64 << 32) as f64;
    findings.add("§4.3.3", "initial threshold", threshold);
    let base = chip(768);
    let text = format!("{} x {}, {} MHz", base.cores, base.threads, base.mhz);
    findings.add_text("§5.1", "cores x contexts, clock", text);
    let kb = |shape: Shape| shape.sets * shape.ways * 64 / 1024;
    let l1 = format!("{} / {}", kb(base.l1), base.l1i.map_or(0, kb));
    findings.add_text("§5.1", "L1D / L1I", l1);
    let l2 = base.way_bytes() * u64::from(base.llc.ways.get()) / 1024;
    findings.add_text("§5.1", "base L2, ways", format!("{l2}, {}", base.llc.ways));
    let others: Vec<u32> = SIZES.into_iter().filter(|&size| size != 768).collect();
    // Both ends of the range are in the band; the largest is told.
    findings.add("§5.1", "other L2 sizes", f64::from(others[others.len() - 1]));
    let each = (THREADS / PROGRAMS.len()).to_string();
    findings.add_text("§5.2", "threads: art, twolf, Berkeley DB", [&each[..]; 3].join("/"));
    // What the model of the program is made of: decision CASC 2 of docs/workloads.md.
    findings.add_text("§5.2", "database, hot set", "100 MB, 80 % to 30 %");
}
