//! Which program slows which, and by how much: each program's loss against running alone with the
//! whole cache, divided into cache and memory bus, and each part divided among the neighbours that
//! cause it.
//!
//! [`Attribution`] reads the events that a policy gets, whichever policy runs, and takes no action.
//! [`WatchedPolicy`] joins it to a policy, and requests windows of programs that the policy does
//! not watch. It does no I/O, reads no clock, uses no floating point, and allocates only when a
//! program starts.
//!
//! # How it knows
//!
//! - **Misses with the whole cache** (`sizes.rs`): the miss ratio at each occupancy ever seen,
//!   extrapolated to larger ones. A profile replaces it. An occupancy of which only a lower bound
//!   is known (`Sample::occupancy_at_least`) says nothing about a size.
//! - **What a miss costs** (`cost.rs`): cycles of waiting for memory, per miss, and cycles of
//!   waiting for the last-level cache, per hit. On an idle bus the ratio of the two is known;
//!   anything above it is the wait for the bus.
//! - **Which neighbour causes a loss** (`neighbours.rs`, `culprits.rs`): a loss of cache is charged
//!   to a neighbour by the ways that it occupies, as far as the victim would get them if the
//!   neighbour were gone; a loss on the bus by its traffic above a fair share.
//! - **What would end it** (`remedy.rs`): ways of the victim's own, by the same shares of misses.
//!
//! A missing measurement widens the interval ([`Bounds`]); [`Loss::unknown`] says what to measure.
#![no_std]
#![deny(clippy::float_arithmetic)]

extern crate alloc;

mod cost;
mod culprits;
mod estimated;
mod loss;
mod neighbours;
mod phases;
mod program;
mod recent;
mod remedy;
mod sizes;
mod watched;

use alloc::vec::Vec;

use fairways_core::{AppId, Counter, Event, Levers, Llc, Partition, Q32, Sample, Time, WayMask};

pub use cost::MemoryLatency;
pub use culprits::Caused;
pub use loss::{Bounds, Loss, Unknown};
pub use recent::RecentAttribution;
pub use remedy::Remedy;
pub use watched::{FIRST_WINDOW, FIRST_WINDOWS, WINDOW, WatchedPolicy};

use program::{Neighbour, ObservedProgram};

/// The counters that losses are estimated from, the most useful first. Without `StallsLlcMiss`, the
/// latencies of an idle machine divide the stalls between hits and misses. Without any other, the
/// cost of a miss is unknown, and no loss is estimated but by a profile.
pub const COUNTERS: &[Counter] =
    &[Counter::LlcMisses, Counter::LlcReferences, Counter::StallsLlcMiss, Counter::StallsL2Miss];

/// The programs that are attributed at a time; programs that start beyond that are left out. What
/// neighbours take is counted for each pair of programs: 1.6 MB at this limit.
pub const MOST_PROGRAMS: usize = 256;

/// The losses of a machine's programs, from what was observed of them.
#[derive(Clone, Debug)]
pub struct Attribution {
    latency: Option<MemoryLatency>,
    since: Time,
    /// When the next span began, if one has.
    next_since: Option<Time>,
    llc: Option<Llc>,
    /// The lines in a way, if occupancies can't be read and are estimated; else `None`.
    lines_per_way: Option<u64>,
    partition: Partition,
    /// In the order in which they started.
    programs: Vec<ObservedProgram>,
}

impl Attribution {
    /// An attribution of losses from `since` on; earlier events only teach it how programs behave.
    /// `latency` is that of the idle machine; without it, less is known about the bus.
    #[must_use]
    pub fn new(latency: Option<MemoryLatency>, since: Time) -> Self {
        let (partition, programs) = (Partition::default(), Vec::new());
        let (next_since, llc, lines_per_way) = (None, None, None);
        Self { latency, since, next_since, llc, lines_per_way, partition, programs }
    }

    /// Begins the span that [follows](Self::turn) the present one, while that one goes on.
    pub(crate) const fn begin_next(&mut self, since: Time) {
        self.next_since = Some(since);
    }

    /// Makes the next span the present one, and begins another next one.
    pub(crate) fn turn(&mut self, at: Time) {
        self.since = self.next_since.replace(at).unwrap_or(at);
        self.programs.iter_mut().for_each(ObservedProgram::turn);
    }

    /// Estimates the occupancies that windows lack from the misses of the programs, which must be
    /// all that run. `lines_per_way` is the number of cache lines in a way.
    #[must_use]
    pub const fn estimating(mut self, lines_per_way: u64) -> Self {
        self.estimate_by(Some(lines_per_way));
        self
    }

    /// Like [`estimating`](Self::estimating), from now on; `None` stops estimating.
    pub const fn estimate_by(&mut self, lines_per_way: Option<u64>) {
        self.lines_per_way = lines_per_way;
    }

    /// When the span began.
    #[must_use]
    pub const fn since(&self) -> Time {
        self.since
    }

    /// Begins another span, and keeps what is known of programs.
    pub fn begin(&mut self, since: Time) {
        self.since = since;
        self.programs.iter_mut().for_each(|one| one.span.forget());
    }

    /// Takes in an event, which happened at time `at`.
    pub fn handle(&mut self, at: Time, event: &Event) {
        match event {
            Event::Machine(Levers { llc, .. }) => self.change_cache(*llc),
            Event::Started { app, profile, .. }
                if self.place(*app).is_none() && self.programs.len() < MOST_PROGRAMS =>
            {
                let mask = self.partition.mask_of(*app);
                let has_next = self.next_since.is_some();
                self.programs.push(ObservedProgram::new(*app, profile.clone(), mask, has_next));
                let (count, none) = (self.programs.len(), Neighbour::default());
                let spans = self.programs.iter_mut().flat_map(ObservedProgram::spans_mut);
                spans.for_each(|span| span.neighbours.resize(count, none));
            }
            Event::Exited { app } => {
                if let Some(place) = self.place(*app) {
                    self.programs.remove(place);
                    let spans = self.programs.iter_mut().flat_map(ObservedProgram::spans_mut);
                    spans.for_each(|span| _ = span.neighbours.remove(place));
                }
            }
            Event::Applied { actual, .. } => {
                self.partition.clear();
                actual.clusters().iter().for_each(|of| _ = self.partition.add(*of));
                actual.placements().iter().for_each(|of| self.partition.place(of.app, of.cluster));
                for one in &mut self.programs {
                    one.mask = self.partition.mask_of(one.app);
                }
            }
            Event::Sampled(sample) => {
                let (Some(place), Some(llc)) = (self.place(sample.app), self.llc) else { return };
                let mask = self.mask_of(place, llc);
                let counts = [Some(self.since), self.next_since]
                    .map(|since| since.is_some_and(|since| at >= since.after(sample.window)));
                // An occupancy that is known in part is not estimated either: the rest of it is
                // unknown.
                let occupancy = sample.occupancy.or_else(|| {
                    let is_unread = sample.occupancy_at_least.is_none();
                    let Sample { counters, window, .. } = sample;
                    is_unread.then(|| self.estimate(place, counters, *window, mask)).flatten()
                });
                let is_estimated = sample.occupancy.is_none() && occupancy.is_some();
                let sample = &Sample { occupancy, ..*sample };
                let observed = (sample, is_estimated);
                self.programs[place].observe(observed, counts, mask.count(), llc.ways);
                self.own(place, mask);
                if counts != [false; 2] {
                    self.count_neighbours(place, sample.window, mask, counts);
                }
            }
            _ => {}
        }
    }

    /// Forgets what was observed if the cache is another one than before.
    fn change_cache(&mut self, llc: Llc) {
        if self.llc.replace(llc).is_some_and(|before| before.ways != llc.ways) {
            self.programs.iter_mut().for_each(ObservedProgram::forget);
        }
    }

    /// The programs that run, in the order in which they started.
    pub fn programs(&self) -> impl Iterator<Item = AppId> {
        self.programs.iter().map(|one| one.app)
    }

    /// Whether occupancies that can't be read are estimated.
    #[must_use]
    pub const fn is_estimating(&self) -> bool {
        self.lines_per_way.is_some()
    }

    /// A program's occupancy at the end of its last window, in ways, read or estimated.
    #[must_use]
    pub fn occupancy(&self, app: AppId) -> Option<Q32> {
        self.programs[self.place(app)?].occupancy
    }

    fn place(&self, app: AppId) -> Option<usize> {
        self.programs.iter().position(|one| one.app == app)
    }

    /// The ways that a program may fill.
    fn mask_of(&self, place: usize, llc: Llc) -> WayMask {
        self.programs[place].mask.unwrap_or_else(|| WayMask::span(0, llc.ways.get()))
    }
}
