//! Which threads ran together: from turns on CPUs to the stretches in which the same threads ran.
//!
//! CASC §4.1 and cache-fair §3.2 read the counters of all CPUs at both ends of such a stretch. A
//! CPU's counters can't be read from afar when another CPU's occupant changes. So the counts of a
//! part of a turn are taken to be in proportion to its length: exact where the stretch is the whole
//! turn, an interpolation elsewhere. They are rounded so that the parts of a turn add up to the
//! whole.

mod row;

use std::collections::BTreeMap;

use fairways_core::{CoRun, Counters, CpuSet, ThreadCounters, ThreadId};

use super::{Turn, Who};
use row::Row;

/// A stretch that goes on for longer, in nanoseconds, is reported in pieces of this length.
pub const LONGEST: u64 = 100_000_000;

/// A time in which the same threads ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// When it began and ended, in nanoseconds of `CLOCK_MONOTONIC`.
    pub span: (u64, u64),
    /// Which threads ran, and what was counted.
    pub together: CoRun,
}

/// Gathers the turns of the CPUs that share a cache into stretches in which all of their occupants
/// stayed the same.
///
/// An idle CPU and a thread that was not taken in are occupants as well. A stretch ends with a turn
/// on any of the CPUs; a turn that [goes on](Turn::goes_on) and its continuation are one. Nothing
/// is reported while the occupant of a CPU is not known, nor when no thread that was taken in ran.
/// The turns of one CPU must come in the order of time; those of different CPUs may come in any
/// order.
#[derive(Clone, Debug)]
pub struct Gathering {
    shortest: u64,
    longest: u64,
    /// Nothing after this time was reported yet.
    from: u64,
    rows: BTreeMap<u32, Row>,
}

impl Gathering {
    /// Gathers the turns on `cpus`; stretches below `shortest` nanoseconds are not reported.
    #[must_use]
    pub fn new(cpus: &CpuSet, shortest: u64) -> Self {
        let shortest = shortest.max(1);
        let rows = cpus.iter().map(|cpu| (cpu, Row::default())).collect();
        Self { shortest, longest: shortest.max(LONGEST), from: 0, rows }
    }

    /// Reports nothing from before this time, in nanoseconds of `CLOCK_MONOTONIC`. A turn that goes
    /// on at this time counts from there on.
    #[must_use]
    pub const fn since(mut self, from: u64) -> Self {
        self.from = from;
        self
    }

    /// Takes in turns, skipping those on other CPUs, and appends every stretch that is known now,
    /// in order.
    pub fn add(&mut self, turns: &[Turn], stretches: &mut Vec<Stretch>) {
        for turn in turns {
            let Some(row) = self.rows.get_mut(&turn.cpu) else { continue };
            if row.is_full() {
                // Another CPU is silent. The oldest turn is given up; that time is not reported.
                self.advance(stretches);
                if let Some(row) = self.rows.get_mut(&turn.cpu).filter(|row| row.is_full()) {
                    row.forget_oldest();
                }
            }
            if let Some(row) = self.rows.get_mut(&turn.cpu) {
                row.push(turn);
                row.forget_until(self.from);
            }
        }
        self.advance(stretches);
    }

    fn advance(&mut self, stretches: &mut Vec<Stretch>) {
        while let Some(end) = self.next(stretches) {
            self.from = end;
            for row in self.rows.values_mut() {
                row.forget_until(end);
            }
        }
    }

    /// Appends the stretch that begins at `from`, if its end is known; when the next one begins.
    fn next(&self, stretches: &mut Vec<Stretch>) -> Option<u64> {
        if self.rows.is_empty() {
            return None;
        }
        let mut begin = self.from;
        for row in self.rows.values() {
            begin = begin.max(row.begin()?);
        }
        if begin > self.from {
            return Some(begin);
        }
        // The earliest end of a stay that is over, and until when all the other stays are known.
        let (mut over, mut known) = (u64::MAX, u64::MAX);
        for row in self.rows.values() {
            let (end, is_over) = row.stay();
            let which = if is_over { &mut over } else { &mut known };
            *which = end.min(*which);
        }
        let cut = self.from.saturating_add(self.longest);
        let end = if over <= known { over.min(cut) } else { cut };
        if end > known || end == u64::MAX {
            return None;
        }
        if end - self.from >= self.shortest {
            stretches.extend(self.stretch((self.from, end)));
        }
        Some(end)
    }

    /// The stretch with this span. `None` if no thread that was taken in ran, or if one seems to
    /// have run on two CPUs at once, which can't be.
    fn stretch(&self, span: (u64, u64)) -> Option<Stretch> {
        let mut group: Option<Counters> = None;
        let mut threads = BTreeMap::new();
        for row in self.rows.values() {
            let (who, counters) = row.did(span);
            group = Some(group.map_or(counters, |sum| row::sum(&sum, &counters)));
            if let Who::Thread(app) = who
                && threads.insert(ThreadId::first_of(app), counters).is_some()
            {
                return None;
            }
        }
        if threads.is_empty() {
            return None;
        }
        let together = CoRun {
            threads: threads
                .into_iter()
                .map(|(thread, counters)| ThreadCounters { thread, counters })
                .collect(),
            group: group?,
            window: std::time::Duration::from_nanos(span.1 - span.0),
        };
        Some(Stretch { span, together })
    }
}

#[cfg(test)]
mod tests;
