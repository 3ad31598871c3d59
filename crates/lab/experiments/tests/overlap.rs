//! Masks that overlap, compared with the same sweep by hand.

#![allow(clippy::unwrap_used)]

use fairways_core::WayMask;
use fairways_profiles::{ProfileMetric, ProfileTable, Scorer, embedded};

/// The pressure of a program that occupies `x` ways: its LLCMPKC read from the first entry on.
fn pressure(table: &ProfileTable, program: usize, x: usize) -> f64 {
    table.values(program, ProfileMetric::Llcmpkc).nth(x).unwrap()
}

#[test]
fn a_way_is_divided_among_the_programs_that_may_fill_it() {
    let table = embedded();
    let [a, b] = ["triad", "hash-join"].map(|name| table.find(name).unwrap());
    let mut scorer = Scorer::new(table, &[a, b], table.ways(), None);
    // Way 0 is a's, way 1 both's, way 2 b's; the shared one comes when a has one way and b none.
    scorer.score(&[WayMask::from_bits(0b011), WayMask::from_bits(0b110)]).unwrap();
    let (of_a, of_b) = (pressure(table, a, 1), pressure(table, b, 0));
    let shared = of_a / (of_a + of_b);
    let occupancy = scorer.occupancy();
    assert!((occupancy[0] - (1.0 + shared)).abs() < 1e-12, "{occupancy:?}");
    assert!((occupancy[1] - (2.0 - shared)).abs() < 1e-12, "{occupancy:?}");
}

#[test]
fn one_mask_within_another() {
    let table = embedded();
    let mix: Vec<usize> =
        ["hash-join", "triad", "chess"].map(|name| table.find(name).unwrap()).to_vec();
    let full = WayMask::full(table.ways());
    let mut scorer = Scorer::new(table, &mix, table.ways(), None);
    let mut slowdown = |triad| scorer.score(&[full, triad, full]).unwrap()[0];
    // A streaming program confined to some ways leaves the others to the one that may fill them
    // all.
    let confined = [1, 5, 10].map(|ways| slowdown(WayMask::span(0, ways)));
    let free = slowdown(full);
    assert!(confined.iter().all(|&confined| confined < 1.01) && free > 1.3, "{confined:?} {free}");
}

/// Disjoint clusters do not affect each other, whatever the position of their ways.
#[test]
fn without_overlap_only_the_width_counts() {
    let table = embedded();
    let mix: Vec<usize> = (0..6).map(|number| number * 5).collect();
    let mut scorer = Scorer::new(table, &mix, table.ways(), None);
    let disjoint = [[0x0000f, 0xffff0], [0xf0000, 0x0ffff], [0x88880, 0x7777f]];
    let [low, high, scattered] = disjoint.map(|masks| {
        let masks: Vec<_> = (0..6).map(|app| WayMask::from_bits(masks[app % 2])).collect();
        scorer.score(&masks).unwrap().to_vec()
    });
    for (app, slowdown) in low.iter().enumerate() {
        assert!((slowdown - high[app]).abs() < 1e-12, "{low:?} {high:?}");
        assert!((slowdown - scattered[app]).abs() < 1e-12, "{low:?} {scattered:?}");
    }
}
