//! By what threads can be made to take turns.

use super::facts::Facts;
use super::perf;
use super::process::{Capability, Who};
use super::{Finding, State};

/// The finding that is missing where threads can't be scheduled at all.
pub(super) const ID: &str = "scheduling";

const WHY: &str =
    "casc and cache-fair decide where threads run and for how long; the other policies need none";

/// `without` is why the program that asks has no scheduler for the kernel, if it has none.
pub(super) fn check(facts: &Facts, without: Option<&str>, findings: &mut Vec<Finding>) {
    let Some(who) = Who::read(facts) else {
        let found = "/proc/self/status cannot be read";
        findings.push(Finding::new(ID, State::Unknown, found, WHY));
        return;
    };
    findings.push(match (in_kernel(facts, &who, without), by_affinity(facts, &who)) {
        (None, _) => Finding::new(ID, State::Ok, "by a scheduler in the kernel (sched_ext)", WHY),
        (Some((not, remedy)), None) => {
            let found = format!("by threads' own affinity and weight: {not}");
            Finding::new(ID, State::Limited, found, WHY).remedy(remedy)
        }
        (Some((not, _)), Some((lacks, remedy))) => {
            Finding::new(ID, State::Missing, format!("{not}, and {lacks}"), WHY).remedy(remedy)
        }
    });
}

/// Why sched_ext can't be used, and what to do about it.
fn in_kernel(facts: &Facts, who: &Who, without: Option<&str>) -> Option<(String, &'static str)> {
    let state = facts.files.line("sys/kernel/sched_ext/state");
    // Loading one takes CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN (kernel/bpf/syscall.c).
    let may =
        who.can(Capability::SysAdmin) || who.can(Capability::Bpf) && who.can(Capability::Perfmon);
    let said = match state.as_deref() {
        None => ("the kernel has no sched_ext", "Linux 6.12 or later with CONFIG_SCHED_CLASS_EXT"),
        Some(state) if state != "disabled" => {
            ("another scheduler is in the kernel", "stop that scheduler (see sched-ext)")
        }
        Some(_) if !facts.files.path("sys/kernel/btf/vmlinux").exists() => {
            ("the kernel does not tell its types (BTF)", "a kernel with CONFIG_DEBUG_INFO_BTF")
        }
        Some(_) if !may => (
            "this process may load no scheduler",
            "run it as root, or give it CAP_BPF and CAP_PERFMON",
        ),
        Some(_) => {
            let not = without?;
            return Some((not.to_owned(), "a fairways that was built with --features sched-ext"));
        }
    };
    Some((said.0.to_owned(), said.1))
}

/// Why threads' affinity and weight can't be used either, and what to do about it.
fn by_affinity(facts: &Facts, who: &Who) -> Option<(&'static str, &'static str)> {
    if !who.can(Capability::SysNice) {
        return Some((
            "this process may not move others' threads",
            "run it as root, or give it CAP_SYS_NICE",
        ));
    }
    // Who runs on a CPU is told whole CPUs at a time: perf_event_paranoid below 1 (perf_event_open(2)).
    let may = perf::paranoid(facts).is_some_and(|level| level < 1)
        || who.can(Capability::Perfmon)
        || who.can(Capability::SysAdmin);
    (!may).then_some((
        "perf does not tell this process who runs on a CPU",
        "run it as root, or give it CAP_PERFMON",
    ))
}
