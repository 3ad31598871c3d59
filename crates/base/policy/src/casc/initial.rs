//! The initial measurement: PCMRs of n + 1 threads from the groups in which they run on n CPUs
//! (§4.2.2.1).

use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{Q32, ThreadId, Time};

use super::parameters::Parameters;
use super::rates::{Average, signed};
use super::thread::MeasuredThread;
use crate::linear::least_change;

/// How many groups of fewer threads are kept beside the matrix's rows, for when rows are missing.
const MOST_OTHERS: usize = 64;

/// An initial measurement that is under way.
#[derive(Clone, Debug)]
pub(super) struct Initial {
    /// When it gives up threads and rows that did not run.
    pub(super) deadline: Time,
    /// Whether its threads are temporarily not raised.
    pub(super) is_resting: bool,
    /// The threads that take part: the matrix's n + 1 columns. While there are fewer threads,
    /// places are empty.
    slots: Vec<ThreadSlot>,
    rows: Vec<GroupRow>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ThreadSlot {
    thread: Option<ThreadId>,
    /// How long it ran since the last deadline.
    ran: Duration,
}

/// A group that ran, and its miss rate.
#[derive(Clone, Copy, Debug)]
struct GroupRow {
    /// The places of its threads, one bit each.
    group: u128,
    rate: Average,
}

impl GroupRow {
    /// How many threads the group has.
    const fn size(&self) -> u32 {
        self.group.count_ones()
    }
}

impl Initial {
    /// Begins a measurement on `cpus` CPUs, at most 64.
    pub(super) fn new(cpus: u32, deadline: Time) -> Self {
        Self {
            deadline,
            is_resting: false,
            slots: vec![ThreadSlot::default(); cpus as usize + 1],
            rows: Vec::new(),
        }
    }

    /// The threads that take part.
    pub(super) fn threads(&self) -> impl Iterator<Item = ThreadId> {
        self.slots.iter().filter_map(|slot| slot.thread)
    }

    /// Whether there are n + 1 threads.
    pub(super) fn is_full(&self) -> bool {
        self.slots.iter().all(|slot| slot.thread.is_some())
    }

    /// Fills the empty places with the threads that have waited longest.
    pub(super) fn fill(&mut self, threads: &[MeasuredThread]) {
        for thread in threads.iter().filter(|thread| !thread.is_given_up) {
            if self.place(thread.id).is_none()
                && let Some(slot) = self.slots.iter_mut().find(|slot| slot.thread.is_none())
            {
                *slot = ThreadSlot { thread: Some(thread.id), ran: Duration::ZERO };
            }
        }
    }

    fn place(&self, thread: ThreadId) -> Option<usize> {
        self.slots.iter().position(|slot| slot.thread == Some(thread))
    }

    /// Removes a thread. The row without it remains: it is the row of the thread that takes its
    /// place.
    pub(super) fn leave(&mut self, thread: ThreadId) {
        if let Some(place) = self.place(thread) {
            self.slots[place] = ThreadSlot::default();
            self.rows.retain(|row| row.group & (1 << place) == 0);
        }
    }

    /// Handles an interval in which these threads ran, with its miss rate if that is usable.
    pub(super) fn add(
        &mut self,
        group: impl Iterator<Item = ThreadId> + Clone,
        rate: Option<Q32>,
        interval: Duration,
    ) {
        for slot in &mut self.slots {
            if slot.thread.is_some_and(|thread| group.clone().any(|other| other == thread)) {
                slot.ran = slot.ran.saturating_add(interval);
            }
        }
        let bits = group.clone().try_fold(0u128, |bits, thread| {
            let bit = 1 << self.place(thread)?;
            (bits & bit == 0).then_some(bits | bit)
        });
        let (Some(group), Some(rate)) = (bits, rate) else { return };
        let (size, columns) = (group.count_ones() as usize, self.slots.len());
        // A group of more threads than CPUs can't run.
        if size == 0 || size >= columns {
            return;
        }
        let has_room = size + 1 == columns || self.rows.len() < columns + MOST_OTHERS;
        let known = self.rows.iter_mut().find(|row| row.group == group);
        match known {
            Some(row) => row.rate.add(signed(rate), interval),
            None if has_room => {
                let mut average = Average::default();
                average.add(signed(rate), interval);
                self.rows.push(GroupRow { group, rate: average });
            }
            None => {}
        }
    }

    /// Whether each row of the matrix has run for `MIN_RUNLENGTH`.
    pub(super) fn is_complete(&self, parameters: &Parameters) -> bool {
        let columns = self.slots.len();
        let done = self.rows.iter().filter(|row| {
            row.group.count_ones() as usize + 1 == columns
                && row.rate.length() >= parameters.min_runlength
        });
        self.is_full() && done.count() == columns
    }

    /// The threads that hardly ran since the last deadline.
    pub(super) fn sleepers(&self, parameters: &Parameters) -> Vec<ThreadId> {
        let asleep = self.slots.iter().filter(|slot| slot.ran < parameters.min_runlength);
        asleep.filter_map(|slot| slot.thread).collect()
    }

    /// Goes on until another deadline.
    pub(super) fn go_on(&mut self, deadline: Time) {
        self.deadline = deadline;
        self.slots.iter_mut().for_each(|slot| slot.ran = Duration::ZERO);
    }

    /// The PCMRs of the threads whose rows have run for `MIN_RUNLENGTH`, in units of 2^-32. They
    /// solve the linear system (§4.2), or are the nearest to the mean if rows are missing (decision
    /// CASC 9). Of rows that contradict each other, those of more threads count, then those that
    /// ran longer.
    pub(super) fn solve(&self, parameters: &Parameters) -> Vec<(ThreadId, i64)> {
        let mut rows: Vec<&GroupRow> =
            self.rows.iter().filter(|row| row.rate.length() >= parameters.min_runlength).collect();
        rows.sort_by_key(|row| core::cmp::Reverse((row.size(), row.rate.length())));
        let seen = rows.iter().fold(0, |seen, row| seen | row.group);
        let places: Vec<usize> =
            (0..self.slots.len()).filter(|place| seen & (1 << place) != 0).collect();
        let mut mean = Average::default();
        let (mut matrix, mut right) = (Vec::new(), Vec::new());
        for row in rows {
            let Some(rate) = row.rate.value() else { continue };
            mean.add(rate, row.rate.length());
            let members = places.iter().map(|place| i64::from(row.group & (1 << place) != 0));
            matrix.push(members.collect());
            right.push(rate.saturating_mul(i64::from(row.size())));
        }
        let prior = vec![mean.value().unwrap_or(0); places.len()];
        let Some(pcmrs) = least_change(&matrix, &right, &prior) else { return Vec::new() };
        let each = places.into_iter().zip(pcmrs);
        each.filter_map(|(place, raw)| Some((self.slots[place].thread?, raw))).collect()
    }
}
