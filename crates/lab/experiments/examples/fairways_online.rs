//! How fair `fairways`, LFOC and LFOC+ are without profiles, over an optimum that knows the profile
//! of each phase at every moment, and what finding out costs.
//!
//! `cargo run --release -p fairways-experiments --example fairways_online [-- PROFILES.csv
//! PHASES.csv]`

#![allow(clippy::print_stdout)]

mod programs;

use fairways_core::Llc;
use fairways_experiments::{PhasedRuns, Protocol, draw_workloads, informed, live, phase_changes};
use fairways_model::Settings;
use fairways_policy::by_name;
use fairways_policy::fairways::{Fairways, Parameters};
use fairways_profiles::{Mix, ProgramCatalog};
use rayon::prelude::*;

/// The seed of every mix and machine.
const SEED: u64 = 2033;
/// Mixes of each size and kind, and for each observation.
const MIXES: usize = 2;
const POLICIES: [&str; 3] = ["lfoc", "lfoc-plus", "fairways"];

/// A policy on a mix.
#[derive(Clone, Copy)]
struct OnlineOutcome {
    /// Unfairness over the informed optimum's.
    ratio: f64,
    /// Instructions of all programs while one was sampled, and the share of the time.
    sampling: [f64; 2],
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let programs = &*programs::from_arguments()?;
    let llc = Llc::with_ways(programs.table().ways());
    println!("{} programs, {} ways, seed {SEED}", programs.len(), llc.ways);
    let mixes = draw_workloads(programs, llc.ways, MIXES, SEED);
    let perfect = Settings { seed: SEED, ..Settings::new(llc) };
    for (what, settings) in [
        ("perfect observation", perfect),
        ("2 % noise", Settings { noise: 0.02, ..perfect }),
        ("10 % lost windows", Settings { lost: 0.1, ..perfect }),
    ] {
        println!("\nUnfairness over the informed optimum's, {what} (G instructions in sampling):");
        println!(
            "  {:6} {:>8} {:>18} {:>18} {:>18}",
            "mix", "optimum", "lfoc", "lfoc-plus", "fairways"
        );
        let protocol = Protocol::default();
        let rows = mixes.par_iter().map(|mix| row(programs, mix, &settings, &protocol));
        let rows: Vec<(f64, Vec<OnlineOutcome>)> = rows.collect();
        for (mix, (best, row)) in mixes.iter().zip(&rows) {
            println!("  {:6} {best:8.4} {}", mix.name, cells(row));
        }
        for size in [8, 12, 16] {
            let of_size = mixes.iter().zip(&rows).filter(|(mix, _)| mix.programs.len() == size);
            let of_size: Vec<&Vec<OnlineOutcome>> = of_size.map(|(_, (_, row))| row).collect();
            println!("  mean of {size:2} programs: {}", cells(&means(&of_size)));
        }
    }
    println!("\nShort programs: unfairness over the optimum's, share of the time in sampling:");
    for billions in [1, 3, 10, 30] {
        let instructions = billions * 1_000_000_000;
        let protocol = Protocol { instructions, completions: 10, ..Protocol::default() };
        let rows: Vec<Vec<OnlineOutcome>> =
            mixes.par_iter().map(|mix| row(programs, mix, &perfect, &protocol).1).collect();
        let means = means(&rows.iter().collect::<Vec<_>>());
        let cells = means
            .iter()
            .map(|one| format!("{:.4} {:5.1} %    ", one.ratio, 100.0 * one.sampling[1]));
        println!("  {billions:2} G instructions: {}", cells.collect::<String>());
    }
    for with_profiles in [false, true] {
        let runs = PhasedRuns { mixes: 100, with_profiles };
        let found = phase_changes(programs.table(), &perfect, Parameters::default(), runs);
        println!("\nFrom a change of class to another phase for fairways, {runs}:\n{found}");
    }
    Ok(())
}

/// The optimum's unfairness, and each policy over it.
fn row(
    programs: &ProgramCatalog,
    mix: &Mix,
    settings: &Settings,
    protocol: &Protocol,
) -> (f64, Vec<OnlineOutcome>) {
    let mut best = Fairways::default();
    let best = informed(programs, mix, settings, protocol, &mut best).unfairness;
    let outcomes = POLICIES.iter().map(|name| {
        let mut policy = by_name(name).expect("a policy of the table");
        let outcome = live(programs, mix, settings, protocol, policy.as_mut());
        let outcome = outcome.expect("memory is without limit");
        OnlineOutcome {
            ratio: outcome.metrics.unfairness / best,
            sampling: [
                outcome.activity.sampling_work.instructions / 1e9,
                outcome.activity.sampling_share(),
            ],
        }
    });
    (best, outcomes.collect())
}

fn means(rows: &[&Vec<OnlineOutcome>]) -> Vec<OnlineOutcome> {
    fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
        let count = values.len() as f64;
        values.sum::<f64>() / count
    }
    (0..POLICIES.len())
        .map(|policy| OnlineOutcome {
            ratio: mean(rows.iter().map(|row| row[policy].ratio)),
            sampling: [0, 1].map(|place| mean(rows.iter().map(|row| row[policy].sampling[place]))),
        })
        .collect()
}

fn cells(row: &[OnlineOutcome]) -> String {
    row.iter().map(|one| format!("{:8.4} {:7.1} G", one.ratio, one.sampling[0])).collect()
}
