//! What is known about one CPU.

use std::collections::VecDeque;

use fairways_core::Counters;

use super::super::{Turn, Who};

/// Turns that are kept of a CPU while another is silent.
const MOST: usize = 4096;

/// A CPU's turns that were not reported yet, in the order of time; none is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    turns: VecDeque<Turn>,
    /// Until when the CPU's turns are known.
    known: u64,
}

impl Row {
    /// Appends a turn. One that contradicts those before is dropped; one of no length only ends the
    /// turn before it.
    pub(super) fn push(&mut self, turn: &Turn) {
        let (begin, end) = turn.span;
        if begin < self.known || end < begin {
            self.end();
            return;
        }
        self.known = end;
        if begin < end {
            self.turns.push_back(turn.clone());
        } else if self.turns.back().is_none_or(|last| !(is_continued(last, turn) && turn.goes_on)) {
            self.end();
        }
    }

    /// Marks that the last turn no longer goes on.
    fn end(&mut self) {
        if let Some(last) = self.turns.back_mut() {
            last.goes_on = false;
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.turns.len() >= MOST
    }

    pub(super) fn forget_oldest(&mut self) {
        self.turns.pop_front();
    }

    pub(super) fn forget_until(&mut self, time: u64) {
        while self.turns.front().is_some_and(|turn| turn.span.1 <= time) {
            self.turns.pop_front();
        }
    }

    /// When the first turn began; `None` without turns.
    pub(super) fn begin(&self) -> Option<u64> {
        self.turns.front().map(|turn| turn.span.0)
    }

    /// The turns of the first occupant, each of which continues the one before.
    fn first(&self) -> impl Iterator<Item = &Turn> {
        let mut last: Option<&Turn> = None;
        self.turns.iter().take_while(move |turn| {
            let is_first = last.is_none_or(|last| is_continued(last, turn));
            last = Some(turn);
            is_first
        })
    }

    /// When the first occupant's stay ended, or until when it is known; and whether it is over.
    pub(super) fn stay(&self) -> (u64, bool) {
        let (mut count, mut last) = (0, None);
        for turn in self.first() {
            (count, last) = (count + 1, Some(turn));
        }
        last.map_or((0, false), |last| {
            // Its continuation is missing, though a later turn is known.
            (last.span.1, !last.goes_on || count < self.turns.len())
        })
    }

    /// The first occupant, and what the CPU counted in a part of its stay.
    pub(super) fn did(&self, span: (u64, u64)) -> (Who, Counters) {
        let who = self.turns.front().map_or(Who::Idle, |turn| turn.who);
        let mut all: Option<Counters> = None;
        for turn in self.first() {
            let part = (span.0.max(turn.span.0), span.1.min(turn.span.1));
            if part.0 < part.1 {
                let counters = share(&turn.counters, turn.span, part);
                all = Some(all.map_or(counters, |all| sum(&all, &counters)));
            }
        }
        (who, all.unwrap_or_default())
    }
}

/// Whether `next` is the same occupant's stay, without a gap.
fn is_continued(turn: &Turn, next: &Turn) -> bool {
    turn.goes_on && turn.who == next.who && turn.span.1 == next.span.0
}

/// Combines each of `a`'s numbers with the same one of `b`; missing where either is.
fn with(a: &Counters, b: &Counters, both: impl Fn(u64, u64) -> u64) -> Counters {
    a.zip_with(b, |a, b| a.zip(b).map(|(a, b)| both(a, b)))
}

pub(super) fn sum(a: &Counters, b: &Counters) -> Counters {
    with(a, b, u64::saturating_add)
}

/// What was counted in a part of a whole.
fn share(counters: &Counters, whole: (u64, u64), part: (u64, u64)) -> Counters {
    let length = u128::from(whole.1 - whole.0);
    // The difference of two counts from the beginning, so that the parts add up.
    let until = |count: u64, time: u64| {
        let counted = u128::from(count) * u128::from(time - whole.0) / length;
        u64::try_from(counted).unwrap_or(u64::MAX)
    };
    with(counters, counters, |count, _| until(count, part.1) - until(count, part.0))
}
