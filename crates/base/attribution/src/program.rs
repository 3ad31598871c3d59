//! What was observed of a program.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use fairways_core::{AppId, Counters, Profile, Q32, Sample, WayMask, Ways};

use crate::phases::{MOST_PHASES, SeenPhases, WindowPhase};
use crate::sizes::{PER_WAY, SIZES, size_of};

/// If the occupancy changes by more than this in a window, in ways, its miss ratio is not recorded.
const BLURRED: u64 = 2 << 32;

/// The cap on a program's lines, so that products do not overflow whatever a journal says.
const MOST_LINES: u64 = 1 << 40;

/// A window with fewer misses does not show what a miss costs, and leaves `least_cost` as it is.
const MISSES: u64 = 1000;

/// What is known of a program from its windows.
#[derive(Clone, Debug)]
pub(crate) struct ObservedProgram {
    pub(crate) app: AppId,
    /// The ways that it may fill under the plan in force; `None`: all of them.
    pub(crate) mask: Option<WayMask>,
    pub(crate) profile: Option<Arc<Profile>>,
    /// Its miss ratios, phase by phase.
    pub(crate) phases: SeenPhases,
    /// The lowest cost of a miss ever seen, in cycles times 2^32.
    pub(crate) least_cost: u64,
    /// Its occupancy when its last window ended.
    pub(crate) occupancy: Option<Q32>,
    /// What the estimate of its occupancy is computed from.
    pub(crate) filling: Filling,
    /// Per millisecond of the last window: lines brought in, and bytes of memory traffic.
    pub(crate) fills: u64,
    pub(crate) traffic: u64,
    /// The ways that count as its own, with its share of shared ways, in 256ths.
    pub(crate) owned: u64,
    /// What it did in the present span, and in the next one if that has begun. Boxed, so that the
    /// other fields stay small: each window looks at all programs.
    pub(crate) span: Box<CountedSpan>,
    pub(crate) next: Option<Box<CountedSpan>>,
}

/// What a program did in a span.
#[derive(Clone, Debug)]
pub(crate) struct CountedSpan {
    pub(crate) counters: Counters,
    /// By phase: its misses at each size, and the sum over them of the ways that it might fill.
    misses: [Option<Box<MissesBySize>>; MOST_PHASES],
    /// Its misses while its size or its phase was not known.
    pub(crate) misses_of_unknown_size: u64,
    /// What its neighbours do while it runs, in the order of all programs.
    pub(crate) neighbours: Vec<Neighbour>,
}

/// Misses at each size, and the sum over them of the ways that the program might fill.
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

    /// Its misses by phase and size: the phase, the size, their number, and the sum over them of
    /// the ways that it might fill.
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

    /// Clears what was counted of a phase that another one replaces.
    fn replace(&mut self, phase: usize) {
        let Some(misses) = &mut self.misses[phase] else { return };
        let gone = misses.iter().map(|(count, _)| *count).fold(0, u64::saturating_add);
        self.misses_of_unknown_size = self.misses_of_unknown_size.saturating_add(gone);
        **misses = [(0, 0); SIZES];
    }
}

/// What the estimate of an occupancy is computed from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filling {
    /// Lines brought in per millisecond, in ways times 2^32.
    pub(crate) rate: u64,
    /// The part of its lines that were not used since the cache turned over, times 2^32.
    pub(crate) stale: u64,
    /// Lines brought in since it started, in ways times 2^32.
    pub(crate) brought_in: u64,
}

impl Default for Filling {
    fn default() -> Self {
        Self { rate: 0, stale: Q32::ONE.raw(), brought_in: 0 }
    }
}

impl Filling {
    /// Whether it has brought in 1.5 times its estimated occupancy, so that hardly any of the lines
    /// that it may have had before it was known are left.
    fn has_turned_over(self, estimated: Q32) -> bool {
        self.brought_in > 0 && self.brought_in / 3 >= estimated.raw() / 2
    }
}

/// What a neighbour takes from a program.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Neighbour {
    /// Lines in the ways that the program may fill.
    pub(crate) lines: u64,
    /// Ways that the program may not fill.
    pub(crate) ways: u64,
    /// The bytes of its memory traffic.
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

    /// The spans that have begun.
    pub(crate) fn spans_mut(&mut self) -> impl Iterator<Item = &mut CountedSpan> {
        let next = self.next.as_deref_mut();
        core::iter::once(&mut *self.span).chain(next)
    }

    /// Makes the next span the present one, and begins another next one.
    pub(crate) fn turn(&mut self) {
        if let Some(next) = &mut self.next {
            core::mem::swap(&mut self.span, next);
            next.forget();
        }
    }

    /// Forgets what was observed on another cache.
    pub(crate) fn forget(&mut self) {
        (self.phases, self.occupancy) = (SeenPhases::default(), None);
        self.filling = Filling::default();
        self.spans_mut().for_each(CountedSpan::forget);
    }

    /// Whether it may fill any way of a mask.
    pub(crate) fn may_fill_of(&self, mask: WayMask) -> bool {
        self.mask.is_none_or(|own| own.overlaps(mask))
    }

    /// What its share of shared ways is computed from: its occupancy, or if occupancies are not
    /// known, the lines that it brings in.
    pub(crate) fn lines(&self, are_known: bool) -> u64 {
        let occupied = self.occupancy.map_or(0, |of| of.raw() >> 16);
        (if are_known { occupied } else { self.fills }).min(MOST_LINES)
    }

    /// Takes in a window. `counts` says whether it counts for the present span and for the next
    /// one, if they began before it did. Its occupancy may be estimated, counted from zero.
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
        // Half of the window may belong to one phase, half to another.
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
        // Without an occupancy the size is not known: 0.
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

    /// Lowers `least_cost` to what a miss cost in a window, if that was less.
    fn note_cost(&mut self, sample: &Sample, misses: u64) {
        let stalls = sample.counters.stalls_llc_miss;
        if let Some(stalls) = stalls.filter(|_| misses >= MISSES && !sample.straddled) {
            self.least_cost = self.least_cost.min(Q32::ratio(stalls, misses).raw());
        }
    }

    /// The least, over the phases in which it missed in the span, of the largest size seen in each.
    pub(crate) fn largest(&self) -> u64 {
        let phases = self.span.misses().map(|(phase, ..)| phase);
        let largest = phases.map(|phase| self.phases.shares(phase).largest().unwrap_or(0)).min();
        largest.or_else(|| self.phases.current().largest()).unwrap_or(0)
    }

    /// The part of the misses at a size in a phase that would be left at a larger size, times 2^32:
    /// at most, likely, at least. From its profile if it has one.
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

/// Misses per 1000 instructions at a size, times 2^32, interpolated between whole ways.
fn profiled_misses(profile: &Profile, size: u64) -> u64 {
    let per_way = u64::from(PER_WAY);
    let below = u32::try_from(size / per_way).unwrap_or(u32::MAX - 1);
    let [low, high] = [below, below + 1].map(|ways| profile.llcmpki.at(ways).raw());
    (low * (per_way - size % per_way) + high * (size % per_way)) / per_way
}
