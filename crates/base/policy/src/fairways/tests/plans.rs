use alloc::sync::Arc;
use alloc::vec::Vec;

use fairways_core::{AppId, Curve, Profile, Q32, Ways, Wish};
use proptest::prelude::*;

use crate::announce::static_text;
use crate::fairways::objective::Outcome;
use crate::fairways::planner::{BY_RULES, UNPARTITIONED};
use crate::fairways::*;
use crate::program::RunningProgram;

/// A program whose IPC and LLCMPKC with every number of ways are these.
fn program(app: u32, ipc: &[u32], llcmpkc: &[u32]) -> RunningProgram {
    let curve =
        |values: &[u32]| Curve::new(values.iter().map(|&value| Q32::from_int(value))).unwrap();
    let (ipc, llcmpkc) = (curve(ipc), curve(llcmpkc));
    let profile =
        Profile { ipc, llcmpki: llcmpkc, llcmpkc, bandwidth_mbps: ipc, stalls_l2_miss: ipc };
    RunningProgram { app: AppId(app), wish: Wish::default(), profile: Some(Arc::new(profile)) }
}

/// The clusters of a plan: the ways and the programs of each.
fn clusters(policy: &mut Fairways, llc: Llc, programs: &[RunningProgram]) -> Vec<(u32, Vec<u32>)> {
    let mut found: Vec<(u32, Vec<u32>)> = Vec::new();
    let mut handle = |event: &Event| {
        policy.handle(Time::ZERO, event, &mut |action| {
            let Action::Partition { partition, .. } = action else { return };
            assert_eq!(
                partition.check(&llc, partition.placements().iter().map(|at| at.app)),
                Ok(())
            );
            let masks = (0..).zip(partition.masks());
            found = masks
                .map(|(cluster, mask)| {
                    (mask.count(), partition.members(cluster).map(|app| app.0).collect())
                })
                .collect();
        });
    };
    handle(&Event::Machine(llc.into()));
    for RunningProgram { app, wish, profile } in programs.iter().cloned() {
        handle(&Event::Started { app, wish, profile });
    }
    found.sort_by_key(|(_, members)| members.clone());
    found
}

fn llc(ways: u32) -> Llc {
    Llc::with_ways(Ways::new(ways).unwrap())
}

#[test]
fn programs_that_stream_share_a_way() {
    let programs = [
        program(0, &[8; 5], &[30; 5]),
        program(1, &[4, 8, 8, 8, 8], &[9, 4, 1, 1, 1]),
        program(2, &[8; 5], &[30; 5]),
        program(3, &[4, 8, 8, 8, 8], &[9, 4, 1, 1, 1]),
    ];
    let found = clusters(&mut Fairways::default(), llc(5), &programs);
    // The others are slowed down alike whether they share four ways or have two each.
    assert_eq!(found[0], (1, [0, 2].into()));
}

#[test]
fn the_objective_decides() {
    // The first doubles its speed with the second way; the second halves its slowdown.
    let programs = [program(0, &[100, 190, 200], &[5; 3]), program(1, &[1, 2, 100], &[5; 3])];
    let plan = |objective| {
        let parameters = Parameters { objective, ..Parameters::default() };
        let found = clusters(&mut Fairways::new(parameters), llc(3), &programs);
        found.iter().map(|(ways, members)| (*ways, members.len())).collect::<Vec<_>>()
    };
    // Alone on three ways each would be at its best; together one cluster beats any division.
    assert_eq!(plan(Objective::Stp), [(2, 1), (1, 1)]);
    assert_eq!(plan(Objective::MaxSlowdown), [(1, 1), (2, 1)]);
}

/// Two programs, one of which gains more from the second of three ways; the other counts as often
/// as its owner says.
#[test]
fn an_important_program_gets_the_ways() {
    fn plan(importance: Option<u32>) -> Vec<(u32, Vec<u32>)> {
        let mut programs =
            [program(0, &[100, 190, 200], &[5; 3]), program(1, &[50, 80, 100], &[5; 3])];
        programs[1].wish.importance = importance;
        let parameters = Parameters { objective: Objective::Weighted, ..Parameters::default() };
        clusters(&mut Fairways::new(parameters), llc(3), &programs)
    }
    let [first, second] = [[0].to_vec(), [1].to_vec()];
    assert_eq!(plan(None), [(2, first.clone()), (1, second.clone())]);
    assert_eq!(plan(Some(2)), [(1, first), (2, second)]);
}

/// As under LFOC (decision LFOC 8), until its first windows are over.
#[test]
fn a_program_without_a_profile_joins_the_largest_cluster() {
    let mut programs: Vec<RunningProgram> = (0..3)
        .map(|app| program(app, &[8 - 2 * app, 9 - app, 8, 8, 8, 8], &[30 - 9 * app; 6]))
        .collect();
    programs.push(RunningProgram { profile: None, ..program(3, &[1], &[1]) });
    let found = clusters(&mut Fairways::default(), llc(6), &programs);
    let (most, members) = found.iter().max_by_key(|(ways, _)| *ways).unwrap();
    assert!(*most > 2 && members.contains(&3), "{found:?}");
    assert_eq!(found.iter().map(|(ways, _)| ways).sum::<u32>(), 6);
}

#[test]
fn more_programs_than_are_searched_are_clustered_by_rule() {
    let programs: Vec<RunningProgram> =
        (0..70).map(|app| program(app, &[2 + app % 3, 4, 6, 8], &[9, 4, 1, 1])).collect();
    let found = clusters(&mut Fairways::default(), llc(8), &programs);
    assert_eq!(found.iter().map(|(_, members)| members.len()).sum::<usize>(), 70);
}

/// The reason last announced for the class of program 0, and whether a number was announced since.
fn announced(policy: &mut Fairways, event: &Event, last: &mut (&'static str, bool)) {
    policy.handle(Time::ZERO, event, &mut |action| match action {
        Action::Classified { app: AppId(0), reason, .. } => *last = (static_text(reason), false),
        Action::Estimated { thread, .. } if thread.app == AppId(0) => last.1 = true,
        _ => {}
    });
}

/// What a search estimated is void once another rule makes the plan.
#[test]
fn numbers_of_a_search_are_void_in_a_plan_without_one() {
    let (mut policy, mut last) = (Fairways::default(), ("", false));
    announced(&mut policy, &Event::Machine(llc(8).into()), &mut last);
    for number in 0..=64 {
        let RunningProgram { app, wish, profile } = program(number, &[2, 4, 6, 8], &[9, 4, 1, 1]);
        announced(&mut policy, &Event::Started { app, wish, profile }, &mut last);
        assert_eq!(last.1, number < 64, "{number}: {last:?}");
    }
    assert_eq!(last.0, BY_RULES);
    let one_class = Llc { clos: 1, ..llc(8) };
    let unknown = Event::Started { app: AppId(99), wish: Wish::default(), profile: None };
    announced(&mut policy, &unknown, &mut last);
    announced(&mut policy, &Event::Machine(one_class.into()), &mut last);
    assert_eq!(last, (UNPARTITIONED, false));
}

fn curves(ways: usize) -> impl Strategy<Value = (Vec<u32>, Vec<u32>)> {
    let curve = || prop::collection::vec(1u32..200, ways);
    (curve(), curve())
}

proptest! {
    /// By the search's own estimate, whatever the curves, the objective and the classes.
    #[test]
    fn a_plan_is_never_worse_than_the_rules(
        curves in prop::collection::vec(curves(11), 1..9),
        clos in 2u32..16,
        objective in prop::sample::select(&[
            Objective::Unfairness,
            Objective::Stp,
            Objective::MaxSlowdown,
            Objective::Weighted,
        ]),
        trials in prop::sample::select(&[1u32, 50, 20_000]),
    ) {
        let programs: Vec<RunningProgram> = (0..)
            .zip(&curves)
            .map(|(app, (ipc, llcmpkc))| program(app, ipc, llcmpkc))
            .collect();
        let llc = Llc { clos, ..llc(11) };
        let parameters = Parameters { objective, trials, ..Parameters::default() };
        let mut policy = Fairways::new(parameters);
        clusters(&mut policy, llc, &programs);
        let Planner { start, clusters, search, .. } = &mut policy.planner;
        let mut outcome = |plan: &[(u64, u32)]| {
            let mut all = Outcome::NONE;
            for &(set, ways) in plan {
                clusters.slowdowns(set, ways, |_, slowdown, _| all.add(slowdown, 1));
            }
            all
        };
        let rules: Vec<(u64, u32)> = (0..)
            .zip(start.masks())
            .map(|(cluster, mask)| {
                (start.members(cluster).fold(0, |set, app| set | 1 << app.0), mask.count())
            })
            .collect();
        let found: Vec<(u64, u32)> =
            search.best_sets().iter().copied().zip(search.best_ways().iter().copied()).collect();
        let (rules, found) = (outcome(&rules), outcome(&found));
        let is_better = search.aim(objective).is_better(&rules, &found);
        prop_assert!(!is_better, "{rules:?} {found:?}");
    }
}
