//! The plan that a policy settles on: the one in force after it has decided for a while on the
//! model over time.

use std::borrow::Cow;
use std::time::Duration;

use fairways_core::{
    Action, Event, Observer, Partition, PartitionError, PlanId, Policy, Time, run,
};
use fairways_model::Model;
use fairways_profiles::DemandError;

/// Why a policy's plan can't be scored.
pub(crate) enum Undecided {
    /// It made none that could be carried out; why the last one was refused, if it was.
    NoPlan(Option<PartitionError>),
    /// Memory can't serve the mix under it.
    Demand(DemandError),
}

/// The policy's reason for the plan in force.
#[derive(Default)]
struct PlanReason {
    /// Plans that are not answered yet, with their reasons.
    planned: Vec<(PlanId, Cow<'static, str>)>,
    in_force: Option<Cow<'static, str>>,
    refused: Option<PartitionError>,
}

impl<M: ?Sized, P: ?Sized> Observer<M, P> for PlanReason {
    fn event(&mut self, _: Time, event: &Event, _: &M) {
        match event {
            Event::Applied { plan, .. } => {
                let answered = self.planned.iter().position(|(planned, _)| planned == plan);
                self.in_force = answered.map(|index| self.planned.swap_remove(index).1);
            }
            Event::Refused { plan, why } => {
                self.planned.retain(|(planned, _)| planned != plan);
                self.refused = Some(*why);
            }
            _ => {}
        }
    }

    fn action(&mut self, _: Time, action: &Action<'_>, _: &M) {
        if let Action::Partition { plan, reason, .. } = action {
            self.planned.push((*plan, reason.clone()));
        }
    }
}

/// The partition in force on the model after `span`, and the policy's reason for it.
pub(crate) fn settled(
    mut model: Model,
    span: Duration,
    policy: &mut dyn Policy,
) -> Result<(Partition, String), Undecided> {
    model.stop_at(Time::ZERO.after(span));
    let mut reason = PlanReason::default();
    run(&mut model, policy, &mut [&mut reason]);
    match (model.failure(), reason.in_force) {
        (Some(why), _) => Err(Undecided::Demand(why)),
        (None, Some(reason)) => Ok((model.partition().clone(), reason.into_owned())),
        (None, None) => Err(Undecided::NoPlan(reason.refused)),
    }
}
