//! The numbers of plans. A program that is started again counts from 0 again; its machine does not.

use fairways_core::{Event, PlanId, Sample};

/// How a program's plan numbers become those of its machine.
#[derive(Debug, Default)]
pub(crate) struct PlanNumbers {
    /// The machine's number of the program's plan 0.
    base: u32,
    /// The machine's number of the next plan.
    next: u32,
}

impl PlanNumbers {
    /// The program was started again.
    pub(crate) const fn restart(&mut self) {
        self.base = self.next;
    }

    /// The machine's number of a new plan; `None` if the program's number is not the next one.
    pub(crate) fn number(&mut self, plan: PlanId) -> Option<PlanId> {
        let number = self.base.checked_add(plan.0).filter(|&number| number == self.next)?;
        self.next += 1;
        Some(PlanId(number))
    }

    /// The program's number of a plan; `None` if an earlier program made it.
    fn of_program(&self, plan: PlanId) -> Option<PlanId> {
        plan.0.checked_sub(self.base).map(PlanId)
    }

    /// The event with the program's numbers; `None` if it answers a plan of an earlier program.
    pub(crate) fn seen(&self, event: &Event) -> Option<Event> {
        Some(match event {
            Event::Sampled(sample) => Event::Sampled(Sample {
                plan: sample.plan.and_then(|plan| self.of_program(plan)),
                ..*sample
            }),
            Event::Applied { plan, actual } => {
                Event::Applied { plan: self.of_program(*plan)?, actual: actual.clone() }
            }
            Event::Refused { plan, why } => {
                Event::Refused { plan: self.of_program(*plan)?, why: *why }
            }
            other => other.clone(),
        })
    }
}
