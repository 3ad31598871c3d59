//! The events that are due.

use alloc::collections::VecDeque;

use crate::Event;

/// The events of this instant that are still to be reported: first the answers to plans, in the
/// order of the plans, then all others in the order in which they were added. `T` is an event, or
/// the work that makes one.
#[derive(Clone, Debug)]
pub struct EventQueue<T> {
    answers: VecDeque<Event>,
    rest: VecDeque<T>,
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        Self { answers: VecDeque::new(), rest: VecDeque::new() }
    }
}

impl<T> EventQueue<T> {
    /// Adds the answer to a plan ([`Event::Applied`], [`Event::Refused`]).
    pub fn push_answer(&mut self, answer: Event) {
        self.answers.push_back(answer);
    }

    /// Adds any other event.
    pub fn push(&mut self, due: T) {
        self.rest.push_back(due);
    }

    /// Whether nothing is due.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.rest.is_empty()
    }

    /// All events but the answers.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.rest.iter()
    }

    /// Keeps the events for which `keep` is true, and all answers.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.rest.retain(keep);
    }
}

impl<T: From<Event>> EventQueue<T> {
    /// Takes the next event.
    pub fn pop(&mut self) -> Option<T> {
        self.answers.pop_front().map(T::from).or_else(|| self.rest.pop_front())
    }
}

impl<T> Extend<T> for EventQueue<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, due: I) {
        self.rest.extend(due);
    }
}

impl<T> FromIterator<T> for EventQueue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(due: I) -> Self {
        Self { answers: VecDeque::new(), rest: due.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use crate::{PartitionError, PlanId};

    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::*;

    fn refused(plan: u32) -> Event {
        Event::Refused { plan: PlanId(plan), why: PartitionError::Failed }
    }

    #[test]
    fn answers_come_before_all_else_and_in_order() {
        let mut due: EventQueue<Event> = [Event::Woke].into_iter().collect();
        due.push_answer(refused(0));
        due.push_answer(refused(1));
        let popped: Vec<String> =
            core::iter::from_fn(|| due.pop()).map(|event| format!("{event:?}")).collect();
        let expected = [refused(0), refused(1), Event::Woke].map(|event| format!("{event:?}"));
        assert_eq!(popped, expected);
    }
}
