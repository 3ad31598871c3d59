//! Windows of a program that end in the kernel, by the count of an event such as 100 million instructions (LFOC, §4.1 and §5).
//!
//! A [`Sampler`] runs a BPF program whenever an event of one of the program's threads, or of its cgroup on a CPU, has counted for a
//! while. It adds up what they all counted, and tells when that is a window. Nobody polls: whoever waits on
//! [`attention`](Sampler::attention) is woken once a window.
//!
//! - **How exact**: a window is never too short. It is too long by what counts between two overflows of the part that ends it, a period,
//!   and what the other parts had counted since their last overflows, less than a period each, is of the next window; as what they had at
//!   its beginning is of this. A part that has ended is added as soon as its owner says what it counted.
//! - **The other events** are read in the kernel where the first overflows, and added with it: each part's counts in a window are all of
//!   the same stretch of it, so that ratios of them are right, whoever is late to fetch them.
//! - **No window is lost**: sums only grow, and if nobody fetched those before, so that there is no room for another, a later overflow tells
//!   of a longer one.
//!
//! The events are the caller's, as is their period (`PERF_EVENT_IOC_PERIOD`); a part costs a descriptor beside theirs. It needs Linux 5.15,
//! and CAP_BPF with CAP_PERFMON.

mod contract;
mod kernel;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{BorrowedFd, OwnedFd};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::Error;
use contract::{Rest, spans};
use kernel::Kernel;

/// Events of a part at most.
pub const EVENTS: usize = PLACES as usize;

/// As places in a map.
const PLACES: u32 = 16;

/// What an event counted.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct Span {
    /// What it counted.
    pub value: u64,
    /// Nanoseconds in which whom it counts ran.
    pub enabled: u64,
    /// Nanoseconds of those in which it was on a counter.
    pub running: u64,
}

impl Span {
    /// What was counted since `earlier`; nothing where that is not less.
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
    /// What each event counted, of all parts since the window before or the series' beginning; `None` of one that the kernel could not read
    /// everywhere.
    pub counted: Vec<Option<Span>>,
    /// How often its end found no room, and was told by a later overflow.
    pub late: u64,
}

/// The program in the kernel. Dropped, it tells nothing more; the events go on.
pub struct Sampler {
    kernel: Kernel,
    /// Numbers that nobody has, those for longest first.
    free_parts: VecDeque<u32>,
    free_series: VecDeque<u32>,
    parts: BTreeMap<u32, Part>,
    series: BTreeMap<u32, Series>,
    /// Series so far.
    opened: u32,
}

struct Part {
    series: u32,
    /// Held open: closing it takes the program off the event.
    link: OwnedFd,
}

struct Series {
    /// Its windows' numbers are above this.
    number: u64,
    events: usize,
    last: contract::Window,
}

impl Sampler {
    /// Loads the program, with room for so many parts, and as many series.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn load(parts: u32) -> Result<Self, Error> {
        Ok(Self {
            kernel: Kernel::load(parts)?,
            free_parts: (0..parts).collect(),
            free_series: (0..parts).collect(),
            parts: BTreeMap::new(),
            series: BTreeMap::new(),
            opened: 0,
        })
    }

    /// A new series, whose windows are of so many counts of the parts' first event; of 1 at least.
    ///
    /// # Errors
    /// If there is room for no more, or the kernel refuses.
    pub fn open(&mut self, window: u64) -> Result<u32, Error> {
        let Some(&series) = self.free_series.front() else { return Err(full()) };
        // Of the one that had this number before, a record may still be on its way.
        let number = u64::from(self.opened) << 32;
        let window = window.max(1);
        let of = contract::Series { window, end: window, number, ..contract::Series::default() };
        self.kernel.set_series(series, &of)?;
        self.opened = self.opened.wrapping_add(1);
        self.free_series.pop_front();
        self.series.insert(series, Series { number, events: 0, last: contract::Window::default() });
        Ok(series)
    }

    /// A part of a series from now on: its events, [16](EVENTS) at most, and what each had counted by now. The first was opened with a period,
    /// and is a leader or alone. All parts of a series have the same events: what one had not would count for nothing.
    ///
    /// # Errors
    /// If there is no such series, its parts have another number of events, there is room for no more, or the kernel refuses.
    pub fn join(&mut self, series: u32, events: &[(BorrowedFd<'_>, Span)]) -> Result<u32, Error> {
        let Some(of) = self.series.get_mut(&series) else {
            return Err(Error::Setting(format!("there is no series {series}")));
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

    /// It is a part no longer. What it counted until its events were read last belongs to its series, if that is still there.
    pub fn leave(&mut self, part: u32, last: &[Span]) {
        let Some(Part { series, link }) = self.parts.remove(&part) else { return };
        drop(link);
        self.kernel.forget_events(part);
        self.free_parts.push_back(part);
        let Some(before) = self.series.get(&series).and_then(|_| self.kernel.last(part)) else {
            return;
        };
        // Of an event that could not be read last, nobody knows what belongs where.
        let since = |((last, was), event): ((&Span, Span), u32)| {
            if before.missed >> event & 1 == 1 { Span::default() } else { last.since(was) }
        };
        let counted = spans(last.iter().zip(before.last).zip(0..).map(since));
        if counted.iter().any(|span| *span != Span::default()) {
            // What can't be added is missing from this window: less than a period.
            let _ = self.kernel.credit(Rest { series, padding: 0, counted });
        }
    }

    /// A series goes on no longer: nothing more is told of it. Its parts are still to [leave](Self::leave).
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

    /// Appends the windows that have ended since this was last asked, a series' in their order.
    pub fn ended(&mut self, windows: &mut Vec<Window>) {
        for record in self.kernel.take() {
            let Some(of) = self.series.get_mut(&record.series) else { continue };
            let is_of_another = record.number >> 32 != of.number >> 32;
            // Two CPUs that ended one window after the other may tell in the other order: the second told of both.
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
    Error::Setting("as many are sampled as there is room for".to_owned())
}
