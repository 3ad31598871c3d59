//! Sampling: one program has a large partition to itself and fills it, from few ways up, while
//! short windows show its behaviour at every size. All other programs share the rest.

use core::time::Duration;

use fairways_core::{AppId, Llc, Partition, Q32, Time};

use super::observed::Observed;
use super::parameters::Parameters;
use super::promises::KeptPromises;
use crate::lfoc::SAMPLING;
use crate::program::RunningProgram;
use crate::split::Stack;

/// A program that is being sampled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    pub(crate) app: AppId,
    /// The number of the phase in which sampling began.
    pub(crate) phase: u32,
    pub(crate) began: Time,
    /// When its last window ended, or sampling began.
    pub(crate) last_window: Time,
    /// The ways of its partition, and the largest number that it can have.
    pub(crate) ways: u32,
    largest: u32,
    /// Whether it has more time, because it did not fill its partition before.
    has_longer: bool,
    /// Windows with these ways; how many of the last ones in a row were steady; and how many had
    /// the partition full.
    windows: u32,
    still: u32,
    full: u32,
    occupancy: Q32,
    /// Its occupancy when half of the time was over.
    half_time: Q32,
    /// It is of interest as long as it could take fewer cycles per instruction than this.
    pub(crate) cpi_of_interest: Q32,
}

/// The next step after a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrowthStep {
    Wait,
    /// It has few lines left, so it may grow now.
    Grow,
    /// It has seen every size that it can.
    Complete,
    /// Time is over, but it is still filling its partition, or occupies lines that are not counted.
    Unfinished,
}

/// With fewer LLC misses per 1000 cycles, more ways can't save much: a miss costs up to 200 cycles.
const FEW: Q32 = Q32::ONE;

/// A program that was still filling its partition when time was over may take this many times as
/// long in its next sampling.
pub const LONGER: u32 = 8;

impl Growth {
    /// Begins with the fewest ways if the program was never seen with so few. `None` if sampling is
    /// not possible.
    pub(crate) fn new(
        (app, cpi_of_interest): (AppId, Q32),
        at: Time,
        sizes: Option<(u32, u32)>,
        observed: &Observed,
        phase: u32,
    ) -> Option<Self> {
        let (least, largest) = sizes?;
        let few = Q32::from_int(least).raw() / 2 * 3;
        let knows_few = observed.range().is_some_and(|(least, _)| least.raw() <= few);
        Some(Self {
            app,
            phase,
            began: at,
            last_window: at,
            ways: if knows_few { largest } else { least },
            largest,
            has_longer: observed.is_unfinished,
            windows: 0,
            still: 0,
            full: 0,
            occupancy: Q32::default(),
            half_time: Q32::default(),
            cpi_of_interest,
        })
    }

    /// The fewest and the most ways of a program's sampling partition: at least what was promised
    /// to it, and at most what leaves the others their promises. `None` if there are not two sizes.
    pub(crate) fn sizes(
        app: AppId,
        llc: &Llc,
        programs: &[RunningProgram],
        promises: &KeptPromises,
    ) -> Option<(u32, u32)> {
        let (count, promised) = promises
            .ways_of_others(app)
            .fold((0, 0), |(count, sum), (_, ways)| (count + 1, sum + ways));
        let has_rest = programs.len() > count as usize + 1;
        let rest = if has_rest { llc.min_ways() } else { 0 };
        let least = promises.ways_of(app).unwrap_or(llc.min_ways());
        let largest = llc.ways.get().checked_sub(promised + rest)?;
        let clusters = 1 + count + u32::from(has_rest);
        (programs.len() > 1 && clusters <= llc.max_clusters() && largest > least)
            .then_some((least, largest))
    }

    /// The longest that filling a partition may take.
    pub(crate) fn longest(p: &Parameters) -> Duration {
        p.sampling_window.saturating_mul(p.most_windows.saturating_mul(LONGER))
    }

    /// Whether its partition is possible with these sizes.
    pub(crate) fn fits(&self, sizes: Option<(u32, u32)>) -> bool {
        sizes.is_some_and(|(least, largest)| least <= self.ways && self.largest <= largest)
    }

    /// The sampling partition, the promised ways of others, and all other programs in the rest.
    pub(crate) fn plan(
        &self,
        llc: &Llc,
        programs: &[RunningProgram],
        promises: &KeptPromises,
        partition: &mut Partition,
    ) -> &'static str {
        let mut stack = Stack::new(llc);
        let own = partition.add_cluster(stack.next(self.ways));
        partition.place(self.app, own);
        let mut free = llc.ways.get() - self.ways;
        for (app, ways) in promises.ways_of_others(self.app) {
            let cluster = partition.add_cluster(stack.next(ways));
            partition.place(app, cluster);
            free -= ways;
        }
        let mut others = programs
            .iter()
            .map(|program| program.app)
            .filter(|&app| app != self.app && promises.ways_of(app).is_none())
            .peekable();
        if others.peek().is_some() {
            let rest = partition.add_cluster(stack.next(free));
            others.for_each(|app| partition.place(app, rest));
        }
        SAMPLING
    }

    /// Handles a window that ended with this occupancy, or at least this occupancy.
    pub(crate) fn observe(
        &mut self,
        p: &Parameters,
        at: Time,
        (occupancy, is_all): (Option<Q32>, bool),
        llcmpkc: Option<Q32>,
    ) -> GrowthStep {
        self.last_window = at;
        self.windows += 1;
        if let Some(now) = occupancy {
            let moved = now.raw().abs_diff(self.occupancy.raw());
            // If each miss takes long, a window brings in few lines although more are to come. If
            // it hits, the hits may be on lines elsewhere that are not counted.
            let has_few = llcmpkc.is_none_or(|rate| rate < FEW);
            let is_still = is_all && moved < Q32::ONE.raw() / 32 && has_few;
            self.still = if is_still { self.still + 1 } else { 0 };
            self.occupancy = now;
        }
        let quarter = Q32::ONE.raw() / 4;
        let edge = Q32::from_int(self.ways).raw();
        let is_growing = self.ways == self.largest;
        let is_there = if is_growing {
            self.occupancy.raw() + quarter >= edge
        } else {
            // Lines that are not counted are replaced while it has few ways.
            is_all && self.occupancy.raw() <= edge + quarter
        };
        self.full += u32::from(is_there);
        let times = if is_growing && self.has_longer { LONGER } else { 1 };
        let most = p.most_windows.saturating_mul(times);
        if self.windows <= most / 2 {
            self.half_time = self.occupancy;
        }
        let is_done = self.full >= p.full_windows || self.still >= p.still_windows;
        if !is_done && self.windows < most {
            return GrowthStep::Wait;
        }
        let is_filling = !is_done && self.occupancy.raw() > self.half_time.raw() + quarter;
        match (is_growing, !is_all || is_filling && !self.has_longer) {
            (false, _) => GrowthStep::Grow,
            (true, true) => GrowthStep::Unfinished,
            (true, false) => GrowthStep::Complete,
        }
    }

    /// Gives it the largest partition.
    pub(crate) fn grow(&mut self) {
        (self.ways, self.windows, self.still, self.full) = (self.largest, 0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use fairways_core::Ways;

    use super::*;
    use crate::fairways::observed::tests::rates;
    use crate::fairways::tests::programs_with_promises;

    fn sizes(promised: &[Option<u32>], sampled: u32) -> Option<(u32, u32)> {
        let programs = programs_with_promises(promised);
        let llc = Llc::with_ways(Ways::new(8).unwrap());
        let mut promises = KeptPromises::default();
        promises.admit(&llc, &programs, &[]);
        Growth::sizes(AppId(sampled), &llc, &programs, &promises)
    }

    #[test]
    fn a_sampling_partition_leaves_what_is_promised() {
        assert_eq!(sizes(&[None, None], 0), Some((1, 7)));
        assert_eq!(sizes(&[None, Some(3), None], 0), Some((1, 4)));
        // Its own promise is the least; nothing has to be left for others.
        assert_eq!(sizes(&[Some(2), Some(3)], 0), Some((2, 5)));
        assert_eq!(sizes(&[Some(5), Some(3)], 0), None);
        assert_eq!(sizes(&[None], 0), None);
    }

    /// A program that was seen with these ways.
    fn seen_with(quarters: u64) -> Observed {
        let mut observed = Observed::default();
        observed.add(&rates(quarters, 1000, 4));
        observed
    }

    fn growth(observed: &Observed) -> Growth {
        Growth::new((AppId(0), Q32::ONE), Time::ZERO, Some((1, 7)), observed, 0).unwrap()
    }

    #[test]
    fn it_grows_once_few_lines_are_left_and_ends_when_it_is_full() {
        let p = Parameters { full_windows: 2, ..Parameters::default() };
        let mut growth = growth(&seen_with(16));
        for (ways, step) in [
            (4, GrowthStep::Wait),
            (1, GrowthStep::Wait),
            (1, GrowthStep::Grow),
            (3, GrowthStep::Wait),
            (7, GrowthStep::Wait),
            (7, GrowthStep::Complete),
        ] {
            assert_eq!(
                growth.observe(&p, Time::ZERO, (Some(Q32::from_int(ways)), true), None),
                step,
                "{ways}"
            );
            if step == GrowthStep::Grow {
                growth.grow();
            }
        }
    }

    /// Each of its misses takes long: it brings few lines in a window, and is not still.
    #[test]
    fn a_program_that_misses_goes_on_although_few_lines_move() {
        for (misses, step) in [(0, GrowthStep::Complete), (5, GrowthStep::Wait)] {
            let p = Parameters::default();
            let mut growth = growth(&seen_with(4));
            let mut last = GrowthStep::Wait;
            for window in 0..=u64::from(p.still_windows) {
                let occupancy = Q32::from_raw((1 << 32) + (window << 26));
                let occupancy = (Some(occupancy), true);
                last = growth.observe(&p, Time::ZERO, occupancy, Some(Q32::from_int(misses)));
            }
            assert_eq!(last, step, "{misses}");
        }
    }

    /// It ran before it was monitored: lines that are not counted have to go first.
    #[test]
    fn it_does_not_grow_before_all_that_it_holds_is_counted() {
        let p = Parameters { full_windows: 2, ..Parameters::default() };
        let mut growth = growth(&seen_with(16));
        let missing = Some(Q32::from_int(4));
        let held = Some(Q32::from_raw(1 << 31));
        let counted = (0..22).map(|window| window >= 20);
        let steps = counted.map(|is_all| growth.observe(&p, Time::ZERO, (held, is_all), missing));
        let waits = steps.take_while(|step| *step == GrowthStep::Wait);
        assert_eq!(waits.count(), 21);
        // It hardly misses: that shows nothing while it may hit lines elsewhere.
        growth.grow();
        let steps: Vec<GrowthStep> = (0..p.most_windows)
            .map(|_| growth.observe(&p, Time::ZERO, (held, false), Some(Q32::default())))
            .collect();
        let (last, before) = steps.split_last().unwrap();
        assert!(before.iter().all(|step| *step == GrowthStep::Wait));
        assert_eq!(*last, GrowthStep::Unfinished);
    }

    /// Half of its partition is full when time is up; then it has longer, but not for good.
    /// If it fills no more, it never will.
    #[test]
    fn a_program_that_is_still_filling_its_partition_has_longer_the_next_time() {
        let p = Parameters { most_windows: 8, ..Parameters::default() };
        for (per_window, windows, is_unfinished, last) in [
            (0, 8, false, GrowthStep::Complete),
            (1 << 28, 8, false, GrowthStep::Complete),
            (1 << 28 | 1, 8, false, GrowthStep::Unfinished),
            (1 << 28 | 1, 64, true, GrowthStep::Complete),
        ] {
            let mut observed = seen_with(4);
            observed.is_unfinished = is_unfinished;
            let mut growth = growth(&observed);
            for window in 1..=windows {
                let filled = (Some(Q32::from_raw((2 << 32) + window * per_window)), true);
                let step = growth.observe(&p, Time::ZERO, filled, Some(Q32::from_int(4)));
                assert_eq!(step, if window < windows { GrowthStep::Wait } else { last });
            }
        }
    }
}
