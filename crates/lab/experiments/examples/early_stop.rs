//! LFOC's first early stop: the paper's, a miss-rate threshold, and ours, which also uses stalls
//! (docs/decisions.md, LFOC 10).
//!
//! `cargo run --release -p fairways-experiments --example early_stop [-- PROFILES.csv PHASES.csv]`

#![allow(clippy::print_stdout)]

mod programs;

use std::time::Duration;

use fairways_core::{Llc, Policy};
use fairways_experiments::{LiveOutcome, Protocol, accuracy, draw_workloads, live, random_mixes};
use fairways_model::Settings;
use fairways_policy::dunn::Dunn;
use fairways_policy::lfoc::{Lfoc, Parameters};
use fairways_policy::stock::Stock;
use fairways_profiles::ProgramCatalog;
use rayon::prelude::*;

/// Each seed draws other workloads: 36 by LFOC's protocol, as in its Figure 5.
const SEEDS: u64 = 10;
const MIXES: usize = 6;

/// The results of one seed's workloads under one form.
struct FormResults {
    /// Means of unfairness over stock, and over Dunn.
    over_stock: f64,
    over_dunn: f64,
    /// Workloads that are fairer than under Dunn, percent.
    fairer: f64,
    stp: f64,
    sampling: f64,
    /// Programs of random mixes that are classified right, percent.
    right: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let programs = &*programs::from_arguments()?;
    println!(
        "{} programs, {} ways, {SEEDS} seeds of 36 workloads",
        programs.len(),
        programs.table().ways()
    );
    println!("form        seed  over stock  over Dunn  fairer, %    STP  sampling, %  right, %");
    let mut sums = [[0.0; 6]; 2];
    for seed in 1..=SEEDS {
        let both = both_forms(programs, seed)?;
        for ((form, found), sum) in ["published", "stalls too"].iter().zip(&both).zip(&mut sums) {
            let FormResults { over_stock, over_dunn, fairer, stp, sampling, right } = found;
            let all = [*over_stock, *over_dunn, *fairer, *stp, *sampling, *right];
            row(form, &seed.to_string(), all);
            for (sum, value) in sum.iter_mut().zip(all) {
                *sum += value / SEEDS as f64;
            }
        }
    }
    for (form, sum) in ["published", "stalls too"].iter().zip(sums) {
        row(form, "mean", sum);
    }
    Ok(())
}

fn row(form: &str, seed: &str, [stock, dunn, fairer, stp, sampling, right]: [f64; 6]) {
    println!(
        "{form:11} {seed:>4}  {stock:10.4}  {dunn:9.4}  {fairer:9.1}  {stp:5.3}  {sampling:11.2}  {right:8.1}"
    );
}

/// The results of both forms on one seed's workloads, the published form first.
fn both_forms(
    programs: &ProgramCatalog,
    seed: u64,
) -> Result<[FormResults; 2], Box<dyn std::error::Error>> {
    let ways = programs.table().ways();
    let settings = Settings { seed, ..Settings::new(Llc::with_ways(ways)) };
    let (protocol, workloads) = (Protocol::default(), draw_workloads(programs, ways, MIXES, seed));
    let forms = [false, true].map(|early_stop_checks_stalls| Parameters {
        early_stop_checks_stalls,
        ..Parameters::default()
    });
    let rows: Vec<[LiveOutcome; 4]> = workloads
        .par_iter()
        .map(|mix| {
            let run = |policy: &mut dyn Policy| {
                live(programs, mix, &settings, &protocol, policy).map_err(|why| why.to_string())
            };
            Ok([
                run(&mut Stock::default())?,
                run(&mut Dunn::default())?,
                run(&mut Lfoc::new(forms[0]))?,
                run(&mut Lfoc::new(forms[1]))?,
            ])
        })
        .collect::<Result<_, String>>()?;
    let mixes = random_mixes(programs.table(), &[8, 12, 16], 40, seed);
    let found = |form: usize| {
        fn mean(of: &dyn Fn(&[LiveOutcome; 4]) -> f64, rows: &[[LiveOutcome; 4]]) -> f64 {
            rows.iter().map(of).sum::<f64>() / rows.len() as f64
        }
        fn unfairness(row: &[LiveOutcome; 4], which: usize) -> f64 {
            row[which].metrics.unfairness
        }
        let own = 2 + form;
        let right = accuracy(programs, &mixes, &settings, forms[form], Duration::from_secs(20));
        FormResults {
            over_stock: mean(&|row| unfairness(row, own) / unfairness(row, 0), &rows),
            over_dunn: mean(&|row| unfairness(row, own) / unfairness(row, 1), &rows),
            fairer: 100.0
                * mean(&|row| f64::from(unfairness(row, own) < unfairness(row, 1)), &rows),
            stp: mean(&|row| row[own].metrics.stp / row[0].metrics.stp, &rows),
            sampling: 100.0 * mean(&|row| row[own].activity.sampling_share(), &rows),
            right: 100.0 * f64::from(right.right) / f64::from(right.all),
        }
    };
    Ok([found(0), found(1)])
}
