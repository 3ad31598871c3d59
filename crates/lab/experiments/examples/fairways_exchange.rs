//! What `fairways` gives up of fairness for throughput, on mixes drawn by seed: beside published
//! policies, and beside the least unfairness.
//!
//! `cargo run --release -p fairways-experiments --example fairways_exchange -- PROFILES.csv [SEED
//! [MIXES]]`
//!
//! `embedded` stands for the embedded profiles. The cache has as many ways as the profiles. There
//! are MIXES mixes of each size, at random, and as many of which a third of the programs streams.

#![allow(clippy::print_stdout)]

use std::error::Error;

use fairways_core::{Llc, Policy};
use fairways_experiments::{ComparisonSettings, compare, random_mixes, streaming_mixes};
use fairways_optimum::{Goal, Problem, SharingKind, solve};
use fairways_policy::by_name;
use fairways_policy::fairways::{Fairways, Parameters};
use fairways_profiles::{FairnessMetrics, Mix, ProfileTable, embedded, read_table};
use rayon::prelude::*;

const SIZES: [usize; 4] = [4, 6, 8, 10];

const PUBLISHED: [&str; 8] =
    ["stock", "equal", "ucp", "ucp-slowdown", "yu-petrov", "kpart", "lfoc", "lfoc-plus"];

/// Percents by which unfairness may exceed the least.
const TOLERANCES: [u32; 4] = [0, 1, 2, 5];

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [profiles, rest @ ..] = &args[..] else {
        return Err("expected PROFILES.csv [SEED [MIXES]]".into());
    };
    let seed = rest.first().map_or(Ok(20_261_129), |text| text.parse())?;
    let count = rest.get(1).map_or(Ok(60), |text| text.parse())?;
    let table = match profiles.as_str() {
        "embedded" => embedded().clone(),
        file => read_table(&std::fs::read(file)?, file)?,
    };
    let mut mixes = random_mixes(&table, &SIZES, count, seed);
    mixes.extend(streaming_mixes(&table, table.ways(), &SIZES[2..], count, seed));
    let fared = mixes.par_iter().map(|mix| fare(&table, mix)).collect::<Result<Vec<_>, _>>()?;
    println!("{profiles}, seed {seed}, {} mixes", mixes.len());
    println!(
        "tolerance %  unfairness/least  most  STP/LFOC  least  a published policy is as fair and \
         1 % faster"
    );
    for (place, tolerance) in TOLERANCES.iter().enumerate() {
        let ratios = fared.iter().map(|of| of.ours[place].unfairness / of.least);
        let stp = fared.iter().map(|of| of.ours[place].stp / of.published[6].stp);
        let beaten = fared.iter().filter(|of| of.is_beaten(place)).count();
        println!(
            "{tolerance:11}  {:16.5} {:5.3} {:9.5} {:6.3}  {beaten}",
            mean(ratios.clone()),
            ratios.fold(0.0, f64::max),
            mean(stp.clone()),
            stp.fold(f64::INFINITY, f64::min),
        );
    }
    for (mix, of) in mixes.iter().zip(&fared).filter(|(_, of)| of.is_beaten(1)) {
        println!(
            "{}: {:?}, least {}, published {:?}",
            mix.name, of.ours[1], of.least, of.published
        );
    }
    Ok(())
}

/// How the policies fare on a mix.
struct MixFare {
    /// By tolerance.
    ours: Vec<FairnessMetrics>,
    published: Vec<FairnessMetrics>,
    /// The least unfairness.
    least: f64,
}

impl MixFare {
    /// Whether a published policy is within 1 % of our unfairness, and more than 1 % faster.
    fn is_beaten(&self, place: usize) -> bool {
        let ours = &self.ours[place];
        let mut published = self.published.iter();
        published.any(|of| of.unfairness <= 1.01 * ours.unfairness && of.stp > 1.01 * ours.stp)
    }
}

fn fare(table: &ProfileTable, mix: &Mix) -> Result<MixFare, Box<dyn Error + Send + Sync>> {
    let llc = Llc::with_ways(table.ways());
    let settings = ComparisonSettings { llc, bandwidth: None, wishes: Vec::new() };
    let ours = TOLERANCES.map(|fairness_tolerance_percent| {
        let parameters = Parameters { fairness_tolerance_percent, ..Parameters::default() };
        Box::new(Fairways::new(parameters)) as Box<dyn Policy>
    });
    let published = PUBLISHED.map(|name| by_name(name).expect("a policy"));
    let found = compare(table, mix, &settings, ours.into_iter().chain(published))?;
    let mut metrics: Vec<FairnessMetrics> = found.outcomes.iter().map(|of| of.metrics).collect();
    let published = metrics.split_off(TOLERANCES.len());
    let problem =
        Problem::new(table, &mix.programs, llc, SharingKind::Clustering, Goal::Unfairness);
    let least = solve(&problem, None, |_, _| ())?.value;
    Ok(MixFare { ours: metrics, published, least })
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}
