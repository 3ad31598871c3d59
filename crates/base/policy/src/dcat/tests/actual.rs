//! Machines that change plans: decision dCat 25.

use fairways_core::{AppId, Partition, WayMask};

use super::bench::Bench;
use super::programs::{FITS, HUNGRY};

/// A machine that gives the first program an even number of ways from the lowest on, and takes the
/// additional ways from another program that has more than one.
fn even(planned: &Partition) -> Partition {
    let ways = [0, 1].map(|app| planned.mask_of(AppId(app)).map(WayMask::count));
    let [Some(own), Some(other)] = ways else { return planned.clone() };
    let own = own.next_multiple_of(2).min(18);
    let other = other.min(20 - own);
    let mut actual = Partition::default();
    for (app, mask) in [(0, WayMask::span(0, own)), (1, WayMask::span(own, other))] {
        let cluster = actual.add_cluster(mask);
        actual.place(AppId(app), cluster);
    }
    actual
}

#[test]
fn ipc_counts_for_the_ways_that_a_workload_had() {
    let mut bench = Bench::with(20, &[(3, HUNGRY), (3, FITS)]);
    bench.makes = Some(even);
    bench.rounds(12);

    // The baseline is what the machine makes of it, and no other odd number was ever had.
    let known = |ways| bench.knows(0, ways);
    assert!([3, 6, 8].into_iter().all(known), "{:?}", bench.is(0));
    assert!(![5, 7, 9, 11].into_iter().any(known));
    // A way that came to nothing did not stop it: it gains by every one that comes.
    assert!(bench.ways(0) >= 12, "{:?}", bench.is(0));
}
