//! The cost of placing the programs of a machine with several caches.
//!
//! The mixes are drawn of the corpus' programs, with repetitions where there are more programs than
//! those. `cold`: nobody has placed the programs yet; `placed`: they are where the last decision
//! put them, and one of them is replaced.
//!
//! Prints CSV in ns.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use fairways_core::{Llc, MachineCache, Profile, Ways, Wish};
use fairways_policy::fairways::{Parameters, PlacedProgram, Placer};
use fairways_profiles::corpus::{CorpusMachine, profiles};
use fairways_profiles::read_table;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

const ROUNDS: usize = 25;

fn main() {
    println!("bench,state,caches,ways,programs,round,ns");
    let table = profiles(CorpusMachine::Skylake).as_bytes();
    let table = read_table(table, "skylake.csv").expect("profiles that are built in");
    let all: Vec<Profile> =
        (0..table.names().len()).map(|program| table.profile(program)).collect();
    for (caches, programs) in [(2, 8), (2, 12), (2, 16), (4, 32), (8, 64)] {
        let llc = Llc::with_ways(Ways::new(11).expect("from 1 to 32"));
        let cpus = u32::try_from(programs / caches + 2).unwrap_or(0);
        let caches = vec![MachineCache { llc, cpus }; caches];
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let mut placer = Placer::default();
        for round in 0..ROUNDS {
            let mut mix: Vec<usize> =
                (0..programs).map(|_| rng.next_u32() as usize % all.len()).collect();
            let mut placed = vec![None; programs];
            for state in ["cold", "placed"] {
                let wanted: Vec<PlacedProgram<'_>> = mix
                    .iter()
                    .zip(&placed)
                    .map(|(&program, &cache)| {
                        let profile = &all[program];
                        PlacedProgram { profile, wish: Wish::default(), threads: 1, cache }
                    })
                    .collect();
                let start = Instant::now();
                let found = placer.place(&Parameters::default(), &caches, black_box(&wanted));
                let nanos = start.elapsed().as_nanos();
                placed = found.expect("room").iter().map(|&cache| Some(cache)).collect();
                let count = caches.len();
                println!("place,{state},{count},11,{programs},{round},{nanos}");
                let replaced = rng.next_u32() as usize % programs;
                mix[replaced] = rng.next_u32() as usize % all.len();
            }
        }
    }
}
