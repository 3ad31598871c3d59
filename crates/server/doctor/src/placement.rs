//! Which cache a program runs on, where there are several: what decides that.

use fairways_core::CpuSet;
use fairways_linux::topology::MOST_CPUS;

use super::abilities::{ListedCache, caches};
use super::facts::Facts;
use super::kernel::configuration;
use super::{Finding, FindingState};

/// The first kernel that gathers the threads of a process on one cache by itself.
const GATHERS: (u32, u32) = (7, 2);

/// Its files in debugfs (kernel/sched/debug.c): the switch, and how large a process may be, where 0
/// is none.
const SWITCH: &str = "sys/kernel/debug/sched/llc_balancing/enabled";
const TOLERANCE: &str = "sys/kernel/debug/sched/llc_balancing/aggr_tolerance";

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    let caches = caches(facts, "3");
    if caches.len() > 1 {
        findings.push(placement(facts, &caches));
    }
    findings.extend(disagreement(facts, &caches));
}

fn placement(facts: &Facts, caches: &[ListedCache]) -> Finding {
    let (id, why) = (
        "placement",
        "each cache is divided among the programs that are there; none is moved to another",
    );
    let sizes = sizes(caches);
    let [switch, tolerance] = [SWITCH, TOLERANCE].map(|file| facts.files.line(file));
    let is_without = facts.kernel.is_some_and(|kernel| kernel < GATHERS)
        || configuration(facts)
            .is_some_and(|(text, _)| text.lines().all(|line| line != "CONFIG_SCHED_CACHE=y"));
    let found = match (switch.as_deref(), tolerance.as_deref()) {
        (Some("1"), Some("0")) | (Some("0"), _) => {
            "the kernel spreads threads over the caches; it could gather those of a process, and \
             that is off"
        }
        (Some("1"), _) => {
            "the kernel gathers the threads of a process on one cache, without regard to ways"
        }
        (None, _) if is_without => "the kernel spreads threads over the caches",
        (unread, _) => {
            let what = unread.map_or_else(
                || "cannot be read".to_owned(),
                |unread| format!("has {unread:?}, expected 0 or 1"),
            );
            let found = format!("/{SWITCH} {what}{sizes}");
            let remedy = "run doctor as root with debugfs mounted at /sys/kernel/debug; a kernel \
                          without CONFIG_SCHED_CACHE has no such file";
            return Finding::new(id, FindingState::Unknown, found, why).remedy(remedy);
        }
    };
    Finding::new(id, FindingState::Ok, format!("{found}{sizes}"), why)
}

/// Which cache is the largest, if they differ: that does not follow from their numbers.
fn sizes(caches: &[ListedCache]) -> String {
    let sizes = caches.iter().map(|cache| cache.kibibytes);
    let (Some(Some(least)), Some(Some(most))) = (sizes.clone().min(), sizes.max()) else {
        return String::new();
    };
    if least == most {
        return String::new();
    }
    let largest = caches.iter().filter(|cache| cache.kibibytes == Some(most));
    let largest: Vec<String> = largest.map(|cache| cache.id.to_string()).collect();
    format!("; the caches differ: {least} to {most} KiB, the largest is {}", largest.join(" and "))
}

/// Where the scheduler takes other CPUs to share a cache than sysfs does, and so resctrl.
///
/// `/proc/schedstat` (Documentation/scheduler/sched-stats.rst) has the scheduler's domains of each
/// CPU, the widest one last. It never gathers beyond the widest one, which a partition of CPUs
/// narrows, and on purpose not beyond a NUMA node (sub-NUMA clusters).
fn disagreement(facts: &Facts, caches: &[ListedCache]) -> Option<Finding> {
    let text = facts.files.text("proc/schedstat")?;
    let (mut cpu, mut domains) = (None, Vec::new());
    for line in text.lines().chain(["cpu"]) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [name, ..] if name.starts_with("cpu") => {
                if let Some((cpu, [shared, apart])) =
                    cpu.and_then(|cpu| Some((cpu, differing(facts, caches, cpu, &domains)?)))
                {
                    return Some(scheduler_caches(facts, cpu, &shared, &apart));
                }
                domains.clear();
                cpu = name[3..].parse::<u32>().ok();
            }
            [domain, kind, mask, ..] if domain.starts_with("domain") => {
                domains.extend(CpuSet::parse_mask(mask, MOST_CPUS).ok().map(|cpus| (kind, cpus)));
            }
            _ => {}
        }
    }
    None
}

/// The CPUs with which one shares its cache for the scheduler and for resctrl, if they differ.
fn differing(
    facts: &Facts,
    caches: &[ListedCache],
    cpu: u32,
    domains: &[(&str, CpuSet)],
) -> Option<[CpuSet; 2]> {
    let (_, scheduler) = domains.iter().find(|(kind, _)| *kind == "MC")?;
    let (_, widest) = domains.last()?;
    let cache = caches.iter().find(|cache| cache.cpus.contains(cpu))?;
    let mut expected = cache.cpus.intersection(widest);
    for node in facts.files.names("sys/devices/system/node") {
        let list = facts.files.line(&format!("sys/devices/system/node/{node}/cpulist"));
        let there = list.and_then(|list| CpuSet::parse_list(&list, MOST_CPUS).ok());
        if let Some(there) = there.filter(|there| there.contains(cpu)) {
            expected = expected.intersection(&there);
        }
    }
    (expected != *scheduler).then(|| [scheduler.clone(), expected])
}

fn scheduler_caches(facts: &Facts, cpu: u32, shared: &CpuSet, apart: &CpuSet) -> Finding {
    let found = format!(
        "CPU {cpu} shares its cache with CPUs {} for the scheduler, with {} for resctrl",
        shared.to_list(),
        apart.to_list()
    );
    let why =
        "threads are gathered and spread by caches that are not those whose ways are given out";
    let line = facts.files.text("proc/cmdline").unwrap_or_default();
    let is_split = line.split_whitespace().any(|word| word.starts_with("split_llc="));
    let remedy = if is_split {
        "take split_llc off the kernel's command line"
    } else {
        "compare the topology in /sys/devices/system/cpu with the processor's manual: firmware, or \
         a hypervisor, may describe it wrongly"
    };
    Finding::new("scheduler-caches", FindingState::Limited, found, why).remedy(remedy)
}
