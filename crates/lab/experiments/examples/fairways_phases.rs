//! `fairways` on programs that change their phases, beside LFOC and no partitioning: LFOC's runs
//! and phases (§5), and shorter ones.
//!
//! `cargo run --release -p fairways-experiments --example fairways_phases -- PROFILES.csv
//! PHASES.csv [SEED [MIXES [NAME=VALUE...]]]`
//!
//! Of a mix, a quarter or half of the programs have phases. The rest are parameters of `fairways`,
//! `noise=0.02`, which windows have, and `profiles=known`: both policies get profiles, of whole
//! runs where a program has phases.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::Duration;

use fairways_core::{Llc, Policy};
use fairways_experiments::{Protocol, live};
use fairways_model::Settings;
use fairways_policy::parameter::Value;
use fairways_policy::{by_name, descriptor};
use fairways_profiles::{FairnessMetrics, Mix, ProgramCatalog, read_phased, read_table};
use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;

const SIZES: [usize; 3] = [5, 8, 12];

/// The factors by which runs and phases are shorter.
const SCALES: [f64; 3] = [1.0, 0.3, 0.1];

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [profiles, phases, rest @ ..] = &args[..] else {
        return Err("expected PROFILES.csv PHASES.csv [SEED [MIXES [NAME=VALUE...]]]".into());
    };
    let seed = rest.first().map_or(Ok(20_261_129), |text| text.parse())?;
    let count = rest.get(1).map_or(Ok(4), |text| text.parse())?;
    let set: Vec<(String, String)> = rest
        .iter()
        .skip(2)
        .filter_map(|text| text.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let table = read_table(&std::fs::read(profiles)?, profiles)?;
    let phased = read_phased(&std::fs::read(phases)?, phases, &table)?;
    let programs = ProgramCatalog::new(table, phased);
    println!("{profiles}, seed {seed}, {count} mixes of each size, {set:?}");
    println!("phased  scale  unfairness/LFOC  most   STP/LFOC  least  /stock  most");
    for (part, name) in [(4, "1/4"), (2, "1/2")] {
        let mixes = draw(&programs, part, (seed, count));
        for scale in SCALES {
            let fared = mixes.par_iter().map(|mix| fare(&programs, mix, scale, &set));
            let fared = fared.collect::<Result<Vec<_>, _>>()?;
            let [lfoc, stock] = [1, 0].map(|place| over(&fared, place, |of| of.unfairness));
            let stp = over(&fared, 1, |of| of.stp);
            println!(
                "{name:6} {scale:6} {:15.4} {:6.3} {:9.4} {:7.4} {:7.4} {:6.3}",
                mean(&lfoc),
                most(&lfoc),
                mean(&stp),
                -most(&stp.iter().map(|of| -of).collect::<Vec<_>>()),
                mean(&stock),
                most(&stock),
            );
            for (mix, (ratio, all)) in mixes.iter().zip(lfoc.iter().zip(&fared)) {
                if *ratio > 1.01 {
                    let names: Vec<&str> =
                        mix.programs.iter().map(|&of| programs.name(of)).collect();
                    let of = all.map(|of| (of.unfairness, of.stp));
                    println!("  {ratio:.3} {}: {of:.3?}", names.join(","));
                }
            }
        }
    }
    Ok(())
}

/// What is no parameter of the policy.
const OURS: [&str; 2] = ["noise", "profiles"];

/// A place from one to before another.
fn pick(rng: &mut Pcg64Mcg, from: usize, to: usize) -> usize {
    from + usize::try_from(rng.next_u64() % (to - from) as u64).unwrap_or(0)
}

/// Mixes of which one program in `part` has phases.
fn draw(programs: &ProgramCatalog, part: usize, (seed, count): (u64, usize)) -> Vec<Mix> {
    let steady = programs.table().names().len();
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut mixes = Vec::new();
    for (size, number) in SIZES.iter().flat_map(|&size| (0..count).map(move |of| (size, of))) {
        let chosen = (0..size).map(|place| match place < size.div_ceil(part) {
            true => pick(&mut rng, steady, programs.len()),
            false => pick(&mut rng, 0, steady),
        });
        mixes.push(Mix { name: format!("{size}-{number}"), programs: chosen.collect() });
    }
    mixes
}

/// A metric of `fairways` over that of another policy, by mix.
fn over(fared: &[[FairnessMetrics; 3]], place: usize, of: fn(&FairnessMetrics) -> f64) -> Vec<f64> {
    fared.iter().map(|all| of(&all[2]) / of(&all[place])).collect()
}

/// How a mix fares under no partitioning, LFOC, and `fairways`.
fn fare(
    programs: &ProgramCatalog,
    mix: &Mix,
    scale: f64,
    set: &[(String, String)],
) -> Result<[FairnessMetrics; 3], Box<dyn Error + Send + Sync>> {
    let llc = Llc::with_ways(programs.table().ways());
    let noise = set.iter().find(|(name, _)| name == "noise");
    let noise = noise.map_or(Ok(0.0), |(_, text)| text.parse())?;
    let settings = Settings { seed: 6, noise, ..Settings::new(llc) };
    let profiles_known = set.iter().any(|(name, text)| name == "profiles" && text == "known");
    let protocol = Protocol { scale, profiles_known, ..Protocol::default() };
    let mut all = Vec::new();
    for name in ["stock", "lfoc", "fairways"] {
        let mut policy = match name {
            "fairways" => made(set)?,
            _ => by_name(name).ok_or("no such policy")?,
        };
        all.push(live(programs, mix, &settings, &protocol, policy.as_mut())?.metrics);
    }
    all.try_into().map_err(|_| "three policies".into())
}

/// `fairways` with these parameters: counts, and times in milliseconds that end in `ms`.
fn made(set: &[(String, String)]) -> Result<Box<dyn Policy>, Box<dyn Error + Send + Sync>> {
    let values = set.iter().filter(|(name, _)| !OURS.contains(&&**name)).map(|(name, text)| {
        let value = match text.strip_suffix("ms") {
            Some(millis) => Value::Time(Duration::from_millis(millis.parse()?)),
            None => Value::Count(text.parse()?),
        };
        Ok((name.as_str(), value))
    });
    let values = values.collect::<Result<Vec<_>, std::num::ParseIntError>>()?;
    Ok(descriptor("fairways").ok_or("no such policy")?.make(&values).policy)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
