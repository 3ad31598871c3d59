//! The numbers in the text: parameters and the machine.

use fairways_chip::CacheShape;
use fairways_chip::program::{Accesses, Workload, named};
use fairways_policy::casc::Parameters;

use super::claims;
use super::setup::{PROGRAMS, SIZES, THREADS, chip};
use crate::paper::Findings;

/// Lines of a megabyte.
const MB: u32 = 1 << 14;

pub(super) fn findings(findings: &mut Findings) {
    let p = Parameters::default();
    fn milliseconds(span: std::time::Duration) -> f64 {
        span.as_secs_f64() * 1e3
    }
    findings.add(claims::MIN_RUNLENGTH, milliseconds(p.min_runlength));
    findings.add(claims::DELAY, milliseconds(p.delay));
    let kept = milliseconds(p.shortest_interval);
    findings.add(claims::SHORTEST_INTERVAL, kept);
    findings.add(claims::M, f64::from(p.m));
    let threshold = p.threshold.raw() as f64 / (1u64 << 32) as f64;
    findings.add(claims::INITIAL_THRESHOLD, threshold);
    let base = chip(768);
    let text = format!("{} x {}, {} MHz", base.cores, base.threads, base.mhz);
    findings.add_text(claims::CORES, text);
    fn kb(shape: CacheShape) -> u32 {
        shape.sets * shape.ways * 64 / 1024
    }
    let l1 = format!("{} / {}", kb(base.l1), base.l1i.map_or(0, kb));
    findings.add_text(claims::L1_SIZES, l1);
    let l2 = base.way_bytes() * u64::from(base.llc.ways.get()) / 1024;
    findings.add_text(claims::BASE_L2, format!("{l2}, {}", base.llc.ways));
    let others: Vec<u32> = SIZES.into_iter().filter(|&size| size != 768).collect();
    // Both ends of the range are the band's: the largest counts, if none is smaller than 48.
    let (first, last) = (others.first(), others.last());
    let largest = last.filter(|_| first >= Some(&48)).map(|&kb| f64::from(kb));
    findings.add_if(claims::OTHER_L2_SIZES, largest);
    let each = (THREADS / PROGRAMS.len()).to_string();
    findings.add_text(claims::THREADS, [&each[..]; 3].join("/"));
    findings.add_text(claims::DATABASE, database());
}

/// The model of Berkeley DB beside what it always uses: its size, and which share of the references
/// goes to which share of it.
fn database() -> String {
    let program = named("berkeley-db-like").expect("a program's name");
    let Accesses::Workload(Workload { data, .. }) = program.accesses else { return String::new() };
    // The records; everything else is smaller than a megabyte.
    let records: Vec<_> = data.iter().filter(|region| region.lines > MB).collect();
    let lines: u32 = records.iter().map(|region| region.lines).sum();
    let all: f64 = records.iter().map(|region| region.share).sum();
    let Some(hot) = records.iter().min_by_key(|region| region.lines) else { return String::new() };
    fn percent(part: f64, whole: f64) -> f64 {
        (100.0 * part / whole).round()
    }
    let to = percent(f64::from(hot.lines), f64::from(lines));
    format!("{} MB, {} % to {to} %", lines / MB, percent(hot.share, all))
}
