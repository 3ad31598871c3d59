//! A domain's plan, and its outcome.

use fairways_core::{Partition, PlanId, Time};
use fairways_resctrl_client::pause_after;

/// The plan in force in a domain.
#[derive(Default)]
pub(super) struct PlanInForce {
    /// Its number; `None` before the first.
    pub(super) id: Option<PlanId>,
    /// Since when it is in force: a little after the event on which it was made.
    pub(super) since: Time,
    /// The partition that was planned; without a cluster before the first plan, and after the cache
    /// has changed.
    pub(super) planned: Partition,
    /// The partition in force, as it was last reported to the policy.
    pub(super) actual: Partition,
    /// How many plans failed since the last that did not, why the last one did, and when to ask
    /// the policy for another.
    failures: u32,
    why: String,
    retry_at: Option<Time>,
}

impl PlanInForce {
    /// Another plan is in force.
    pub(super) fn replace(&mut self, id: PlanId, planned: &Partition, since: Time) {
        (self.id, self.since) = (Some(id), since);
        self.planned.clone_from(planned);
        (self.failures, self.retry_at) = (0, None);
        self.why.clear();
    }

    /// A plan could not be carried out. Another is requested in a second, and later after each
    /// further failure: policies know nothing of failures, and would make none.
    pub(super) fn fail(&mut self, now: Time, why: String) {
        self.why = why;
        self.retry_at = Some(now.after(pause_after(self.failures)));
        self.failures = self.failures.saturating_add(1);
    }

    /// Whether it is too early for another plan after two that failed. It would fail as these did,
    /// after groups were made and removed for it.
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

    /// Whether it is time to ask for a plan again; if so, that is noted as done.
    pub(super) fn take_retry(&mut self, now: Time) -> bool {
        self.retry_at.take_if(|at| *at <= now).is_some()
    }

    /// Its masks now mean other ways, or none.
    pub(super) fn clear(&mut self) {
        self.planned.clear();
        self.actual.clear();
    }

    /// No plan is to be requested again: the machine is another than that on which they failed.
    pub(super) fn cancel_retry(&mut self) {
        (self.failures, self.retry_at) = (0, None);
        self.why.clear();
    }
}
