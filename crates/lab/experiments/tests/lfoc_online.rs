//! LFOC classifies programs while they run (LFOC §4.2, §5.2): the figures of docs/lfoc-online.md,
//! on fewer mixes.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod common;
mod phased;

use std::time::Duration;

use fairways_core::{Llc, Policy};
use fairways_experiments::{
    LiveOutcome, PhasedRuns, Protocol, accuracy, class_changes, draw_workloads, live, random_mixes,
};
use fairways_model::Settings;
use fairways_policy::lfoc::{Class, Lfoc, Parameters};
use fairways_policy::stock::Stock;
use fairways_profiles::{Mix, ProgramCatalog, embedded_programs};

/// Another seed than that of docs/lfoc-online.md: results must not depend on it.
const SEED: u64 = 77;

fn settings(programs: &ProgramCatalog) -> Settings {
    Settings { seed: SEED, ..Settings::new(Llc::with_ways(programs.table().ways())) }
}

/// The first early stop as published, which is the default, or with stalls (decision LFOC 10).
fn form(early_stop_checks_stalls: bool) -> Parameters {
    Parameters { early_stop_checks_stalls, ..Parameters::default() }
}

/// At least `least` percent of programs get the class of the offline tables; with noise and one
/// window per size, at least `least_noisy` percent.
fn classes_are_right(programs: &ProgramCatalog, one: Parameters, [least, least_noisy]: [u32; 2]) {
    let mixes = random_mixes(programs.table(), &[8, 12, 16], 12, SEED);
    let perfect = settings(programs);
    let eight = Parameters { windows_per_size: 8, ..one };
    for (what, settings, parameters) in [
        ("as requested", perfect, one),
        ("overshot by four", Settings { overshoot: 4.0, ..perfect }, one),
        ("2 % noise, 8 windows a size", Settings { noise: 0.02, ..perfect }, eight),
    ] {
        let found = accuracy(programs, &mixes, &settings, parameters, Duration::from_secs(25));
        println!("{what}: {} of {}: {:?}", found.right, found.all, found.wrong);
        assert!(found.right * 100 >= found.all * least, "{what}: {found:?}");
    }
    // With one window per size as published, noise costs some; the figure is in
    // docs/lfoc-online.md.
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
    let Some(programs) = phased::catalog("classes_of_measured_programs_are_found") else { return };
    // 94.4 %, with noise 93.5 % (Missed in SPECIFICATION.md): perlbench and vortex miss little, and
    // are sensitive.
    classes_are_right(&programs, form(false), [93, 85]);
    classes_are_right(&programs, form(true), [95, 85]);
}

fn run(
    protocol: &Protocol,
    policy: &mut dyn Policy,
    mix: &Mix,
    programs: &ProgramCatalog,
) -> LiveOutcome {
    live(programs, mix, &settings(programs), protocol, policy).unwrap()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// LFOC §5.2: 16.7 % less unfairness than stock on S and P; claims/lfoc.csv accepts 8.35 to 33.4 %.
/// Without profiles, at least the share `remains` of LFOC's gain on S with profiles remains.
fn fairer_than_stock(programs: &ProgramCatalog, form: Parameters, remains: f64) {
    let protocol = Protocol::default();
    let with_profiles = Protocol { profiles_known: true, ..protocol.clone() };
    let (mut against_stock, mut sampling) = (Vec::new(), Vec::new());
    let (mut found_out, mut informed_before) = (Vec::new(), Vec::new());
    for mix in draw_workloads(programs, programs.table().ways(), 2, SEED) {
        let online = run(&protocol, &mut Lfoc::new(form), &mix, programs);
        let stock = run(&protocol, &mut Stock::default(), &mix, programs);
        against_stock.push(online.metrics.unfairness / stock.metrics.unfairness);
        sampling.push(online.activity.sampling_share());
        if mix.name.starts_with('S') {
            let informed = run(&with_profiles, &mut Lfoc::new(form), &mix, programs);
            found_out.push(online.metrics.unfairness / stock.metrics.unfairness);
            informed_before.push(informed.metrics.unfairness / stock.metrics.unfairness);
        }
    }
    let reduction = |ratios: &[f64]| 100.0 * (1.0 - mean(ratios));
    let (found_out, informed_before) = (reduction(&found_out), reduction(&informed_before));
    let (reduction, sampling) = (reduction(&against_stock), mean(&sampling));
    println!(
        "{reduction:.1} % less unfairness, on S {found_out:.1} % ({informed_before:.1} % with profiles); \
         {sampling:.4} of the time in sampling mode"
    );
    assert!((8.35..=33.4).contains(&reduction), "{against_stock:?}");
    assert!(found_out > remains * informed_before, "{found_out} {informed_before}");
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
    let Some(programs) = phased::catalog("measured_mixes_are_fairer_than_under_stock") else {
        return;
    };
    fairer_than_stock(&programs, form(false), 0.9);
    fairer_than_stock(&programs, form(true), 0.9);
}

/// The rules of §4.2 see what they can: a light program that becomes memory-intensive, a streaming
/// one that falls quiet. A streaming program in its one way does not show that it has become
/// sensitive, and no rule asks for that.
#[test]
fn changes_of_class_are_caught() {
    // 361 of 403 (Missed in SPECIFICATION.md).
    changes_are_caught(form(false), 89);
    changes_are_caught(form(true), 95);
}

/// At least `light_to_sensitive` percent of changes from light to sensitive are caught.
fn changes_are_caught(form: Parameters, light_to_sensitive: usize) {
    let programs = embedded_programs();
    let runs = PhasedRuns { mixes: 60, with_profiles: false };
    let found = class_changes(programs.table(), &settings(programs), form, runs);
    for (from, to, share, median) in [
        (Class::Light, Class::Streaming, 95, 500),
        (Class::Light, Class::Sensitive, light_to_sensitive, 1000),
        (Class::Streaming, Class::Light, 95, 500),
        (Class::Sensitive, Class::Light, 80, 1000),
    ] {
        let turns = found.changes.iter().filter(|turn| (turn.from, turn.to) == (from, to));
        let all = turns.clone().count();
        let mut times: Vec<Duration> = turns.filter_map(|turn| turn.caught).collect();
        times.sort_unstable();
        let middle = times[times.len() / 2].as_millis();
        println!("{from:?} to {to:?}: {} of {all} caught, half within {middle} ms", times.len());
        assert!(all > 50 && times.len() * 100 >= all * share && middle <= median);
    }
}
