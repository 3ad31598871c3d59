//! The time of the exact optimum, by programs and ways.
//!
//! Mixes of different embedded programs, drawn by a seed; clustering for the least unfairness.
//! Prints CSV: a row a mix, seconds. `--threads N` (default 1); `--programs N`, the most (16);
//! `--mbps X`, with each model of a memory of X MB/s.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use fairways_core::{Llc, Ways};
use fairways_optimum::{Goal, Problem, SharingKind, solve};
use fairways_profiles::{BandwidthModel, MemoryBandwidth, embedded};

/// The next number of a multiplicative generator: enough to draw mixes.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).unwrap_or(0)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let after =
        |flag: &str| args.iter().position(|arg| arg == flag).and_then(|at| args.get(at + 1));
    let number = |flag: &str| after(flag).and_then(|text| text.parse::<usize>().ok());
    let threads = number("--threads").unwrap_or(1);
    let most = number("--programs").unwrap_or(16);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("threads");
    let profiles = embedded();
    let mbps = after("--mbps").and_then(|text| text.parse().ok());
    let memories = mbps.map_or(vec![("optimum", None)], |mbps| {
        [("simple", BandwidthModel::Simple), ("stalls", BandwidthModel::Stalls)]
            .map(|(name, model)| (name, MemoryBandwidth::new(mbps, model)))
            .to_vec()
    });
    println!("bench,programs,ways,threads,mix,value,seconds");
    for (programs, ways, mixes) in [
        (4, 11, 9),
        (6, 11, 9),
        (8, 11, 9),
        (8, 20, 9),
        (10, 11, 9),
        (11, 11, 9),
        (11, 20, 9),
        (12, 20, 9),
        (14, 20, 5),
        (16, 11, 3),
        (16, 20, 3),
        (18, 20, 1),
        (20, 20, 1),
    ] {
        if programs > most {
            continue;
        }
        let llc = Llc::with_ways(Ways::new(ways).expect("up to 32"));
        let mut state = 7;
        for mix in 1..=mixes {
            let mut left: Vec<usize> = (0..profiles.names().len()).collect();
            let drawn: Vec<usize> =
                (0..programs).map(|_| left.swap_remove(next(&mut state) % left.len())).collect();
            let (kind, objective) = (SharingKind::Clustering, Goal::Unfairness);
            for &(bench, bandwidth) in &memories {
                let problem =
                    Problem { bandwidth, ..Problem::new(profiles, &drawn, llc, kind, objective) };
                let start = Instant::now();
                let found = solve(&problem, None, |_, _| ()).expect("a partition");
                let seconds = start.elapsed().as_secs_f64();
                assert!(found.is_proven);
                let value = found.value;
                println!("{bench},{programs},{ways},{threads},{mix},{value:.6},{seconds:.6}");
            }
        }
    }
}
