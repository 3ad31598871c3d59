//! LFOC finds out what programs are while they run (LFOC §4.2, §5.2): the figures of
//! docs/lfoc-online.md, on fewer mixes.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::time::Duration;

use fairways_core::{Llc, Policy};
use fairways_lab::{Protocol, accuracy, draw_workloads, live, random_mixes, turns};
use fairways_model::Settings;
use fairways_policy::lfoc::{Class, Lfoc, Parameters};
use fairways_policy::stock::Stock;
use fairways_profiles::{ProgramCatalog, embedded_programs, read_phased};

/// Not the seed of docs/lfoc-online.md: what holds for one holds for others.
const SEED: u64 = 77;

/// The measured programs, and phased ones made of them.
fn spec(test: &str) -> Option<ProgramCatalog> {
    let (table, _) = common::spec(&common::shared(test)?);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/spec-phases.csv");
    let phased = read_phased(&std::fs::read(path).unwrap(), "spec-phases.csv", &table).unwrap();
    Some(ProgramCatalog::new(table, phased))
}

fn settings(programs: &ProgramCatalog) -> Settings {
    Settings { seed: SEED, ..Settings::new(Llc::with_ways(programs.table().ways())) }
}

/// The first early stop as published, the default, and with stalls (Decision LFOC 10).
fn form(early_stop_checks_stalls: bool) -> Parameters {
    Parameters { early_stop_checks_stalls, ..Parameters::default() }
}

/// At least so many percent of programs are taken for what the offline tables make of them; with a
/// window a size and noise, at least so many.
fn classes_are_right(programs: &ProgramCatalog, one: Parameters, [least, least_noisy]: [u32; 2]) {
    let mixes = random_mixes(programs.table(), &[8, 12, 16], 12, SEED);
    let perfect = settings(programs);
    let eight = Parameters { windows_per_size: 8, ..one };
    for (what, settings, parameters) in [
        ("as asked", perfect, one),
        ("overshot by four", Settings { overshoot: 4.0, ..perfect }, one),
        ("2 % noise, 8 windows a size", Settings { noise: 0.02, ..perfect }, eight),
    ] {
        let found = accuracy(programs, &mixes, &settings, parameters, Duration::from_secs(25));
        println!("{what}: {} of {}: {:?}", found.right, found.all, found.wrong);
        assert!(found.right * 100 >= found.all * least, "{what}: {found:?}");
    }
    // With a window a size as published, noise costs some; the figure is in docs/lfoc-online.md.
    let noisy = Settings { noise: 0.02, ..perfect };
    let found = accuracy(programs, &mixes, &noisy, one, Duration::from_secs(25));
    println!("2 % noise: {} of {}: {:?}", found.right, found.all, found.wrong);
    assert!(found.right * 100 >= found.all * least_noisy, "2 % noise: {found:?}");
}

#[test]
fn classes_of_embedded_programs_are_found() {
    classes_are_right(embedded_programs(), form(false), [95, 85]);
    classes_are_right(embedded_programs(), form(true), [95, 85]);
}

#[test]
fn classes_of_measured_programs_are_found() {
    let Some(programs) = spec("classes_of_measured_programs_are_found") else { return };
    // 94.4 %, with noise 93.5 % (Missed in SPECIFICATION.md): perlbench and vortex miss little, and
    // are sensitive.
    classes_are_right(&programs, form(false), [93, 85]);
    classes_are_right(&programs, form(true), [95, 85]);
}

/// LFOC §5.2: 16.7 % less unfairness than stock on S and P; claims/lfoc.csv accepts 8.35 to 33.4 %.
/// And of what LFOC gains on S when it is told the profiles, this share remains when it is not.
fn fairer_than_stock(programs: &ProgramCatalog, form: Parameters, remains: f64) {
    let protocol = Protocol::default();
    let told = Protocol { known: true, ..protocol.clone() };
    let (mut against_stock, mut sampling) = (Vec::new(), Vec::new());
    let (mut found_out, mut told_before) = (Vec::new(), Vec::new());
    for mix in draw_workloads(programs, programs.table().ways(), 2, SEED) {
        let run = |protocol: &Protocol, policy: &mut dyn Policy| {
            live(programs, &mix, &settings(programs), protocol, policy).unwrap()
        };
        let online = run(&protocol, &mut Lfoc::new(form));
        let stock = run(&protocol, &mut Stock::default());
        against_stock.push(online.metrics.unfairness / stock.metrics.unfairness);
        sampling.push(online.activity.sampling_share());
        if mix.name.starts_with('S') {
            let told = run(&told, &mut Lfoc::new(form));
            found_out.push(online.metrics.unfairness / stock.metrics.unfairness);
            told_before.push(told.metrics.unfairness / stock.metrics.unfairness);
        }
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let reduction = |ratios: &[f64]| 100.0 * (1.0 - mean(ratios));
    let (found_out, told_before) = (reduction(&found_out), reduction(&told_before));
    let (reduction, sampling) = (reduction(&against_stock), mean(&sampling));
    println!(
        "{reduction:.1} % less unfairness, on S {found_out:.1} % ({told_before:.1} % if told); \
         {sampling:.4} of the time in sampling mode"
    );
    assert!((8.35..=33.4).contains(&reduction), "{against_stock:?}");
    assert!(found_out > remains * told_before, "{found_out} {told_before}");
    assert!(sampling > 0.0 && sampling < 0.1, "{sampling}");
}

#[test]
fn embedded_mixes_are_fairer_than_under_stock() {
    // 21.9 of 24.6 % (Missed in SPECIFICATION.md).
    fairer_than_stock(embedded_programs(), form(false), 0.88);
    fairer_than_stock(embedded_programs(), form(true), 0.9);
}

#[test]
fn measured_mixes_are_fairer_than_under_stock() {
    let Some(programs) = spec("measured_mixes_are_fairer_than_under_stock") else { return };
    fairer_than_stock(&programs, form(false), 0.9);
    fairer_than_stock(&programs, form(true), 0.9);
}

/// What the rules of §4.2 can see, they see: a light program that becomes memory-intensive, a
/// streaming one that falls quiet. What a streaming program in its one way does not show, that it
/// has become sensitive, no rule asks for.
#[test]
fn changes_of_class_are_caught() {
    // 361 of 403 (Missed in SPECIFICATION.md).
    changes_are_caught(form(false), 89);
    changes_are_caught(form(true), 95);
}

/// At least so many percent of changes from light to sensitive are caught.
fn changes_are_caught(form: Parameters, light_to_sensitive: usize) {
    let programs = embedded_programs();
    let found = turns(programs.table(), programs.table().ways(), &settings(programs), form, 60);
    for (from, to, share, median) in [
        (Class::Light, Class::Streaming, 95, 500),
        (Class::Light, Class::Sensitive, light_to_sensitive, 1000),
        (Class::Streaming, Class::Light, 95, 500),
        (Class::Sensitive, Class::Light, 80, 1000),
    ] {
        let turns = found.turns.iter().filter(|turn| (turn.from, turn.to) == (from, to));
        let all = turns.clone().count();
        let mut times: Vec<Duration> = turns.filter_map(|turn| turn.caught).collect();
        times.sort_unstable();
        let middle = times[times.len() / 2].as_millis();
        println!("{from:?} to {to:?}: {} of {all} caught, half within {middle} ms", times.len());
        assert!(all > 50 && times.len() * 100 >= all * share && middle <= median);
    }
}
