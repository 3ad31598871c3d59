//! What groups processes, and what schedules them.

use super::facts::Facts;
use super::{Finding, FindingState};

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    findings.push(cgroups(facts));
    findings.push(scheduler(facts));
}

fn cgroups(facts: &Facts) -> Finding {
    let (id, why) = ("cgroups", "services, containers and pods are found by their cgroups");
    let v1 = facts.mounts.iter().any(|mount| mount.kind == "cgroup");
    let v2 = facts.mounts.iter().any(|mount| mount.kind == "cgroup2");
    let found = match (v1, v2) {
        (false, true) => "version 2",
        (true, true) => "versions 1 and 2 (hybrid)",
        (true, false) => "version 1",
        (false, false) if facts.mounts.is_empty() => {
            return Finding::new(id, FindingState::Unknown, "/proc/mounts cannot be read", why);
        }
        (false, false) => {
            return Finding::new(id, FindingState::Missing, "none are mounted", why)
                .remedy("mount -t cgroup2 none /sys/fs/cgroup, or name programs by process");
        }
    };
    Finding::new(id, FindingState::Ok, found, why)
}

fn scheduler(facts: &Facts) -> Finding {
    let (id, why) =
        ("sched-ext", "a scheduler of its own gives out CPU time more exactly than priorities");
    match facts.files.line("sys/kernel/sched_ext/state").as_deref() {
        None => Finding::new(id, FindingState::Missing, "the kernel has no sched_ext", why)
            .remedy("Linux 6.12 or later with CONFIG_SCHED_CLASS_EXT; cache policies need none"),
        Some("disabled") => Finding::new(id, FindingState::Ok, "there, and free", why),
        Some(state) => {
            let name = facts.files.line("sys/kernel/sched_ext/root/ops").unwrap_or_default();
            let found =
                format!("{state}: {}", if name.is_empty() { "another scheduler" } else { &name });
            Finding::new(id, FindingState::Limited, found, why)
                .remedy("stop that scheduler, if Fairways is to schedule")
        }
    }
}
