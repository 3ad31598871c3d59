//! A machine on which programs start together and then run, unless further events are added.

use std::borrow::Cow;
use std::sync::Arc;

use fairways_core::machine::{EventQueue, PlanInForce};
use fairways_core::{
    Action, AppId, Event, Levers, Machine, Partition, PartitionError, Profile, Time, Wish,
};

/// Programs with known profiles that start one after the other at one instant, and run on.
///
/// This is "static" in the sense of the LFOC paper's §5.1: the decision of a policy that has
/// profiles, apart from the cost of deciding and of measuring.
#[derive(Clone, Debug)]
pub struct StaticMachine {
    levers: Levers,
    events: EventQueue<Event>,
    running: Vec<AppId>,
    partition: Option<(Partition, Cow<'static, str>)>,
    refused: Option<PartitionError>,
}

impl StaticMachine {
    /// A machine with this cache, or with these levers, on which these programs start, app 0 first.
    #[must_use]
    pub fn new(
        levers: impl Into<Levers>,
        programs: impl IntoIterator<Item = (Option<Arc<Profile>>, Wish)>,
    ) -> Self {
        let levers = levers.into();
        let started = (0..).zip(programs).map(|(id, (profile, wish))| Event::Started {
            app: AppId(id),
            wish,
            profile,
        });
        let events = std::iter::once(Event::Machine(levers)).chain(started).collect();
        Self { levers, events, running: Vec::new(), partition: None, refused: None }
    }

    /// Adds an event after all others.
    pub fn then(&mut self, event: Event) {
        self.events.push(event);
    }

    /// The partition in force and the policy's reason for it; `None` if no plan has been carried
    /// out.
    #[must_use]
    pub fn partition(&self) -> Option<(&Partition, &str)> {
        self.partition.as_ref().map(|(partition, reason)| (partition, &**reason))
    }

    /// Why the last plan was refused, if it was.
    #[must_use]
    pub fn refused(&self) -> Option<PartitionError> {
        self.refused
    }
}

impl Machine for StaticMachine {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        let event = self.events.pop()?;
        match &event {
            Event::Machine(levers) => self.levers = *levers,
            Event::Started { app, .. } => self.running.push(*app),
            Event::Exited { app } => self.running.retain(|running| running != app),
            Event::Cpus(_)
            | Event::Wished { .. }
            | Event::Sampled(_)
            | Event::Latency(_)
            | Event::RanTogether(_)
            | Event::QuantumGiven(_)
            | Event::Woke
            | Event::Applied { .. }
            | Event::Refused { .. } => {}
        }
        Some((Time::ZERO, event))
    }

    fn carry_out(&mut self, action: Action<'_>) {
        // Programs do not run here, so no window ends, and no time passes.
        let Action::Partition { plan, partition, reason } = action else { return };
        let legal = partition.check_levers(self.levers, self.running.iter().copied());
        let mut in_force = PlanInForce::default();
        let (answer, is_in_force) = in_force.carry_out(plan, partition.into_owned(), legal);
        if is_in_force {
            self.partition = Some((in_force.partition, reason));
        }
        self.refused = legal.err();
        self.events.push_answer(answer);
    }
}

#[cfg(test)]
mod tests {
    use fairways_core::{Llc, PlanId, Policy, WayMask, Ways, run};

    use super::*;

    /// Plans the whole cache for every program that ever started, and records refusals.
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
                Event::Machine(Levers { llc, .. }) => {
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
                Event::Applied { .. } => return,
            }
            act(Action::Partition {
                plan: PlanId::default(),
                partition: (&self.placed).into(),
                reason: "always".into(),
            });
        }
    }

    #[test]
    fn a_plan_that_breaks_a_rule_is_refused_and_changes_nothing() {
        let llc = Llc::with_ways(Ways::new(4).unwrap());
        let mut machine = StaticMachine::new(llc, vec![(None, Wish::default()); 2]);
        machine.then(Event::Exited { app: AppId(0) });
        let mut policy = Stubborn::default();
        run(&mut machine, &mut policy, &mut []);
        assert_eq!(policy.refused, [PartitionError::NotRunning { app: AppId(0) }]);
        let (partition, reason) = machine.partition().unwrap();
        assert_eq!((partition.placements().len(), reason), (2, "always"));
    }
}
