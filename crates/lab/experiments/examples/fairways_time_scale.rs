//! What a time scale does to policies that learn: the mixes of `fairways-lab paper fairways` on the
//! chip, which run 50 times slower there than on a machine, by the policy's clock. So programs fill
//! their ways 50 times more slowly, too.
//!
//! `cargo run --release -p fairways-experiments --example fairways_time_scale -- PROFILES.csv
//! [SCALE...]`: how many times slower, one after the other. 10 by default.

#![allow(clippy::print_stdout)]

use std::time::Duration;

use fairways_chip::program::profiled;
use fairways_chip::{Job, Settings, preset};
use fairways_core::Ways;
use fairways_experiments::{ChipProtocol, compare_on_chip, random_mixes};
use fairways_policy::by_name;
use fairways_profiles::{ProfileTable, read_table};

const POLICIES: [&str; 4] = ["dcat", "lfoc", "lfoc-plus", "fairways"];

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("PROFILES.csv is missing")?;
    let table = read_table(std::fs::read(&path)?.as_slice(), &path)?;
    let scales = arguments.map(|text| text.parse()).collect::<Result<Vec<u32>, _>>()?;
    let scales = if scales.is_empty() { vec![10] } else { scales };
    for time_scale in scales {
        println!("{time_scale} times slower: unfairness and STP over those without partitioning");
        println!("{:6}{}", "", POLICIES.map(|policy| format!(" {policy:>13}")).concat());
        run(&table, time_scale)?;
    }
    Ok(())
}

/// Runs each mix under each policy, with everything but the time scale as in the evaluation.
fn run(table: &ProfileTable, time_scale: u32) -> Result<(), Failure> {
    let ways = Ways::new(11).ok_or("11 ways")?;
    let chip = preset::preset("skylake").ok_or("a preset")?;
    let settings = Settings { set_sampling: 16, time_scale, seed: 1, ..Settings::new(chip) };
    let seconds = Duration::from_secs(4);
    let protocol = ChipProtocol {
        warm_up: seconds,
        span: seconds,
        profile: Duration::ZERO,
        profiles_known: false,
    };
    let mut rows = Vec::new();
    for mix in random_mixes(table, &[4, 8], 2, 1) {
        let jobs = mix.programs.iter();
        // A program that never references the cache is not simulated.
        let jobs: Vec<Job> = jobs
            .filter_map(|&program| profiled(table, program, ways, chip.latency).ok().map(Job::new))
            .collect();
        let found = compare_on_chip(settings, &jobs, &protocol, &POLICIES, &by_name, &|| ())?;
        let row: [[f64; 2]; POLICIES.len()] = std::array::from_fn(|policy| {
            let metrics = &found.outcomes[policy].metrics;
            [metrics.unfairness / found.stock.unfairness, metrics.stp / found.stock.stp]
        });
        show(&mix.name, &row);
        rows.push(row);
    }
    let mean = std::array::from_fn(|policy| {
        [0, 1].map(|what| rows.iter().map(|row| row[policy][what]).sum::<f64>() / rows.len() as f64)
    });
    show("mean", &mean);
    Ok(())
}

fn show(name: &str, row: &[[f64; 2]; POLICIES.len()]) {
    let cells = row.map(|[unfairness, stp]| format!(" {unfairness:6.3} {stp:6.3}"));
    println!("{name:6}{}", cells.concat());
}
