//! Policies, machines, and the loop that joins them.

use crate::{Action, Event, Time};

/// A system for sharing a cache: a state machine from events to actions.
///
/// It does no I/O, reads no clock, draws no random numbers and uses no floating point, so that it
/// decides the same on every machine, in a test, and from a recorded journal.
pub trait Policy {
    /// The name by which users select it.
    fn name(&self) -> &'static str;

    /// Handles one event, which happened at time `at`, and passes the resulting actions to `act`,
    /// in order.
    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>));
}

/// A system on which programs share a cache: a host, a model or a chip.
///
/// Every machine keeps these promises (`crates/proof/conformance` checks them):
/// - The first event is [`Event::Machine`]. Time never goes back. Every plan is answered before any
///   other event, several plans in their order ([`Event::Applied`], [`Event::Refused`]). At one
///   instant, windows that ended come before all other events; the alarm comes last.
/// - A program is reported from its [`Event::Started`] to its [`Event::Exited`], and at no other
///   time; the window that an exit cuts short is not reported.
/// - A plan is in force from the moment it is carried out, and its answer has the partition in
///   force. A program that started later, and so is in no cluster, may fill every way.
/// - A machine that can't limit memory bandwidth ([`Levers`](crate::Levers)) refuses plans that
///   limit it. One that can answers with the levels in force, as its lever rounds them.
/// - Turns on a CPU, and spans in which the same threads ran, are reported at the instant at which
///   they end, in no fixed order with other events of that instant; an action may end them.
/// - Windows follow each other without a gap, are at least as long as requested, and name the plan
///   under which they ended; a plan that is carried out at the instant of their end comes after
///   them.
pub trait Machine {
    /// The next event and when it happened; `None` once nothing more will happen.
    fn next_event(&mut self) -> Option<(Time, Event)>;

    /// Carries an action out, at the time of the event reported last. A plan is answered before any
    /// other event; one that can't be carried out changes nothing.
    fn carry_out(&mut self, action: Action<'_>);
}

/// Watches a run: what happens on the machine, what the policy decides, and both in between.
///
/// It changes neither; a thing that does is a [`Machine`] or a [`Policy`] around the other one.
pub trait Observer<M: ?Sized, P: ?Sized> {
    /// Handles an event, which the policy gets next.
    fn event(&mut self, _at: Time, _event: &Event, _machine: &M) {}

    /// Handles an action, which the machine carries out next.
    fn action(&mut self, _at: Time, _action: &Action<'_>, _machine: &M) {}

    /// Looks at the machine and the policy once all actions that follow from an event are carried
    /// out.
    fn handled(&mut self, _at: Time, _event: &Event, _machine: &M, _policy: &P) {}

    /// Whether the run ends now, though the machine may have more events.
    fn is_done(&self) -> bool {
        false
    }
}

/// Runs a machine under a policy until the machine has no more events or an observer is done. A run
/// that an observer ended goes on with the next call.
pub fn run<M: Machine + ?Sized, P: Policy + ?Sized>(
    machine: &mut M,
    policy: &mut P,
    observers: &mut [&mut dyn Observer<M, P>],
) {
    while !observers.iter().any(|observer| observer.is_done())
        && step(machine, policy, observers).is_some()
    {}
}

/// Takes one event of a run from the machine to the policy, and the actions back; returns when it
/// happened, or `None` if nothing more will happen.
pub fn step<M: Machine + ?Sized, P: Policy + ?Sized>(
    machine: &mut M,
    policy: &mut P,
    observers: &mut [&mut dyn Observer<M, P>],
) -> Option<Time> {
    let (at, event) = machine.next_event()?;
    for observer in &mut *observers {
        observer.event(at, &event, machine);
    }
    policy.handle(at, &event, &mut |action| {
        for observer in &mut *observers {
            observer.action(at, &action, machine);
        }
        machine.carry_out(action);
    });
    for observer in observers {
        observer.handled(at, &event, machine, policy);
    }
    Some(at)
}

/// A policy that does nothing: the machine is left to itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPolicy;

impl Policy for NoPolicy {
    fn name(&self) -> &'static str {
        "none"
    }

    fn handle(&mut self, _: Time, _: &Event, _: &mut dyn FnMut(Action<'_>)) {}
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use core::cell::RefCell;
    use core::fmt::Write as _;

    use super::*;

    /// A machine of so many events, and what was called so far.
    struct Logged<'a> {
        left: u32,
        log: &'a RefCell<String>,
    }

    impl Machine for Logged<'_> {
        fn next_event(&mut self) -> Option<(Time, Event)> {
            self.left = self.left.checked_sub(1)?;
            self.log.borrow_mut().push_str("next ");
            Some((Time::ZERO, Event::Woke))
        }

        fn carry_out(&mut self, _: Action<'_>) {
            self.log.borrow_mut().push_str("carry ");
        }
    }

    /// A policy that answers each event with an alarm.
    struct Waking;

    impl Policy for Waking {
        fn name(&self) -> &'static str {
            "waking"
        }

        fn handle(&mut self, at: Time, _: &Event, act: &mut dyn FnMut(Action<'_>)) {
            act(Action::Wake { at });
        }
    }

    /// Is done after so many events.
    struct Noted<'a>(u32, &'a RefCell<String>);

    impl Observer<Logged<'_>, Waking> for Noted<'_> {
        fn event(&mut self, _: Time, _: &Event, machine: &Logged<'_>) {
            let _ = write!(self.1.borrow_mut(), "event({}) ", machine.left);
        }

        fn action(&mut self, _: Time, _: &Action<'_>, _: &Logged<'_>) {
            self.1.borrow_mut().push_str("action ");
        }

        fn handled(&mut self, _: Time, _: &Event, _: &Logged<'_>, _: &Waking) {
            self.0 -= 1;
            self.1.borrow_mut().push_str("handled; ");
        }

        fn is_done(&self) -> bool {
            self.0 == 0
        }
    }

    #[test]
    fn an_observer_sees_all_before_it_happens_and_ends_a_run_that_goes_on_later() {
        let log = RefCell::default();
        let mut machine = Logged { left: 3, log: &log };
        run(&mut machine, &mut Waking, &mut [&mut Noted(1, &log)]);
        assert_eq!(log.take(), "next event(2) action carry handled; ");
        run(&mut machine, &mut Waking, &mut [&mut Noted(0, &log)]);
        assert_eq!(log.take(), "");
        run(&mut machine, &mut Waking, &mut []);
        assert_eq!(log.take(), "next carry next carry ");
    }
}
