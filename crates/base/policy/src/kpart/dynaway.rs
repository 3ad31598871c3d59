//! DynaWay: measures a program at some sizes, from nearly the whole cache down.

use alloc::vec::Vec;
use core::cmp::Reverse;

use fairways_core::{AppId, Curve, Llc, Partition, PlanId, Q32, Sample};

use crate::program::RunningProgram;
use crate::split::Stack;

/// The reason of every plan while a program is measured.
pub const SAMPLING: &str = "DynaWay: one program is measured, the others share the rest";

/// The sizes at which a program is measured, the largest first: as in the published code for 8, 11
/// and 12 ways, and in the proportions of those for 12 ways otherwise.
pub(crate) fn sizes(llc: &Llc) -> Vec<u32> {
    let ways = llc.ways.get();
    let mut sizes: Vec<u32> = match ways {
        8 => [7, 6, 4, 3, 2, 1].into(),
        11 => [10, 8, 6, 4, 2, 1].into(),
        _ => {
            let parts = [8, 6, 4, 2].map(|twelfths| (2 * ways * twelfths + 12) / 24);
            [&[ways - 1], &parts[..], &[1]].concat()
        }
    };
    // The other programs need ways, too.
    let least = llc.min_ways();
    for size in &mut sizes {
        *size = (*size).clamp(least, ways - least);
    }
    sizes.dedup();
    sizes
}

/// A program that is being measured.
#[derive(Clone, Debug)]
pub(crate) struct ProfilingSession {
    pub(crate) app: AppId,
    sizes: Vec<u32>,
    /// The index of the size in force.
    place: usize,
    /// The first plan with this size.
    pub(crate) plan: Option<PlanId>,
    /// Whether other programs came or went since the last window; the measured program's ways stay.
    pub(crate) has_joined: bool,
    /// Windows still to discard: the first of a session, while lines move.
    warm_up: u32,
    /// The results of each size, most ways first: LLC misses per 1000 instructions, and IPC.
    points: Vec<(u32, Q32, Q32)>,
    /// Decision periods without a usable window.
    pub(crate) silent: u32,
}

/// The step after a window.
#[derive(Clone, Debug)]
pub(crate) enum ProfilingStep {
    Wait,
    /// The next size, or the same again.
    Shrink,
    /// The end: all sizes have been measured.
    Done,
}

impl ProfilingSession {
    pub(crate) fn new(app: AppId, llc: &Llc) -> Self {
        Self {
            app,
            sizes: sizes(llc),
            place: 0,
            plan: None,
            has_joined: false,
            warm_up: 1,
            points: Vec::new(),
            silent: 0,
        }
    }

    /// Plans the program alone with the current size, all others on the rest.
    pub(crate) fn plan(
        &self,
        llc: &Llc,
        programs: &[RunningProgram],
        partition: &mut Partition,
    ) -> &'static str {
        let mut stack = Stack::new(llc);
        let size = self.sizes[self.place];
        let own = partition.add_cluster(stack.next(size));
        partition.place(self.app, own);
        let others = programs.iter().map(|program| program.app).filter(|app| *app != self.app);
        let rest = partition.add_cluster(stack.next(llc.ways.get() - size));
        partition.place_all(others, rest..=rest);
        SAMPLING
    }

    /// Handles a window of the program in which it had the current size, or these `other` ways.
    pub(crate) fn add_window(&mut self, sample: &Sample, other: Option<u32>) -> ProfilingStep {
        let joined = core::mem::take(&mut self.has_joined);
        if sample.plan < self.plan || (sample.straddled && !joined) {
            return ProfilingStep::Wait;
        }
        let counters = &sample.counters;
        let (Some(instructions @ 1..), Some(misses), Some(ipc)) =
            (counters.instructions, counters.llc_misses, counters.ipc())
        else {
            return ProfilingStep::Wait;
        };
        self.silent = 0;
        if self.warm_up > 0 {
            self.warm_up -= 1;
            return ProfilingStep::Wait;
        }
        let llcmpki = Q32::ratio(misses.saturating_mul(1000), instructions);
        let ways = other.unwrap_or(self.sizes[self.place]);
        self.points.push((ways, llcmpki, ipc.max(Q32::from_raw(1))));
        self.points.sort_by_key(|&(ways, ..)| Reverse(ways));
        self.place += 1;
        if self.place < self.sizes.len() {
            self.plan = None;
            return ProfilingStep::Shrink;
        }
        self.place = 0;
        ProfilingStep::Done
    }

    /// MPKI and IPC by ways: the measured points with lines between them, made monotone, so that
    /// misses never rise with ways and IPC never falls. The whole cache counts as the largest size.
    pub(crate) fn tables(&self, llc: &Llc) -> (Curve, Curve) {
        let (mut fewest, mut fastest) = (Q32::MAX_IN_CURVE, Q32::default());
        let llcmpki = Curve::from_fn(llc.ways, |ways| {
            fewest = fewest.min(self.at(ways, |point| point.1));
            fewest
        });
        let ipc = Curve::from_fn(llc.ways, |ways| {
            fastest = fastest.max(self.at(ways, |point| point.2));
            fastest
        });
        (llcmpki, ipc)
    }

    /// The value at `ways` ways, on the line between the nearest measured points.
    fn at(&self, ways: u32, part: impl Fn(&(u32, Q32, Q32)) -> Q32) -> Q32 {
        // The largest sizes come first.
        let above = self.points.iter().rposition(|point| point.0 >= ways).unwrap_or(0);
        let below = self.points.iter().position(|point| point.0 <= ways).unwrap_or(above);
        let [above, below] = [above, below].map(|place| &self.points[place]);
        let [high, low] = [above.0, below.0];
        let [above, below] = [above, below].map(|point| u128::from(part(point).raw()));
        let value = if high <= low || ways >= high {
            above
        } else {
            let (up, down) = (u128::from(ways - low), u128::from(high - ways));
            (above * up + below * down) / (up + down)
        };
        Q32::from_raw(u64::try_from(value).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use fairways_core::{Counters, Ways};

    use super::*;

    fn llc(ways: u32) -> Llc {
        Llc::with_ways(Ways::new(ways).unwrap())
    }

    #[test]
    fn the_published_sizes_and_their_like() {
        assert_eq!(sizes(&llc(12)), [11, 8, 6, 4, 2, 1]);
        assert_eq!(sizes(&llc(11)), [10, 8, 6, 4, 2, 1]);
        assert_eq!(sizes(&llc(8)), [7, 6, 4, 3, 2, 1]);
        assert_eq!(sizes(&llc(20)), [19, 13, 10, 7, 3, 1]);
        assert_eq!((sizes(&llc(3)), sizes(&llc(2))), ([2, 1].into(), [1].into()));
        assert_eq!(sizes(&Llc { min_bits: 3, ..llc(11) }), [8, 6, 4, 3]);
    }

    fn window(misses: u64, cycles: u64) -> Sample {
        Sample {
            app: AppId(0),
            counters: Counters {
                instructions: Some(1000),
                cycles: Some(cycles),
                llc_misses: Some(misses),
                ..Counters::default()
            },
            occupancy: None,
            window: Duration::ZERO,
            plan: None,
            occupancy_at_least: None,
            straddled: false,
        }
    }

    #[test]
    fn lines_between_the_sizes_and_no_way_back() {
        let llc = llc(12);
        let mut session = ProfilingSession::new(AppId(0), &llc);
        assert!(matches!(session.add_window(&window(99, 9000), None), ProfilingStep::Wait));
        for (misses, cycles) in [(2, 500), (8, 1000), (6, 500), (10, 2000), (18, 2000)] {
            assert!(matches!(
                session.add_window(&window(misses, cycles), None),
                ProfilingStep::Shrink
            ));
        }
        assert!(matches!(session.add_window(&window(30, 4000), None), ProfilingStep::Done));
        let (llcmpki, ipc) = session.tables(&llc);
        let whole: Vec<u64> = llcmpki.values().iter().map(|value| value.raw() >> 32).collect();
        // At 11, 8, 6, 4, 2 and 1 ways: 2, 8, 6, 10, 18 and 30.
        assert_eq!(whole, [30, 18, 14, 10, 8, 6, 6, 6, 6, 4, 2, 2]);
        assert_eq!(ipc.at(1), Q32::from_raw(1 << 30));
        assert_eq!([4, 6, 8, 11].map(|ways| ipc.at(ways).raw() >> 31), [1, 4, 4, 4]);
    }

    /// The machine gives at least three ways.
    #[test]
    fn decision_kpart_7_a_size_is_what_the_program_had() {
        let llc = llc(12);
        let mut session = ProfilingSession::new(AppId(0), &llc);
        session.add_window(&window(99, 1000), None);
        for (misses, other) in
            [(1, None), (2, None), (3, None), (5, None), (9, Some(3)), (9, Some(3))]
        {
            session.add_window(&window(misses, 1000), other);
        }
        let (llcmpki, _) = session.tables(&llc);
        assert_eq!([1, 2, 3, 4, 5].map(|ways| llcmpki.at(ways).raw() >> 32), [9, 9, 9, 5, 4]);
    }
}
