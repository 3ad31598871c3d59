//! A million static scores of an 8-program mix on one core.
//!
//! 4096 partitions in turn: each program is in a cluster drawn at random, and clusters of random
//! widths lie side by side. Prints CSV; a row is a million scores, in seconds.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use fairways_core::{WayMask, Ways};
use fairways_profiles::{BandwidthModel, MemoryBandwidth, Scorer, embedded};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

const SCORES: usize = 1_000_000;
const PROGRAMS: usize = 8;
const ROUNDS: usize = 7;

fn main() {
    println!("bench,programs,ways,bandwidth,round,seconds");
    let table = embedded();
    let mix: Vec<usize> = (0..PROGRAMS).map(|i| i * 4 % table.names().len()).collect();
    for ways in [11, 20].map(|ways| Ways::new(ways).expect("from 1 to 32")) {
        let partitions = partitions(ways);
        for (name, bandwidth) in [
            ("none", None),
            ("simple", MemoryBandwidth::new(12_000.0, BandwidthModel::Simple)),
            ("stalls", MemoryBandwidth::new(12_000.0, BandwidthModel::Stalls)),
        ] {
            let mut scorer = Scorer::new(table, &mix, ways, bandwidth);
            for round in 1..=ROUNDS {
                let start = Instant::now();
                for masks in partitions.iter().cycle().take(SCORES) {
                    black_box(scorer.score(black_box(masks)).expect("12 GB/s is enough"));
                }
                let seconds = start.elapsed().as_secs_f64();
                println!("score,{PROGRAMS},{ways},{name},{round},{seconds:.3}");
            }
        }
    }
}

/// Random partitions, each as a mask for every program.
fn partitions(ways: Ways) -> Vec<[WayMask; PROGRAMS]> {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    fn below(end: u32, rng: &mut Pcg64Mcg) -> u32 {
        rng.next_u32() % end
    }
    let mut partition = || {
        let mut clusters = Vec::new();
        let mut lowest = 0;
        while lowest < ways.get() {
            let width = 1 + below(ways.get() - lowest, &mut rng);
            clusters.push(WayMask::span(lowest, width));
            lowest += width;
        }
        let count = u32::try_from(clusters.len()).expect("at most 32");
        [(); PROGRAMS].map(|()| clusters[below(count, &mut rng) as usize])
    };
    (0..4096).map(|_| partition()).collect()
}
