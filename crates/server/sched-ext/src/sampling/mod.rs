//! Windows of a program that end in the kernel, by the count of an event such as 100 million
//! instructions (LFOC, §4.1 and §5).
//!
//! A [`Sampler`] runs a BPF program whenever an event of one of the program's threads, or of its
//! cgroup on a CPU, has counted for a period. The BPF program adds up the counts of all parts, and
//! reports when they make a window. Nothing polls: a thread that waits for
//! [`attention`](Sampler::attention) wakes once per window.
//!
//! - **Accuracy**: a window is never too short. It is too long by the count between two overflows
//!   of the part that ends it, a period; the counts of the other parts since their last overflows,
//!   less than a period each, belong to the next window. A part that has ended is added as soon as
//!   its owner reports its counts.
//! - **The other events** are read in the kernel where the first overflows, and added with it: each
//!   part's counts in a window all cover the same stretch, so that their ratios are right, however
//!   late they are fetched.
//! - **No window is lost**: sums only grow, and if earlier windows were not fetched, so that there
//!   is no room for another, a later overflow reports a longer one.
//!
//! The caller opens the events and sets their period (`PERF_EVENT_IOC_PERIOD`); a part costs one
//! descriptor beside theirs. It needs Linux 5.15, and CAP_BPF with CAP_PERFMON.

mod contract;
mod kernel;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{BorrowedFd, OwnedFd};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::Error;
use contract::{Rest, spans};
use kernel::LoadedProgram;

/// The most events of a part.
pub const EVENTS: usize = PLACES as usize;

/// The same, as places in a map.
const PLACES: u32 = 16;

/// The count of an event.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct Span {
    /// What it counted.
    pub value: u64,
    /// Nanoseconds that the counted threads ran.
    pub enabled: u64,
    /// Nanoseconds of those in which it was on a counter.
    pub running: u64,
}

impl Span {
    /// The count since `earlier`; zero where that is not less.
    const fn since(self, earlier: Self) -> Self {
        Self {
            value: self.value.saturating_sub(earlier.value),
            enabled: self.enabled.saturating_sub(earlier.enabled),
            running: self.running.saturating_sub(earlier.running),
        }
    }
}

/// A window that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its series.
    pub series: u32,
    /// When it ended, in nanoseconds of `CLOCK_MONOTONIC`.
    pub at: u64,
    /// Each event's count, over all parts, since the window before or the series' beginning; `None`
    /// for an event that the kernel could not read in every part.
    pub counted: Vec<Option<Span>>,
    /// How often its end found no room, and was reported by a later overflow.
    pub late: u64,
}

/// The program in the kernel. When dropped, it reports nothing more; the events go on.
pub struct Sampler {
    kernel: LoadedProgram,
    /// Free numbers, those free for longest first.
    free_parts: VecDeque<u32>,
    free_series: VecDeque<u32>,
    parts: BTreeMap<u32, Part>,
    series: BTreeMap<u32, Series>,
    /// The number of series so far.
    opened: u32,
}

struct Part {
    series: u32,
    /// Kept open: closing it takes the program off the event.
    link: OwnedFd,
}

struct Series {
    /// Its windows' numbers are above this.
    number: u64,
    events: usize,
    last: contract::Window,
}

impl Sampler {
    /// Loads the program, with room for that many parts, and as many series.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn load(parts: u32) -> Result<Self, Error> {
        Ok(Self {
            kernel: LoadedProgram::load(parts)?,
            free_parts: (0..parts).collect(),
            free_series: (0..parts).collect(),
            parts: BTreeMap::new(),
            series: BTreeMap::new(),
            opened: 0,
        })
    }

    /// Opens a series whose windows are `window` counts of the parts' first event, at least 1.
    ///
    /// # Errors
    /// If there is no room for more, or the kernel refuses.
    pub fn open(&mut self, window: u64) -> Result<u32, Error> {
        let Some(&series) = self.free_series.front() else { return Err(full()) };
        // A record of the series that had this number before may still be on its way.
        let number = u64::from(self.opened) << 32;
        let window = window.max(1);
        let of = contract::Series { window, end: window, number, ..contract::Series::default() };
        self.kernel.set_series(series, &of)?;
        self.opened = self.opened.wrapping_add(1);
        self.free_series.pop_front();
        self.series.insert(series, Series { number, events: 0, last: contract::Window::default() });
        Ok(series)
    }

    /// Adds a part to a series: its events, [16](EVENTS) at most, with their counts so far. The
    /// first was opened with a period, and is a leader or alone. All parts of a series have the
    /// same events: a missing one would look like a count of zero.
    ///
    /// # Errors
    /// If there is no such series, its parts have another number of events, there is no room for
    /// more, or the kernel refuses.
    pub fn join(&mut self, series: u32, events: &[(BorrowedFd<'_>, Span)]) -> Result<u32, Error> {
        let Some(of) = self.series.get_mut(&series) else {
            return Err(Error::Setting(format!("series {series} does not exist")));
        };
        let Some(&part) = self.free_parts.front() else { return Err(full()) };
        let Some(&(first, _)) = events.first().filter(|_| events.len() <= EVENTS) else {
            return Err(Error::Setting(format!("a part has 1 to {EVENTS} events")));
        };
        if of.events != 0 && of.events != events.len() {
            let (have, has) = (of.events, events.len());
            let why = format!("the other parts of series {series} have {have} events, not {has}");
            return Err(Error::Setting(why));
        }
        let last = spans(events.iter().map(|&(_, span)| span));
        let count = u32::try_from(events.len()).unwrap_or(PLACES);
        let begins = contract::Part { series, events: count, missed: 0, padding: 0, last };
        self.kernel.set_part(part, &begins)?;
        let others = events.iter().skip(1).map(|&(event, _)| event);
        let begun = self.kernel.set_events(part, others);
        match begun.and_then(|()| self.kernel.attach(first, part)) {
            Ok(link) => {
                of.events = events.len();
                self.free_parts.pop_front();
                self.parts.insert(part, Part { series, link });
                Ok(part)
            }
            Err(why) => {
                self.kernel.forget_events(part);
                Err(why)
            }
        }
    }

    /// Removes a part. Its counts until its events were last read belong to its series, if that
    /// still exists.
    pub fn leave(&mut self, part: u32, last: &[Span]) {
        let Some(Part { series, link }) = self.parts.remove(&part) else { return };
        drop(link);
        self.kernel.forget_events(part);
        self.free_parts.push_back(part);
        let Some(before) = self.series.get(&series).and_then(|_| self.kernel.last(part)) else {
            return;
        };
        // The counts of an event that could not be read last belong to no known window.
        let counted = spans(last.iter().zip(before.last).zip(0..).map(|((last, was), event)| {
            if before.missed >> event & 1 == 1 { Span::default() } else { last.since(was) }
        }));
        if counted.iter().any(|span| *span != Span::default()) {
            // Counts that can't be added are missing from this window: less than a period.
            let _ = self.kernel.credit(Rest { series, padding: 0, counted });
        }
    }

    /// Closes a series: nothing more is reported for it. Its parts still have to
    /// [leave](Self::leave).
    pub fn close(&mut self, series: u32) {
        if self.series.remove(&series).is_some() {
            self.free_series.push_back(series);
        }
    }

    /// Becomes readable when a window has ended.
    #[must_use]
    pub fn attention(&self) -> BorrowedFd<'_> {
        self.kernel.attention()
    }

    /// Appends the windows that have ended since the last call, each series' in order.
    pub fn take_ended(&mut self, windows: &mut Vec<Window>) {
        for record in self.kernel.take() {
            let Some(of) = self.series.get_mut(&record.series) else { continue };
            let is_of_another = record.number >> 32 != of.number >> 32;
            // Two CPUs that end one window after the other may report in the other order: then the
            // second record covers both.
            if is_of_another || record.number <= of.last.number {
                continue;
            }
            let spans = record.sums.iter().zip(&of.last.sums).zip(0..).take(of.events);
            let counted = spans.map(|((now, before), event)| {
                (record.unread & 1_u32 << event == 0).then(|| now.since(*before))
            });
            windows.push(Window {
                series: record.series,
                at: record.at,
                counted: counted.collect(),
                late: record.late.saturating_sub(of.last.late),
            });
            of.last = record;
        }
    }
}

fn full() -> Error {
    Error::Setting("no room is left for sampling more".to_owned())
}
