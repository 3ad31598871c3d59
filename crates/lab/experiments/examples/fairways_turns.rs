//! How even the progress of programs is that take turns on four CPUs of a simulated chip: under
//! `fairways` with and without CPU time for what the ways leave unfair, and under `cache-fair`.
//!
//! The programs are every stream of `corpus/streams`, by name, and MLOAD and MLR (dCat §5). Mixes
//! of 5, 6 and 8 in turn are drawn from them by seed. The last one or two of a mix are best-effort.
//! `fairways` has profiles.
//!
//! `cargo run --release -p fairways-experiments --example fairways_turns [-- MIXES [SEED
//! [SECONDS]]]`

#![allow(clippy::print_stdout)]

mod chip_programs;

use std::time::Duration;

use fairways_chip::{Job, Scheduling, Settings, preset};
use fairways_core::{Policy, Wish};
use fairways_experiments::{ChipOutcome, ChipProtocol, compare_on_chip};
use fairways_policy::by_name;
use fairways_policy::fairways::{Fairways, Parameters};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;

use chip_programs::{Failure, job, name, with_streams};

/// `lfoc` stands for `fairways` that orders no turns: so it gets profiles when `fairways` does.
const POLICIES: [&str; 4] = ["stock", "cache-fair", "lfoc", "fairways"];
const SHOWN: [&str; 4] = ["stock", "cache-fair", "ways only", "fairways"];
const WAYS_ONLY: usize = 2;

/// Synthetic programs besides the streams.
const OURS: [&str; 2] = ["mload:60M", "mlr:8M"];

/// How many programs a mix has, and how many of them are best-effort.
const SIZES: [(usize, usize); 3] = [(5, 1), (6, 2), (8, 2)];

/// How a mix fares under a policy: the unfairness and the throughput of the programs that are not
/// best-effort, the CPU time and the instructions of those that are, their part of all CPU time
/// over an equal one, and the least CPU time of one of them over that by ways only.
#[derive(Clone, Copy, Default)]
struct Fared {
    unfairness: f64,
    stp: f64,
    cpu_time: f64,
    equal_parts: f64,
    instructions: f64,
    least_time: f64,
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mixes: u64 = arguments.next().map_or(Ok(12), |text| text.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(2035), |text| text.parse())?;
    let seconds: u32 = arguments.next().map_or(Ok(4), |text| text.parse())?;
    let programs = with_streams(&OURS)?;
    println!(
        "{} programs, chip:skylake:cores=4, {mixes} mixes, seed {seed}, {seconds} s",
        programs.len()
    );
    println!(
        "Unfairness and STP of programs that are not best-effort; CPU time of those that are,"
    );
    println!("over that by ways only, and their part of all CPU time over an equal one:");
    println!("{:4}{}", "", SHOWN.map(|policy| format!(" {policy:>27}")).concat());
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let drawn: Vec<(Vec<usize>, usize)> = (0..mixes)
        .map(|mix| {
            let (size, best_effort) = SIZES[usize::try_from(mix % 3).unwrap_or(0)];
            let count = programs.len() as u64;
            let places = (0..size).map(|_| usize::try_from(rng.next_u64() % count).unwrap_or(0));
            (places.collect(), best_effort)
        })
        .collect();
    let rows = drawn.par_iter().enumerate().map(|(number, (places, best_effort))| {
        let mix: Vec<&str> = places.iter().map(|&place| &*programs[place]).collect();
        let row = run(&mix, *best_effort, seed, seconds)?;
        let names: Vec<&str> = mix.iter().map(|text| name(text)).collect();
        let (fair, rest) = names.split_at(names.len() - best_effort);
        println!("{:4}{}  {} | {}", number + 1, cells(&row), fair.join(" "), rest.join(" "));
        Ok(row)
    });
    let rows = rows.collect::<Result<Vec<[Fared; 4]>, Failure>>()?;
    let mean =
        |of: &dyn Fn(&[Fared; 4]) -> f64| rows.iter().map(of).sum::<f64>() / rows.len() as f64;
    println!("mean, unfairness and STP over those of stock, CPU time and instructions of");
    println!(
        "best-effort programs over those by ways only; least CPU time; mixes that are less fair"
    );
    println!("than by ways only by more than 1 %, and the worst:");
    for (policy, name) in SHOWN.iter().enumerate() {
        let unfair: Vec<f64> =
            rows.iter().map(|row| row[policy].unfairness / row[WAYS_ONLY].unfairness).collect();
        println!(
            "{name:10} {:7.3} {:7.3} {:7.3} {:7.3} {:7.3} {:4} {:7.3}",
            mean(&|row| row[policy].unfairness / row[0].unfairness),
            mean(&|row| row[policy].stp / row[0].stp),
            mean(&|row| row[policy].cpu_time / row[WAYS_ONLY].cpu_time),
            mean(&|row| row[policy].instructions / row[WAYS_ONLY].instructions),
            rows.iter().map(|row| row[policy].least_time).fold(f64::INFINITY, f64::min),
            unfair.iter().filter(|&&ratio| ratio > 1.01).count(),
            unfair.iter().copied().fold(0.0, f64::max),
        );
    }
    Ok(())
}

fn policy(name: &str) -> Option<Box<dyn Policy>> {
    if name == POLICIES[WAYS_ONLY] {
        let parameters = Parameters { compensate_cpu: false, ..Parameters::default() };
        return Some(Box::new(Fairways::new(parameters)));
    }
    by_name(name)
}

/// How a mix fares under each policy in these seconds.
fn run(mix: &[&str], best_effort: usize, seed: u64, seconds: u32) -> Result<[Fared; 4], Failure> {
    let fair = mix.len() - best_effort;
    let jobs = (0..).zip(mix).enumerate().map(|(place, (key, text))| {
        let wish = Wish { best_effort: place >= fair, ..Wish::default() };
        Ok(Job { wish, ..job(text, key)? })
    });
    let jobs = jobs.collect::<Result<Vec<Job>, Failure>>()?;
    let chip = preset::parse("skylake:cores=4")?;
    let millisecond = Duration::from_millis(1);
    let scheduler =
        Scheduling { quantum: 20 * millisecond, tick: 2 * millisecond, ..Scheduling::default() };
    let settings =
        Settings { time_scale: 10, seed, scheduler: Some(scheduler), ..Settings::new(chip) };
    let second = Duration::from_secs(1);
    let protocol = ChipProtocol {
        warm_up: 2 * second,
        span: seconds * second,
        profile: second,
        profiles_known: true,
    };
    let found = compare_on_chip(settings, &jobs, &protocol, &POLICIES, &policy, &|| {})?;
    let ways_only = times(&found.outcomes[WAYS_ONLY], fair);
    let row = std::array::from_fn(|policy| {
        let outcome = &found.outcomes[policy];
        let slowdowns = &outcome.slowdowns[..fair];
        let [least, most] =
            [f64::min, f64::max].map(|of| slowdowns.iter().copied().fold(slowdowns[0], of));
        let least_time = times(outcome, fair)
            .iter()
            .zip(&ways_only)
            .map(|(time, by_ways)| time / by_ways)
            .fold(f64::INFINITY, f64::min);
        let [cpu_time, cpu_time_of_all] =
            [fair, 0].map(|first| times(outcome, first).iter().sum::<f64>());
        Fared {
            unfairness: most / least,
            stp: slowdowns.iter().map(|slowdown| 1.0 / slowdown).sum(),
            cpu_time,
            equal_parts: cpu_time / cpu_time_of_all * mix.len() as f64 / best_effort as f64,
            instructions: outcome.programs[fair..]
                .iter()
                .map(|one| one.rate.instructions_per_second)
                .sum(),
            least_time,
        }
    });
    Ok(row)
}

/// The cycles a second of each program from this one on.
fn times(outcome: &ChipOutcome, first: usize) -> Vec<f64> {
    let rates = outcome.programs[first..].iter().map(|program| program.rate);
    rates.map(|rate| rate.instructions_per_second / rate.ipc).collect()
}

fn cells(row: &[Fared; 4]) -> String {
    let mut cells = String::new();
    for one in row {
        let time = one.cpu_time / row[WAYS_ONLY].cpu_time;
        let Fared { unfairness, stp, equal_parts, .. } = one;
        cells += &format!(" {unfairness:6.3} {stp:6.3} {time:6.3} {equal_parts:6.3}");
    }
    cells
}
