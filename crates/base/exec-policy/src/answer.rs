//! The checks of what a policy answers that is not compiled in.

use fairways_core::{Action, Event, Time};

use crate::check::check;
use crate::plans::PlanNumbers;
use crate::present::Present;

/// The most plans at one time: programs start together, and each may be a reason for a plan.
const MOST_PLANS: u32 = 1000;

/// What is known of a policy in another language: enough to check its actions (docs/exec.md).
#[derive(Debug, Default)]
pub struct AnswerChecks {
    schedules: bool,
    pub(crate) present: Present,
    pub(crate) plans: PlanNumbers,
    /// When it planned last, and how many plans it made at that time.
    planned: (Time, u32),
}

impl AnswerChecks {
    /// `schedules`: whether the policy decides where and when threads run.
    #[must_use]
    pub fn new(schedules: bool) -> Self {
        Self { schedules, ..Self::default() }
    }

    /// Notes an event, before the policy answers it.
    pub fn note(&mut self, event: &Event) {
        self.present.note(event);
    }

    /// Checks the actions of an answer, but for partitions, which the machine checks. An alarm that
    /// is too early is set later.
    ///
    /// # Errors
    /// What is wrong with the first wrong one.
    pub fn check(&mut self, actions: &mut [Action<'_>], at: Time) -> Result<(), String> {
        check(actions, at, self.schedules, &self.present)?;
        for action in actions {
            if let Action::Partition { plan, .. } = action {
                self.count_plan(at)?;
                let found = *plan;
                *plan = self
                    .plans
                    .number(found)
                    .ok_or_else(|| format!("expected plans numbered from 0, found {}", found.0))?;
            }
        }
        Ok(())
    }

    /// Checks that the policy does not answer each plan that is applied with another one.
    fn count_plan(&mut self, at: Time) -> Result<(), String> {
        let (last, count) = self.planned;
        self.planned = if last == at { (at, count + 1) } else { (at, 1) };
        match self.planned.1 {
            count if count > MOST_PLANS => {
                Err(format!("expected at most {MOST_PLANS} plans at a time"))
            }
            _ => Ok(()),
        }
    }
}
