//! A domain's plan, and its outcome.

use std::time::Duration;

use fairways_core::{Partition, PlanId, Time};

/// After a plan that could not be carried out, another is requested no later than this.
const LONGEST: Duration = Duration::from_secs(60);

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
    /// How many plans failed since the last that did not, and when to ask the policy for another.
    failures: u32,
    retry_at: Option<Time>,
}

impl PlanInForce {
    /// Another plan is in force.
    pub(super) fn replace(&mut self, id: PlanId, planned: &Partition, since: Time) {
        (self.id, self.since) = (Some(id), since);
        self.planned.clone_from(planned);
        (self.failures, self.retry_at) = (0, None);
    }

    /// A plan could not be carried out, whatever the reason. Another is requested in a second, and
    /// later after each further failure: policies know nothing of failures, and would make none.
    pub(super) fn fail(&mut self, now: Time) {
        let wait = Duration::from_secs(1 << self.failures.min(6));
        (self.failures, self.retry_at) = (self.failures + 1, Some(now.after(wait.min(LONGEST))));
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

    /// No plan is to be requested again.
    pub(super) fn cancel_retry(&mut self) {
        self.retry_at = None;
    }
}
