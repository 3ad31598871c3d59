//! The corpus of real programs: as many of each class as its rules want, and LFOC and `fairways` on
//! its forty mixes.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::collections::BTreeMap;

use fairways_core::{Llc, Q32};
use fairways_experiments::{ComparisonSettings, compare, optimum_gap};
use fairways_policy::by_name;
use fairways_policy::fairways::Objective;
use fairways_policy::lfoc::{Class, Parameters, classify};
use fairways_profiles::corpus::{CorpusMachine, profiles};
use fairways_profiles::{
    BandwidthModel, MemoryBandwidth, Mix, ProfileTable, embedded, read_mixes, read_table,
};

fn table(machine: CorpusMachine) -> ProfileTable {
    read_table(profiles(machine).as_bytes(), machine.name()).unwrap()
}

fn mixes(table: &ProfileTable) -> Vec<Mix> {
    let text = include_bytes!("../../../../corpus/mixes.csv");
    read_mixes(text, "mixes.csv", |name| table.find(name)).unwrap()
}

fn settings(table: &ProfileTable) -> ComparisonSettings {
    let llc = Llc::with_ways(table.ways());
    ComparisonSettings { llc, bandwidth: None, wishes: Vec::new() }
}

/// Table 1 of LFOC as it is printed: the corpus has programs of its classes, whatever the defaults
/// are.
fn table_1() -> Parameters {
    Parameters {
        streaming_slowdown_percent: 103,
        streaming_llcmpkc: Q32::from_int(10),
        streaming_slowdown_bound_percent: 106,
        sensitive_slowdown_percent: 105,
        sensitive_from_ways: 2,
        ..Parameters::default()
    }
}

#[test]
fn every_class_has_as_many_programs_as_the_rules_want() {
    for machine in [CorpusMachine::Skylake, CorpusMachine::Broadwell] {
        let table = table(machine);
        let programs = 0..table.names().len();
        let classes: Vec<Class> = programs
            .map(|program| classify(&table.profile(program), table.ways(), &table_1()))
            .collect();
        let [sensitive, streaming, light] = [Class::Sensitive, Class::Streaming, Class::Light]
            .map(|wanted| classes.iter().filter(|&&class| class == wanted).count());
        println!("{}: {sensitive} sensitive, {streaming} streaming, {light} light", machine.name());
        assert!(sensitive >= 12 && streaming >= 8 && light >= 15, "{}", machine.name());
    }
}

/// In the mean LFOC is fairer than no partitioning with any number of programs, and `fairways`
/// fairer than both policies of LFOC. Some mixes are less fair under LFOC: docs/policies/lfoc.md.
#[test]
fn lfoc_and_fairways_are_fairer_than_no_partitioning_in_the_mean() {
    let table = table(CorpusMachine::Skylake);
    let mut sizes: BTreeMap<usize, [Vec<f64>; 3]> = BTreeMap::new();
    for mix in mixes(&table) {
        let policies = ["lfoc", "lfoc-plus", "fairways"].map(|name| by_name(name).unwrap());
        let compared = compare(&table, &mix, &settings(&table), policies).unwrap();
        let stock = compared.stock.unfairness;
        let of_size = sizes.entry(mix.programs.len()).or_default();
        for (all, outcome) in of_size.iter_mut().zip(&compared.outcomes) {
            all.push(outcome.metrics.unfairness / stock);
        }
    }
    assert_eq!(sizes.keys().copied().collect::<Vec<_>>(), [4, 8, 12, 16]);
    for (size, of_size) in sizes {
        assert_eq!(of_size[0].len(), 10);
        let [lfoc, plus, fairways] = of_size.each_ref().map(|all| all.iter().sum::<f64>() / 10.0);
        println!("{size} programs: lfoc {lfoc:.3}, lfoc-plus {plus:.3}, fairways {fairways:.3}");
        assert!(fairways < lfoc.min(plus) && lfoc.max(plus) < 1.0);
    }
}

#[test]
fn fairways_plans_what_the_optimum_does() {
    let table = table(CorpusMachine::Skylake);
    for mix in mixes(&table).iter().filter(|mix| mix.programs.len() <= 8) {
        let gap = optimum_gap(&table, mix, &settings(&table), Objective::Unfairness, None).unwrap();
        assert!(gap.is_proven && (gap.ratio - 1.0).abs() < 1e-3, "{}: {}", mix.name, gap.ratio);
    }
}

/// What `docs/policies/fairways-worst.md` says of plans that the model scores.
#[test]
fn the_page_of_the_worst_mixes_is_current() {
    let page = include_str!("../../../../docs/policies/fairways-worst.md");
    let (mut known, mut bandwidth, mut rows) = (None, None, 0);
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            known = match heading {
                _ if heading.contains("`skylake`, 11 ways") => Some(table(CorpusMachine::Skylake)),
                _ if heading.contains("`broadwell`") => Some(table(CorpusMachine::Broadwell)),
                _ if heading.contains("`synthetic`") => Some(embedded().clone()),
                _ if heading.starts_with("The same") => known,
                _ => None,
            };
            bandwidth = [("simple", BandwidthModel::Simple), ("stalls", BandwidthModel::Stalls)]
                .into_iter()
                .find(|(name, _)| heading.contains(name))
                .and_then(|(_, model)| MemoryBandwidth::new(12_000.0, model));
        }
        let Some(table) = &known else { continue };
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, mix, stock, lfoc, plus, ours, _, _] = cells[..] else { continue };
        let programs = mix.split(',').map(|name| table.find(name)).collect::<Option<Vec<_>>>();
        let Some(programs) = programs else { continue };
        let mix = Mix { name: mix.to_owned(), programs };
        let llc = Llc::with_ways(table.ways());
        let settings = ComparisonSettings { llc, bandwidth, wishes: Vec::new() };
        let policies = ["stock", "lfoc", "lfoc-plus", "fairways"].map(|of| by_name(of).unwrap());
        let found = compare(table, &mix, &settings, policies).unwrap();
        let found = found.outcomes.iter().map(|of| format!("{:.3}", of.metrics.unfairness));
        assert_eq!(found.collect::<Vec<_>>(), [stock, lfoc, plus, ours], "{}", mix.name);
        rows += 1;
    }
    assert_eq!(
        rows, 45,
        "`cargo run --release -p fairways-experiments --example fairways_worst` makes it"
    );
}
