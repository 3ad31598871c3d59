//! How near the plans of `fairways` come to the exact optimum, on mixes drawn by seed.
//!
//! `cargo run --release -p fairways-experiments --example fairways_static -- PROFILES.csv [SEED
//! [MIXES]]`
//!
//! `embedded` stands for the embedded profiles. The cache has as many ways as the profiles. Of each
//! kind there are MIXES mixes, with a memory limit and of 16 programs a quarter of that. A mix has
//! programs at random, or a third of them streams. Of up to 10 programs both have the policy's
//! `fairness_tolerance_percent`, of more none.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::{Duration, Instant};

use fairways_core::Llc;
use fairways_experiments::{
    ComparisonSettings, GapError, optimum_gap, random_mixes, streaming_mixes,
};
use fairways_policy::fairways::Objective;
use fairways_profiles::{BandwidthModel, MemoryBandwidth, Mix, ProfileTable, embedded, read_table};
use rayon::prelude::*;

/// The memory limit, MB/s.
const LIMIT_MBPS: f64 = 12_000.0;

/// The sizes of mixes on memory with a limit, for which the exact method takes longer.
const LIMITED: [usize; 4] = [4, 6, 8, 10];

/// How long the exact method may take for a mix; then its bound counts.
const PATIENCE: Duration = Duration::from_secs(60);

/// A row of the table.
#[derive(Clone, Copy)]
struct StaticCase {
    programs: usize,
    objective: Objective,
    memory: Option<BandwidthModel>,
    /// Whether a third of the programs streams.
    is_streaming: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [profiles, rest @ ..] = &args[..] else {
        return Err("expected PROFILES.csv [SEED [MIXES]]".into());
    };
    let seed = rest.first().map_or(Ok(20_261_126), |text| text.parse())?;
    let count = rest.get(1).map_or(Ok(40), |text| text.parse())?;
    let table = match profiles.as_str() {
        "embedded" => embedded().clone(),
        file => read_table(&std::fs::read(file)?, file)?,
    };
    let most = if table.ways().get() > 11 { 12 } else { 16 };
    println!("{profiles}, seed {seed}, {count} mixes");
    println!(
        "programs  ways  mixes   memory      objective   mixes, proven, unserved     mean     most  \
         /stock  STP/LFOC+  least  seconds"
    );
    for is_streaming in [false, true] {
        let sizes: &[usize] = if is_streaming { &[8, 12, 16] } else { &[4, 6, 8, 10, 12, 14, 16] };
        for &programs in sizes.iter().filter(|&&programs| programs <= most) {
            for objective in [Objective::Unfairness, Objective::Stp] {
                let case = StaticCase { programs, objective, memory: None, is_streaming };
                row(&table, case, (seed, count));
            }
        }
    }
    for is_streaming in [false, true] {
        for model in [BandwidthModel::Simple, BandwidthModel::Stalls] {
            for programs in LIMITED {
                let objective = Objective::Unfairness;
                let case = StaticCase { programs, objective, memory: Some(model), is_streaming };
                row(&table, case, (seed, count));
            }
        }
    }
    Ok(())
}

/// Prints a row.
fn row(table: &ProfileTable, case: StaticCase, (seed, count): (u64, usize)) {
    let StaticCase { programs, objective, memory, is_streaming } = case;
    let llc = Llc::with_ways(table.ways());
    let bandwidth = memory.and_then(|model| MemoryBandwidth::new(LIMIT_MBPS, model));
    let settings = ComparisonSettings { llc, bandwidth, wishes: Vec::new() };
    let count = if memory.is_some() || programs > 14 { count.div_ceil(4) } else { count };
    let mixes: Vec<Mix> = if is_streaming {
        streaming_mixes(table, llc.ways, &[programs], count, seed)
    } else {
        random_mixes(table, &[programs], count, seed)
    };
    let start = Instant::now();
    let gaps: Vec<Result<_, GapError>> = mixes
        .par_iter()
        .map(|mix| optimum_gap(table, mix, &settings, objective, Some(PATIENCE)))
        .collect();
    let found: Vec<_> = gaps.iter().flatten().collect();
    let number = found.len() as f64;
    let ways = llc.ways.get();
    println!(
        "{programs:8} {ways:5}  {:6}  {:10}  {:10} {:6} {:6} {:9} {:12.5} {:8.5} {:7.3} {:9.4} {:8.4} {:6.1}",
        if is_streaming { "third" } else { "random" },
        memory.map_or("no limit".to_owned(), |model| format!("{model:?}").to_lowercase()),
        format!("{objective:?}").to_lowercase(),
        found.len(),
        found.iter().filter(|gap| gap.is_proven).count(),
        gaps.len() - found.len(),
        found.iter().map(|gap| gap.ratio).sum::<f64>() / number,
        found.iter().map(|gap| gap.ratio).fold(0.0, f64::max),
        found.iter().map(|gap| gap.over_stock).fold(0.0, f64::max),
        found.iter().map(|gap| gap.stp_over_rules).sum::<f64>() / number,
        found.iter().map(|gap| gap.stp_over_rules).fold(f64::INFINITY, f64::min),
        start.elapsed().as_secs_f64(),
    );
}
