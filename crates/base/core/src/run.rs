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

/// Runs a machine under a policy until the machine has no more events.
pub fn run(machine: &mut dyn Machine, policy: &mut dyn Policy) {
    while let Some((at, event)) = machine.next_event() {
        policy.handle(at, &event, &mut |action| machine.carry_out(action));
    }
}
