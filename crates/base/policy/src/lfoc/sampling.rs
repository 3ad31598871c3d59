//! Sampling mode: one program alone in a partition that grows way by way, all others on the rest
//! (§4.2).

use fairways_core::{AppId, Counters, Curve, Llc, MAX_WAYS, Partition, PlanId, Q32, Sample};

use super::classify::{Class, Evidence, KnownCurves, class_of, critical_ways};
use super::parameters::Parameters;
use crate::program::RunningProgram;
use crate::split::Stack;

/// The reason of every plan of sampling mode.
pub const SAMPLING: &str = "sampling mode: one program is measured, the others share the rest";

/// A program that is being sampled.
#[derive(Clone, Debug)]
pub(crate) struct SamplingSession {
    pub(crate) app: AppId,
    /// The first plan with the sampling partition at this size; a window counts if it ended under
    /// this plan or a later one.
    pub(crate) plan: Option<PlanId>,
    /// Whether other programs came or went since the last window. That changes the plan, but not
    /// the sampling partition.
    pub(crate) has_joined: bool,
    /// The ways of the sampling partition, and the least number that it can have.
    pub(crate) ways: u32,
    least: u32,
    /// Discarded windows at this size, and the occupancy at the end of the last one.
    discarded: u32,
    occupancy: Option<Q32>,
    /// Windows at this size that count, and their sum.
    windows: u32,
    sum: WindowSum,
    /// The results of each size, the smallest first.
    points: [SizePoint; MAX_WAYS],
    sizes: u32,
    /// Decision periods since the last usable window.
    pub(crate) silent: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct SizePoint {
    ways: u32,
    ipc: Q32,
    llcmpkc: Q32,
}

/// The counters of several windows; stalls are missing if one window had none.
#[derive(Clone, Copy, Debug)]
struct WindowSum {
    instructions: u64,
    cycles: u64,
    llc_misses: u64,
    stalls_l2_miss: Option<u64>,
}

impl WindowSum {
    const NONE: Self = Self { instructions: 0, cycles: 0, llc_misses: 0, stalls_l2_miss: Some(0) };

    /// Adds a window; false if it lacks a counter that sampling needs.
    fn add(&mut self, counters: &Counters) -> bool {
        let Counters { instructions, cycles, llc_misses, stalls_l2_miss, .. } = *counters;
        let (Some(instructions @ 1..), Some(cycles @ 1..), Some(llc_misses)) =
            (instructions, cycles, llc_misses)
        else {
            return false;
        };
        self.instructions = self.instructions.saturating_add(instructions);
        self.cycles = self.cycles.saturating_add(cycles);
        self.llc_misses = self.llc_misses.saturating_add(llc_misses);
        let sum = self.stalls_l2_miss.zip(stalls_l2_miss);
        self.stalls_l2_miss = sum.map(|(sum, stalls)| sum.saturating_add(stalls));
        true
    }

    fn counters(&self) -> Counters {
        Counters {
            instructions: Some(self.instructions),
            cycles: Some(self.cycles),
            llc_misses: Some(self.llc_misses),
            stalls_l2_miss: self.stalls_l2_miss,
            ..Counters::default()
        }
    }
}

/// The result of sampling.
#[derive(Clone, Debug)]
pub(crate) struct Sampled {
    pub(crate) ipc: Curve,
    pub(crate) llcmpkc: Curve,
    /// The critical size.
    pub(crate) critical_ways: u32,
}

impl Sampled {
    pub(crate) const fn known(&self, p: &Parameters) -> KnownCurves<'_> {
        KnownCurves { ipc: &self.ipc, llcmpkc: &self.llcmpkc, reference: p.sampled_reference }
    }
}

/// The step after a window in sampling mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SamplingStep {
    /// Another window of the same size.
    Wait,
    /// The next size.
    Grow,
    /// The end of sampling, and the evidence so far.
    Stop(Evidence),
}

impl SamplingSession {
    pub(crate) fn new(app: AppId, llc: &Llc) -> Self {
        Self {
            app,
            plan: None,
            has_joined: false,
            ways: llc.min_ways(),
            least: llc.min_ways(),
            discarded: 0,
            occupancy: None,
            windows: 0,
            sum: WindowSum::NONE,
            points: [SizePoint::default(); MAX_WAYS],
            sizes: 0,
            silent: 0,
        }
    }

    /// Whether the cache can be split in two at all.
    pub(crate) const fn is_possible(llc: &Llc) -> bool {
        llc.max_clusters() >= 2
    }

    /// The largest sampling partition beside `others` other programs: as in KPart, it leaves them
    /// the least that a partition may be.
    pub(crate) const fn largest(llc: &Llc, others: usize) -> u32 {
        if others == 0 { llc.ways.get() } else { llc.ways.get() - llc.min_ways() }
    }

    /// The sampling partition and its complement, "covering the entire LLC space".
    pub(crate) fn plan(
        &self,
        llc: &Llc,
        programs: &[RunningProgram],
        partition: &mut Partition,
    ) -> &'static str {
        let mut stack = Stack::new(llc);
        let own = partition.add_cluster(stack.next(self.ways));
        partition.place(self.app, own);
        let mut others = programs.iter().map(|program| program.app);
        if others.any(|app| app != self.app) {
            let rest = partition.add_cluster(stack.next(llc.ways.get() - self.ways));
            let others = programs.iter().map(|program| program.app);
            partition.place_all(others.filter(|&app| app != self.app), rest..=rest);
        }
        SAMPLING
    }

    /// Handles a window of the program in which it had `ways` ways; the partition may grow up to
    /// `largest`.
    pub(crate) fn add_window(
        &mut self,
        p: &Parameters,
        sample: &Sample,
        ways: u32,
        largest: u32,
    ) -> SamplingStep {
        let joined = core::mem::take(&mut self.has_joined);
        if sample.plan < self.plan || (sample.straddled && !joined) {
            return SamplingStep::Wait;
        }
        if self.is_still_settling(p, sample) {
            self.discarded += 1;
            return SamplingStep::Wait;
        }
        if !self.sum.add(&sample.counters) {
            return SamplingStep::Wait;
        }
        self.silent = 0;
        self.windows += 1;
        if self.windows < p.windows_per_size {
            return SamplingStep::Wait;
        }
        let counters = self.sum.counters();
        let (Some(ipc), Some(llcmpkc)) = (counters.ipc(), counters.llcmpkc()) else {
            return SamplingStep::Wait;
        };
        // A table has no room for less than an instruction in 2^32 cycles.
        let ipc = ipc.max(Q32::from_raw(1));
        // A size for which the machine gave the same ways as before replaces the earlier result.
        let points = &self.points[..self.sizes as usize];
        let place = points.iter().position(|point| point.ways >= ways);
        let place = place.unwrap_or(self.sizes as usize);
        self.points[place] = SizePoint { ways, ipc, llcmpkc };
        self.sizes = u32::try_from(place + 1).unwrap_or(u32::MAX);
        if llcmpkc < p.low_threshold() && self.is_settled(p, counters.stalls_l2_miss_share()) {
            SamplingStep::Stop(Evidence::MissesLittle)
        } else if self.streams(p, llcmpkc) {
            SamplingStep::Stop(Evidence::GainsLittle)
        } else if self.ways >= largest || self.sizes as usize == MAX_WAYS {
            SamplingStep::Stop(Evidence::EverySize)
        } else {
            SamplingStep::Grow
        }
    }

    /// Whether lines still move because the partition has grown. Decision LFOC 17: for at least
    /// `discarded_windows`, and for as long as occupancy changes, if it can be read. A program that
    /// ran before it was monitored may hit lines outside of the partition that are not counted:
    /// while its occupancy is a lower bound, they are on their way out.
    fn is_still_settling(&mut self, p: &Parameters, sample: &Sample) -> bool {
        let occupancy = sample.occupancy.or(sample.occupancy_at_least);
        let has_uncounted = sample.occupancy.is_none() && occupancy.is_some();
        let before = core::mem::replace(&mut self.occupancy, occupancy);
        let moved = before.zip(occupancy).is_some_and(|(before, now)| {
            let moved = u128::from(now.raw().abs_diff(before.raw()));
            100 * moved > u128::from(p.settled_percent) * u128::from(Q32::ONE.raw())
        });
        self.windows == 0
            && (self.discarded < p.discarded_windows
                || ((moved || has_uncounted) && self.discarded < p.most_discarded_windows))
    }

    /// Whether more ways would change nothing. Decision LFOC 10: a program that misses little may
    /// still wait for the misses that it has. At most, it can gain the cycles stalled for memory.
    /// Its table is settled if they are fewer than what makes a program sensitive. Its class is
    /// settled if it is already sensitive, or would not be so even with that gain.
    fn is_settled(&self, p: &Parameters, stalls: Option<Q32>) -> bool {
        let (true, Some(stalls)) = (p.early_stop_checks_stalls, stalls) else { return true };
        let points = &self.points[..self.sizes as usize];
        let (Some(last), one) = (points.last(), u128::from(Q32::ONE.raw())) else { return true };
        let busy = one.saturating_sub(u128::from(stalls.raw()));
        // Table 1 counts from `sensitive_from_ways` on; before that, the last size is a bound.
        let compared = points.iter().filter(|point| point.ways >= p.sensitive_from_ways);
        let slowest = compared.map(|point| point.ipc).min().unwrap_or(last.ipc);
        let (slowest, last) = (u128::from(slowest.raw()), u128::from(last.ipc.raw()));
        let sensitive = u128::from(p.sensitive_slowdown_percent);
        let table = 100 * one < sensitive * busy;
        let class =
            100 * last >= sensitive * slowest || 100 * last * one < sensitive * slowest * busy;
        table && class
    }

    /// Whether the program streams by the second early stop, "a very low increase in performance"
    /// (decision LFOC 11).
    fn streams(&self, p: &Parameters, llcmpkc: Q32) -> bool {
        let ipcs = self.points[..self.sizes as usize].iter().map(|point| point.ipc.raw());
        let (Some(slowest), Some(fastest)) = (ipcs.clone().min(), ipcs.max()) else {
            return false;
        };
        let slowdown_bounded = 100 * u128::from(fastest)
            <= u128::from(p.streaming_stop_slowdown_percent) * u128::from(slowest);
        self.sizes >= p.streaming_stop_sizes && llcmpkc >= p.streaming_llcmpkc && slowdown_bounded
    }

    /// Grows the partition by the least possible number of ways.
    pub(crate) fn grow(&mut self, largest: u32) {
        self.ways = (self.ways + self.least).min(largest);
        (self.plan, self.discarded, self.windows, self.sum) = (None, 0, 0, WindowSum::NONE);
    }

    /// The class and the tables it is based on; `None` if no size was measured.
    ///
    /// Decision LFOC 12: sizes beyond the last measured one are assumed to perform like it.
    pub(crate) fn finish(&self, p: &Parameters, llc: &Llc) -> Option<(Class, Sampled)> {
        let points = &self.points[..self.sizes as usize];
        let least = points.first()?;
        // Between the measured sizes of a cache with wide masks, the smaller one counts.
        let [ipc, llcmpkc] = [|point: &SizePoint| point.ipc, |point: &SizePoint| point.llcmpkc]
            .map(|quantity| {
                Curve::from_fn(llc.ways, |ways| {
                    quantity(points.iter().rfind(|point| point.ways <= ways).unwrap_or(least))
                })
            });
        let known = KnownCurves { ipc: &ipc, llcmpkc: &llcmpkc, reference: p.sampled_reference };
        let critical_ways = critical_ways(known, llc.ways, p);
        let class = class_of(known, llc.ways, p);
        Some((class, Sampled { ipc, llcmpkc, critical_ways }))
    }
}
