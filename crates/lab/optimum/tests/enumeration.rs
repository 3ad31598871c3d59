//! Against looking at every partition, on random programs: with plateaus, ties and curves that go
//! up and down.

#![allow(clippy::unwrap_used)]

use std::time::Instant;

use fairways_core::{BandwidthLevel, Llc, Ways};
use fairways_optimum::enumerate::enumerate;
use fairways_optimum::{Goal, Impossible, Problem, SharingKind, count, solve};
use fairways_profiles::{BandwidthModel, MemoryBandwidth, ProfileTable, embedded, read_table};
use proptest::prelude::*;

const METRICS: &str = "BENCH,NR_WAYS,ipc,llcrpki,llcmpki,llcrpkc,llcmpkc,llc_usage_kb,\
                       bandwidth_mbps,llcm_bandwidth,stalls_l2_miss,stalls_l3_miss,stalls_total,\
                       stalls_store_buf";

/// A table of programs with these IPCs (in tenths) and LLCMPKCs, from a few levels each.
fn table(programs: &[Vec<(u32, u32)>]) -> ProfileTable {
    let mut text = format!("{METRICS}\n");
    for (number, rows) in programs.iter().enumerate() {
        for (ways, (ipc, llcmpkc)) in (1..).zip(rows) {
            let ipc = f64::from(*ipc) / 10.0;
            text += &format!("p{number},{ways},{ipc},9,9,9,{llcmpkc},9,9,9,0.1,0.1,0.1,0.1\n");
        }
    }
    read_table(text.as_bytes(), "random").unwrap()
}

/// Programs, ways, the fewest ways of a cluster, and the most clusters.
fn problems() -> impl Strategy<Value = (ProfileTable, usize, Llc)> {
    (1usize..=6, 1u32..=8, 1u32..=3, 1u32..=7).prop_flat_map(|(count, ways, min_bits, clos)| {
        let rows = prop::collection::vec((1u32..20, 0u32..6), ways as usize);
        let llc = Llc { min_bits, clos, ..Llc::with_ways(Ways::new(ways).unwrap()) };
        prop::collection::vec(rows, count).prop_map(move |programs| (table(&programs), count, llc))
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 3000, ..ProptestConfig::default()
    })]

    #[test]
    fn the_best_of_all_partitions(problem in problems()) {
        let (profiles, count, llc) = problem;
        let mix: Vec<usize> = (0..count).collect();
        for kind in [SharingKind::Partitioning, SharingKind::Clustering] {
            for goal in
                [Goal::Unfairness, Goal::Stp, Goal::MaxSlowdown, Goal::Antt]
            {
                let problem = Problem::new(&profiles, &mix, llc, kind, goal);
                let (found, expected) = (solve(&problem, None, |_, _| ()), enumerate(&problem));
                let Ok(found) = found else {
                    prop_assert!(expected.is_none(), "{kind:?}: {:?}", found.err());
                    continue;
                };
                let (value, stp, _) = expected.unwrap();
                let value = if goal == Goal::Stp { -value } else { value };
                prop_assert!(found.is_proven && found.bound == found.value);
                prop_assert!((found.value / value - 1.0).abs() < 1e-9, "{goal:?} {kind:?}: {} {value}", found.value);
                if goal != Goal::Antt {
                    prop_assert!((found.metrics.stp / stp - 1.0).abs() < 1e-9, "{goal:?} {kind:?} STP: {} {stp}", found.metrics.stp);
                }
                let apps = (0..).map(fairways_core::AppId).take(count);
                prop_assert_eq!(found.plans[0].check(&llc, apps), Ok(()));
                let given: u32 = found.plans[0].masks().map(|mask| mask.count()).sum();
                prop_assert_eq!(given, llc.ways.get());
            }
        }
    }

    /// What is hardly worse, and faster, is better; the value over STP is the same, whichever of
    /// equals is found.
    #[test]
    fn the_best_of_all_that_are_tolerated((profiles, count, llc) in problems(), percent in 1u32..30) {
        let mix: Vec<usize> = (0..count).collect();
        let tolerance = f64::from(percent) / 100.0;
        for goal in [Goal::Unfairness, Goal::MaxSlowdown] {
            let kind = SharingKind::Clustering;
            let problem = Problem { tolerance, ..Problem::new(&profiles, &mix, llc, kind, goal) };
            let (found, expected) = (solve(&problem, None, |_, _| ()), enumerate(&problem));
            let Ok(found) = found else {
                prop_assert!(expected.is_none(), "{:?}", found.err());
                continue;
            };
            let (value, stp, _) = expected.unwrap();
            let (least, _, _) = enumerate(&Problem { tolerance: 0.0, ..problem }).unwrap();
            prop_assert!(found.is_proven && (found.bound / least - 1.0).abs() < 1e-9);
            let [ours, theirs] = [found.value / found.metrics.stp, value / stp];
            prop_assert!((ours / theirs - 1.0).abs() < 1e-9, "{goal:?}: {found:?} {value} {stp}");
            prop_assert!(found.value <= least * (1.0 + tolerance) * (1.0 + 1e-9));
        }
    }
}

/// IPC, LLCMPKC, MB/s, stalls, and stalls for memory.
type Row = (f64, u32, f64, f64, f64);

fn demanding(programs: &[Vec<Row>]) -> ProfileTable {
    let mut text = format!("{METRICS}\n");
    for (number, rows) in programs.iter().enumerate() {
        for (ways, (ipc, llcmpkc, mbps, stalls, waits)) in (1..).zip(rows) {
            text += &format!(
                "p{number},{ways},{ipc},9,9,9,{llcmpkc},9,{mbps},9,0.1,{waits},{stalls},{waits}\n"
            );
        }
    }
    read_table(text.as_bytes(), "random").unwrap()
}

/// Programs whose bandwidth and stalls differ too, and a memory of this many MB/s, from plenty to
/// next to nothing.
fn contended() -> impl Strategy<Value = (ProfileTable, usize, Llc, f64)> {
    (1usize..=5, 1u32..=7, 1u32..=2, 1u32..=6, 20.0..3000.0).prop_flat_map(
        |(count, ways, min_bits, clos, limit)| {
            let row = (1u32..20, 0u32..6, 0u32..8, 0u32..=5, 0u32..=5);
            let row = row.prop_map(|(ipc, llcmpkc, bandwidth, stalls, waits)| {
                let [ipc, stalls, waits] = [ipc, stalls, waits].map(f64::from);
                (ipc / 10.0, llcmpkc, f64::from(100 * bandwidth), stalls / 10.0, waits / 20.0)
            });
            let rows = prop::collection::vec(row, ways as usize);
            let llc = Llc { min_bits, clos, ..Llc::with_ways(Ways::new(ways).unwrap()) };
            prop::collection::vec(rows, count)
                .prop_map(move |programs| (demanding(&programs), count, llc, limit))
        },
    )
}

/// Programs that are slower the more ways they have: crowded, all are faster than at their best way
/// count, and the largest slowdown may be below 1.
fn falling() -> impl Strategy<Value = (ProfileTable, usize, Llc, f64)> {
    (7usize..=8, 2u32..=4, 600.0..4000.0).prop_flat_map(|(count, ways, limit)| {
        let rows = (0.02..0.32, prop::collection::vec((1u32..6, 100.0..200.0), ways as usize));
        let rows = rows.prop_map(|(steep, rows): (f64, Vec<(u32, f64)>)| {
            let at = |(way, (llcmpkc, mbps))| {
                (2.0 * (1.0 - steep * f64::from(way)), llcmpkc, mbps, 0.5, 0.2)
            };
            (0u32..).zip(rows).map(at).collect()
        });
        let llc = Llc { clos: 16, ..Llc::with_ways(Ways::new(ways).unwrap()) };
        prop::collection::vec(rows, count)
            .prop_map(move |programs: Vec<Vec<Row>>| (demanding(&programs), count, llc, limit))
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 1000, ..ProptestConfig::default()
    })]

    #[test]
    fn the_best_of_all_partitions_where_memory_has_a_limit(
        problem in prop_oneof![9 => contended().boxed(), 1 => falling().boxed()]
    ) {
        let (profiles, count, llc, limit) = problem;
        let mix: Vec<usize> = (0..count).collect();
        for model in [BandwidthModel::Simple, BandwidthModel::Stalls] {
            let bandwidth = MemoryBandwidth::new(limit, model);
            for kind in [SharingKind::Partitioning, SharingKind::Clustering] {
                for goal in
                    [Goal::Unfairness, Goal::Stp, Goal::MaxSlowdown, Goal::Antt]
                {
                    let problem =
                        Problem { bandwidth, ..Problem::new(&profiles, &mix, llc, kind, goal) };
                    is_best(&problem)?;
                }
            }
        }
    }
}

/// Checks that the search finds what comparing all partitions finds, where memory has a limit.
fn is_best(problem: &Problem<'_>) -> Result<(), TestCaseError> {
    let (found, expected) = (solve(problem, None, |_, _| ()), enumerate(problem));
    let Ok(found) = found else {
        prop_assert!(expected.is_none(), "{problem:?}: {:?}", found.err());
        return Ok(());
    };
    let (value, ..) = expected.unwrap();
    let value = if problem.goal == Goal::Stp { -value } else { value };
    prop_assert!(found.is_proven && found.bound == found.value);
    prop_assert!((found.value / value - 1.0).abs() < 2e-9, "{problem:?}: {} {value}", found.value);
    let apps = (0..).map(fairways_core::AppId).take(problem.mix.len());
    let bandwidth = problem.bandwidth.unwrap().lever();
    let levers = fairways_core::Levers { llc: problem.llc, bandwidth };
    prop_assert_eq!(found.plans[0].check_levers(levers, apps), Ok(()));
    Ok(())
}

/// A few programs, and the levels to which clusters may be limited, in percent.
fn limitable() -> impl Strategy<Value = (ProfileTable, usize, Llc, f64, Vec<u32>)> {
    (1usize..=4, 1u32..=5, 1u32..=2, 1u32..=4, 100.0..2000.0).prop_flat_map(
        |(count, ways, min_bits, clos, limit)| {
            let row = (1u32..20, 0u32..6, 0u32..8, 0u32..=5, 0u32..=5);
            let row = row.prop_map(|(ipc, llcmpkc, bandwidth, stalls, waits)| {
                let [ipc, stalls, waits] = [ipc, stalls, waits].map(f64::from);
                (ipc / 10.0, llcmpkc, f64::from(100 * bandwidth), stalls / 10.0, waits / 20.0)
            });
            let rows = prop::collection::vec(row, ways as usize);
            let llc = Llc { min_bits, clos, ..Llc::with_ways(Ways::new(ways).unwrap()) };
            let levels = prop::collection::vec(1u32..=100, 1..=4);
            (prop::collection::vec(rows, count), levels).prop_map(move |(programs, levels)| {
                (demanding(&programs), count, llc, limit, levels)
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 150, ..ProptestConfig::default()
    })]

    #[test]
    fn the_best_of_all_partitions_and_levels(problem in limitable()) {
        let (profiles, count, llc, limit, levels) = problem;
        let levels: Vec<_> = levels.into_iter().filter_map(BandwidthLevel::new).collect();
        let mix: Vec<usize> = (0..count).collect();
        for model in [BandwidthModel::Simple, BandwidthModel::Stalls] {
            let bandwidth = MemoryBandwidth::new(limit, model);
            for kind in [SharingKind::Partitioning, SharingKind::Clustering] {
                for goal in [Goal::Unfairness, Goal::Stp, Goal::MaxSlowdown, Goal::Antt] {
                    let problem = Problem { bandwidth, levels: &levels, ..Problem::new(&profiles, &mix, llc, kind, goal) };
                    is_best(&problem)?;
                }
            }
        }
    }
}

/// Levels of this many programs are searched exactly, and of more not at all.
#[test]
fn levels_of_more_than_eight_programs_are_an_error() {
    let mix: Vec<usize> = (0..9).collect();
    let levels = [BandwidthLevel::new(50).unwrap()];
    let problem = Problem {
        profiles: embedded(),
        mix: &mix,
        llc: Llc::with_ways(Ways::new(11).unwrap()),
        kind: SharingKind::Clustering,
        bandwidth: MemoryBandwidth::new(20_000.0, BandwidthModel::Simple),
        levels: &levels,
        goal: Goal::Stp,
        tolerance: 0.0,
    };
    for deadline in [None, Some(Instant::now())] {
        let why = solve(&problem, deadline, |_, _| ()).expect_err("nine programs");
        assert_eq!(why, Impossible::TooManyPrograms { most: 8, programs: 9 });
    }
    let problem = Problem { mix: &mix[..8], ..problem };
    assert!(solve(&problem, Some(Instant::now()), |_, _| ()).is_ok());
}

/// A partition that memory can just serve, or just not: a program with demand b gets nothing when
/// sum b - B is sum b² / b.
#[test]
fn what_is_found_is_served_at_the_very_edge() {
    let llc = Llc::with_ways(Ways::new(3).unwrap());
    let mut served = 0;
    for case in 0..1000u32 {
        let part = |n: u32| f64::from((case * 2_654_435 + n * 40_503) % 1009) / 1009.0;
        let mut demands =
            [20.0 + 100.0 * part(0), 20.0 + 100.0 * part(1), 20.0 + 100.0 * part(2), 0.0];
        let most = 400.0 * (1.0 + part(3));
        demands[3] = most;
        demands.rotate_left(case as usize % 4);
        let limit = demands.iter().map(|demand| demand * (1.0 - demand / most)).sum();
        let profiles = demanding(&demands.map(|mbps| vec![(1.0, 1, mbps, 0.1, 0.1); 3]));
        let bandwidth = MemoryBandwidth::new(limit, BandwidthModel::Simple);
        let (mix, kind, goal) = ([0, 1, 2, 3], SharingKind::Clustering, Goal::Stp);
        let problem = Problem { bandwidth, ..Problem::new(&profiles, &mix, llc, kind, goal) };
        match solve(&problem, None, |_, _| ()) {
            Ok(found) => served += u32::from(found.value.is_finite()),
            Err(why) => assert_eq!(why, Impossible::TooLittleBandwidth { programs: 4 }),
        }
    }
    assert!(served > 0, "none of 1000 is served");
}

/// A search that finds nothing ends, in time or late.
#[test]
fn a_memory_that_serves_no_program_is_an_error() {
    let llc = Llc { clos: 16, ..Llc::with_ways(Ways::new(11).unwrap()) };
    let bandwidth = MemoryBandwidth::new(500.0, BandwidthModel::Simple);
    let mix: Vec<usize> = (0..20).collect();
    for (programs, deadline) in [(10, None), (10, Some(Instant::now())), (20, Some(Instant::now()))]
    {
        for goal in [Goal::Unfairness, Goal::Stp, Goal::MaxSlowdown, Goal::Antt] {
            let (profiles, mix, kind) = (embedded(), &mix[..programs], SharingKind::Clustering);
            let problem = Problem { bandwidth, ..Problem::new(profiles, mix, llc, kind, goal) };
            let why = solve(&problem, deadline, |_, _| ()).expect_err("500 MB/s for all programs");
            let none_in_time = Impossible::NoneInTime { programs };
            let known = why == Impossible::TooLittleBandwidth { programs };
            assert!(known || (deadline.is_some() && why == none_in_time), "{goal:?}: {why}");
        }
    }
}

/// Programs as they are: 26 thousand clusterings of each mix.
#[test]
fn the_best_of_embedded_programs_where_memory_has_a_limit() {
    let profiles = embedded();
    let llc = Llc { clos: 16, ..Llc::with_ways(Ways::new(11).unwrap()) };
    for (mix, limit) in [
        ([0, 4, 8, 12, 16, 20], 6_000.0),
        ([1, 2, 3, 5, 7, 11], 9_000.0),
        ([1, 3, 6, 9, 13, 29], 12_000.0),
    ] {
        for model in [BandwidthModel::Simple, BandwidthModel::Stalls] {
            for goal in [Goal::Unfairness, Goal::Stp, Goal::MaxSlowdown, Goal::Antt] {
                let (kind, bandwidth) =
                    (SharingKind::Clustering, MemoryBandwidth::new(limit, model));
                let problem =
                    Problem { bandwidth, ..Problem::new(profiles, &mix, llc, kind, goal) };
                let (found, expected) = (solve(&problem, None, |_, _| ()), enumerate(&problem));
                let (found, (value, ..)) = (found.unwrap().value, expected.unwrap());
                let plenty =
                    solve(&Problem { bandwidth: None, ..problem }, None, |_, _| ()).unwrap();
                assert!((found - plenty.value).abs() > 1e-3, "{model:?} {goal:?}: no contention");
                assert!(
                    (found / value.abs() - 1.0).abs() < 2e-9,
                    "{model:?} {goal:?}: {found} {value}"
                );
            }
        }
    }
}

fn rows(seed: u32) -> Vec<(u32, u32)> {
    (0..7).map(|w| (1 + (seed * 7 + w * 3) % 11, (seed + w) % 5)).collect()
}

#[test]
fn enumeration_looks_at_every_partition() {
    let profiles = table(&(0..5).map(rows).collect::<Vec<_>>());
    for (programs, ways) in [(1, 1), (3, 7), (5, 7), (4, 3)] {
        let llc = Llc { clos: 32, ..Llc::with_ways(Ways::new(ways).unwrap()) };
        let mix: Vec<usize> = (0..programs as usize).collect();
        for (kind, expected) in [
            (SharingKind::Partitioning, count::partitionings(programs, ways)),
            (SharingKind::Clustering, count::clusterings(programs, ways)),
        ] {
            let goal = Goal::Stp;
            let problem = Problem::new(&profiles, &mix, llc, kind, goal);
            let counted = enumerate(&problem).map_or(0, |(.., count)| u128::from(count));
            assert_eq!(counted, expected, "{programs} programs, {ways} ways, {kind:?}");
        }
    }
}
