//! LFOC's analysis of the optimum (§3) on the measured programs: Figures 1, 2 and 3, within the
//! bands of claims/lfoc.csv, which were set before anything was measured.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod common;

use fairways_core::Llc;
use fairways_experiments::{composition, partitioning_over_clustering, random_mixes};
use fairways_policy::lfoc::{Class, Parameters, classify};

const SEED: u64 = 1;

#[test]
fn figure_1_lbm_streams_and_xalancbmk_is_sensitive() {
    let Some(shared) = common::shared("figure 1") else { return };
    let (table, _) = common::spec(&shared);
    fn class(name: &str, table: &fairways_profiles::ProfileTable) -> Class {
        let profile = table.profile(table.find(name).unwrap());
        classify(&profile, table.ways(), &Parameters::default())
    }
    assert_eq!(
        [class("lbm06", &table), class("xalancbmk06", &table)],
        [Class::Streaming, Class::Sensitive]
    );
}

#[test]
fn figure_2_classes_by_the_size_of_their_clusters() {
    let Some(shared) = common::shared("figure 2") else { return };
    let (table, _) = common::spec(&shared);
    let llc = Llc { clos: 32, ..Llc::with_ways(table.ways()) };
    let mixes = random_mixes(&table, &[10], 20, SEED);
    let found = composition(&table, &mixes, llc, None).unwrap();
    let share = |class, ways: fn(usize) -> bool| 100.0 * found.share(class, ways).unwrap();
    let streaming = share(Class::Streaming, |ways| ways == 1);
    let confined = share(Class::Streaming, |ways| ways <= 2);
    let sensitive = share(Class::Sensitive, |ways| ways >= 4);
    let light = share(Class::Light, |ways| ways == 1);
    println!(
        "streaming {streaming:.0} % {confined:.0} %, sensitive {sensitive:.0} %, light {light:.0} %"
    );
    assert!(streaming >= 72.0 && confined >= 90.0 && sensitive >= 57.0 && light >= 50.0);
}

#[test]
fn figure_3_clustering_pulls_away_from_partitioning() {
    let Some(shared) = common::shared("figure 3") else { return };
    let (table, _) = common::spec(&shared);
    let llc = Llc { clos: 32, ..Llc::with_ways(table.ways()) };
    let [four, eleven] = [4, 11].map(|programs| {
        let mixes = random_mixes(&table, &[programs], 20, SEED);
        let ratios = partitioning_over_clustering(&table, &mixes, llc, None).unwrap();
        // A partitioning is a clustering.
        assert!(ratios.iter().all(|&ratio| ratio >= 1.0 - 1e-12), "{ratios:?}");
        ratios.iter().sum::<f64>() / 20.0
    });
    println!("4 programs {four:.3}, 11 programs {eleven:.3}");
    assert!((1.0..=1.1).contains(&four) && eleven / four >= 1.01);
}
