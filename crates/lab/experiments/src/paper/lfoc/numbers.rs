//! The numbers in LFOC's text: sizes, parameters, the machine, and Figure 4.

use fairways_core::Ways;
use fairways_optimum::count::{clusterings, partitionings};
use fairways_policy::lfoc::{Class, Parameters, classify};
use fairways_profiles::{ProfileTable, ProfiledProgram, ProgramCatalog};

use super::{Setting, claims};
use crate::best::CLASSES;
use crate::draw::{WORKLOAD_SIZES, classes};
use crate::live::Protocol;
use crate::paper::{Findings, Line};

/// Programs that the authors profiled.
const PROFILED: usize = 55;

/// §2.2.
pub(super) fn search_space(findings: &mut Findings) {
    findings.add(claims::PARTITIONINGS_8_ON_11, partitionings(8, 11) as f64);
    findings.add(claims::PARTITIONINGS_8_ON_20, partitionings(8, 20) as f64);
    findings.add(claims::CLUSTERINGS_8_ON_20, clusterings(8, 20) as f64);
    findings.add(claims::CLUSTERINGS_11_ON_20, clusterings(11, 20) as f64);
}

/// The default parameters, and the machine.
pub(super) fn parameters(table: &ProfileTable, setting: &Setting, findings: &mut Findings) {
    let (p, protocol) = (Parameters::default(), Protocol::default());
    fn q32(value: fairways_core::Q32) -> f64 {
        value.raw() as f64 / (1u64 << 32) as f64
    }
    fn percent(value: u32) -> f64 {
        f64::from(value) / 100.0
    }
    let one = percent(p.streaming_slowdown_percent);
    findings.add(claims::STREAMING_SLOWDOWN, one);
    findings.add(claims::STREAMING_LLCMPKC, q32(p.streaming_llcmpkc));
    let all = percent(p.streaming_slowdown_bound_percent);
    findings.add(claims::STREAMING_BOUND, all);
    findings.add(claims::SENSITIVE_SLOWDOWN, percent(p.sensitive_slowdown_percent));
    findings.add(claims::SENSITIVE_FROM_WAYS, f64::from(p.sensitive_from_ways));
    findings.add(claims::MAX_STREAMING_WAY, f64::from(p.max_streaming_way));
    findings.add(claims::GAPS_PER_STREAMING, f64::from(p.gaps_per_streaming));
    findings.add(claims::MAX_WAYS_STREAMING, f64::from(p.max_ways_streaming));
    findings.add(claims::WARM_UP, f64::from(p.warm_up_intervals));
    findings.add(claims::HIGH_THRESHOLD, q32(p.high_threshold));
    findings.add(claims::LOW_THRESHOLD, f64::from(p.low_threshold_percent));
    findings.add(claims::STALL_FRACTION, f64::from(p.stalls_percent));
    findings.add(claims::AVERAGING_WINDOW, f64::from(p.averaged_periods));
    let critical = f64::from(p.critical_slowdown_percent) - 100.0;
    findings.add(claims::CRITICAL_SLOWDOWN, critical);
    findings.add(claims::NORMAL_WINDOW, p.normal_window as f64);
    findings.add(claims::SAMPLING_WINDOW, p.sampling_window as f64);
    let dunn = fairways_policy::dunn::Parameters::default();
    if dunn.decision_period == p.decision_period {
        let period = p.decision_period.as_secs_f64() * 1e3;
        findings.add(claims::DECISION_PERIOD, period);
    }
    // A quick run does not have the paper's length.
    if setting.time_scale >= 1.0 {
        findings.add(claims::INSTRUCTIONS, protocol.instructions as f64);
    }
    findings.add(claims::COMPLETIONS, f64::from(protocol.completions));
    let megabytes = setting.machine.way_bytes * f64::from(setting.llc.ways.get()) / 1024.0 / 1024.0;
    findings.add(claims::LLC_WAYS, f64::from(setting.llc.ways.get()));
    findings.add(claims::LLC_SIZE, megabytes);
    findings.add(claims::CORE_CLOCK, setting.machine.mhz / 1000.0);
    findings.add(claims::SMALLEST_PARTITION, setting.machine.way_bytes / 1024.0 / 1024.0);
    findings
        .add_text(claims::WORKLOAD_SIZES, WORKLOAD_SIZES.map(|size| size.to_string()).join("/"));
    let classes = classes(table, setting.llc.ways);
    let counts = CLASSES
        .map(|class| classes.iter().filter(|&&other| other == class).count().to_string())
        .join("/");
    if table.names().len() == PROFILED {
        findings.add_text(claims::CLASS_COUNTS, counts);
    }
}

/// Figure 4: a program that is light at first, and then streams. Looks for a phased program whose
/// LLCMPKC rises through the threshold once, and never falls back.
pub(super) fn phases(
    programs: &ProgramCatalog,
    ways: Ways,
    findings: &mut Findings,
) -> Option<Line> {
    let table = programs.table();
    let threshold = Parameters::default().high_threshold;
    let phased = table.names().len()..programs.len();
    if phased.is_empty() {
        return None;
    }
    let found = phased.clone().find(|&index| {
        let phases = programs.phases(index);
        if !phases.first().is_some_and(|phase| {
            classify(&table.profile(phase.program), ways, &Parameters::default()) == Class::Light
        }) {
            return false;
        }
        let busy = phases
            .iter()
            .map(|phase| table.profile(phase.program).llcmpkc.at(ways.get()) > threshold);
        let busy: Vec<bool> = busy.collect();
        let first = busy.iter().position(|&busy| busy);
        first.is_some_and(|first| first > 0 && busy[first..].iter().all(|&busy| busy))
    });
    findings.add(claims::FOTONIK3D_PHASES, f64::from(u8::from(found.is_some())));
    let index = found?;
    let mut points = Vec::new();
    let mut ran = 0.0;
    for phase in programs.phases(index) {
        let program = ProfiledProgram::new(table, phase.program, ways);
        let llcmpkc = program.rates(f64::from(ways.get())).llcmpkc;
        points.push((ran, llcmpkc));
        // The last phase may have no end.
        let instructions = phase.instructions.unwrap_or(Protocol::default().instructions);
        ran += instructions as f64 / 1e9;
        points.push((ran, llcmpkc));
    }
    Some(Line { name: programs.name(index).to_owned(), points })
}
