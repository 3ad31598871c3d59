//! How well dCat keeps its guarantee: random mixes on the model, under dCat and with the baselines
//! of the workloads.
//!
//! `cargo run --release -p fairways-experiments --example dcat_guarantee [-- MIXES]`
#![allow(clippy::print_stdout)]

use fairways_core::{Llc, Ways};
use fairways_experiments::guarantee::on_model_mixes;
use fairways_model::Settings;
use fairways_policy::dcat::{Dcat, Parameters};
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
    println!("{mixes} mixes of 2 to 8 workloads, 20 ways, {SECONDS} rounds\n");
    println!(
        "{:<14} {:<14} {:<17} {:>9} {:>8} {:>13}  for more than 2 rounds",
        "phases differ", "reclaim_on_ipc", "observation", "workloads", "rounds", "below by 5 %"
    );
    let perfect = Settings::new(llc);
    let noisy = Settings { noise: 0.02, ..perfect };
    let lossy = Settings { lost: 0.1, ..perfect };
    for (differ, reclaim_on_ipc, settings, observation) in [
        (0.101, false, perfect, "perfect"),
        (0.101, true, perfect, "perfect"),
        (0.0, false, perfect, "perfect"),
        (0.0, true, perfect, "perfect"),
        (0.101, false, noisy, "2 % noise"),
        (0.101, false, lossy, "10 % lost windows"),
    ] {
        let parameters = Parameters { reclaim_on_ipc, ..Parameters::default() };
        let mixes = (mixes, differ);
        let kept =
            on_model_mixes(embedded(), settings, mixes, SECONDS, LOSS, || Dcat::new(parameters));
        let rounds: u64 = kept.iter().map(|(.., one)| u64::from(one.rounds)).sum();
        let below: u64 = kept.iter().map(|(.., one)| u64::from(one.below)).sum();
        let broken = kept.iter().filter(|(.., one)| one.longest_run > ROUNDS).count();
        println!(
            "{:<14} {reclaim_on_ipc:<14} {observation:<17} {:>9} {rounds:>8} {:>11.3} %  {broken:>6} ({:.3} %)",
            if differ > 0.0 { "by 10.1 %" } else { "not at all" },
            kept.len(),
            100.0 * below as f64 / rounds as f64,
            100.0 * broken as f64 / kept.len() as f64,
        );
    }
}
