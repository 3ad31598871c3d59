//! How near the plans of `fairways` come to the exact optimum, on mixes of measured programs drawn
//! by seed. The aims: mean at most 1.001, no mix above 1.01, throughput at least LFOC+'s.
//!
//! The example `fairways_static` draws more of them.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod common;

use fairways_core::{Llc, Ways};
use fairways_experiments::{
    ComparisonSettings, OptimumGap, optimum_gap, random_mixes, streaming_mixes,
};
use fairways_policy::fairways::Objective;
use fairways_profiles::{BandwidthModel, MemoryBandwidth, Mix, ProfileTable, embedded};
use rayon::prelude::*;

const SEED: u64 = 20_261_125;

/// How `fairways` fares on mixes: means, and the worst.
struct GapSummary {
    mean: f64,
    most: f64,
    stp_over_rules: f64,
}

fn summary(table: &ProfileTable, ways: u32, mixes: &[Mix], objective: Objective) -> GapSummary {
    let llc = Llc::with_ways(Ways::new(ways).unwrap());
    let settings = ComparisonSettings { llc, bandwidth: None, wishes: Vec::new() };
    let gaps: Vec<OptimumGap> = mixes
        .iter()
        .map(|mix| {
            let gap = optimum_gap(table, mix, &settings, objective, None).unwrap();
            assert!(gap.is_proven && gap.ratio > 1.0 - 1e-6, "{}: {gap:?}", mix.name);
            gap
        })
        .collect();
    let count = gaps.len() as f64;
    let summary = GapSummary {
        mean: gaps.iter().map(|gap| gap.ratio).sum::<f64>() / count,
        most: gaps.iter().map(|gap| gap.ratio).fold(0.0, f64::max),
        stp_over_rules: gaps.iter().map(|gap| gap.stp_over_rules).sum::<f64>() / count,
    };
    let GapSummary { mean, most, stp_over_rules } = summary;
    let (programs, first) = (mixes[0].programs.len(), &mixes[0].name);
    println!(
        "{programs} programs, {ways} ways, {objective:?}, from {first} on: mean {mean:.5}, most \
         {most:.5}, STP {stp_over_rules:.4} of LFOC+'s"
    );
    summary
}

fn assert_fair(GapSummary { mean, most, .. }: &GapSummary) {
    assert!(*mean <= 1.001 && *most <= 1.01, "{mean} {most}");
}

#[test]
fn plans_are_as_fair_as_the_optimum() {
    let Some(shared) = common::shared("fairways against the optimum") else { return };
    let (table, _) = common::spec(&shared);
    let random = [(4, 40), (6, 40), (8, 40), (10, 20), (12, 10)]
        .map(|(programs, count)| random_mixes(&table, &[programs], count, SEED));
    let eleven = Ways::new(11).unwrap();
    let streaming = [(8, 40), (12, 10)]
        .map(|(programs, count)| streaming_mixes(&table, eleven, &[programs], count, SEED));
    for mixes in random.iter().chain(&streaming) {
        let found = summary(&table, 11, mixes, Objective::Unfairness);
        assert_fair(&found);
        assert!(found.stp_over_rules >= 1.0, "{}: {}", mixes[0].name, found.stp_over_rules);
    }
    // Too few for a mean of throughputs.
    for (programs, count) in [(14, 3), (16, 1)] {
        let mixes = random_mixes(&table, &[programs], count, SEED);
        assert_fair(&summary(&table, 11, &mixes, Objective::Unfairness));
    }
    let mixes = streaming_mixes(&table, eleven, &[16], 1, SEED);
    assert_fair(&summary(&table, 11, &mixes, Objective::Unfairness));
}

/// Measured profiles have 11 ways, the embedded ones 20. On these the fairest plan, the optimum's
/// as well, has a lower throughput than LFOC+'s.
#[test]
fn plans_are_as_fair_as_the_optimum_with_twenty_ways() {
    let mixes = random_mixes(embedded(), &[12], 10, SEED);
    assert_fair(&summary(embedded(), 20, &mixes, Objective::Unfairness));
}

/// Where memory is short, no partitioning is never much better, and the optimum little.
#[test]
fn memory_is_in_the_estimate() {
    let Some(shared) = common::shared("fairways with little memory") else { return };
    let (table, _) = common::spec(&shared);
    let llc = Llc::with_ways(Ways::new(11).unwrap());
    let bandwidth = MemoryBandwidth::new(12_000.0, BandwidthModel::Simple);
    let settings = ComparisonSettings { llc, bandwidth, wishes: Vec::new() };
    let mut mixes = random_mixes(&table, &[4, 6, 8], 8, SEED);
    mixes.extend(streaming_mixes(&table, llc.ways, &[6, 8], 8, SEED));
    let gaps = mixes.par_iter().filter_map(|mix| {
        // Memory can't serve all mixes.
        let gap = optimum_gap(&table, mix, &settings, Objective::Unfairness, None).ok()?;
        println!("{} {gap:?}", mix.name);
        Some([gap.ratio, gap.over_stock])
    });
    let gaps: Vec<[f64; 2]> = gaps.collect();
    assert!(gaps.len() > 30, "{}", gaps.len());
    let mean = gaps.iter().map(|[ratio, _]| ratio).sum::<f64>() / gaps.len() as f64;
    let most = gaps.iter().map(|[_, over_stock]| *over_stock).fold(0.0, f64::max);
    println!("{mean:.4} of the optimum, at most {most:.4} of no partitioning");
    assert!(mean <= 1.02 && most <= 1.01, "{mean} {most}");
}

#[test]
fn throughput_is_as_high_as_the_optimum() {
    let Some(shared) = common::shared("fairways against the optimum") else { return };
    let (table, _) = common::spec(&shared);
    for (programs, count) in [(4, 20), (8, 20), (11, 5), (12, 10), (14, 3), (16, 1)] {
        let mixes = random_mixes(&table, &[programs], count, SEED);
        let GapSummary { most, .. } = summary(&table, 11, &mixes, Objective::Stp);
        assert!(most <= 1.001, "{programs} programs: {most}");
    }
}
