//! What groups processes, and who schedules them.

use super::facts::Facts;
use super::{Finding, State};

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    findings.push(cgroups(facts));
    findings.push(scheduler(facts));
}

fn cgroups(facts: &Facts) -> Finding {
    let (id, why) = ("cgroups", "services, containers and pods are found by their cgroups");
    let is = |kind: &str| facts.mounts.iter().any(|mount| mount.kind == kind);
    let found = match (is("cgroup"), is("cgroup2")) {
        (false, true) => "version 2",
        (true, true) => "versions 1 and 2 (hybrid)",
        (true, false) => "version 1",
        (false, false) if facts.mounts.is_empty() => {
            return Finding::new(id, State::Unknown, "/proc/mounts cannot be read", why);
        }
        (false, false) => {
            return Finding::new(id, State::Missing, "none are mounted", why)
                .remedy("mount -t cgroup2 none /sys/fs/cgroup, or name programs by process");
        }
    };
    Finding::new(id, State::Ok, found, why)
}

fn scheduler(facts: &Facts) -> Finding {
    let (id, why) =
        ("sched-ext", "a scheduler of its own gives out CPU time more exactly than priorities");
    match facts.files.line("sys/kernel/sched_ext/state").as_deref() {
        None => Finding::new(id, State::Missing, "the kernel has no sched_ext", why)
            .remedy("Linux 6.12 or later with CONFIG_SCHED_CLASS_EXT; cache policies need none"),
        Some("disabled") => Finding::new(id, State::Ok, "there, and free", why),
        Some(state) => {
            let name = facts.files.line("sys/kernel/sched_ext/root/ops").unwrap_or_default();
            let found =
                format!("{state}: {}", if name.is_empty() { "another scheduler" } else { &name });
            Finding::new(id, State::Limited, found, why)
                .remedy("stop that scheduler, if Fairways is to schedule")
        }
    }
}
