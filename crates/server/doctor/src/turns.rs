//! How threads can be made to take turns.

use super::facts::Facts;
use super::perf;
use super::process::{Capability, Privileges};
use super::{Finding, FindingState};

/// The finding that is missing where threads can't be scheduled at all.
pub(super) const ID: &str = "scheduling";

const WHY: &str =
    "casc and cache-fair decide where threads run and for how long; the other policies need none";

/// `without` is why the calling program has no scheduler for the kernel, if it has none.
pub(super) fn check(facts: &Facts, without: Option<&str>, findings: &mut Vec<Finding>) {
    let Some(privileges) = Privileges::read(facts) else {
        let found = "/proc/self/status cannot be read";
        findings.push(Finding::new(ID, FindingState::Unknown, found, WHY));
        return;
    };
    findings.push(
        match (in_kernel(facts, &privileges, without), by_affinity(facts, &privileges)) {
            (None, _) => {
                Finding::new(ID, FindingState::Ok, "by a scheduler in the kernel (sched_ext)", WHY)
            }
            (Some((not, remedy)), None) => {
                let found = format!("by threads' own affinity and weight: {not}");
                Finding::new(ID, FindingState::Limited, found, WHY).remedy(remedy)
            }
            (Some((not, _)), Some((lacks, remedy))) => {
                Finding::new(ID, FindingState::Missing, format!("{not}, and {lacks}"), WHY)
                    .remedy(remedy)
            }
        },
    );
}

/// Why sched_ext can't be used, and what to do about it.
fn in_kernel(
    facts: &Facts,
    privileges: &Privileges,
    without: Option<&str>,
) -> Option<(String, &'static str)> {
    let state = facts.files.line("sys/kernel/sched_ext/state");
    // Loading one takes CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN (kernel/bpf/syscall.c).
    let may = privileges.can(Capability::SysAdmin)
        || privileges.can(Capability::Bpf) && privileges.can(Capability::Perfmon);
    let obstacle = match state.as_deref() {
        None => ("the kernel has no sched_ext", "Linux 6.12 or later with CONFIG_SCHED_CLASS_EXT"),
        Some(state) if state != "disabled" => {
            ("another scheduler is in the kernel", "stop that scheduler (see sched-ext)")
        }
        Some(_) if !facts.files.path("sys/kernel/btf/vmlinux").exists() => {
            ("the kernel does not publish its types (BTF)", "a kernel with CONFIG_DEBUG_INFO_BTF")
        }
        Some(_) if !may => (
            "this process may load no scheduler",
            "run it as root, or give it CAP_BPF and CAP_PERFMON",
        ),
        Some(_) => {
            let not = without?;
            return Some((not.to_owned(), "build fairways with --features sched-ext"));
        }
    };
    Some((obstacle.0.to_owned(), obstacle.1))
}

/// Why threads' affinity and weight can't be used either, and what to do about it.
fn by_affinity(facts: &Facts, privileges: &Privileges) -> Option<(&'static str, &'static str)> {
    if !privileges.can(Capability::SysNice) {
        return Some((
            "this process may not move others' threads",
            "run it as root, or give it CAP_SYS_NICE",
        ));
    }
    // The kernel reports which threads run only for whole CPUs, as it counts cgroups.
    (!perf::permitted(facts)).then_some((
        "perf does not let this process see which threads run on a CPU",
        "run it as root, or give it CAP_PERFMON (see perf-permission)",
    ))
}
