//! `ucp`, `ucp-slowdown` and `yu-petrov`: strict partitioning by lookahead on one curve.
//!
//! UCP (Qureshi and Patt, MICRO 2006) gives each program a partition of its own, and sizes them
//! with the lookahead algorithm so that the sum of misses falls as far as it can. The three
//! policies are that algorithm on three curves (LFOC §2.3.1):
//!
//! | policy | curve | source |
//! |---|---|---|
//! | `ucp` | LLC misses per 1000 instructions | Qureshi and Patt |
//! | `ucp-slowdown` | slowdown | LFOC §2.3.1, where LFOC uses it for sensitive programs |
//! | `yu-petrov` | memory bandwidth | Yu and Petrov, DAC 2010 |
//!
//! PBBCache's Python 3 port of the first and last divides leftover ways into fractions; here, as
//! in the paper, ways are whole (docs/decisions.md, UCP).
//!
//! Where the papers are silent: with more programs than clusters, those with the flattest curves
//! share one; programs without a profile share one too, of the width an even split would give
//! them, since nothing says what they would gain.

use alloc::vec::Vec;

use fairways_core::{Action, AppId, Curve, Event, Llc, Partition, Policy, Q32, Time};

use crate::lookahead::Lookahead;
use crate::program::Program;
use crate::running::{Running, everybody};
use crate::sharing::Sharing;
use crate::slowdown::{Reference, slowdown_table};
use crate::split::Stack;
use crate::table::{Descriptor, Knows, make};
use crate::telling::{Teller, raw, ways};
use crate::words;

/// The curve that is to fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Minimise {
    /// LLC misses per 1000 instructions: `ucp`.
    Misses,
    /// Slowdown relative to the best way count: `ucp-slowdown`.
    Slowdown,
    /// Memory bandwidth: `yu-petrov`.
    Bandwidth,
}

impl Minimise {
    /// Tells the ways that lookahead gave a program, and how far its curve falls, from where it is with the least
    /// ways there are to where it is to be.
    fn tell(self, (app, owned): (AppId, u32), [least, there]: [Q32; 2], teller: &mut Teller<'_>) {
        // Values of curves have 56 bits.
        let fall = raw(least).zip(raw(there));
        let utility = fall.map(|(least, there)| least.saturating_sub(there));
        let (what, slowdown) = match self {
            Self::Misses => (words::UTILITY_MISSES, None),
            Self::Bandwidth => (words::UTILITY_BANDWIDTH, None),
            Self::Slowdown => (words::UTILITY_SLOWDOWN, raw(there)),
        };
        let all = [words::LOOKAHEAD, what, words::SLOWDOWN];
        teller.numbers(app, all, [ways(owned), utility, slowdown]);
    }

    /// Why there is a plan; `crowded` if there are more programs than clusters.
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
    knows: Knows::Profiles,
    ..Descriptor::new::<()>(
        "ucp",
        "the fewest misses (Qureshi and Patt's lookahead on MPKI)",
        |given| make((), |()| Ucp::new(Minimise::Misses), given),
    )
};

/// `ucp-slowdown`, in the table of policies.
pub(crate) const UCP_SLOWDOWN: Descriptor = Descriptor {
    paper: "LFOC §2.3.1",
    knows: Knows::Profiles,
    ..Descriptor::new::<()>("ucp-slowdown", "the same lookahead on slowdown tables", |given| {
        make((), |()| Ucp::new(Minimise::Slowdown), given)
    })
};

/// `yu-petrov`, in the table of policies.
pub(crate) const YU_PETROV: Descriptor = Descriptor {
    paper: "Yu and Petrov, Off-Chip Memory Bandwidth Minimization through Cache Partitioning, DAC 2010",
    knows: Knows::Profiles,
    ..Descriptor::new::<()>("yu-petrov", "the same lookahead on memory bandwidth", |given| {
        make((), |()| Ucp::new(Minimise::Bandwidth), given)
    })
};

/// The policies `ucp`, `ucp-slowdown` and `yu-petrov`.
#[derive(Clone, Debug)]
pub struct Ucp {
    minimise: Minimise,
    running: Running,
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
    pub fn new(minimise: Minimise) -> Self {
        Self { minimise, running: Running::default(), scratch: Scratch::default() }
    }
}

impl Policy for Ucp {
    fn name(&self) -> &'static str {
        match self.minimise {
            Minimise::Misses => "ucp",
            Minimise::Slowdown => "ucp-slowdown",
            Minimise::Bandwidth => "yu-petrov",
        }
    }

    fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        if self.running.take_others(event) {
            let Self { minimise, running, scratch } = self;
            running.plan(act, |llc, programs, partition, teller| {
                scratch.divide(*minimise, llc, programs, partition, teller)
            });
        }
    }
}

impl Scratch {
    fn divide(
        &mut self,
        minimise: Minimise,
        llc: &Llc,
        programs: &[Program],
        partition: &mut Partition,
        teller: &mut Teller<'_>,
    ) -> &'static str {
        let Self { curves, pressures, lookahead, sharing } = self;
        curves.clear();
        pressures.clear();
        for profile in programs.iter().filter_map(|program| program.profile.as_deref()) {
            let curve = match minimise {
                Minimise::Misses => profile.llcmpki.resized(llc.ways),
                Minimise::Bandwidth => profile.bandwidth_mbps.resized(llc.ways),
                Minimise::Slowdown => slowdown_table(&profile.ipc, llc.ways, Reference::Best),
            };
            curves.push(curve);
            pressures.push(profile.llcmpkc.resized(llc.ways));
        }
        let known = curves.len();
        let unknown = programs.len() - known;
        let most = llc.max_clusters();
        if known == 0 || (unknown > 0 && most == 1) {
            everybody(llc, programs, partition);
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
            minimise.tell((program.app, ways), [curves[index].at(least), there], teller);
        }
        minimise.reason(crowded)
    }
}

/// The ways of programs without a profile: what an even split would give them, and at least one
/// cluster's worth for either side.
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
    use crate::telling::said;

    /// By program and word: what was told last, as it came out.
    type Numbers = BTreeMap<(u32, &'static str), i64>;

    fn clusters(
        minimise: Minimise,
        clos: u32,
        programs: &[Option<[[u32; 4]; 3]>],
    ) -> Vec<(u32, Vec<u32>)> {
        decide(minimise, clos, programs).0
    }

    /// Four ways for programs with these IPCs, MPKIs and bandwidths; `None` has no profile. The
    /// clusters' ways and members, and what was told.
    fn decide(
        minimise: Minimise,
        clos: u32,
        programs: &[Option<[[u32; 4]; 3]>],
    ) -> (Vec<(u32, Vec<u32>)>, Numbers) {
        let llc = Llc { clos, ..Llc::with_ways(Ways::new(4).unwrap()) };
        let curve = |values: [u32; 4]| Curve::new(values.map(Q32::from_int)).unwrap();
        let profile = |[ipc, llcmpki, bandwidth]: [[u32; 4]; 3]| Profile {
            ipc: curve(ipc),
            llcmpki: curve(llcmpki),
            llcmpkc: curve([1; 4]),
            bandwidth_mbps: curve(bandwidth),
            stalls_l2_miss: curve([0; 4]),
        };
        let mut policy = Ucp::new(minimise);
        let (mut clusters, mut numbers) = (Vec::new(), Numbers::new());
        let mut handle = |event: &Event| {
            policy.handle(Time::ZERO, event, &mut |action| {
                if let Action::Estimated { thread, what, raw, .. } = &action {
                    numbers.insert((thread.app.0, said(what.clone())), *raw);
                }
                let Action::Partition { partition, .. } = action else { return };
                let members = |cluster| partition.members(cluster).map(|app| app.0).collect();
                let masks = (0..).zip(partition.masks());
                clusters = masks.map(|(index, mask)| (mask.count(), members(index))).collect();
            });
        };
        handle(&Event::Machine(llc.into()));
        for (app, program) in (0..).map(AppId).zip(programs) {
            let profile = program.map(|curves| Arc::new(profile(curves)));
            handle(&Event::Started { app, wish: Wish::default(), profile });
        }
        (clusters, numbers)
    }

    /// Two programs of which each falls in another curve.
    const IPC_FALLS: [[u32; 4]; 3] = [[1, 2, 4, 4], [9; 4], [9; 4]];
    const MPKI_FALLS: [[u32; 4]; 3] = [[4; 4], [9, 5, 1, 1], [9; 4]];
    const BANDWIDTH_FALLS: [[u32; 4]; 3] = [[4; 4], [9; 4], [900, 500, 100, 100]];

    #[test]
    fn each_policy_follows_its_own_curve() {
        for (minimise, first, second) in [
            (Minimise::Misses, MPKI_FALLS, BANDWIDTH_FALLS),
            (Minimise::Slowdown, IPC_FALLS, MPKI_FALLS),
            (Minimise::Bandwidth, BANDWIDTH_FALLS, IPC_FALLS),
        ] {
            let expected = [(3, [0].into()), (1, [1].into())];
            assert_eq!(clusters(minimise, 16, &[Some(first), Some(second)]), expected);
            let expected = [(1, [0].into()), (3, [1].into())];
            assert_eq!(clusters(minimise, 16, &[Some(second), Some(first)]), expected);
        }
    }

    /// Ways as lookahead gave them, and what they save against one way.
    #[test]
    fn what_lookahead_gave_and_what_that_is_worth_is_told() {
        let programs = [Some(IPC_FALLS), Some(MPKI_FALLS), Some(BANDWIDTH_FALLS)];
        let told = |minimise, clos, programs: &[_]| decide(minimise, clos, programs).1;
        let all = |numbers: &[(u32, &'static str, i64)]| -> Numbers {
            numbers.iter().map(|&(app, what, value)| ((app, what), value << 32)).collect()
        };
        let (ways, utility) = (words::LOOKAHEAD.text(), words::UTILITY_MISSES.text());
        let misses = [(0, ways, 1), (0, utility, 0), (1, ways, 3), (1, utility, 8)];
        assert_eq!(told(Minimise::Misses, 16, &programs[..2]), all(&misses));
        let (utility, slowdown) = (words::UTILITY_SLOWDOWN.text(), words::SLOWDOWN.text());
        let first = [(0, ways, 3), (0, utility, 3), (0, slowdown, 1)];
        let second = [(1, ways, 1), (1, utility, 0), (1, slowdown, 1)];
        let expected = all(&[first, second].concat());
        assert_eq!(told(Minimise::Slowdown, 16, &programs[..2]), expected);
        let utility = words::UTILITY_BANDWIDTH.text();
        let bandwidth = [(0, ways, 1), (0, utility, 0), (1, ways, 3), (1, utility, 800)];
        assert_eq!(told(Minimise::Bandwidth, 16, &[programs[1], programs[2]]), all(&bandwidth));
        // Two share a cluster of one way, half of it each: their slowdowns are on the lines below one way.
        let programs = [Some(IPC_FALLS), Some([[2, 3, 4, 4], [9; 4], [9; 4]]), Some(MPKI_FALLS)];
        let crowded = told(Minimise::Slowdown, 2, &programs);
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
        assert_eq!(clusters(Minimise::Misses, 2, &programs), expected);
    }

    #[test]
    fn programs_without_a_profile_share_what_an_even_split_gives_them() {
        let two_unknown = [None, Some(MPKI_FALLS), None];
        let expected = [(2, [1].into()), (2, [0, 2].into())];
        assert_eq!(clusters(Minimise::Misses, 16, &two_unknown), expected);
        assert_eq!(clusters(Minimise::Misses, 1, &two_unknown), [(4, [0, 1, 2].into())]);
        assert_eq!(clusters(Minimise::Misses, 16, &[None, None]), [(4, [0, 1].into())]);
    }
}
