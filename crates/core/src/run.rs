//! The loop.

use crate::{Action, Event, Time};

/// One system for sharing a cache: a state machine from events to actions.
///
/// It does no I/O, reads no clock, draws no random numbers and uses no floating point, so that it
/// answers the same on every machine, in a test, or from a recorded journal.
pub trait Policy {
    /// The name by which users select it.
    fn name(&self) -> &'static str;

    /// Takes in one event, which happened `at` that time, and passes what is to be done about it
    /// to `act`, in order.
    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>));
}

/// A place where programs share a cache: a host, a model or a chip.
///
/// What every machine keeps to (`crates/conformance` holds each to it):
/// - The first event is [`Event::Machine`]. Time never goes back. Every plan is answered before
///   any other event, several in their order ([`Event::Applied`], [`Event::Refused`]). At one
///   instant, windows that ended come before whatever else happened; the alarm comes last.
/// - A program is told of from its [`Event::Started`] to its [`Event::Exited`], and at no other
///   time; the window that an exit cuts short is not told.
/// - A plan is in force from the moment it is carried out, and its answer says what it has come to.
///   A program that has no place in it, for it started later, may fill every way.
/// - A machine that can't limit memory bandwidth ([`Levers`](crate::Levers)) refuses no limit, and
///   answers that there is none.
/// - Turns on a CPU that ended, and times in which the same threads ran, are told at the instant at which they
///   end, in no order with what else happens then; an action may end them.
/// - Windows follow each other without a gap, are at least as long as was asked, and say under
///   which plan they ended; one that is carried out at the instant of their end comes after.
pub trait Machine {
    /// The next event and when it happened; `None` once nothing more will happen.
    fn next_event(&mut self) -> Option<(Time, Event)>;

    /// Carries an action out, at the time of the event that was last told. A plan is
    /// answered before any other event; one that can't be carried out changes nothing.
    fn carry_out(&mut self, action: Action<'_>);
}

/// Runs a machine under a policy until the machine has no more to tell.
pub fn run(machine: &mut dyn Machine, policy: &mut dyn Policy) {
    while let Some((at, event)) = machine.next_event() {
        policy.handle(at, &event, &mut |action| machine.carry_out(action));
    }
}
