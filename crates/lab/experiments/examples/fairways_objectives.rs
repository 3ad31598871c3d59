//! How often a service's objective is kept on a simulated chip, and how much batch work is done
//! beside it, under `locpart` and `fairways`, without profiles.
//!
//! Each mix is drawn by seed: a service, 30 to 60 % of the requests that it can answer alone in a
//! closed loop, an objective of 1.5 to 2.5 times its 99th percentile alone at that load, and two or
//! three batch programs, of every stream of `corpus/streams`, MLOAD and MLR (dCat §5).
//!
//! `cargo run --release -p fairways-experiments --example fairways_objectives [-- MIXES [SEED]]`

#![allow(clippy::print_stdout)]

mod chip_programs;

use std::time::Duration;

use fairways_chip::service::parse_loads;
use fairways_chip::{Job, Settings, preset};
use fairways_core::{Objective, Q32, Wish};
use fairways_experiments::{ChipProtocol, ServiceSummary, compare_on_chip, measure_alone};
use fairways_policy::by_name;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;

use chip_programs::{Failure, job, name, with_streams};

const POLICIES: [&str; 2] = ["locpart", "fairways"];
const SERVICES: [&str; 3] = ["silo-like", "masstree-like", "xapian-like"];
/// Synthetic batch programs besides the streams.
const OURS: [&str; 4] = ["mload:60M", "mlr:4M", "mlr:8M", "mlr:12M"];
const SECOND: Duration = Duration::from_secs(1);

/// What is drawn of a mix: percents, and places in the list of batch programs.
struct ServedMix {
    service: &'static str,
    load_percent: u64,
    objective_percent: u64,
    batch: Vec<usize>,
}

/// Of each policy: windows within the objective, windows, and the batch programs' STP.
type KeptRow = [(u32, u32, f64); POLICIES.len()];

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mixes: usize = arguments.next().map_or(Ok(6), |text| text.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(33), |text| text.parse())?;
    let batch = with_streams(&OURS)?;
    println!("chip:skylake, {mixes} mixes, seed {seed}: percent of the windows within the");
    println!("objective, and STP of the batch programs, under {}", POLICIES.join(" and "));
    let drawn = draw(mixes, seed, batch.len());
    let rows = drawn.par_iter().enumerate().map(|(number, mix)| {
        let (text, row) = run(mix, &batch, seed)?;
        println!("{:3}{}  {text}", number + 1, cells(&row));
        Ok(row)
    });
    let rows = rows.collect::<Result<Vec<KeptRow>, Failure>>()?;
    let all = std::array::from_fn(|policy| {
        let mut sum = (0, 0, 0.0);
        for row in &rows {
            let (met, windows, stp) = row[policy];
            sum = (sum.0 + met, sum.1 + windows, sum.2 + stp / rows.len() as f64);
        }
        sum
    });
    println!("all{}", cells(&all));
    Ok(())
}

/// Draws the mixes; services take turns.
fn draw(mixes: usize, seed: u64, batch: usize) -> Vec<ServedMix> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mixes = (0..mixes).map(|number| ServedMix {
        service: SERVICES[number % SERVICES.len()],
        load_percent: 30 + below(&mut rng, 31),
        objective_percent: 150 + below(&mut rng, 101),
        batch: (0..2 + below(&mut rng, 2))
            .map(|_| usize::try_from(below(&mut rng, batch as u64)).unwrap_or(0))
            .collect(),
    });
    mixes.collect()
}

fn below(rng: &mut Pcg64Mcg, count: u64) -> u64 {
    rng.next_u64() % count
}

/// A service alone with this load.
fn alone(settings: Settings, name: &str, load: &str) -> Result<ServiceSummary, Failure> {
    let job = Job { loads: parse_loads(load)?, ..job(name, 0)? };
    let ways = settings.chip.llc.ways.get();
    let run = measure_alone(settings, &job, ways, 2 * SECOND, 5 * SECOND)?;
    Ok(run.service.ok_or("a service has a summary")?)
}

/// Runs a mix: what it is, and how it fares.
fn run(mix: &ServedMix, batch: &[String], seed: u64) -> Result<(String, KeptRow), Failure> {
    let chip = preset::preset("skylake").ok_or("a preset")?;
    let settings = Settings { time_scale: 10, seed, ..Settings::new(chip) };
    let most = alone(settings, mix.service, "closed:1")?.per_second;
    let load = format!("{:.0}", most * mix.load_percent as f64 / 100.0);
    let tail =
        alone(settings, mix.service, &load)?.latency.ok_or("a service answers requests")?.p99_ms;
    let micros = (tail * 10.0 * mix.objective_percent as f64).round();
    let slo = Duration::from_secs_f64(micros / 1e6);
    let mut jobs = vec![Job {
        loads: parse_loads(&load)?,
        wish: Wish {
            objective: Some(Objective { slo, percentile: Q32::from_int(99) }),
            ..Wish::default()
        },
        ..job(mix.service, 0)?
    }];
    for (key, &place) in (1..).zip(&mix.batch) {
        jobs.push(job(&batch[place], key)?);
    }
    let protocol = ChipProtocol {
        warm_up: 10 * SECOND,
        span: 20 * SECOND,
        profile: 2 * SECOND,
        profiles_known: false,
    };
    let found = compare_on_chip(settings, &jobs, &protocol, &POLICIES, &by_name, &|| {})?;
    let row = std::array::from_fn(|policy| {
        let outcome = &found.outcomes[policy];
        let kept = outcome.programs[0].service.and_then(|service| service.objective);
        let stp = outcome.slowdowns[1..].iter().map(|slowdown| 1.0 / slowdown).sum();
        kept.map_or((0, 0, stp), |kept| (kept.windows_met, kept.windows, stp))
    });
    let names: Vec<&str> = mix.batch.iter().map(|&place| name(&batch[place])).collect();
    let text = format!(
        "{} at {load}/s ({} %), {:.2} ms ({} %), beside {}",
        mix.service,
        mix.load_percent,
        micros / 1e3,
        mix.objective_percent,
        names.join(" ")
    );
    Ok((text, row))
}

fn cells(row: &KeptRow) -> String {
    let mut cells = String::new();
    for &(met, windows, stp) in row {
        let kept = 100.0 * f64::from(met) / f64::from(windows.max(1));
        cells += &format!(" {kept:6.1} % {stp:6.3}");
    }
    cells
}
