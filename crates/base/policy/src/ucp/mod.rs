//! `ucp`, `ucp-slowdown` and `yu-petrov`: each program has ways of its own, divided by lookahead on
//! one curve.
//!
//! UCP (utility-based cache partitioning; Qureshi and Patt, MICRO 2006) starts from an observation:
//! LRU gives cache to the programs that ask for it most, not to those that gain most from it. A
//! program's *utility* is how many misses it saves with more ways (§3.2), read from a curve of its
//! misses over the number of ways. The best division has the least sum of misses.
//!
//! Giving out one way at a time to the program that gains most by it fails on a plateau: a program
//! that needs three ways before it gains anything never gets the first. So *lookahead* (§3.3;
//! `../lookahead.rs`) compares larger steps. It takes the program and the step with the largest
//! gain for each way of the step, and repeats that until all ways are given out.
//!
//! The three policies are that algorithm on three curves (LFOC §2.3.1):
//!
//! | policy | curve | source |
//! |---|---|---|
//! | `ucp` | LLC misses per 1000 instructions | Qureshi and Patt |
//! | `ucp-slowdown` | slowdown | LFOC §2.3.1, where LFOC uses it for sensitive programs |
//! | `yu-petrov` | memory bandwidth | Yu and Petrov, DAC 2010 |
//!
//! PBBCache's Python 3 port of the first and the last divides leftover ways into fractions; here,
//! as in the paper, ways are whole (docs/decisions.md, UCP).
//!
//! Where the papers are silent: if there are more programs than clusters, those with the flattest
//! curves share one (`../sharing.rs`). Programs without a profile share one, too, as wide as an
//! even split would make it, since nothing says what they would gain. The policies have no
//! parameters.

use alloc::vec::Vec;

use fairways_core::{Action, AppId, Curve, Event, Llc, Partition, Policy, Q32, Time};

use crate::announce::{Announcer, raw, raw_ways};
use crate::lookahead::Lookahead;
use crate::program::RunningProgram;
use crate::running::{RunningPrograms, leave_unpartitioned};
use crate::sharing::Sharing;
use crate::slowdown::{Reference, slowdown_table};
use crate::split::Stack;
use crate::table::{Descriptor, KnowledgeSource, make};
use crate::words;

/// The curve that is to fall as far as possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinimisedCurve {
    /// LLC misses per 1000 instructions: `ucp`.
    Misses,
    /// Slowdown relative to the best way count: `ucp-slowdown`.
    Slowdown,
    /// Memory bandwidth: `yu-petrov`.
    Bandwidth,
}

impl MinimisedCurve {
    /// Announces the ways that lookahead gave a program, and how far its curve falls from its value
    /// with the least number of ways to `there`.
    fn announce(
        self,
        (app, owned): (AppId, u32),
        [least, there]: [Q32; 2],
        announcer: &mut Announcer<'_>,
    ) {
        // Values of curves have 56 bits.
        let fall = raw(least).zip(raw(there));
        let utility = fall.map(|(least, there)| least.saturating_sub(there));
        let (what, slowdown) = match self {
            Self::Misses => (words::UTILITY_MISSES, None),
            Self::Bandwidth => (words::UTILITY_BANDWIDTH, None),
            Self::Slowdown => (words::UTILITY_SLOWDOWN, raw(there)),
        };
        let all = [words::LOOKAHEAD, what, words::SLOWDOWN];
        announcer.announce_numbers(app, all, [raw_ways(owned), utility, slowdown]);
    }

    /// The reason of a plan; `crowded`: there are more programs than clusters.
    const fn reason(self, crowded: bool) -> &'static str {
        match (self, crowded) {
            (Self::Misses, false) => "lookahead: ways where misses fall most",
            (Self::Misses, true) => {
                "lookahead: ways where misses fall most; the flattest share a cluster"
            }
            (Self::Slowdown, false) => "lookahead: ways where slowdown falls most",
            (Self::Slowdown, true) => {
                "lookahead: ways where slowdown falls most; the flattest share a cluster"
            }
            (Self::Bandwidth, false) => "lookahead: ways where memory bandwidth falls most",
            (Self::Bandwidth, true) => {
                "lookahead: ways where memory bandwidth falls most; the flattest share a cluster"
            }
        }
    }
}

/// `ucp`, in the table of policies.
pub(crate) const UCP: Descriptor = Descriptor {
    paper: "Qureshi and Patt, Utility-Based Cache Partitioning, MICRO 2006",
    knows: KnowledgeSource::Profiles,
    ..Descriptor::new::<()>(
        "ucp",
        "the fewest misses (Qureshi and Patt's lookahead on MPKI)",
        &|settings| make((), |()| Ucp::new(MinimisedCurve::Misses), settings),
    )
};

/// `ucp-slowdown`, in the table of policies.
pub(crate) const UCP_SLOWDOWN: Descriptor = Descriptor {
    paper: "LFOC §2.3.1",
    knows: KnowledgeSource::Profiles,
    ..Descriptor::new::<()>("ucp-slowdown", "the same lookahead on slowdown tables", &|settings| {
        make((), |()| Ucp::new(MinimisedCurve::Slowdown), settings)
    })
};

/// `yu-petrov`, in the table of policies.
pub(crate) const YU_PETROV: Descriptor = Descriptor {
    paper: "Yu and Petrov, Off-Chip Memory Bandwidth Minimization through Cache Partitioning, DAC 2010",
    knows: KnowledgeSource::Profiles,
    ..Descriptor::new::<()>("yu-petrov", "the same lookahead on memory bandwidth", &|settings| {
        make((), |()| Ucp::new(MinimisedCurve::Bandwidth), settings)
    })
};

/// The policies `ucp`, `ucp-slowdown` and `yu-petrov`.
#[derive(Clone, Debug)]
pub struct Ucp {
    minimise: MinimisedCurve,
    running: RunningPrograms,
    scratch: Scratch,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    curves: Vec<Curve>,
    pressures: Vec<Curve>,
    lookahead: Lookahead,
    sharing: Sharing,
}

impl Ucp {
    /// The policy that makes this curve fall.
    #[must_use]
    pub fn new(minimise: MinimisedCurve) -> Self {
        Self { minimise, running: RunningPrograms::default(), scratch: Scratch::default() }
    }
}

impl Policy for Ucp {
    fn name(&self) -> &'static str {
        match self.minimise {
            MinimisedCurve::Misses => "ucp",
            MinimisedCurve::Slowdown => "ucp-slowdown",
            MinimisedCurve::Bandwidth => "yu-petrov",
        }
    }

    fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        if self.running.update_programs(event) {
            let Self { minimise, running, scratch } = self;
            running.plan(act, |llc, programs, partition, announcer| {
                scratch.divide(*minimise, llc, programs, partition, announcer)
            });
        }
    }
}

impl Scratch {
    fn divide(
        &mut self,
        minimise: MinimisedCurve,
        llc: &Llc,
        programs: &[RunningProgram],
        partition: &mut Partition,
        announcer: &mut Announcer<'_>,
    ) -> &'static str {
        let Self { curves, pressures, lookahead, sharing } = self;
        curves.clear();
        pressures.clear();
        for profile in programs.iter().filter_map(|program| program.profile.as_deref()) {
            let curve = match minimise {
                MinimisedCurve::Misses => profile.llcmpki.resized(llc.ways),
                MinimisedCurve::Bandwidth => profile.bandwidth_mbps.resized(llc.ways),
                MinimisedCurve::Slowdown => slowdown_table(&profile.ipc, llc.ways, Reference::Best),
            };
            curves.push(curve);
            pressures.push(profile.llcmpkc.resized(llc.ways));
        }
        let known = curves.len();
        let unknown = programs.len() - known;
        let most = llc.max_clusters();
        if known == 0 || (unknown > 0 && most == 1) {
            leave_unpartitioned(llc, programs, partition);
            return "too little is known, or there is but one cluster: no partitioning";
        }

        let ways_for_unknown = if unknown == 0 { 0 } else { even_share(llc, unknown, known) };
        let ways = llc.ways.get() - ways_for_unknown;
        let limit = (most - u32::from(unknown > 0)).min(ways / llc.min_ways());
        sharing.gather(curves, pressures, llc.ways, limit);

        let mut stack = Stack::new(llc);
        for &ways in lookahead.divide(&sharing.curves, ways, llc.min_ways()) {
            partition.add_cluster(stack.next(ways));
        }
        let mut cluster_of = sharing.cluster_of.iter();
        let cluster_of_unknown = match unknown {
            0 => 0,
            _ => partition.add_cluster(stack.next(ways_for_unknown)),
        };
        for program in programs {
            let cluster = match program.profile {
                Some(_) => cluster_of.next().copied().unwrap_or(0),
                None => cluster_of_unknown,
            };
            partition.place(program.app, cluster);
        }
        let crowded = known > limit as usize;
        if crowded {
            sharing.settle(pressures, lookahead.owned().last().copied().unwrap_or(0));
        }
        let known = programs.iter().filter(|program| program.profile.is_some());
        let owned = lookahead.owned();
        for (index, program) in known.enumerate() {
            let ways = owned[sharing.cluster_of[index] as usize];
            let there = if crowded { sharing.shared(curves, index) } else { None };
            let (least, there) = (llc.min_ways(), there.unwrap_or_else(|| curves[index].at(ways)));
            minimise.announce((program.app, ways), [curves[index].at(least), there], announcer);
        }
        minimise.reason(crowded)
    }
}

/// The ways of programs without a profile: an even split's, and at least one cluster's worth for
/// either side.
pub(crate) fn even_share(llc: &Llc, unknown: usize, known: usize) -> u32 {
    let ways = llc.ways.get();
    let share = ways as usize * unknown / (unknown + known);
    u32::try_from(share).unwrap_or(ways).clamp(llc.min_ways(), ways - llc.min_ways())
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    use fairways_core::{Profile, Ways, Wish};

    use super::*;
    use crate::announce::static_text;

    /// By program and word: the raw number that was announced last.
    type Numbers = BTreeMap<(u32, &'static str), i64>;

    fn clusters(
        minimise: MinimisedCurve,
        clos: u32,
        programs: &[Option<[[u32; 4]; 3]>],
    ) -> Vec<(u32, Vec<u32>)> {
        decide(minimise, clos, programs).0
    }

    fn curve(values: [u32; 4]) -> Curve {
        Curve::new(values.map(Q32::from_int)).unwrap()
    }

    fn profile([ipc, llcmpki, bandwidth]: [[u32; 4]; 3]) -> Profile {
        Profile {
            ipc: curve(ipc),
            llcmpki: curve(llcmpki),
            llcmpkc: curve([1; 4]),
            bandwidth_mbps: curve(bandwidth),
            stalls_l2_miss: curve([0; 4]),
        }
    }

    /// Divides four ways among programs with these IPCs, MPKIs and bandwidths; `None` has no
    /// profile. The clusters' ways and members, and the announced numbers.
    fn decide(
        minimise: MinimisedCurve,
        clos: u32,
        programs: &[Option<[[u32; 4]; 3]>],
    ) -> (Vec<(u32, Vec<u32>)>, Numbers) {
        let llc = Llc { clos, ..Llc::with_ways(Ways::new(4).unwrap()) };
        let mut policy = Ucp::new(minimise);
        let (mut clusters, mut numbers) = (Vec::new(), Numbers::new());
        let mut handle = |event: &Event| {
            policy.handle(Time::ZERO, event, &mut |action| {
                if let Action::Estimated { thread, what, raw, .. } = &action {
                    numbers.insert((thread.app.0, static_text(what.clone())), *raw);
                }
                let Action::Partition { partition, .. } = action else { return };
                clusters.clear();
                for (cluster, mask) in (0..).zip(partition.masks()) {
                    let members = partition.members(cluster).map(|app| app.0).collect();
                    clusters.push((mask.count(), members));
                }
            });
        };
        handle(&Event::Machine(llc.into()));
        for (app, program) in (0..).map(AppId).zip(programs) {
            let profile = program.map(|curves| Arc::new(profile(curves)));
            handle(&Event::Started { app, wish: Wish::default(), profile });
        }
        (clusters, numbers)
    }

    /// The announced numbers alone.
    fn announced(
        minimise: MinimisedCurve,
        clos: u32,
        programs: &[Option<[[u32; 4]; 3]>],
    ) -> Numbers {
        decide(minimise, clos, programs).1
    }

    /// These whole numbers by program and word.
    fn whole(numbers: &[(u32, &'static str, i64)]) -> Numbers {
        numbers.iter().map(|&(app, what, value)| ((app, what), value << 32)).collect()
    }

    /// Programs that each gain in another curve.
    const IPC_FALLS: [[u32; 4]; 3] = [[1, 2, 4, 4], [9; 4], [9; 4]];
    const MPKI_FALLS: [[u32; 4]; 3] = [[4; 4], [9, 5, 1, 1], [9; 4]];
    const BANDWIDTH_FALLS: [[u32; 4]; 3] = [[4; 4], [9; 4], [900, 500, 100, 100]];

    #[test]
    fn each_policy_follows_its_own_curve() {
        for (minimise, first, second) in [
            (MinimisedCurve::Misses, MPKI_FALLS, BANDWIDTH_FALLS),
            (MinimisedCurve::Slowdown, IPC_FALLS, MPKI_FALLS),
            (MinimisedCurve::Bandwidth, BANDWIDTH_FALLS, IPC_FALLS),
        ] {
            let expected = [(3, [0].into()), (1, [1].into())];
            assert_eq!(clusters(minimise, 16, &[Some(first), Some(second)]), expected);
            let expected = [(1, [0].into()), (3, [1].into())];
            assert_eq!(clusters(minimise, 16, &[Some(second), Some(first)]), expected);
        }
    }

    /// The ways that lookahead gave, and what they save against one way.
    #[test]
    fn the_ways_of_lookahead_and_their_utility_are_announced() {
        let programs = [Some(IPC_FALLS), Some(MPKI_FALLS), Some(BANDWIDTH_FALLS)];
        let (ways, utility) = (words::LOOKAHEAD.text(), words::UTILITY_MISSES.text());
        let misses = [(0, ways, 1), (0, utility, 0), (1, ways, 3), (1, utility, 8)];
        assert_eq!(announced(MinimisedCurve::Misses, 16, &programs[..2]), whole(&misses));
        let (utility, slowdown) = (words::UTILITY_SLOWDOWN.text(), words::SLOWDOWN.text());
        let first = [(0, ways, 3), (0, utility, 3), (0, slowdown, 1)];
        let second = [(1, ways, 1), (1, utility, 0), (1, slowdown, 1)];
        let expected = whole(&[first, second].concat());
        assert_eq!(announced(MinimisedCurve::Slowdown, 16, &programs[..2]), expected);
        let utility = words::UTILITY_BANDWIDTH.text();
        let bandwidth = [(0, ways, 1), (0, utility, 0), (1, ways, 3), (1, utility, 800)];
        let two = [programs[1], programs[2]];
        assert_eq!(announced(MinimisedCurve::Bandwidth, 16, &two), whole(&bandwidth));
        // Two programs share a cluster of one way, half of it each: their slowdowns are on the
        // lines below one way.
        let programs = [Some(IPC_FALLS), Some([[2, 3, 4, 4], [9; 4], [9; 4]]), Some(MPKI_FALLS)];
        let crowded = announced(MinimisedCurve::Slowdown, 2, &programs);
        assert_eq!([0, 1, 2].map(|app| crowded[&(app, ways)] >> 32), [3, 1, 1]);
        assert_eq!([0, 2].map(|app| crowded[&(app, slowdown)]), [1 << 32; 2]);
        // 2 with one way, 4/3 with two.
        let half = crowded[&(1, slowdown)] - (7 << 32) / 3;
        assert!(half.abs() < 8, "{half}");
    }

    #[test]
    fn too_many_programs_for_the_classes_share_by_flatness() {
        let programs = [Some(IPC_FALLS), Some(MPKI_FALLS), Some(BANDWIDTH_FALLS)];
        let expected = [(3, [1].into()), (1, [0, 2].into())];
        assert_eq!(clusters(MinimisedCurve::Misses, 2, &programs), expected);
    }

    #[test]
    fn programs_without_a_profile_share_what_an_even_split_gives_them() {
        let two_unknown = [None, Some(MPKI_FALLS), None];
        let expected = [(2, [1].into()), (2, [0, 2].into())];
        assert_eq!(clusters(MinimisedCurve::Misses, 16, &two_unknown), expected);
        assert_eq!(clusters(MinimisedCurve::Misses, 1, &two_unknown), [(4, [0, 1, 2].into())]);
        assert_eq!(clusters(MinimisedCurve::Misses, 16, &[None, None]), [(4, [0, 1].into())]);
    }
}
