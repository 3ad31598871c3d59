//! How well `fairways` keeps promises of ways: random mixes on the model, as those of
//! `dcat_guarantee`, under the policy and with the promised ways.
//!
//! `cargo run --release -p fairways-lab --example fairways_guarantee [-- MIXES]`
#![allow(clippy::print_stdout)]

use fairways_core::{Llc, Ways};
use fairways_lab::guarantee::on_model_mixes;
use fairways_model::Settings;
use fairways_policy::fairways::Fairways;
use fairways_profiles::embedded;

/// Seconds of a mix; each is a round.
const SECONDS: u32 = 60;

/// The loss of speed that counts, and the number of rounds in a row for which it is allowed.
const LOSS: f64 = 0.05;
const ROUNDS: u32 = 2;

fn main() {
    let mixes =
        std::env::args().nth(1).map_or(20_000, |text| text.parse().expect("a number of mixes"));
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
        let rounds: u64 = kept.iter().map(|(.., one)| u64::from(one.rounds)).sum();
        let below: u64 = kept.iter().map(|(.., one)| u64::from(one.below)).sum();
        let broken: Vec<_> = kept.iter().filter(|(.., one)| one.longest_run > ROUNDS).collect();
        println!(
            "{what}: {} programs, {rounds} rounds, {:.3} % of them slower by 5 %; {} programs for \
             more than {ROUNDS} rounds in a row",
            kept.len(),
            100.0 * below as f64 / rounds as f64,
            broken.len(),
        );
        for (seed, place, one) in broken.iter().take(5) {
            println!("  mix {seed}, program {place}: {one:?}");
        }
    }
}
