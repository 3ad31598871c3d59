//! Monitoring groups of others in the root group: agents that measure pods, one by one.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;

use fairways_resctrl_client::managers::agent;

use super::facts::{Facts, OURS};
use super::files::text;
use super::{Finding, FindingState};

/// The most names of groups, and of threads in one, in one line.
const SHOWN: usize = 4;

pub(super) fn check(facts: &Facts) -> Option<Finding> {
    facts.resctrl.as_ref()?;
    let why = "threads in another manager's monitoring group are left to it, and not managed";
    let mut managers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in facts.monitored.iter().filter(|name| !name.starts_with(OURS)) {
        managers.entry(agent(name)).or_default().push(name);
    }
    if managers.is_empty() {
        return Some(Finding::new("others-monitors", FindingState::Ok, "none", why));
    }
    let parts = managers.iter().map(|(by, names)| {
        let shown: Vec<_> = names.iter().take(SHOWN).map(|name| about(facts, name)).collect();
        let more = if names.len() > SHOWN { "; ..." } else { "" };
        format!("{} of {by} ({}{more})", names.len(), shown.join("; "))
    });
    let found = parts.collect::<Vec<_>>().join("; ");
    let remedy = "let their agent leave out programs that Fairways manages, or take_over = true";
    Some(Finding::new("others-monitors", FindingState::Limited, found, why).remedy(remedy))
}

/// The owner of a group, and the threads in it, as far as they can be known.
fn about(facts: &Facts, name: &str) -> String {
    let Some(resctrl) = &facts.resctrl else { return String::new() };
    let folder = resctrl.root.join("mon_groups").join(name);
    let owner = std::fs::metadata(&folder);
    let owner = owner.map_or_else(|_| String::new(), |of| format!(" of user {}", of.uid()));
    let shown = name.escape_debug();
    let Some(tasks) = text(&folder.join("tasks")) else {
        return format!("{shown}{owner}: threads unknown");
    };
    let mut threads: Vec<(String, &str)> = Vec::new();
    for thread in tasks.lines() {
        let comm = facts.files.line(&format!("proc/{thread}/comm"));
        let Some(comm) = comm.filter(|comm| threads.iter().all(|(known, _)| known != comm)) else {
            continue;
        };
        threads.push((comm, thread));
        if threads.len() == SHOWN {
            break;
        }
    }
    let who = threads.iter().map(|(comm, thread)| format!(", {} ({thread})", comm.escape_debug()));
    format!("{shown}{owner}: {} thread(s){}", tasks.lines().count(), who.collect::<String>())
}
