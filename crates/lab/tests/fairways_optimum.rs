//! How near the plans of `fairways` come to the exact optimum, on mixes of measured programs drawn
//! by seed. The aims: mean at most 1.001, no mix above 1.01, throughput at least LFOC+'s.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod common;

use fairways_core::{Llc, Policy, Ways};
use fairways_lab::{ComparisonSettings, compare, random_mixes};
use fairways_optimum::{Goal, Problem, SharingKind, solve};
use fairways_policy::{by_name, descriptor};
use fairways_profiles::ProfileTable;

const SEED: u64 = 20_261_125;

/// `fairways` over the optimum, mix by mix, and its throughput over LFOC+'s.
fn ratios(
    table: &ProfileTable,
    (programs, ways, count): (usize, u32, usize),
    goal: Goal,
) -> (Vec<f64>, Vec<f64>) {
    let llc = Llc::with_ways(Ways::new(ways).unwrap());
    let settings = ComparisonSettings { llc, bandwidth: None, wishes: Vec::new() };
    let word = if goal == Goal::Stp { "stp" } else { "unfairness" };
    let mut worst = Vec::new();
    let mut throughput = Vec::new();
    for mix in random_mixes(table, &[programs], count, SEED) {
        let descriptor = descriptor("fairways").unwrap();
        let value = descriptor.parameter("objective").unwrap().read(word).unwrap();
        let ours: Box<dyn Policy> = descriptor.make(&[("objective", value)]).policy;
        let found = compare(table, &mix, &settings, [ours, by_name("lfoc-plus").unwrap()]).unwrap();
        let [ours, plus] = &found.outcomes[..] else { panic!() };
        let problem = Problem {
            profiles: table,
            mix: &mix.programs,
            llc,
            kind: SharingKind::Clustering,
            bandwidth: None,
            goal,
        };
        let best = solve(&problem, None, |_, _| {}).unwrap();
        assert!(best.is_proven);
        let ratio = match goal {
            Goal::Stp => best.metrics.stp / ours.metrics.stp,
            _ => ours.metrics.unfairness / best.metrics.unfairness,
        };
        assert!(ratio > 1.0 - 1e-6, "{}: {ratio} {ours:?} {best:?}", mix.name);
        worst.push(ratio);
        throughput.push(ours.metrics.stp / plus.metrics.stp);
    }
    (worst, throughput)
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

#[test]
fn plans_are_as_fair_as_the_optimum() {
    let Some(shared) = common::shared("fairways against the optimum") else { return };
    let (table, _) = common::spec(&shared);
    for (programs, count) in [(4, 40), (6, 40), (8, 40), (10, 20)] {
        let (ratios, throughput) = ratios(&table, (programs, 11, count), Goal::Unfairness);
        let most = ratios.iter().fold(0.0, |most: f64, &ratio| most.max(ratio));
        let (mean, throughput) = (mean(&ratios), mean(&throughput));
        println!(
            "{programs} programs: mean {mean:.5}, most {most:.5}, STP {throughput:.4} of LFOC+'s"
        );
        assert!(mean <= 1.001 && most <= 1.01, "{programs} programs: {mean} {most}");
        assert!(throughput >= 1.0, "{programs} programs: {throughput}");
    }
}

#[test]
fn throughput_is_as_high_as_the_optimum() {
    let Some(shared) = common::shared("fairways against the optimum") else { return };
    let (table, _) = common::spec(&shared);
    for (programs, count) in [(4, 20), (8, 20), (11, 5)] {
        let (ratios, _) = ratios(&table, (programs, 11, count), Goal::Stp);
        let most = ratios.iter().fold(0.0, |most: f64, &ratio| most.max(ratio));
        println!("{programs} programs: most {most:.5}");
        assert!(most <= 1.001, "{programs} programs: {most}");
    }
}
