//! Which program slows which, on a simulated chip: the truth, by taking each neighbour away in
//! turn, and how near an attribution comes to it (docs/blame.md).
//!
//! `cargo run --release -p fairways-experiments --example blame -- truth SEED SIZE... > truth.csv`:
//! what is true of mixes of these sizes; an hour.
//!
//! `cargo run --release -p fairways-experiments --example blame -- compare truth.csv`: what is
//! found.

#![allow(clippy::print_stdout)]

use std::io::{self, Write as _};

use fairways_experiments::blame::{
    BlameAccuracy, OBSERVED_POLICIES, Readings, VictimTruth, accuracy_of_blame, estimate,
    mixes_on_chip, truth,
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<&str>>()[..] {
        ["truth", seed, sizes @ ..] => {
            let sizes = sizes.iter().map(|size| size.parse()).collect::<Result<Vec<usize>, _>>()?;
            print_truth(seed.parse()?, &sizes)
        }
        ["compare", file] => compare(file),
        _ => Err("expected truth SEED SIZE..., or compare FILE".into()),
    }
}

fn print_truth(seed: u64, sizes: &[usize]) -> Result<(), Failure> {
    let mut table = csv::Writer::from_writer(io::stdout().lock());
    for mix in mixes_on_chip(sizes, seed) {
        for row in truth(&mix, &OBSERVED_POLICIES)? {
            table.serialize(row)?;
        }
        table.flush()?;
    }
    Ok(())
}

fn compare(file: &str) -> Result<(), Failure> {
    let rows = csv::Reader::from_path(file)?.into_deserialize();
    let rows = rows.collect::<Result<Vec<VictimTruth>, csv::Error>>()?;
    let mut sizes = Vec::new();
    for row in rows.iter().filter(|row| row.policy == "stock") {
        sizes.resize(sizes.len().max(row.mix + 1), 0);
        sizes[row.mix] += 1;
    }
    let seed = rows.first().ok_or("an empty table")?.seed;
    let mixes = mixes_on_chip(&sizes, seed);
    let all = OBSERVED_POLICIES.map(|policy| (policy, Readings::All));
    let less = [Readings::Host, Readings::Counters].map(|readings| ("stock", readings));
    for (policy, readings) in all.into_iter().chain(less) {
        let mut all = Vec::new();
        for mix in &mixes {
            let rows = rows.iter().filter(|row| row.mix == mix.number && row.policy == policy);
            let rows: Vec<VictimTruth> = rows.cloned().collect();
            let found = estimate(mix, policy, readings, &rows)?;
            all.extend(rows.into_iter().zip(found));
        }
        for (truth, found) in &all {
            println!(
                "{policy:8} {:2} {:2} {:18} true {:.3} (cache {:.3}) found {}{:.3} [{:.3} {:.3}] \
                 lines {:.3} ways {:.3} bus {:.3} blamed {:?} caused {}",
                truth.mix,
                truth.victim,
                truth.program,
                truth.slowdown,
                truth.by_cache,
                if found.is_known { "" } else { "?" },
                found.slowdown[1],
                found.slowdown[0],
                found.slowdown[2],
                found.parts[0],
                found.parts[1],
                found.parts[2],
                found.culprit,
                truth.caused,
            );
        }
        let what = match readings {
            Readings::All => "",
            Readings::Host => ", without the latencies of the idle chip",
            Readings::Counters => ", by counters alone",
        };
        print(&format!("{policy}{what}"), &accuracy_of_blame(&all));
        io::stdout().flush()?;
    }
    Ok(())
}

fn print(policy: &str, accuracy: &BlameAccuracy) {
    let percent =
        |share: Option<f64>| share.map_or("-".into(), |share| format!("{:.0} %", 100.0 * share));
    let [ours, cpi2, misses] = accuracy.culprit_right.map(percent);
    println!(
        "{policy}: {} programs; {} known, and {} of those that lose 10 %; slowdown off by {:.3} in the median, {:.3} at the 95th percentile; \
         {} within the interval, {:.3} wide in the median; larger part right for {} of {} victims; \
         worst culprit right for {ours} of {} (CPI² {cpi2}, most misses {misses}); none blamed \
         for {} of {} unharmed; occupancies off by {:.2} ways in the median, {:.2} at the 95th \
         percentile",
        accuracy.programs,
        accuracy.known,
        percent(accuracy.victims_known),
        accuracy.median_error,
        accuracy.p95_error,
        percent(Some(accuracy.within)),
        accuracy.width,
        percent(accuracy.parts_right),
        accuracy.victims,
        accuracy.with_culprit,
        percent(accuracy.none_blamed),
        accuracy.unharmed,
        accuracy.occupancy_error[0],
        accuracy.occupancy_error[1],
    );
}
