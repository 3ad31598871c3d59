//! Whether programs' events can be counted.

use fairways_perf::{RESERVE, cost as descriptors_of, events};

use super::facts::{Facts, field};
use super::process::{Capability, Privileges};
use super::{Finding, FindingState};

/// Fewer programs than this are fewer than most hosts run.
const FEW: u64 = 64;

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    findings.push(units(facts));
    findings.push(table(facts));
    findings.push(permission(facts));
    findings.push(descriptors(facts));
    findings.push(watchdog(facts));
}

/// Hardware PMUs of CPUs, by their names in sysfs: hybrid CPUs have two.
fn pmus(facts: &Facts) -> Vec<String> {
    let names = facts.files.names("sys/bus/event_source/devices");
    names
        .into_iter()
        .filter(|name| name == "cpu" || name.starts_with("cpu_") || name.starts_with("armv"))
        .collect()
}

/// Whether there is a PMU.
pub(super) fn has_pmu(facts: &Facts) -> bool {
    !pmus(facts).is_empty()
}

fn units(facts: &Facts) -> Finding {
    let why = "by instructions and misses policies know which program gains from more cache";
    let names = pmus(facts);
    if !names.is_empty() {
        return Finding::new("pmu", FindingState::Ok, names.join(", "), why);
    }
    if !facts.files.exists("sys/bus/event_source/devices") {
        let found = "/sys/bus/event_source/devices cannot be read";
        return Finding::new("pmu", FindingState::Unknown, found, why);
    }
    let remedy = if facts.has_flag("hypervisor") {
        "give the guest a virtual PMU (QEMU: -cpu host,pmu=on); to try policies without one: fairways-lab"
    } else {
        "turn the PMU on in the firmware; to try policies without one: fairways-lab"
    };
    let found = "no cpu, cpu_core, cpu_atom or armv8* among the event sources";
    Finding::new("pmu", FindingState::Missing, found, why).remedy(remedy)
}

/// How much perf allows users (Documentation/admin-guide/sysctl/kernel.rst, "perf_event_paranoid").
fn paranoid(facts: &Facts) -> Option<i32> {
    facts.files.line("proc/sys/kernel/perf_event_paranoid")?.parse().ok()
}

/// Whether only CAP_SYS_ADMIN counts: at levels that kernels of Debian and Ubuntu have beyond the
/// kernel's own.
fn takes_more(facts: &Facts) -> bool {
    paranoid(facts).is_some_and(|level| level > 2)
}

/// Whether this process may count all other processes; if that is unknown, it is assumed that it
/// may.
pub(super) fn permitted(facts: &Facts) -> bool {
    let capable = Privileges::read(facts).is_none_or(|privileges| {
        privileges.can(Capability::SysAdmin)
            || privileges.can(Capability::Perfmon) && !takes_more(facts)
    });
    capable || paranoid(facts).is_none_or(|level| level <= 0)
}

/// What lets the packaged service count where its capability is not enough.
const SERVICE_REMEDY: &str = "sysctl kernel.perf_event_paranoid=2, also in /etc/sysctl.d, or for the packaged service the drop-in \
     counting.conf (docs/install.md)";

fn permission(facts: &Facts) -> Finding {
    let (id, why) =
        ("perf-permission", "a cgroup is counted on every CPU, whichever user its tasks belong to");
    let Some(level) = paranoid(facts) else {
        let found = "/proc/sys/kernel/perf_event_paranoid cannot be read";
        return Finding::new(id, FindingState::Unknown, found, why);
    };
    let found = format!("perf_event_paranoid is {level}");
    let limited = "; this process may count, the packaged service may not without counting.conf";
    match (permitted(facts), takes_more(facts)) {
        (true, false) => {
            Finding::new(id, FindingState::Ok, format!("{found}; this process may count"), why)
        }
        (true, true) => {
            Finding::new(id, FindingState::Limited, found + limited, why).remedy(SERVICE_REMEDY)
        }
        (false, true) => {
            let lacks = format!("{found}, above 2, and there is no CAP_SYS_ADMIN");
            let remedy = format!("run it as root; or {SERVICE_REMEDY}");
            Finding::new(id, FindingState::Missing, lacks, why).remedy(remedy)
        }
        (false, false) => {
            let lacks = format!("{found}, and there is no CAP_PERFMON");
            Finding::new(id, FindingState::Missing, lacks, why)
                .remedy("run it as root, or give it CAP_PERFMON")
        }
    }
}

/// The events of this processor.
fn chosen(facts: &Facts) -> events::ProcessorEvents {
    let devices = facts.files.path("sys/bus/event_source/devices");
    let cpu = events::Cpu::read(&facts.files.path("proc/cpuinfo"), &devices);
    events::for_cpu(&cpu.unwrap_or_else(|_| events::Cpu {
        vendor: events::Vendor::Other(String::new()),
        hybrid: false,
    }))
}

/// Whether any event of the processor counts.
pub(super) fn has_events(facts: &Facts) -> bool {
    !chosen(facts).events.is_empty()
}

/// Which counters the processor's events count, whether or not there is a PMU.
fn table(facts: &Facts) -> Finding {
    let (id, why) = ("events", "a policy lacks what no event counts (docs/events.md)");
    let chosen = chosen(facts);
    let lost: Vec<&str> = chosen.lost.iter().map(|(counter, _)| counter.name()).collect();
    if lost.is_empty() {
        let found = format!("{}: one for every counter", chosen.name);
        return Finding::new(id, FindingState::Ok, found, why);
    }
    let found = format!("{}: none for {}", chosen.name, lost.join(", "));
    if let (true, Some((_, reason))) = (chosen.events.is_empty(), chosen.lost.first()) {
        return Finding::new(id, FindingState::Missing, format!("{found}: {reason}"), why).remedy(
            "a policy that reads no counter (fairways policies); to try the others: fairways-lab",
        );
    }
    Finding::new(id, FindingState::Limited, found, why)
        .remedy("policies that read others decide as usual: fairways policies NAME")
}

/// Descriptors that a cgroup takes on each CPU, on this processor.
fn cost(facts: &Facts) -> u64 {
    u64::try_from(descriptors_of(&chosen(facts))).unwrap_or(u64::MAX)
}

/// Checks the limit of descriptors: a cgroup takes one for each event on each CPU.
fn descriptors(facts: &Facts) -> Finding {
    let (id, why) =
        ("descriptors", "a program counted as a cgroup takes one for each event and CPU");
    let limits = facts.files.text("proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let hard = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    let cpus = u64::try_from(facts.cpus().len()).unwrap_or(u64::MAX);
    let (Some(hard), 1..) = (hard, cpus) else {
        let found = "/proc/self/limits or the CPUs cannot be read";
        return Finding::new(id, FindingState::Unknown, found, why);
    };
    let (cost, reserve) = (cpus * cost(facts), RESERVE as u64);
    let Some(programs) = hard.saturating_sub(reserve).checked_div(cost) else {
        let found = format!("{hard} at most; no event of this processor takes one");
        return Finding::new(id, FindingState::Ok, found, why);
    };
    let found = format!("{hard} at most: {programs} programs as cgroups on {cpus} CPUs");
    if programs >= FEW {
        return Finding::new(id, FindingState::Ok, found, why);
    }
    let need = FEW * cost + reserve;
    Finding::new(id, FindingState::Limited, found, why)
        .remedy(format!("LimitNOFILE={need} in the unit, or `ulimit -n {need}`, for {FEW}"))
}

fn watchdog(facts: &Facts) -> Finding {
    let (id, why) = (
        "nmi-watchdog",
        "it takes one of a CPU's counters: policies have room, but `blame` may lack stalls for memory",
    );
    match facts.files.line("proc/sys/kernel/nmi_watchdog").as_deref() {
        Some("0") => Finding::new(id, FindingState::Ok, "off", why),
        Some("1") if facts.is_x86() == Some(true) && has_pmu(facts) => {
            Finding::new(id, FindingState::Limited, "on", why)
                .remedy("for `blame` alone: sysctl kernel.nmi_watchdog=0, which also turns off hard-lockup detection; then restart the daemon")
        }
        Some("1") => {
            Finding::new(id, FindingState::Ok, "on, and takes no counter of this host", why)
        }
        _ => {
            let model = field(&facts.cpuinfo, "model name").is_some();
            let state = if model { FindingState::Unknown } else { FindingState::Ok };
            Finding::new(id, state, "there is no /proc/sys/kernel/nmi_watchdog", why)
        }
    }
}
