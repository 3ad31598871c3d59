//! How fair `fairways` is on a simulated chip with real programs and no profiles, beside
//! policies that learn, too. The programs are every stream of `corpus/streams`, by name, and MLOAD
//! and MLR (dCat §5); mixes of 4, 6 and 8 in turn are drawn from them by seed.
//!
//! `cargo run --release -p fairways-experiments --example fairways_chip [-- MIXES [SEED
//! [NUMBER…]]]`, where the numbers choose some of the mixes.

#![allow(clippy::print_stdout)]

mod chip_programs;

use std::time::Duration;

use fairways_chip::{Job, Settings, preset};
use fairways_experiments::{ChipProtocol, compare_on_chip};
use fairways_policy::by_name;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;

use chip_programs::{Failure, job, name, with_streams};

const POLICIES: [&str; 5] = ["lfoc", "lfoc-plus", "dcat", "dunn", "fairways"];

/// Synthetic programs besides the streams.
const OURS: [&str; 2] = ["mload:60M", "mlr:8M"];

/// The unfairness of each policy over that without partitioning, and its throughput.
type Row = [[f64; 2]; POLICIES.len()];

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mixes: u64 = arguments.next().map_or(Ok(40), |text| text.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(2034), |text| text.parse())?;
    let chosen = arguments.map(|text| text.parse()).collect::<Result<Vec<usize>, _>>()?;
    if let Some(number) = chosen.iter().find(|&&number| number < 1 || number as u64 > mixes) {
        return Err(format!("{number}: expected the number of a mix, from 1 to {mixes}").into());
    }
    let programs = with_streams(&OURS)?;
    println!("{} programs, chip:skylake, {mixes} mixes, seed {seed}", programs.len());
    println!("Unfairness, and throughput, over those without partitioning:");
    print!("{:4} {:>10}", "", "stock");
    POLICIES.iter().for_each(|policy| print!(" {policy:>16}"));
    println!();
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let drawn: Vec<Vec<usize>> = (0..mixes)
        .map(|mix| {
            let size = [4, 6, 8][usize::try_from(mix % 3).unwrap_or(0)];
            let count = programs.len() as u64;
            let places = (0..size).map(|_| usize::try_from(rng.next_u64() % count).unwrap_or(0));
            places.collect()
        })
        .collect();
    let drawn = drawn
        .par_iter()
        .enumerate()
        .filter(|(number, _)| chosen.is_empty() || chosen.contains(&(number + 1)));
    let rows = drawn.map(|(number, places)| {
        let mix: Vec<&str> = places.iter().map(|&place| &*programs[place]).collect();
        let (stock, row) = run(&mix, seed)?;
        let names: Vec<&str> = mix.iter().map(|text| name(text)).collect();
        println!("{:4} {stock:10.3}{}  {}", number + 1, cells(&row), names.join(" "));
        Ok(row)
    });
    let rows = rows.collect::<Result<Vec<Row>, Failure>>()?;
    let means = std::array::from_fn(|policy| {
        [0, 1].map(|what| rows.iter().map(|row| row[policy][what]).sum::<f64>() / rows.len() as f64)
    });
    println!("{:4} {:>10}{}", "", "mean", cells(&means));
    for (policy, name) in POLICIES.iter().enumerate() {
        let worse = rows.iter().filter(|row| row[policy][0] > 1.01).count();
        let worst = rows.iter().map(|row| row[policy][0]).fold(0.0, f64::max);
        println!("{name}: less fair by more than 1 % in {worse} mixes, at worst {worst:.3}");
    }
    Ok(())
}

/// The unfairness of a mix without partitioning, and how it fares under each policy.
fn run(mix: &[&str], seed: u64) -> Result<(f64, Row), Failure> {
    let jobs = (0..).zip(mix).map(|(key, text)| job(text, key));
    let jobs = jobs.collect::<Result<Vec<Job>, Failure>>()?;
    let chip = preset::preset("skylake").ok_or("a preset")?;
    let settings = Settings { time_scale: 10, seed, ..Settings::new(chip) };
    let second = Duration::from_secs(1);
    let protocol =
        ChipProtocol { warm_up: second, span: 2 * second, profile: second, profiles_known: false };
    let found = compare_on_chip(settings, &jobs, &protocol, &POLICIES, &by_name, &|| {})?;
    let stock = &found.stock;
    let row = std::array::from_fn(|policy| {
        let metrics = &found.outcomes[policy].metrics;
        [metrics.unfairness / stock.unfairness, metrics.stp / stock.stp]
    });
    Ok((stock.unfairness, row))
}

fn cells(row: &Row) -> String {
    row.map(|[unfairness, stp]| format!(" {unfairness:8.3} {stp:7.3}")).concat()
}
