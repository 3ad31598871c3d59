//! What was observed of a program.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use fairways_core::{AppId, Counters, Profile, Q32, Sample, WayMask, Ways};

use crate::phases::{MOST_PHASES, SeenPhases, WindowPhase};
use crate::sizes::{PER_WAY, SIZES, size_of};

/// Lines that move in a window beyond this, in ways, blur what it shows.
const BLURRED: u64 = 2 << 32;

/// More are as many: products have room then, whatever a journal says.
const MOST_LINES: u64 = 1 << 40;

/// Fewer misses do not show what one costs.
const MISSES: u64 = 1000;

/// A program, from its windows.
#[derive(Clone, Debug)]
pub(crate) struct ObservedProgram {
    pub(crate) app: AppId,
    /// The ways that it may fill by the plan in force; `None`: all of them.
    pub(crate) mask: Option<WayMask>,
    pub(crate) profile: Option<Arc<Profile>>,
    /// What it missed, phase by phase.
    pub(crate) phases: SeenPhases,
    /// The lowest cost of a miss ever seen, in cycles times 2^32.
    pub(crate) least_cost: u64,
    /// Its occupancy when its last window ended.
    pub(crate) occupancy: Option<Q32>,
    /// What its occupancy is estimated by.
    pub(crate) filling: Filling,
    /// In the last window: lines brought in, and bytes of memory traffic, in a millisecond.
    pub(crate) fills: u64,
    pub(crate) traffic: u64,
    /// The ways that are its own, or its part of shared ones, in 256ths.
    pub(crate) owned: u64,
    /// What it did in the span, and in the next one if that has begun. Apart from the rest, which
    /// is small: each window looks at all programs.
    pub(crate) span: Box<CountedSpan>,
    pub(crate) next: Option<Box<CountedSpan>>,
}

/// What a program did in a span.
#[derive(Clone, Debug)]
pub(crate) struct CountedSpan {
    pub(crate) counters: Counters,
    /// Its misses at each size, and their sum times the ways that it might fill, by phase.
    misses: [Option<Box<MissesBySize>>; MOST_PHASES],
    /// Its misses while its size or its phase was not known.
    pub(crate) misses_of_unknown_size: u64,
    /// What its neighbours do while it runs, in the order of all programs.
    pub(crate) neighbours: Vec<Neighbour>,
}

/// Misses at each size, and their sum times the ways that the program might fill.
type MissesBySize = [(u64, u64); SIZES];

impl CountedSpan {
    fn new() -> Self {
        let first = Some(Box::new([(0, 0); SIZES]));
        Self {
            counters: Counters::default(),
            misses: [first, None, None, None],
            misses_of_unknown_size: 0,
            neighbours: Vec::new(),
        }
    }

    pub(crate) fn forget(&mut self) {
        self.counters = Counters::default();
        self.misses.iter_mut().flatten().for_each(|misses| **misses = [(0, 0); SIZES]);
        self.misses_of_unknown_size = 0;
        self.neighbours.fill(Neighbour::default());
    }

    /// Its misses: their phase, their size, how many, and their sum times the ways that it might
    /// fill.
    pub(crate) fn misses(&self) -> impl Iterator<Item = (usize, u64, u64, u64)> {
        let by_phase = self.misses.iter().enumerate();
        let by_phase = by_phase.filter_map(|(phase, misses)| Some((phase, misses.as_deref()?)));
        by_phase.flat_map(|(phase, misses)| {
            let sizes = (0..).zip(misses).filter(|(_, (misses, _))| *misses > 0);
            sizes.map(move |(size, &(misses, by_ways))| (phase, size, misses, by_ways))
        })
    }

    /// Adds misses at a size.
    fn add(&mut self, phase: usize, place: usize, misses: u64, own: u32) {
        let of_phase = self.misses[phase].get_or_insert_with(|| Box::new([(0, 0); SIZES]));
        let (count, by_ways) = &mut of_phase[place];
        *count = count.saturating_add(misses);
        *by_ways = by_ways.saturating_add(misses.saturating_mul(own.into()));
    }

    /// Another phase takes the place of this one.
    fn replace(&mut self, phase: usize) {
        let Some(misses) = &mut self.misses[phase] else { return };
        let gone = misses.iter().map(|(count, _)| *count).fold(0, u64::saturating_add);
        self.misses_of_unknown_size = self.misses_of_unknown_size.saturating_add(gone);
        **misses = [(0, 0); SIZES];
    }
}

/// What an estimate goes by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filling {
    /// Lines that it brought in, in ways times 2^32, in a millisecond.
    pub(crate) rate: u64,
    /// The part of its lines that were not used since the cache turned over, times 2^32.
    pub(crate) stale: u64,
    /// Lines that it brought in since it started, in ways times 2^32.
    pub(crate) brought_in: u64,
}

impl Default for Filling {
    fn default() -> Self {
        Self { rate: 0, stale: Q32::ONE.raw(), brought_in: 0 }
    }
}

impl Filling {
    /// Whether hardly a line is left of those that it may have had before it was known: it brought
    /// in half as many again as it is estimated to hold.
    fn has_turned_over(self, estimated: Q32) -> bool {
        self.brought_in > 0 && self.brought_in / 3 >= estimated.raw() / 2
    }
}

/// What a neighbour takes of a program.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Neighbour {
    /// Lines of the ways that the program may fill.
    pub(crate) lines: u64,
    /// Other ways.
    pub(crate) ways: u64,
    /// The bytes that it moves.
    pub(crate) bytes: u64,
}

impl ObservedProgram {
    pub(crate) fn new(
        app: AppId,
        profile: Option<Arc<Profile>>,
        mask: Option<WayMask>,
        has_next: bool,
    ) -> Self {
        Self {
            app,
            mask,
            profile,
            phases: SeenPhases::default(),
            least_cost: u64::MAX,
            occupancy: None,
            filling: Filling::default(),
            fills: 0,
            traffic: 0,
            owned: 0,
            span: Box::new(CountedSpan::new()),
            next: has_next.then(|| Box::new(CountedSpan::new())),
        }
    }

    /// Its spans that are under way.
    pub(crate) fn spans_mut(&mut self) -> impl Iterator<Item = &mut CountedSpan> {
        let next = self.next.as_deref_mut();
        core::iter::once(&mut *self.span).chain(next)
    }

    /// The next span is the present one from now on, and another next one begins.
    pub(crate) fn turn(&mut self) {
        if let Some(next) = &mut self.next {
            core::mem::swap(&mut self.span, next);
            next.forget();
        }
    }

    /// Forgets what was seen on another cache.
    pub(crate) fn forget(&mut self) {
        (self.phases, self.occupancy) = (SeenPhases::default(), None);
        self.filling = Filling::default();
        self.spans_mut().for_each(CountedSpan::forget);
    }

    /// Whether it may fill ways of a mask.
    pub(crate) fn may_fill_of(&self, mask: WayMask) -> bool {
        self.mask.is_none_or(|own| own.overlaps(mask))
    }

    /// What counts for its part of shared ways: its lines, or where occupancies are not known, the
    /// lines that it brings in.
    pub(crate) fn lines(&self, are_known: bool) -> u64 {
        let occupied = self.occupancy.map_or(0, |of| of.raw() >> 16);
        (if are_known { occupied } else { self.fills }).min(MOST_LINES)
    }

    /// Takes in a window, which counts for the span and for the next one if those have begun by
    /// its start. Its occupancy may be estimated, from zero on.
    pub(crate) fn observe(
        &mut self,
        (sample, is_estimated): (&Sample, bool),
        counts: [bool; 2],
        own: u32,
        ways: Ways,
    ) {
        let Sample { counters, occupancy, occupancy_at_least, window, straddled, .. } = sample;
        let before = core::mem::replace(&mut self.occupancy, *occupancy);
        let millis = u64::try_from(window.as_micros() / 1000).unwrap_or(u64::MAX).max(1);
        self.fills = counters.llc_misses.unwrap_or(0) / millis;
        let lines = counters.llc_misses.unwrap_or(0).saturating_mul(64);
        self.traffic = counters.memory_bytes.unwrap_or(lines) / millis;
        for (span, _) in self.spans_mut().zip(counts).filter(|(_, counts)| *counts) {
            span.counters = span.counters.plus(counters);
        }
        let Some((references, misses)) = counters.llc_references.zip(counters.llc_misses) else {
            return;
        };
        let nanos = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
        // Half of it may be of one phase, half of another.
        let phase = match straddled {
            true => WindowPhase::Known(self.phases.current_place()),
            false => self.phases.take_in(references, counters.instructions, nanos),
        };
        if let WindowPhase::New(phase) = phase {
            self.spans_mut().for_each(|span| span.replace(phase));
        }
        let is_in_part = match *occupancy {
            Some(estimated) => is_estimated && !self.filling.has_turned_over(estimated),
            None => occupancy_at_least.is_some(),
        };
        let (false, WindowPhase::Known(phase) | WindowPhase::New(phase)) = (is_in_part, phase)
        else {
            for (span, _) in self.spans_mut().zip(counts).filter(|(_, counts)| *counts) {
                span.misses_of_unknown_size = span.misses_of_unknown_size.saturating_add(misses);
            }
            self.note_cost(sample, misses);
            return;
        };
        let end = occupancy.map(Q32::raw);
        let before = before.map(Q32::raw);
        let ends = before.or(end).zip(end);
        // Where occupancies can't be read, nothing is known of sizes.
        let mean = ends.map_or(0, |(before, end)| size_of(Q32::from_raw(before / 2 + end / 2)));
        let place = mean.min((PER_WAY * ways.get()) as usize);
        for (span, _) in self.spans_mut().zip(counts).filter(|(_, counts)| *counts) {
            span.add(phase, place, misses, own);
        }
        if *straddled {
            return;
        }
        if before.zip(end).is_some_and(|(before, end)| before.abs_diff(end) <= BLURRED) {
            self.phases.shares_mut(phase).add(place, references, misses);
        }
        self.note_cost(sample, misses);
    }

    /// Takes in what a miss cost in a window.
    fn note_cost(&mut self, sample: &Sample, misses: u64) {
        let stalls = sample.counters.stalls_llc_miss;
        if let Some(stalls) = stalls.filter(|_| misses >= MISSES && !sample.straddled) {
            self.least_cost = self.least_cost.min(Q32::ratio(stalls, misses).raw());
        }
    }

    /// The largest size that it was seen with in each phase in which it missed in the span.
    pub(crate) fn largest(&self) -> u64 {
        let phases = self.span.misses().map(|(phase, ..)| phase);
        let largest = phases.map(|phase| self.phases.shares(phase).largest().unwrap_or(0)).min();
        largest.or_else(|| self.phases.current().largest()).unwrap_or(0)
    }

    /// Of the misses at a size in a phase, the share that is left at a larger one, times 2^32: at
    /// most, likely, and at least. By its profile if it has one.
    pub(crate) fn left(&self, phase: usize, from: u64, to: u64) -> [u64; 3] {
        let Some(profile) = &self.profile else {
            return self.phases.shares(phase).left(from, to);
        };
        let one = Q32::ONE.raw();
        let now = profiled_misses(profile, from);
        let left = if now == 0 {
            one
        } else {
            Q32::ratio(profiled_misses(profile, to), now).raw().min(one)
        };
        [left + (one - left) / 8, left, left - left / 8]
    }
}

/// Misses of 1000 instructions at a size, times 2^32, on the line between whole ways.
fn profiled_misses(profile: &Profile, size: u64) -> u64 {
    let per_way = u64::from(PER_WAY);
    let below = u32::try_from(size / per_way).unwrap_or(u32::MAX - 1);
    let [low, high] = [below, below + 1].map(|ways| profile.llcmpki.at(ways).raw());
    (low * (per_way - size % per_way) + high * (size % per_way)) / per_way
}
