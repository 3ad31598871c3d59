//! Where resctrl is mounted, and with which options.

use std::collections::BTreeSet;

use super::facts::Facts;
use super::{Finding, FindingState};

const USUAL: &str = "mount -t resctrl resctrl /sys/fs/resctrl";

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    let why = "its files are how ways are given out";
    let Some(resctrl) = &facts.resctrl else {
        let found = "resctrl is not mounted";
        let remedy = match facts.registered {
            Some(false) => "see kernel-file-system: there is nothing to mount",
            _ => USUAL,
        };
        findings.push(Finding::new("mount", FindingState::Missing, found, why).remedy(remedy));
        return;
    };
    let root = resctrl.shown.display();
    let Some((kind, given)) = &resctrl.mounted else {
        let found = format!("{root} is a directory with resctrl's files, and no mount");
        findings.push(Finding::new("mount", FindingState::Limited, found, why));
        return;
    };
    findings.push(match kind.as_str() {
        "resctrl" => Finding::new("mount", FindingState::Ok, format!("at {root}"), why),
        "fuse.resctrl" => {
            let found = format!("at {root}, by an emulator: a simulated machine, not this host");
            Finding::new("mount", FindingState::Limited, found, why)
        }
        kind => {
            let found = format!("at {root}, by a file system of type {kind}, not the kernel's");
            Finding::new("mount", FindingState::Limited, found, why)
        }
    });
    findings.push(options(facts, given));
}

/// Each option, and what it changes (resctrl.rst, "Mount options"); an emulator's are known by its
/// files.
fn options(facts: &Facts, given: &[String]) -> Finding {
    let why = "options change what the numbers in schemata mean, and how many classes there are";
    let caches = facts.info.iter().flat_map(|info| &info.caches);
    let mut options: BTreeSet<&str> = given.iter().map(String::as_str).collect();
    for cache in caches {
        match cache.resource.as_str() {
            "L3CODE" => _ = options.insert("cdp"),
            "L2CODE" => _ = options.insert("cdpl2"),
            _ => {}
        }
    }
    let known = [
        ("cdp", "cdp: code and data have masks of their own, half the classes"),
        ("cdpl2", "cdpl2: the same for L2"),
        ("mba_MBps", "mba_MBps: MB values are MiB/s, not percent, and the kernel steers to them"),
        ("debug", "debug: groups show their hardware ids"),
    ];
    let changes: Vec<&str> = known
        .iter()
        .filter(|(option, _)| options.contains(option))
        .map(|&(_, change)| change)
        .collect();
    if changes.is_empty() {
        return Finding::new("mount-options", FindingState::Ok, "none", why);
    }
    let (cdp, mbps) = (options.contains("cdp"), options.contains("mba_MBps"));
    let state = if cdp || mbps { FindingState::Limited } else { FindingState::Ok };
    let finding = Finding::new("mount-options", state, changes.join("; "), why);
    if state == FindingState::Ok {
        return finding;
    }
    finding.remedy(
        "to be without it, when it is not in use: umount /sys/fs/resctrl, and mount it again",
    )
}
