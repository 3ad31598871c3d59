//! The plan that a policy settles on: the one in force after it has decided for a while on the
//! model over time.

use std::borrow::Cow;
use std::time::Duration;

use fairways_core::{Action, Event, Machine, Partition, PartitionError, PlanId, Policy, Time, run};
use fairways_model::Model;
use fairways_profiles::DemandError;

/// Why a policy's plan can't be scored.
pub(crate) enum Undecided {
    /// It made none that could be carried out; why the last one was refused, if it was.
    NoPlan(Option<PartitionError>),
    /// Memory can't serve the mix under it.
    Demand(DemandError),
}

/// The model, and the reason of the plan in force on it.
pub(crate) struct SettledMachine {
    model: Model,
    /// Plans that are not answered yet, with their reasons.
    planned: Vec<(PlanId, Cow<'static, str>)>,
    reason: Option<Cow<'static, str>>,
    refused: Option<PartitionError>,
}

impl SettledMachine {
    /// A machine that stops after `span`.
    pub(crate) fn new(mut model: Model, span: Duration) -> Self {
        model.stop_at(Time::ZERO.after(span));
        Self { model, planned: Vec::new(), reason: None, refused: None }
    }

    /// The partition in force at the end, and the policy's reason for it.
    pub(crate) fn decide(
        mut self,
        policy: &mut dyn Policy,
    ) -> Result<(Partition, String), Undecided> {
        run(&mut self, policy);
        match (self.model.failure(), self.reason) {
            (Some(why), _) => Err(Undecided::Demand(why)),
            (None, Some(reason)) => Ok((self.model.partition().clone(), reason.into_owned())),
            (None, None) => Err(Undecided::NoPlan(self.refused)),
        }
    }
}

impl Machine for SettledMachine {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        let next = self.model.next_event()?;
        match &next.1 {
            Event::Applied { plan, .. } => {
                let answered = self.planned.iter().position(|(planned, _)| planned == plan);
                self.reason = answered.map(|index| self.planned.swap_remove(index).1);
            }
            Event::Refused { plan, why } => {
                self.planned.retain(|(planned, _)| planned != plan);
                self.refused = Some(*why);
            }
            _ => {}
        }
        Some(next)
    }

    fn carry_out(&mut self, action: Action<'_>) {
        if let Action::Partition { plan, reason, .. } = &action {
            self.planned.push((*plan, reason.clone()));
        }
        self.model.carry_out(action);
    }
}
