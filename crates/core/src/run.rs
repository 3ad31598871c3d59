//! The loop.

use crate::{Action, Event};

/// One system for sharing a cache: a state machine from events to actions.
///
/// It does no I/O, reads no clock, draws no random numbers and uses no floating point, so that it
/// answers the same on every machine, in a test, or from a recorded journal.
pub trait Policy {
    /// The name by which users select it.
    fn name(&self) -> &'static str;

    /// Takes one event in, and passes what is to be done about it to `act`, in order.
    fn handle(&mut self, event: &Event, act: &mut dyn FnMut(Action<'_>));
}

/// A place where programs share a cache: a host, a model or a chip.
pub trait Machine {
    /// The next event; `None` once nothing more will happen. The first is [`Event::Machine`].
    fn next_event(&mut self) -> Option<Event>;

    /// Carries an action out. What can't be carried out changes nothing, and is told by a later
    /// event ([`Event::Refused`]).
    fn carry_out(&mut self, action: Action<'_>);
}

/// Runs a machine under a policy until the machine has no more to tell.
pub fn run(machine: &mut dyn Machine, policy: &mut dyn Policy) {
    while let Some(event) = machine.next_event() {
        policy.handle(&event, &mut |action| machine.carry_out(action));
    }
}
