//! Which cache a program runs on, where there are several: what decides that.

use fairways_core::CpuSet;

use super::abilities::{ListedCache, caches};
use super::facts::Facts;
use super::{Finding, FindingState};

/// The first kernel that gathers the threads of a process on one cache by itself.
const GATHERS: (u32, u32) = (7, 2);

/// Its switch, in debugfs (kernel/sched/debug.c).
const SWITCH: &str = "sys/kernel/debug/sched/llc_balancing/enabled";

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
    match (facts.files.line(SWITCH).as_deref(), facts.kernel) {
        (Some("1"), _) => {
            let found = "the kernel gathers the threads of a process on one cache, without \
                         regard to ways";
            Finding::new(id, FindingState::Ok, format!("{found}{sizes}"), why)
        }
        (Some("0"), _) => {
            let found = "the kernel spreads threads over the caches: it could gather those of a \
                         process, and that is off";
            Finding::new(id, FindingState::Ok, format!("{found}{sizes}"), why)
        }
        (None, Some(kernel)) if kernel < GATHERS => {
            let found = format!("the kernel spreads threads over the caches{sizes}");
            Finding::new(id, FindingState::Ok, found, why)
        }
        (unread, _) => {
            let what = unread.map_or_else(
                || "cannot be read".to_owned(),
                |unread| format!("has {unread:?}, expected 0 or 1"),
            );
            let found = format!("/{SWITCH} {what}{sizes}");
            let remedy = "run doctor as root with debugfs mounted at /sys/kernel/debug; a kernel \
                          without CONFIG_SCHED_CACHE has no such file";
            Finding::new(id, FindingState::Unknown, found, why).remedy(remedy)
        }
    }
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

/// The CPUs that share a cache for the scheduler (`/proc/schedstat`, Documentation/scheduler/
/// sched-stats.rst), if for a CPU they are others than those that do by sysfs, and so by resctrl.
fn disagreement(facts: &Facts, caches: &[ListedCache]) -> Option<Finding> {
    let text = facts.files.text("proc/schedstat")?;
    let mut cpu = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [name, ..] if name.starts_with("cpu") => cpu = name[3..].parse::<u32>().ok(),
            [domain, "MC", mask, ..] if domain.starts_with("domain") => {
                let (Some(cpu), Some(scheduler)) = (cpu, cpus_of(mask)) else { continue };
                let cache = caches.iter().find(|cache| cache.cpus.contains(cpu));
                let Some(cache) = cache.filter(|cache| cache.cpus != scheduler) else { continue };
                let found = format!(
                    "CPU {cpu} shares its cache with CPUs {} for the scheduler, with {} for resctrl",
                    scheduler.to_list(),
                    cache.cpus.to_list()
                );
                let why = "threads are gathered and spread by caches that are not those whose ways \
                           are given out";
                let split = facts.files.text("proc/cmdline").unwrap_or_default();
                let is_split = split.split_whitespace().any(|word| word.starts_with("split_llc="));
                let remedy = if is_split {
                    "take split_llc off the kernel's command line"
                } else {
                    "see the messages of the kernel's start about sched domains"
                };
                let finding = Finding::new("scheduler-caches", FindingState::Limited, found, why);
                return Some(finding.remedy(remedy));
            }
            _ => {}
        }
    }
    None
}

/// The CPUs of a mask as the kernel prints them: hexadecimal, a comma after each 32 bits.
fn cpus_of(mask: &str) -> Option<CpuSet> {
    let mut cpus = CpuSet::new();
    let digits: Vec<char> = mask.chars().filter(|&digit| digit != ',').collect();
    for (place, digit) in (0..).zip(digits.iter().rev()) {
        let bits = digit.to_digit(16)?;
        (0..4).filter(|bit| bits >> bit & 1 == 1).for_each(|bit| cpus.insert(4 * place + bit));
    }
    Some(cpus)
}
