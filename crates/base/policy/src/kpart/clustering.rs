//! From the tables of programs to a plan.

use alloc::vec::Vec;
use core::cmp::Reverse;

use fairways_core::{AppId, Llc, Partition, Q32, Ways};

use super::learner::Profiler;
use super::levels;
use super::merge::ProgramTables;
use crate::announce::{self, Announcer, raw};
use crate::lookahead::Lookahead;
use crate::occupancy::{QuickSweep, interpolate_raw};
use crate::program::RunningProgram;
use crate::running::leave_unpartitioned;
use crate::split::Stack;
use crate::words;

const UNMEASURED: &str = "unmeasured";
const MEASURED: &str = "measured";

pub(super) fn leave_unpartitioned_for_now(
    llc: &Llc,
    (programs, learners): (&[RunningProgram], &[Profiler]),
    partition: &mut Partition,
    announcer: &mut Announcer<'_>,
) -> &'static str {
    leave_unpartitioned(llc, programs, partition);
    announce_measured(
        (programs, learners),
        "its plan was refused, and is to be made again",
        announcer,
    );
    "a plan was refused: no partitioning until it is made again"
}

/// Announces that measured programs are in no cluster now.
pub(super) fn announce_measured(
    (programs, learners): (&[RunningProgram], &[Profiler]),
    reason: &'static str,
    announcer: &mut Announcer<'_>,
) {
    for program in programs {
        let is_measured = program.profile.is_some()
            || learners
                .iter()
                .any(|learner| learner.app == program.app && !learner.measured.is_empty());
        if is_measured {
            announcer.announce_class(program.app, MEASURED, reason);
        }
    }
}

/// Clusters the measured programs, once all others have been tried in vain; those join the largest
/// cluster.
pub(super) fn cluster(
    llc: &Llc,
    (programs, learners): (&[RunningProgram], &[Profiler]),
    lookahead: &mut Lookahead,
    partition: &mut Partition,
    announcer: &mut Announcer<'_>,
) -> &'static str {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    let mut tables = Vec::new();
    let mut is_waiting = false;
    for program in programs {
        let count = programs.len();
        if let Some(profile) = &program.profile {
            known.push(program.app);
            tables.push(ProgramTables::new(&profile.llcmpki, &profile.ipc, llc.ways, count));
            continue;
        }
        let learner = learners.iter().find(|learner| learner.app == program.app);
        if let Some((llcmpki, ipc)) = learner.and_then(|learner| learner.tables(llc)) {
            known.push(program.app);
            tables.push(ProgramTables::new(&llcmpki, &ipc, llc.ways, count));
        } else {
            unknown.push(program.app);
            is_waiting |= learner.is_none_or(|learner| learner.failures == 0);
        }
    }
    if is_waiting || known.is_empty() {
        leave_unpartitioned(llc, programs, partition);
        unknown
            .iter()
            .for_each(|&app| _ = announcer.announce_class(app, UNMEASURED, "not measured yet"));
        known.iter().for_each(|&app| {
            _ = announcer.announce_class(app, MEASURED, "other programs are not measured yet")
        });
        return "not every program has been measured: no partitioning";
    }
    let level = levels::best(llc, &tables, lookahead);
    let mut stack = Stack::new(llc);
    for (members, &ways) in level.clusters.iter().zip(&level.ways) {
        let cluster = partition.add_cluster(stack.next(ways));
        let apps = members.iter().map(|&index| known[index]);
        partition.place_all(apps, cluster..=cluster);
        announce(cluster, members, (&known, &tables), (ways, llc.ways), announcer);
    }
    let largest = (0..).zip(&level.ways).max_by_key(|&(cluster, ways)| (ways, Reverse(cluster)));
    let largest = largest.map_or(0, |(cluster, _)| cluster);
    for &app in &unknown {
        let reason = "its measurement was given up: it joins the largest cluster";
        announcer.announce_class(app, UNMEASURED, reason);
    }
    partition.place_all(unknown, largest..=largest);
    "the clusters and ways at which speedups over an equal share add up to the most"
}

/// Announces the ways of a cluster, and for each member the speedup and the slowdown to expect by
/// its tables.
fn announce(
    cluster: u32,
    members: &[usize],
    (apps, tables): (&[AppId], &[ProgramTables]),
    (ways, all): (u32, Ways),
    announcer: &mut Announcer<'_>,
) {
    let mut sweep = QuickSweep::default();
    sweep.restart(members.iter().map(|&index| &tables[index].llcmpki));
    (0..ways).for_each(|_| sweep.step());
    let reason = match members {
        [_] => "alone, where speedups add up to the most",
        _ => "with the programs beside which it loses least, where speedups add up to the most",
    };
    for (&index, occupancy) in members.iter().zip(sweep.occupancy()) {
        let (app, ProgramTables { speedup, .. }) = (apps[index], &tables[index]);
        let here = interpolate_raw(speedup, occupancy);
        announcer.announce_class(app, announce::cluster_name(cluster), reason);
        let slowdown = Q32::ratio(speedup.at(all.get()).raw(), here);
        let what = [words::LOOKAHEAD, words::SPEEDUP, words::SLOWDOWN];
        let numbers = [announce::raw_ways(ways), raw(Q32::from_raw(here)), raw(slowdown)];
        announcer.announce_numbers(app, what, numbers);
    }
}
