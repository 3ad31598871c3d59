//! The mixes on which `fairways` does worst, as a page: docs/policies/fairways-worst.md.
//!
//! `cargo run --release -p fairways-experiments --example fairways_worst >
//! docs/policies/fairways-worst.md`
//!
//! Those of the chip are taken from what the example `fairways_chip` printed last.

#![allow(clippy::print_stdout)]

use std::error::Error;

use fairways_core::{Llc, Policy};
use fairways_experiments::{
    ComparisonSettings, Protocol, compare, draw_workloads, live, random_mixes, streaming_mixes,
};
use fairways_model::Settings;
use fairways_policy::by_name;
use fairways_profiles::corpus::{CorpusMachine, profiles};
use fairways_profiles::{
    BandwidthModel, MemoryBandwidth, Mix, ProfileTable, embedded, embedded_programs, read_table,
};
use rayon::prelude::*;

const SEED: u64 = 20_261_129;
/// Mixes of each size.
const MIXES: usize = 40;
const SIZES: [usize; 4] = [4, 6, 8, 12];
/// Rows of each table.
const ROWS: usize = 5;
/// MB/s.
const LIMIT: f64 = 12_000.0;
const OTHERS: [&str; 3] = ["stock", "lfoc", "lfoc-plus"];

type Failure = Box<dyn Error + Send + Sync>;

/// How fair a mix is.
struct Row {
    programs: String,
    /// Unfairness by policy: the others, and `fairways`.
    unfairness: [f64; OTHERS.len() + 1],
}

impl Row {
    /// Against the fairest of the others.
    fn ratio(&self) -> f64 {
        let [others @ .., ours] = &self.unfairness;
        ours / others.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

fn main() -> Result<(), Failure> {
    println!(
        "# Where `fairways` does worst\n\n\
         The mixes on which [`fairways`](fairways.md) is least fair beside the fairest of no \
         partitioning,\n`lfoc` and `lfoc-plus`: five of each kind, drawn by seed {SEED}. Above 1, \
         one of the\nothers is fairer. Numbers are unfairness, the largest slowdown over the \
         smallest. The commands show\na mix; the page is made by\n\n\
         ```sh\ncargo run --release -p fairways-experiments --example fairways_worst > \
         docs/policies/fairways-worst.md\n```"
    );
    for name in ["skylake", "broadwell", "synthetic"] {
        let table = &table(name)?;
        heading(
            &format!("Steady programs, profiles `{name}`, {} ways", table.ways()),
            &format!(
                "fairways-lab simulate --profiles {name} --policies stock,lfoc,lfoc-plus,fairways --mix MIX"
            ),
        );
        print(scored(table, None));
        for (model, flag) in
            [(BandwidthModel::Simple, "simple"), (BandwidthModel::Stalls, "stalls")]
        {
            heading(
                &format!("The same on memory limited to {LIMIT} MB/s, model `{flag}`"),
                &format!(
                    "fairways-lab simulate --profiles {name} --bandwidth-mbps {LIMIT} --bandwidth-model {flag} \
                     --policies stock,lfoc,lfoc-plus,fairways --mix MIX"
                ),
            );
            print(scored(table, MemoryBandwidth::new(LIMIT, model)));
        }
    }
    for scale in [1.0, 0.1] {
        heading(
            &format!("Phases, no profiles, synthetic programs, runs and phases times {scale}"),
            &format!(
                "fairways-lab simulate --dynamic --profiles synthetic --policies \
                 stock,lfoc,lfoc-plus,fairways --mix MIX`, with a `--time-scale` of `{scale}"
            ),
        );
        print(phased(scale)?);
    }
    heading(
        "Real programs on the chip `skylake`, no profiles",
        "cargo run --release -p fairways-experiments --example fairways_chip",
    );
    print(on_chip(include_str!("results/fairways_chip.txt"))?);
    Ok(())
}

fn table(name: &str) -> Result<ProfileTable, Failure> {
    let machine = match name {
        "skylake" => CorpusMachine::Skylake,
        "broadwell" => CorpusMachine::Broadwell,
        _ => return Ok(embedded().clone()),
    };
    Ok(read_table(profiles(machine).as_bytes(), name)?)
}

fn policies() -> impl Iterator<Item = Box<dyn Policy>> {
    OTHERS.into_iter().chain(["fairways"]).map(|name| by_name(name).expect("a policy of the table"))
}

/// How fair plans are by the model. Mixes that memory can't serve are left out.
fn scored(table: &ProfileTable, bandwidth: Option<MemoryBandwidth>) -> Vec<Row> {
    let llc = Llc::with_ways(table.ways());
    let settings = ComparisonSettings { llc, bandwidth, wishes: Vec::new() };
    let mut mixes = random_mixes(table, &SIZES, MIXES, SEED);
    mixes.extend(streaming_mixes(table, llc.ways, &SIZES, MIXES, SEED));
    let rows = mixes.par_iter().filter_map(|mix| {
        let found = compare(table, mix, &settings, policies()).ok()?;
        let each: Vec<f64> = found.outcomes.iter().map(|of| of.metrics.unfairness).collect();
        let names: Vec<&str> = mix.programs.iter().map(|&of| &*table.names()[of]).collect();
        Some(Row { programs: names.join(","), unfairness: each.try_into().ok()? })
    });
    rows.collect()
}

/// How fair programs fare over time, a quarter of which have phases.
fn phased(scale: f64) -> Result<Vec<Row>, Failure> {
    let programs = embedded_programs();
    let ways = programs.table().ways();
    let mut mixes: Vec<Mix> = draw_workloads(programs, ways, MIXES / 4, SEED);
    mixes.retain(|mix| mix.name.starts_with('P'));
    let settings = Settings { seed: 1, ..Settings::new(Llc::with_ways(ways)) };
    let protocol = Protocol { scale, ..Protocol::default() };
    let rows = mixes.par_iter().map(|mix| -> Result<Row, Failure> {
        let mut unfairness = [0.0; OTHERS.len() + 1];
        for (value, mut policy) in unfairness.iter_mut().zip(policies()) {
            let found = live(programs, mix, &settings, &protocol, policy.as_mut())?;
            *value = found.metrics.unfairness;
        }
        let names: Vec<&str> = mix.programs.iter().map(|&of| programs.name(of)).collect();
        Ok(Row { programs: names.join(","), unfairness })
    });
    rows.collect()
}

/// The rows of the example `fairways_chip`: a number, the unfairness without partitioning, and that
/// of each policy over it, beside its throughput.
fn on_chip(printed: &str) -> Result<Vec<Row>, Failure> {
    let rows = printed.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        words.next()?.parse::<u32>().ok()?;
        let numbers: Vec<f64> = words.by_ref().take(11).map_while(|of| of.parse().ok()).collect();
        let [stock, lfoc, _, plus, _, _, _, _, _, ours, _] = numbers[..] else { return None };
        let programs = words.collect::<Vec<_>>().join(",");
        Some(Row { programs, unfairness: [stock, lfoc * stock, plus * stock, ours * stock] })
    });
    let rows: Vec<Row> = rows.collect();
    if rows.is_empty() { Err("results/fairways_chip.txt: expected rows".into()) } else { Ok(rows) }
}

fn heading(what: &str, command: &str) {
    println!("\n## {what}\n\n`{command}`\n");
}

fn print(mut rows: Vec<Row>) {
    rows.sort_by(|one, other| other.ratio().total_cmp(&one.ratio()));
    let losing = rows.iter().filter(|row| row.ratio() > 1.01).count();
    println!("Of {} mixes {losing} are less fair by more than 1 %.\n", rows.len());
    println!("| mix | stock | `lfoc` | `lfoc-plus` | `fairways` | over the fairest |");
    println!("|---|---|---|---|---|---|");
    for row in rows.iter().take(ROWS) {
        let [stock, lfoc, plus, ours] = row.unfairness;
        println!(
            "| {} | {stock:.3} | {lfoc:.3} | {plus:.3} | {ours:.3} | {:.3} |",
            row.programs,
            row.ratio()
        );
    }
}
