//! The domains of a host, each with its events that are not reported yet.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::{AppId, Event, Levers, Time};
use fairways_resctrl_client as client;

use super::domain::{Domain, Pending};

/// The domains, by number.
#[derive(Default)]
pub(super) struct Domains {
    pub(super) by_id: BTreeMap<u32, Domain>,
}

impl Domains {
    pub(super) fn get(&self, id: u32) -> Option<&Domain> {
        self.by_id.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Domain> {
        self.by_id.get_mut(&id)
    }

    /// A domain that is offered to its policy.
    pub(super) fn offered(&mut self, id: u32) -> Option<&mut Domain> {
        self.get_mut(id).filter(|domain| !domain.is_gone)
    }

    /// What a domain offers: its levers and ways.
    pub(super) fn offer(&self, id: u32) -> Option<(Levers, Vec<u32>)> {
        let domain = self.get(id).filter(|domain| !domain.is_gone)?;
        Some((domain.levers(), domain.ways.clone()))
    }

    /// The only domain; `None` if there are several.
    pub(super) fn only(&self) -> Option<u32> {
        let mut ids = self.by_id.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }

    /// The domain of a CPU that was reported to its policy.
    pub(super) fn of_cpu(&self, cpu: u32) -> Option<u32> {
        let domain = self.by_id.iter().find(|(_, domain)| domain.cpus.contains(&cpu));
        domain.map(|(&id, _)| id)
    }

    /// Whether a domain's policy knows a program.
    pub(super) fn is_running(&self, id: u32, app: AppId) -> bool {
        self.get(id).is_some_and(|domain| domain.running.contains(&app))
    }

    /// The next event that happens now. A domain that has gone is removed once everything was
    /// reported to its policy.
    pub(super) fn next(&mut self) -> Option<(u32, Pending)> {
        self.by_id.retain(|_, domain| !domain.is_gone || !domain.due.is_empty());
        self.by_id.iter_mut().find_map(|(&id, domain)| Some((id, domain.due.pop()?)))
    }

    /// Whether no event is left to report.
    pub(super) fn are_idle(&self) -> bool {
        self.by_id.values().all(|domain| domain.due.is_empty())
    }

    /// Rings the alarms that are due. Returns whether there were any.
    pub(super) fn ring(&mut self, now: Time) -> bool {
        let mut rang = false;
        for domain in self.by_id.values_mut() {
            if domain.alarm.rings(now) {
                domain.report(Event::Woke);
                rang = true;
            }
        }
        rang
    }

    /// When the next alarm rings.
    pub(super) fn next_alarm(&self) -> Option<Time> {
        self.by_id.values().filter_map(|domain| domain.alarm.at()).min()
    }

    /// Requests another plan from policies whose plans failed, if it is time.
    pub(super) fn ask_again(&mut self, now: Time) {
        for domain in self.by_id.values_mut() {
            if domain.plan.take_retry(now) {
                domain.report_levers();
            }
        }
    }

    /// Removes the domains that are no longer among these, and returns them.
    pub(super) fn leave_others(&mut self, found: &[client::Domain]) -> Vec<u32> {
        let mut left = Vec::new();
        for (&id, domain) in &mut self.by_id {
            if !domain.is_gone && !found.iter().any(|other| other.id == id) {
                tracing::warn!(target: "fairways::machine", domain = id, "nothing of it is on offer any longer");
                domain.leave();
                left.push(id);
            }
        }
        left
    }

    /// Updates the domains; `quantum` is the length of turns, if CPUs are reported to policies.
    pub(super) fn take_in(&mut self, found: &[client::Domain], quantum: Option<Duration>) {
        for found in found {
            let domain = self.by_id.entry(found.id).or_insert_with(|| Domain::new(found));
            domain.offer(found);
            if let Some(quantum) = quantum {
                domain.schedule(&found.cpus, quantum);
            }
        }
    }
}
