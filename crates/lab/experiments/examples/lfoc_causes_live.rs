//! Why rows of LFOC's Figure 7 differ here: mixes with fewer sensitive programs, and Dunn by the
//! stalls of its last window (docs/paper.md, "What misses, and why").
//!
//! `cargo run --release -p fairways-experiments --example lfoc_causes_live [-- PROFILES.csv
//! PHASES.csv]`

#![allow(clippy::print_stdout)]

mod programs;

use std::error::Error;

use fairways_core::Policy;
use fairways_experiments::paper::lfoc::Setting;
use fairways_experiments::{Protocol, classes, draw_workloads, live};
use fairways_policy::dunn::{Dunn, Parameters};
use fairways_policy::lfoc::{Class, Lfoc};
use fairways_policy::stock::Stock;
use fairways_profiles::{Mix, ProgramCatalog};
use rayon::prelude::*;

/// Sensitive programs that stay in a mix.
const FEW: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let programs = &*programs::from_arguments()?;
    let setting = Setting::new(programs.table(), false);
    println!("{} programs, {} ways, seed {}", programs.len(), setting.llc.ways, setting.seed);
    let Setting { llc, workloads, seed, .. } = setting;
    let mixes = draw_workloads(programs, llc.ways, workloads, seed);
    by_sensitive(programs, &setting, &mixes)?;
    by_window(programs, &setting, &mixes)
}

/// The unfairness of a mix under a policy without profiles, by LFOC's protocol.
fn unfairness(
    programs: &ProgramCatalog,
    setting: &Setting,
    mix: &Mix,
    policy: &mut dyn Policy,
) -> Result<f64, String> {
    let found = live(programs, mix, &setting.machine, &Protocol::default(), policy);
    found.map(|found| found.metrics.unfairness).map_err(|why| why.to_string())
}

/// Replaces all sensitive programs of a mix but `most` by light ones. A phased program has no
/// class.
fn thinned(classes: &[Class], mix: &Mix, most: usize) -> Mix {
    let is = |program: usize, class| classes.get(program) == Some(&class);
    let mut light = (0..classes.len())
        .filter(|&program| is(program, Class::Light) && !mix.programs.contains(&program));
    let mut kept = 0;
    Mix {
        name: mix.name.clone(),
        programs: mix
            .programs
            .iter()
            .map(|&program| {
                if !is(program, Class::Sensitive) {
                    return program;
                }
                kept += 1;
                if kept <= most { program } else { light.next().unwrap_or(program) }
            })
            .collect(),
    }
}

/// LFOC against Dunn. With all sensitive programs, this is the paper's Figure 7.
fn by_sensitive(
    programs: &ProgramCatalog,
    setting: &Setting,
    mixes: &[Mix],
) -> Result<(), Box<dyn Error>> {
    let classes = classes(programs.table(), setting.llc.ways);
    let rows: Vec<(usize, f64)> = mixes
        .par_iter()
        .map(|mix| {
            let mix = thinned(&classes, mix, FEW);
            let lfoc = unfairness(programs, setting, &mix, &mut Lfoc::default())?;
            let dunn = unfairness(programs, setting, &mix, &mut Dunn::default())?;
            Ok((mix.programs.len(), lfoc / dunn))
        })
        .collect::<Result<_, String>>()?;
    println!("\nWith at most {FEW} sensitive programs a mix, LFOC is fairer than Dunn on");
    for size in [None, Some(8), Some(12), Some(16)] {
        let of = || rows.iter().filter(|(count, _)| size.is_none_or(|size| *count == size));
        let share = 100.0 * mean(of().map(|(_, ratio)| f64::from(u8::from(*ratio < 1.0))));
        let over = mean(of().map(|(_, ratio)| *ratio));
        let size = size.map_or("all".into(), |size| format!("{size} programs"));
        println!(
            "  {size:11} {share:5.1} % of {} mixes; {over:.3} of Dunn's unfairness",
            of().count()
        );
    }
    Ok(())
}

/// Dunn on P and on S, by its last window. By all windows since a program started, this is the
/// paper's Figure 7.
fn by_window(
    programs: &ProgramCatalog,
    setting: &Setting,
    mixes: &[Mix],
) -> Result<(), Box<dyn Error>> {
    let parameters = Parameters { last_window: true, ..Parameters::default() };
    let rows: Vec<(bool, f64)> = mixes
        .par_iter()
        .map(|mix| {
            let stock = unfairness(programs, setting, mix, &mut Stock::default())?;
            let dunn = unfairness(programs, setting, mix, &mut Dunn::new(parameters))?;
            Ok((mix.name.starts_with('P'), dunn / stock))
        })
        .collect::<Result<_, String>>()?;
    fn kind(phased: bool, rows: &[(bool, f64)]) -> f64 {
        mean(rows.iter().filter(|row| row.0 == phased).map(|row| row.1))
    }
    let (phased, single) = (kind(true, &rows), kind(false, &rows));
    println!(
        "\nDunn by the stalls of the last window, unfairness over stock: P {phased:.3}, S {single:.3}, P - S {:+.3}",
        phased - single
    );
    Ok(())
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}
