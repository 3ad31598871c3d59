//! Rounds that show nothing new change nothing.

use fairways_core::Q32;

use super::bench::Bench;
use super::programs::{Does, FITS, HUNGRY, IDLE, QUIET, SENSITIVE, STREAMING};
use crate::dcat::{Parameters, SpareWaysGoal};

/// Less with five ways than with four, and more again with six.
const UNEVEN: Does = Does { ipc: &[900, 1000, 1100, 1200, 1120, 1300, 1310], ..SENSITIVE };
/// Steps that are just short of the threshold.
const SLOW: Does = Does { ipc: &[920, 960, 1000, 1040, 1080, 1120, 1160, 1200], ..SENSITIVE };
/// Needs two ways, if none too little.
const MODEST: Does = Does { ipc: &[800, 960, 1000], misses: &[200, 20, 0], ..FITS };

const KINDS: [Does; 9] = [FITS, IDLE, QUIET, STREAMING, SENSITIVE, HUNGRY, UNEVEN, SLOW, MODEST];

/// Every mix of three kinds settles within a minute, and then no plan is made.
fn settles(parameters: Parameters, ways: u32, baselines: [u32; 3]) {
    for (a, &first) in KINDS.iter().enumerate() {
        for (b, &second) in KINDS.iter().enumerate() {
            for (c, &third) in KINDS.iter().enumerate() {
                let mut bench = Bench::new(ways, parameters);
                for ((app, baseline), does) in (0..).zip(baselines).zip([first, second, third]) {
                    bench.start(app, baseline, does);
                }
                bench.rounds(60);
                let plans = bench.plans;
                bench.rounds(60);
                assert_eq!(bench.plans, plans, "kinds {a}, {b} and {c} of {ways} ways");
            }
        }
    }
}

fn objectives(ways: u32, baselines: [u32; 3]) {
    for objective in [SpareWaysGoal::MaxFairness, SpareWaysGoal::MaxPerformance] {
        for thr in [2, 5] {
            let ipc_imp_thr = Q32::from_int(thr);
            let parameters = Parameters { objective, ipc_imp_thr, ..Parameters::default() };
            settles(parameters, ways, baselines);
        }
    }
}

#[test]
fn every_mix_settles_where_there_is_room() {
    objectives(20, [3, 3, 3]);
}

#[test]
fn every_mix_settles_where_ways_are_few() {
    objectives(10, [2, 3, 3]);
}

#[test]
fn every_mix_settles_where_all_is_promised() {
    objectives(9, [3, 3, 3]);
}

#[test]
fn every_mix_settles_where_too_much_is_promised() {
    objectives(8, [3, 3, 3]);
}
