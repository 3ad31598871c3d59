//! A mix on the machine over time, under one policy.

use fairways_core::{Action, AppId, Event, Machine, Policy, Time};
use fairways_model::Model;
use fairways_policy::{kpart, lfoc};

/// What a policy did on a machine over time, apart from how the programs fared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Events told.
    pub events: u64,
    /// Plans made, those among them that the machine refused.
    pub plans: u64,
    /// Plans that the machine refused.
    pub refused: u64,
    /// How often a program was sampled.
    pub samplings: u64,
    /// Nanoseconds in sampling mode, as far as the policy's plans say.
    pub sampling_nanos: u64,
    /// When the machine stopped.
    pub end: Time,
}

/// Runs a machine under a policy until it has no more to tell, and after each event lets `look`
/// see what happened and how both are.
pub fn watch<P: Policy + ?Sized>(
    model: &mut Model,
    policy: &mut P,
    mut look: impl FnMut(Time, &Event, &Model, &P),
) -> Activity {
    let mut activity = Activity::default();
    // Since when, and for whom: the first program of a plan of sampling mode is the sampled one.
    let mut sampling: Option<(Time, Option<AppId>)> = None;
    while let Some((at, event)) = model.next_event() {
        activity.events += 1;
        activity.refused += u64::from(matches!(event, Event::Refused { .. }));
        policy.handle(at, &event, &mut |action| {
            if let Action::Partition { reason, partition, .. } = action {
                activity.plans += 1;
                let app = partition.places().first().map(|place| place.app);
                let before = sampling.take();
                if [lfoc::SAMPLING, kpart::SAMPLING].contains(&reason) {
                    let (since, previous) = before.unwrap_or((at, None));
                    activity.samplings += u64::from(previous != app);
                    sampling = Some((since, app));
                } else if let Some((since, _)) = before {
                    activity.sampling_nanos += at.nanos() - since.nanos();
                }
            }
            model.carry_out(action);
        });
        look(at, &event, model, policy);
        activity.end = at;
    }
    if let Some((since, _)) = sampling {
        activity.sampling_nanos += activity.end.nanos() - since.nanos();
    }
    activity
}
