//! Machines that change plans: decision dCat 25.

use fairways_core::{AppId, Partition, WayMask};

use super::bench::Bench;
use super::programs::{FITS, HUNGRY};

/// A machine that gives the first program an even number of ways from the lowest on, and takes the
/// additional ways from another program that has more than one.
fn even(planned: &Partition) -> Partition {
    let ways = |app: u32| planned.mask_of(AppId(app)).map(WayMask::count);
    let (Some(own), Some(other)) = (ways(0), ways(1)) else { return planned.clone() };
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
    let has = |ways| bench.policy.normalised_ipc(AppId(0), ways).is_some();
    // The baseline is what the machine makes of it, and no other odd number was ever had.
    assert!(has(3) && has(6) && has(8), "{:?}", bench.is(0));
    assert!(![5, 7, 9, 11].into_iter().any(has));
    // A way that came to nothing did not stop it: it gains by every one that comes.
    assert!(bench.ways(0) >= 12, "{:?}", bench.is(0));
}
