//! A machine on which programs start together and then run, unless more is made to happen.

use std::collections::VecDeque;
use std::sync::Arc;

use fairways_core::{
    Action, AppId, Event, Llc, Machine, Partition, PartitionError, Profile, Time, Wish,
};

/// Programs with known profiles that start one after the other at one instant, and run on.
///
/// What "static" means in the LFOC paper's §5.1: what a policy decides with profiles at hand,
/// apart from what it costs to decide and to find out.
#[derive(Clone, Debug)]
pub struct StaticMachine {
    llc: Llc,
    events: VecDeque<Event>,
    running: Vec<AppId>,
    partition: Option<(Partition, &'static str)>,
    refused: Option<PartitionError>,
}

impl StaticMachine {
    /// A machine with this cache on which these programs start, app 0 first.
    #[must_use]
    pub fn new(llc: Llc, programs: impl IntoIterator<Item = (Option<Arc<Profile>>, Wish)>) -> Self {
        let started = (0..).zip(programs).map(|(id, (profile, wish))| Event::Started {
            app: AppId(id),
            wish,
            profile,
        });
        let events = std::iter::once(Event::Machine(llc)).chain(started).collect();
        Self { llc, events, running: Vec::new(), partition: None, refused: None }
    }

    /// Lets something else happen after all that is still to happen.
    pub fn then(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// The partition in force and the reason that the policy gave for it; `None` if no plan has
    /// been carried out.
    #[must_use]
    pub fn partition(&self) -> Option<(&Partition, &'static str)> {
        self.partition.as_ref().map(|(partition, reason)| (partition, *reason))
    }

    /// Why the last plan was refused, if it was.
    #[must_use]
    pub fn refused(&self) -> Option<PartitionError> {
        self.refused
    }
}

impl Machine for StaticMachine {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        let event = self.events.pop_front()?;
        match &event {
            Event::Machine(llc) => self.llc = *llc,
            Event::Started { app, .. } => self.running.push(*app),
            Event::Exited { app } => self.running.retain(|running| running != app),
            Event::Cpus(_)
            | Event::Wished { .. }
            | Event::Sampled(_)
            | Event::Latency(_)
            | Event::RanTogether(_)
            | Event::QuantumGiven(_)
            | Event::Woke
            | Event::Refused { .. } => {}
        }
        Some((Time::ZERO, event))
    }

    fn carry_out(&mut self, action: Action<'_>) {
        // Nothing runs here, so no window ends, and no time passes.
        let Action::Partition { plan, partition, reason } = action else { return };
        match partition.check(&self.llc, self.running.iter().copied()) {
            Ok(()) => {
                self.partition = Some((partition.clone(), reason));
                self.refused = None;
            }
            Err(why) => {
                self.refused = Some(why);
                // What became of a plan is known before anything else happens, save what became of
                // those before it.
                let is_refusal = |event: &&Event| matches!(event, Event::Refused { .. });
                let place = self.events.iter().take_while(is_refusal).count();
                self.events.insert(place, Event::Refused { plan, why });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fairways_core::{PlanId, Policy, WayMask, Ways, run};

    use super::*;

    /// Plans the whole cache for every program that ever started, and notes refusals.
    #[derive(Default)]
    struct Stubborn {
        placed: Partition,
        refused: Vec<PartitionError>,
    }

    impl Policy for Stubborn {
        fn name(&self) -> &'static str {
            "stubborn"
        }

        fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
            match event {
                Event::Machine(llc) => {
                    self.placed.add_cluster(WayMask::full(llc.ways));
                    return;
                }
                Event::Started { app, .. } => self.placed.place(*app, 0),
                Event::Cpus(_)
                | Event::Exited { .. }
                | Event::Wished { .. }
                | Event::Sampled(_)
                | Event::Latency(_)
                | Event::RanTogether(_)
                | Event::QuantumGiven(_)
                | Event::Woke => {}
                Event::Refused { why, .. } => {
                    self.refused.push(*why);
                    return;
                }
            }
            act(Action::Partition {
                plan: PlanId::default(),
                partition: &self.placed,
                reason: "always",
            });
        }
    }

    #[test]
    fn a_plan_that_breaks_a_rule_is_refused_and_changes_nothing() {
        let llc = Llc::with_ways(Ways::new(4).unwrap());
        let mut machine = StaticMachine::new(llc, vec![(None, Wish::default()); 2]);
        machine.then(Event::Exited { app: AppId(0) });
        let mut policy = Stubborn::default();
        run(&mut machine, &mut policy);
        assert_eq!(policy.refused, [PartitionError::NotRunning { app: AppId(0) }]);
        let (partition, reason) = machine.partition().unwrap();
        assert_eq!((partition.places().len(), reason), (2, "always"));
    }
}
