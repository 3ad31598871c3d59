//! A domain's plan, and its outcome.

use fairways_core::{Partition, PlanId, Time};
use fairways_resctrl_client::pause_after;

/// The plan in force in a domain.
#[derive(Default)]
pub(super) struct PlanInForce {
    /// Its number; `None` before the first.
    pub(super) id: Option<PlanId>,
    /// When it came into force: a little after the event that led to it.
    pub(super) since: Time,
    /// The planned partition; without clusters before the first plan, and after the cache has
    /// changed.
    pub(super) planned: Partition,
    /// The partition in force, as last reported to the policy.
    pub(super) actual: Partition,
    /// How many plans failed since the last successful one, why the last one did, and when to
    /// request another from the policy.
    failures: u32,
    why: String,
    retry_at: Option<Time>,
}

impl PlanInForce {
    /// Puts another plan in force.
    pub(super) fn replace(&mut self, id: PlanId, planned: &Partition, since: Time) {
        (self.id, self.since) = (Some(id), since);
        self.planned.clone_from(planned);
        (self.failures, self.retry_at) = (0, None);
        self.why.clear();
    }

    /// Handles a plan that could not be carried out. Another one is requested in a second, and
    /// later after each further failure: policies do not know of failures, and would not plan again
    /// by themselves.
    pub(super) fn fail(&mut self, now: Time, why: String) {
        self.why = why;
        self.retry_at = Some(now.after(pause_after(self.failures)));
        self.failures = self.failures.saturating_add(1);
    }

    /// Whether it is too early for another plan after two failures in a row. It would fail in the
    /// same way, after making and removing groups.
    pub(super) fn is_paused(&self, now: Time) -> bool {
        self.failures > 1 && self.retry_at.is_some_and(|at| now < at)
    }

    /// What is wrong with the plan in force, if the last ones failed.
    pub(super) fn trouble(&self) -> Option<String> {
        let stays = match self.id {
            Some(_) => "an earlier plan stays in force",
            None => "no plan is in force",
        };
        let Self { failures, why, .. } = self;
        (*failures > 0)
            .then(|| format!("{stays}, since {failures} in a row could not be carried out: {why}"))
    }

    /// Whether to request a plan again now; if so, the request counts as made.
    pub(super) fn take_retry(&mut self, now: Time) -> bool {
        self.retry_at.take_if(|at| *at <= now).is_some()
    }

    /// Forgets the partitions: their masks now mean other ways, or none.
    pub(super) fn clear(&mut self) {
        self.planned.clear();
        self.actual.clear();
    }

    /// Requests no plan again: the machine is not the one on which plans failed.
    pub(super) fn cancel_retry(&mut self) {
        (self.failures, self.retry_at) = (0, None);
        self.why.clear();
    }
}
