//! Carries out the plans of all domains.

use std::collections::BTreeSet;

use fairways_core::{AppId, Event, Partition, PartitionError, PlanId, Resources};
use fairways_resctrl_client::Refused;

use super::super::mechanism::Mechanism;
use super::super::roster::Roster;
use super::super::state::HostState;
use super::CacheWays;

/// A domain's plan that replaces the one in force there.
type NewPlan<'a> = (u32, &'a Partition);

impl CacheWays {
    /// Carries out a domain's plan, and reports the outcome to all policies.
    pub(super) fn partition(
        &mut self,
        id: u32,
        plan: PlanId,
        partition: &Partition,
        reason: &str,
        state: &mut HostState,
    ) {
        if let Some(domain) = state.domains.get_mut(id)
            && domain.plan.is_paused(state.agenda.now())
        {
            domain.due.push_answer(Event::Refused { plan, why: PartitionError::Failed });
            return;
        }
        let done = self.enforce(id, partition, reason, state);
        let actual = done.map(|()| self.in_force(id, partition, state));
        let (now, since) = (state.agenda.now(), state.agenda.clock_now());
        let answered = actual.is_ok().then_some(id);
        if let Some(domain) = state.domains.get_mut(id) {
            match actual {
                Ok(actual) => {
                    domain.plan.replace(plan, partition, since);
                    domain.applied(actual);
                    state.counting.straddle(id, now);
                }
                Err(why) => {
                    if why == PartitionError::Failed {
                        domain.plan.fail(now, std::mem::take(&mut self.failed));
                    }
                    domain.due.push_answer(Event::Refused { plan, why });
                }
            }
        }
        self.report_changed(answered, state);
    }

    /// Carries out a plan, or only logs it while observing, or if no ways can be assigned.
    fn enforce(
        &mut self,
        id: u32,
        partition: &Partition,
        reason: &str,
        state: &mut HostState,
    ) -> Result<(), PartitionError> {
        let Some(domain) = state.domains.get(id) else { return Ok(()) };
        domain.check(partition)?;
        if !self.observe {
            self.apply(Some((id, partition)), reason, state)?;
        }
        if self.carries_out(id) {
            return Ok(());
        }
        for (cluster, &Resources { mask, bandwidth }) in (0..).zip(partition.clusters()) {
            let level = bandwidth.map(|level| level.get());
            tracing::info!(
                target: "fairways::machine", domain = id, mask = %mask, level, reason,
                "observed, not carried out: {}", names(partition, cluster, &state.roster)
            );
        }
        Ok(())
    }

    /// The partition in force in a domain for this plan: the planned one, if every program that
    /// still runs has what was planned for it.
    fn in_force(&self, id: u32, planned: &Partition, state: &HostState) -> Partition {
        let Some(domain) = state.domains.get(id) else { return Partition::default() };
        // If nothing is carried out, the policy decides as if it were.
        let Some(found) = self.actuator.in_force(id).filter(|_| self.carries_out(id)) else {
            return planned.clone();
        };
        let running: BTreeSet<AppId> = domain.running.iter().copied().collect();
        let actual =
            found.restricted_to(|app| running.contains(&app) && self.can_follow_plan(app, state));
        if actual.agrees_with(&state.roster.living(planned)) { planned.clone() } else { actual }
    }

    /// Whether plans for a domain are carried out: not while observing, nor if others use all of
    /// it.
    fn carries_out(&self, id: u32) -> bool {
        !self.observe && self.actuator.gives_out(id)
    }

    /// Whether a program has not ended for every domain, and not all of its threads are in groups
    /// of others.
    fn can_follow_plan(&self, app: AppId, state: &HostState) -> bool {
        let left = self.left(app).map_or(0, |left| left.values().sum());
        state.roster.members.get(&app).is_some_and(|member| left < member.tasks.len().max(1))
    }

    /// Reports the partition in force to every policy for which it has changed, except in the
    /// domain that has just been answered.
    pub(super) fn report_changed(&self, answered: Option<u32>, state: &mut HostState) {
        let now = state.agenda.now();
        let ids: Vec<u32> = state.domains.by_id.keys().copied().collect();
        for id in ids.into_iter().filter(|&id| Some(id) != answered) {
            let Some(domain) = state.domains.get(id) else { continue };
            if domain.plan.planned.clusters().is_empty() {
                continue;
            }
            let actual = self.in_force(id, &domain.plan.planned, state);
            if domain.plan.actual.agrees_with(&actual) {
                continue;
            }
            tracing::info!(target: "fairways::machine", domain = id, ?actual, "what is in force has changed");
            state.counting.straddle(id, now);
            if let Some(domain) = state.domains.get_mut(id) {
                domain.applied(actual);
            }
        }
    }

    /// Carries out the plans of all domains, with this one for its domain. If others changed
    /// something since the last look, checks that and tries the plans once more: the policy does
    /// not know of the change, and would not plan again.
    fn apply(
        &mut self,
        new: Option<NewPlan<'_>>,
        reason: &str,
        state: &mut HostState,
    ) -> Result<(), PartitionError> {
        let mut done = self.attempt(new, reason, state);
        if matches!(done, Err(Refused::Changed | Refused::Exhausted(_))) {
            let before = new.and_then(|(id, _)| state.domains.offer(id));
            self.look(state);
            // A policy whose ways have changed is notified, and plans again.
            if new.and_then(|(id, _)| state.domains.offer(id)) == before {
                done = self.attempt(new, reason, state);
            }
        }
        match done {
            Ok(()) => Ok(()),
            Err(Refused::Partition { domain, why }) if new.is_some_and(|(id, _)| id == domain) => {
                Err(why)
            }
            Err(why) => {
                tracing::error!(target: "fairways::machine", "the plan before stays: {why}");
                self.failed = why.to_string();
                // Others' changes must be seen before the next plan.
                state.agenda.look_at_others_soon();
                Err(PartitionError::Failed)
            }
        }
    }

    fn attempt(
        &mut self,
        new: Option<NewPlan<'_>>,
        reason: &str,
        state: &HostState,
    ) -> Result<(), Refused> {
        let mut plans: Vec<(u32, Partition)> = Vec::new();
        for (&id, domain) in &state.domains.by_id {
            let new = new.filter(|&(of, _)| of == id);
            let plan = new.map_or(&domain.plan.planned, |(_, plan)| plan);
            let living = state.roster.living(plan);
            if !living.clusters().is_empty() {
                plans.push((id, living));
            }
        }
        let plans: Vec<(u32, &Partition)> = plans.iter().map(|(id, plan)| (*id, plan)).collect();
        self.actuator.apply(&plans, reason).map(drop)
    }

    /// Restores what was changed from outside.
    pub(super) fn apply_again(&mut self, state: &mut HostState) {
        let is_planned = state.domains.by_id.values().any(|domain| domain.plan.id.is_some());
        if is_planned && !self.observe {
            // The reason was logged, and the next plan is another attempt.
            let _ = self.apply(None, "a group or a mask was changed from outside", state);
        }
    }
}

/// The names of a cluster's programs.
fn names(partition: &Partition, cluster: u32, roster: &Roster) -> String {
    let names: Vec<&str> = partition.members(cluster).filter_map(|app| roster.name(app)).collect();
    names.join(", ")
}
