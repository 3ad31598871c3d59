//! LFOC's online classification and its cost: every figure of docs/lfoc-online.md.
//!
//! `cargo run --release -p fairways-experiments --example lfoc_online [-- PROFILES.csv PHASES.csv]`

#![allow(clippy::print_stdout)]

mod programs;

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::{Llc, Policy, Ways};
use fairways_experiments::{
    LiveOutcome, PhasedRuns, Protocol, accuracy, class_changes, draw_workloads, live, random_mixes,
};
use fairways_model::Settings;
use fairways_policy::lfoc::{Lfoc, Parameters};
use fairways_policy::stock::Stock;
use fairways_profiles::{Mix, ProgramCatalog};

/// The seed of every mix and machine.
const SEED: u64 = 1;
/// Mixes of each kind and size: 36 workloads in all, as in LFOC's Figure 5.
const MIXES: usize = 6;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let programs = &*programs::from_arguments()?;
    let ways = programs.table().ways();
    println!("{} programs, {ways} ways", programs.len());
    for (what, form) in [
        ("As published", Parameters::default()),
        ("Stalls too", Parameters { early_stop_checks_stalls: true, ..Parameters::default() }),
    ] {
        println!("\n# {what} (early_stop_checks_stalls={})", form.early_stop_checks_stalls);
        classes_found(programs, ways, form);
        unfairness(programs, ways, form)?;
        for with_profiles in [false, true] {
            let runs = PhasedRuns { mixes: 500, with_profiles };
            let found = class_changes(programs.table(), &settings(ways), form, runs);
            println!("\nFrom a change of class to the right class, {runs}:\n{found}");
        }
        few_programs(programs, ways, form);
        short_programs(programs, ways, form)?;
    }
    Ok(())
}

fn settings(ways: Ways) -> Settings {
    Settings { seed: SEED, ..Settings::new(Llc::with_ways(ways)) }
}

fn classes_found(programs: &ProgramCatalog, ways: Ways, one: Parameters) {
    println!("\nRight classes after 20 s, 40 random mixes each of 8, 12 and 16 programs:");
    let mixes = random_mixes(programs.table(), &[8, 12, 16], 40, SEED);
    let perfect = settings(ways);
    let noisy = Settings { noise: 0.02, ..perfect };
    let eight = Parameters { windows_per_size: 8, ..one };
    for (what, settings, parameters) in [
        ("as requested", perfect, one),
        ("windows overshot by four", Settings { overshoot: 4.0, ..perfect }, one),
        ("2 % noise", noisy, one),
        ("2 % noise, 8 windows a size", noisy, eight),
    ] {
        let found = accuracy(programs, &mixes, &settings, parameters, Duration::from_secs(20));
        let (sampling, all) = found.sampling;
        println!(
            "  {what:28} {:5.1} %   {} of {}; {:.1} % of the time in sampling mode",
            percent(found.right.into(), found.all.into()),
            found.right,
            found.all,
            percent(sampling as f64, all as f64),
        );
        for ((name, is, taken), count) in found.wrong {
            println!("      {count:3} x {name}, {is}, for {}", taken.unwrap_or("unknown"));
        }
    }
}

fn unfairness(
    programs: &ProgramCatalog,
    ways: Ways,
    form: Parameters,
) -> Result<(), Box<dyn std::error::Error>> {
    println!("\nUnfairness and STP by the protocol of LFOC §5 (150 G instructions, three runs):");
    println!(
        "  {:5} {:>8} {:>18} {:>18} {:>9}",
        "mix", "stock", "lfoc", "with profiles", "sampling"
    );
    let protocol = Protocol::default();
    let with_profiles = Protocol { profiles_known: true, ..protocol.clone() };
    let mut rows: BTreeMap<&str, Vec<[LiveOutcome; 3]>> = BTreeMap::new();
    for mix in draw_workloads(programs, ways, MIXES, SEED) {
        let run = |protocol: &Protocol, policy: &mut dyn Policy| {
            live(programs, &mix, &settings(ways), protocol, policy)
        };
        let outcomes = [
            run(&protocol, &mut Stock::default())?,
            run(&protocol, &mut Lfoc::new(form))?,
            run(&with_profiles, &mut Lfoc::new(form))?,
        ];
        let Mix { name, .. } = &mix;
        let [stock, online, informed] = &outcomes;
        fn cell(outcome: &LiveOutcome, stock_unfairness: f64) -> String {
            let change = 100.0 * (outcome.metrics.unfairness / stock_unfairness - 1.0);
            format!("{:.3} {change:+.1} %", outcome.metrics.unfairness)
        }
        println!(
            "  {name:5} {:8.3} {:>18} {:>18} {:7.2} %",
            stock.metrics.unfairness,
            cell(online, stock.metrics.unfairness),
            cell(informed, stock.metrics.unfairness),
            100.0 * online.activity.sampling_share(),
        );
        rows.entry(if name.starts_with('S') { "S" } else { "P" }).or_default().push(outcomes);
    }
    let all: Vec<_> = rows.values().flatten().cloned().collect();
    rows.insert("S and P", all);
    for (kind, rows) in &rows {
        fn mean(of: &dyn Fn(&[LiveOutcome; 3]) -> f64, rows: &[[LiveOutcome; 3]]) -> f64 {
            rows.iter().map(of).sum::<f64>() / rows.len() as f64
        }
        println!(
            "  {kind}, means: unfairness {:+.1} %, STP {:+.1} % against stock; against LFOC with \
             profiles unfairness {:+.2} %, STP {:+.2} %; {:.2} % of the time in sampling mode",
            100.0 * (mean(&|r| r[1].metrics.unfairness / r[0].metrics.unfairness, rows) - 1.0),
            100.0 * (mean(&|r| r[1].metrics.stp / r[0].metrics.stp, rows) - 1.0),
            100.0 * (mean(&|r| r[1].metrics.unfairness / r[2].metrics.unfairness, rows) - 1.0),
            100.0 * (mean(&|r| r[1].metrics.stp / r[2].metrics.stp, rows) - 1.0),
            100.0 * mean(&|r| r[1].activity.sampling_share(), rows),
        );
    }
    println!("  (published: unfairness -16.7 % on S and P, LFOC §5.2)");
    Ok(())
}

fn few_programs(programs: &ProgramCatalog, ways: Ways, form: Parameters) {
    println!("\nRight classes after 20 s where there are few programs:");
    let table = programs.table();
    let alone = (0..table.names().len())
        .map(|program| Mix { name: String::new(), programs: vec![program] })
        .collect();
    fn few(size: usize, table: &fairways_profiles::ProfileTable) -> Vec<Mix> {
        random_mixes(table, &[size], 120, SEED)
    }
    for (what, mixes) in
        [("alone", alone), ("2", few(2, table)), ("3", few(3, table)), ("4", few(4, table))]
    {
        let mixes: Vec<Mix> = mixes;
        let found = accuracy(programs, &mixes, &settings(ways), form, Duration::from_secs(20));
        let missed = found.wrong.iter().filter(|((_, is, _), _)| *is == "sensitive");
        let missed: u32 = missed.map(|(_, count)| count).sum();
        println!(
            "  {what:6} {:5.1} %   {} of {}; {missed} sensitive ones are misclassified",
            percent(found.right.into(), found.all.into()),
            found.right,
            found.all,
        );
    }
}

fn short_programs(
    programs: &ProgramCatalog,
    ways: Ways,
    form: Parameters,
) -> Result<(), Box<dyn std::error::Error>> {
    println!("\nUnfairness against stock by the length of runs, three S workloads, ten runs each:");
    let mixes = draw_workloads(programs, ways, 1, SEED);
    for billions in [1, 3, 10, 30, 150] {
        let instructions = billions * 1_000_000_000;
        let protocol = Protocol { instructions, completions: 10, ..Protocol::default() };
        let (mut ratio, mut share, mut count) = (0.0, 0.0, 0.0);
        for mix in mixes.iter().filter(|mix| mix.name.starts_with('S')) {
            let run =
                |policy: &mut dyn Policy| live(programs, mix, &settings(ways), &protocol, policy);
            let (stock, online) = (run(&mut Stock::default())?, run(&mut Lfoc::new(form))?);
            ratio += online.metrics.unfairness / stock.metrics.unfairness;
            share += online.activity.sampling_share();
            count += 1.0;
        }
        println!(
            "  {billions:4} G instructions {:+6.1} %, {:5.1} % of the time in sampling mode",
            100.0 * (ratio / count - 1.0),
            100.0 * share / count,
        );
    }
    Ok(())
}

fn percent(part: f64, whole: f64) -> f64 {
    100.0 * part / whole
}
