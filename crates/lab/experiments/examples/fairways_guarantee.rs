//! How well `fairways` keeps promises of ways: random mixes on the model and on a small chip, as
//! those of `dcat_guarantee`, under the policy and with the promised ways.
//!
//! `cargo run --release -p fairways-experiments --example fairways_guarantee [-- MIXES
//! [CHIP_MIXES]]`
#![allow(clippy::print_stdout)]

use fairways_chip::preset;
use fairways_core::{Llc, Ways};
use fairways_experiments::guarantee::{PromiseOutcome, on_chip, on_model_mixes, random_promises};
use fairways_model::Settings;
use fairways_policy::fairways::Fairways;
use fairways_profiles::embedded;
use rayon::prelude::*;

/// Seconds of a mix; each is a round.
const SECONDS: u32 = 60;
const CHIP_SECONDS: u32 = 30;

/// The loss of speed that counts, and the number of rounds in a row for which it is allowed.
const LOSS: f64 = 0.05;
const ROUNDS: u32 = 2;

/// By seed and by program.
type Kept = Vec<(u64, usize, PromiseOutcome)>;

fn main() {
    let (mixes, chip_mixes) = (number(1, 20_000), number(2, 200));
    let llc = Llc::with_ways(Ways::new(20).expect("20 is from 1 to 32"));
    println!("{mixes} mixes of 2 to 8 programs, 20 ways, {SECONDS} rounds");
    let perfect = Settings::new(llc);
    for (what, settings) in [
        ("perfect observation", perfect),
        ("2 % noise", Settings { noise: 0.02, ..perfect }),
        ("10 % lost windows", Settings { lost: 0.1, ..perfect }),
    ] {
        let kept =
            on_model_mixes(embedded(), settings, (mixes, 0.0), SECONDS, LOSS, Fairways::default);
        show(what, &kept);
    }
    println!("{chip_mixes} mixes on a chip of 576 sets and 20 ways, {CHIP_SECONDS} rounds");
    show("the chip", &on_chip_mixes(chip_mixes));
}

/// The number of mixes at this place of the command line.
fn number(place: usize, default: u64) -> u64 {
    let given = std::env::args().nth(place);
    given.map_or(default, |text| text.parse().expect("a number of mixes"))
}

/// The chip is so small that a round of 2.5 ms is as long for it as a second for a large one.
fn on_chip_mixes(mixes: u64) -> Kept {
    let chip = preset::parse("xeon-e5:sets=576").expect("a preset");
    let settings =
        fairways_chip::Settings { time_scale: 400, ..fairways_chip::Settings::new(chip) };
    let each = (0..mixes).into_par_iter().flat_map_iter(|seed| {
        let promises = random_promises(embedded(), chip.llc.ways, 0.101, seed);
        let mut policy = Fairways::default();
        let kept = on_chip(embedded(), settings, &promises, &mut policy, CHIP_SECONDS, LOSS);
        let kept = kept.expect("the preset is possible");
        kept.into_iter().enumerate().map(move |(place, one)| (seed, place, one))
    });
    each.collect()
}

fn show(what: &str, kept: &Kept) {
    let rounds: u64 = kept.iter().map(|(.., one)| u64::from(one.rounds)).sum();
    let below: u64 = kept.iter().map(|(.., one)| u64::from(one.below)).sum();
    let broken: Vec<_> = kept.iter().filter(|(.., one)| one.longest_run > ROUNDS).collect();
    println!(
        "{what}: {} programs, {rounds} rounds, {:.3} % of them slower by 5 %; {} programs for more \
         than {ROUNDS} rounds in a row",
        kept.len(),
        100.0 * below as f64 / rounds.max(1) as f64,
        broken.len(),
    );
    for (seed, place, one) in broken.iter().take(5) {
        println!("  mix {seed}, program {place}: {one:?}");
    }
}
