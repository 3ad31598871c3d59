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

use fairways_core::{Action, Curve, Event, Llc, Partition, Policy};

use crate::lookahead::Lookahead;
use crate::running::{Program, Running, everybody};
use crate::sharing::Sharing;
use crate::slowdown::{Reference, slowdown_table};
use crate::split::Stack;

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

    fn handle(&mut self, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        if self.running.take(event).is_some() {
            let Self { minimise, running, scratch } = self;
            running.plan(act, |llc, programs, partition| {
                scratch.divide(*minimise, llc, programs, partition)
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
        if limit as usize >= known {
            "ways where this curve falls most"
        } else {
            "ways where this curve falls most; the flattest share a cluster"
        }
    }
}

/// The ways of programs without a profile: what an even split would give them, and at least one
/// cluster's worth for either side.
fn even_share(llc: &Llc, unknown: usize, known: usize) -> u32 {
    let ways = llc.ways.get();
    let share = ways as usize * unknown / (unknown + known);
    u32::try_from(share).unwrap_or(ways).clamp(llc.min_ways(), ways - llc.min_ways())
}
