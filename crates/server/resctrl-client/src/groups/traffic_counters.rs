//! Counters of memory traffic, where they are assigned to groups (`mbm_assign_mode` is
//! `mbm_event`): each program of ours gets one in each domain, and where there are fewer they take
//! turns. Without a counter a program's traffic is missing.
//!
//! Only groups that we made are written to, so that removing them puts everything back; whether
//! new groups get counters (`mbm_assign_on_mkdir`) stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use fairways_core::AppId;
use fairways_resctrl::language::{Assignments, CountedTraffic, TrafficCounters};

use super::programs::{Program, Programs};
use crate::counts::traffic::{CounterTurn, are_assigned};
use crate::error::Error;
use crate::ledger::mount::Mount;
use crate::tally::Ids;
use crate::tree::mon_data::COUNTED;
use crate::tree::of;

const ASSIGNMENTS: &str = "mbm_L3_assignments";

/// Frees the counters that the kernel gave to a new class of ours: its programs have their own.
pub(crate) fn free_new_class(mount: &mut Mount, traffic: &CountedTraffic, class: &str) {
    if are_assigned(traffic) {
        let path = of(class, ASSIGNMENTS);
        let text = "mbm_total_bytes:*=_\nmbm_local_bytes:*=_\n";
        if let Err(error) = mount.tree.write(&path, text) {
            note(mount, &path, &error);
        }
    }
}

/// Counts the total traffic of a new group of ours below another manager's class, if a counter is
/// free, but not its local traffic.
pub(crate) fn count_traffic_of(mount: &mut Mount, traffic: &CountedTraffic, group: &str) {
    if !are_assigned(traffic) {
        return;
    }
    let path = of(group, ASSIGNMENTS);
    for text in ["mbm_local_bytes:*=_\n", "mbm_total_bytes:*=e\n"] {
        // Where local traffic is no event, there is nothing to free (ENOENT).
        if let Err(error) = mount.tree.write(&path, text)
            && error.errno() != Some(rustix::io::Errno::NOENT)
        {
            note(mount, &path, &error);
        }
    }
}

fn note(mount: &mut Mount, path: &str, error: &Error) {
    if error.is_exhausted() || error.is_gone() {
        // Another manager was faster; the next look sees it.
        tracing::debug!(target: "fairways::actuate", path, %error, "counter not assigned");
        return;
    }
    tracing::error!(target: "fairways::actuate", path, %error, "counters not assigned");
    mount.errors.came(error);
}

impl Programs {
    /// Records the counters that the kernel assigned to a program's new group, and frees those of
    /// local traffic.
    pub(crate) fn take_new_counters(
        &mut self,
        mount: &mut Mount,
        traffic: &CountedTraffic,
        app: AppId,
    ) {
        let Some(program) = self.by_id.get_mut(&app).filter(|program| program.monitored) else {
            return;
        };
        if !are_assigned(traffic) {
            return;
        }
        let path = of(&program.group(), ASSIGNMENTS);
        let tree = &mount.tree;
        // Where local traffic is no event, there is nothing to free (ENOENT).
        let freed = match tree.write(&path, "mbm_local_bytes:*=_\n") {
            Err(error) if error.errno() == Some(rustix::io::Errno::NOENT) => Ok(()),
            freed => freed,
        };
        let given = freed.and_then(|()| tree.read(&path));
        let given = given.and_then(|text| {
            Assignments::parse(&text).map_err(|why| mount.tree.misread(&path, why))
        });
        match given {
            Ok(given) => {
                let domains = given.assigned(COUNTED);
                program.counters.held =
                    domains.map(|domain| (domain, CounterTurn::default())).collect();
            }
            Err(error) => note(mount, &path, &error),
        }
    }

    /// Assigns free counters to programs without one. If there are too few, programs take turns,
    /// first by how long they wait, then by id. `traffic` was just read, and is updated.
    pub(crate) fn share_counters(&mut self, mount: &mut Mount, traffic: &mut CountedTraffic) {
        let free = traffic.counters.as_mut().and_then(|counters| counters.free.as_mut());
        let Some(free) = free else {
            self.by_id.values_mut().for_each(|program| program.counters.held.clear());
            return;
        };
        self.round += 1;
        let mut frees: BTreeMap<AppId, BTreeSet<u32>> = BTreeMap::new();
        let mut takes = frees.clone();
        for (domain, free) in free {
            let (waiting, done) = self.turns(*domain);
            let mut done = done.into_iter();
            for app in waiting {
                if *free > 0 {
                    *free -= 1;
                } else if let Some(giver) = done.next() {
                    frees.entry(giver).or_default().insert(*domain);
                } else {
                    break;
                }
                takes.entry(app).or_default().insert(*domain);
            }
        }
        for (app, domains) in &frees {
            self.assign(mount, *app, domains, false);
        }
        for (app, domains) in &takes {
            self.assign(mount, *app, domains, true);
        }
    }

    /// The programs that wait for a counter of a domain, and those that have had one long enough.
    fn turns(&mut self, domain: u32) -> (Vec<AppId>, Vec<AppId>) {
        let (mut waiting, mut done) = (Vec::new(), Vec::new());
        for (&app, program) in self.by_id.iter_mut().filter(|(_, program)| program.monitored) {
            let counters = &mut program.counters;
            match counters.held.get_mut(&domain) {
                None => waiting.push((counters.lost.get(&domain).copied().unwrap_or(0), app)),
                Some(turn) => {
                    turn.looks += 1;
                    if turn.is_over() {
                        done.push(app);
                    }
                }
            }
        }
        waiting.sort_unstable();
        (waiting.into_iter().map(|(_, app)| app).collect(), done)
    }

    /// Assigns a program's counters of these domains, or frees them.
    fn assign(&mut self, mount: &mut Mount, app: AppId, domains: &BTreeSet<u32>, assigned: bool) {
        let round = self.round;
        let Some(program) = self.by_id.get_mut(&app) else { return };
        let path = of(&program.group(), ASSIGNMENTS);
        for &domain in domains {
            let state = if assigned { 'e' } else { '_' };
            let done = mount.tree.write(&path, &format!("{COUNTED}:{domain}={state}\n"));
            if let Err(error) = done {
                note(mount, &path, &error);
                continue;
            }
            if assigned {
                program.counters.held.insert(domain, CounterTurn::default());
            } else {
                program.counters.held.remove(&domain);
                program.counters.lost.insert(domain, round);
                program.interrupt(domain);
            }
        }
    }

    /// Marks the open windows as incomplete, as what is counted has changed.
    pub(crate) fn distrust_windows(&mut self) {
        self.by_id.values_mut().for_each(Program::distrust_windows);
    }

    /// How the counters of each domain are used; empty where none are assigned.
    pub(crate) fn counters(&self, traffic: &CountedTraffic) -> Vec<(u32, Ids)> {
        let Some(TrafficCounters { each, free: Some(free) }) = &traffic.counters else {
            return Vec::new();
        };
        let domains = each.iter().filter_map(|&(domain, all)| {
            let held = self.by_id.values().filter(|of| of.counters.held.contains_key(&domain));
            let used = held.count() as u64;
            // For a domain that appeared since, the number of free counters is unknown.
            let &(_, free) = free.iter().find(|(of, _)| *of == domain)?;
            let others = u64::from(all).saturating_sub(used + u64::from(free));
            Some((domain, Ids { used, others, free: free.into() }))
        });
        domains.collect()
    }

    /// Adds lines about programs' traffic that is missing or not counted as by default.
    pub(crate) fn traffic_warnings(&self, traffic: &CountedTraffic, lines: &mut Vec<String>) {
        let total = traffic.filtered.iter().filter(|of| of.event == COUNTED);
        lines.extend(
            total.map(|of| format!("{of}, not the default: programs' bytes include only these")),
        );
        let wanted = self.monitored() as u64;
        for (domain, ids) in self.counters(traffic) {
            if ids.used < wanted && ids.free == 0 {
                lines.push(format!(
                    "domain {domain} has fewer free counters of traffic than programs: {} of {wanted} are counted at a time, \
                     in turns, and the others' traffic is missing",
                    ids.used
                ));
            }
        }
    }
}
