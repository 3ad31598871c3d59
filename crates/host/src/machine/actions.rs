//! What is done about it.

use std::collections::BTreeSet;

use fairways_core::{Action, AppId, Event, Partition, PartitionError, PlanId};
use fairways_resctrl_client::Refused;

use super::{Host, Means};

impl Host {
    /// Carries out what a domain's policy asks for, at the time of the event that was last told.
    pub fn carry_out(&mut self, domain: u32, action: Action<'_>) {
        if self.domains.get(&domain).is_none_or(|domain| domain.is_gone) {
            return;
        }
        match action {
            Action::Partition { plan, partition, reason } => {
                let done = self.partition(domain, plan, &partition, &reason);
                let answered = done.is_ok().then_some(domain);
                if let Err(why) = done
                    && let Some(domain) = self.domains.get_mut(&domain)
                {
                    if why == PartitionError::Failed {
                        domain.fails(self.now);
                    }
                    domain.due.push_answer(Event::Refused { plan, why });
                }
                self.report_actual(answered);
            }
            Action::Watch { app, every } => self.watch(domain, app, every),
            Action::Wake { at } => {
                if let Some(domain) = self.domains.get_mut(&domain) {
                    domain.alarm.set(at);
                }
            }
            Action::WatchTogether { shortest } => self.watch_together(domain, shortest),
            Action::Allow { thread, cpus, reason } => self.allow(domain, thread, &cpus, &reason),
            Action::Priority { threads, raised, reason } => {
                self.raise(domain, &threads, raised, &reason);
            }
            Action::Quantum { thread, time, reason } => self.order(domain, thread, time, &reason),
            Action::Estimated { .. } | Action::Classified { .. } => {}
        }
    }

    /// Carries a plan out.
    fn partition(
        &mut self,
        id: u32,
        plan: PlanId,
        partition: &Partition,
        reason: &str,
    ) -> Result<(), PartitionError> {
        let Some(domain) = self.domains.get(&id) else { return Ok(()) };
        partition.check(&domain.llc, domain.told.iter().copied())?;
        if self.means.turns().is_some() {
            return Err(PartitionError::Failed);
        }
        if self.settings.observe {
            for (cluster, mask) in (0..).zip(partition.masks()) {
                let members = || -> Vec<&str> {
                    let members = partition.members(cluster);
                    members.filter_map(|app| self.name(app)).collect()
                };
                tracing::info!(
                    target: "fairways::machine", domain = id, mask = %mask, reason,
                    "observed, not carried out: {}", members().join(", ")
                );
            }
        } else {
            self.apply(Some((id, partition)), reason)?;
        }
        let now = self.now;
        if let Some(domain) = self.domains.get_mut(&id) {
            (domain.plan, domain.planned) = (Some(plan), self.clock.now());
            domain.partition.clone_from(partition);
            domain.holds();
            for window in domain.windows.values_mut() {
                window.common.straddle(now);
            }
        }
        let actual = self.actual(id);
        if let Some(domain) = self.domains.get_mut(&id) {
            domain.applied(actual);
        }
        Ok(())
    }

    /// The partition in force in a domain: the planned one where every program that still runs has
    /// what was planned for it.
    fn actual(&self, id: u32) -> Partition {
        let Some(domain) = self.domains.get(&id) else { return Partition::default() };
        let planned = domain.partition.without_bandwidth();
        let Means::Ways(actuator) = &self.means else { return planned };
        // While observing nothing is written, and the policy decides as if it were.
        let Some(found) = actuator.in_force(id).filter(|_| !self.settings.observe) else {
            return planned;
        };
        let running: BTreeSet<AppId> = domain.told.iter().copied().collect();
        let is_here = |app: AppId| {
            let member = self.members.get(&app).filter(|_| running.contains(&app));
            // A program is not held to its plan while all its threads are in groups of others.
            member.is_some_and(|of| of.left.values().sum::<usize>() < of.tasks.len().max(1))
        };
        let actual = found.restricted_to(is_here);
        if actual.agrees_with(&self.living(&planned)) { planned } else { actual }
    }

    /// Reports the partition in force to every policy for which it has changed, except in the
    /// domain that was just answered.
    pub(super) fn report_actual(&mut self, answered: Option<u32>) {
        let now = self.now;
        let ids: Vec<u32> = self.domains.keys().copied().collect();
        for id in ids.into_iter().filter(|&id| Some(id) != answered) {
            let domain = self.domains.get(&id);
            if domain.is_none_or(|domain| domain.partition.clusters().is_empty()) {
                continue;
            }
            let actual = self.actual(id);
            let domain =
                self.domains.get_mut(&id).filter(|domain| !domain.actual.agrees_with(&actual));
            let Some(domain) = domain else { continue };
            tracing::info!(target: "fairways::machine", domain = id, ?actual, "what is in force has changed");
            for window in domain.windows.values_mut() {
                window.common.straddle(now);
            }
            domain.applied(actual);
        }
    }

    /// Carries out what every domain's plan says, this one in place of its domain's. Where others changed something since the last
    /// look, it is looked at, and tried once more: the policy, which knows nothing of that, would not plan anew.
    fn apply(
        &mut self,
        new: Option<(u32, &Partition)>,
        reason: &str,
    ) -> Result<(), PartitionError> {
        let mut done = self.attempt(new, reason);
        if matches!(done, Err(Refused::Changed | Refused::Exhausted(_))) {
            let offered = |host: &Self| {
                let of = host.domains.get(&new?.0).filter(|of| !of.is_gone)?;
                Some((of.llc, of.ways.clone()))
            };
            let before = offered(self);
            self.look_at_resctrl();
            // A policy whose ways are others now is told so, and plans anew.
            if offered(self) == before {
                done = self.attempt(new, reason);
            }
        }
        match done {
            Ok(()) => Ok(()),
            Err(Refused::Partition { domain, why }) if new.is_some_and(|(id, _)| id == domain) => {
                Err(why)
            }
            Err(why) => {
                tracing::error!(target: "fairways::machine", "the plan before stays: {why}");
                // What others did is to be seen before the next plan.
                (self.look_at, self.others_at) = (self.now, self.now);
                Err(PartitionError::Failed)
            }
        }
    }

    fn attempt(&mut self, new: Option<(u32, &Partition)>, reason: &str) -> Result<(), Refused> {
        let of_domain = |(&id, domain): (&u32, &super::Domain)| {
            let plan = new.filter(|(of, _)| *of == id).map_or(&domain.partition, |(_, plan)| plan);
            (id, self.living(plan))
        };
        let plans: Vec<(u32, Partition)> = self.domains.iter().map(of_domain).collect();
        let plans: Vec<(u32, &Partition)> = plans
            .iter()
            .filter(|(_, plan)| !plan.clusters().is_empty())
            .map(|(id, plan)| (*id, plan))
            .collect();
        match &mut self.means {
            Means::Ways(actuator) => actuator.apply(&plans, reason).map(drop),
            Means::Turns(_) => Ok(()),
        }
    }

    /// A plan without those who are over: other domains' policies may know of it later.
    fn living(&self, partition: &Partition) -> Partition {
        partition.restricted_to(|app| self.members.contains_key(&app))
    }

    /// Makes anew what somebody else has taken away.
    pub(super) fn apply_again(&mut self) {
        let is_planned = self.domains.values().any(|domain| domain.plan.is_some());
        if is_planned && !self.settings.observe {
            // It was said why, and the next plan is another attempt.
            let _ = self.apply(None, "a group or a mask was changed from outside");
        }
    }
}
