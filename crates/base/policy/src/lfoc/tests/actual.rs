//! What a machine makes of plans: decision LFOC 23.

use fairways_core::{Event, Llc, Partition, PlanId, Q32, WayMask, Ways};

use super::bench::{Bench, light, sensitive};
use crate::lfoc::{Class, Parameters};
use crate::words::CRITICAL_SIZE;

const LLC: Llc = Llc::with_ways(Ways::new(12).unwrap());

/// A machine that gives the first of two clusters an even number of ways, and the other one the
/// rest.
fn even(planned: &Partition) -> Partition {
    let [Some(own), Some(_)] = [0, 1].map(|cluster| planned.mask(cluster)) else {
        return planned.clone();
    };
    let ways = own.count().next_multiple_of(2).min(10);
    let mut actual = Partition::default();
    actual.add_cluster(WayMask::span(0, ways));
    actual.add_cluster(WayMask::span(ways, 12 - ways));
    planned.placements().iter().for_each(|place| actual.place(place.app, place.cluster));
    actual
}

/// A machine that has only one class of service, which it does not say.
fn together(planned: &Partition) -> Partition {
    let mut actual = Partition::default();
    let all = actual.add_cluster(WayMask::full(LLC.ways));
    actual.place_all(planned.placements().iter().map(|place| place.app), all..=all);
    actual
}

#[test]
fn a_size_is_what_the_program_had() {
    let mut bench = Bench::new(Parameters::default(), LLC);
    bench.makes = Some(even);
    bench.start(0, sensitive);
    bench.start(1, light);
    bench.windows(0, 3);
    assert_eq!((bench.sampled(), bench.ways(0)), (Some(0), 2), "one was planned");
    bench.sample_all();
    assert_eq!(bench.class(0), Some(Class::Sensitive));
    // With five planned it had six, its critical size, and with three planned four.
    assert_eq!(bench.numbers[&(0, CRITICAL_SIZE.text())], Q32::from_int(6));
}

#[test]
fn a_program_that_is_not_alone_is_not_sampled() {
    let mut bench = Bench::new(Parameters::default(), LLC);
    bench.makes = Some(together);
    bench.start(0, sensitive);
    bench.start(1, light);
    bench.windows(0, 3);
    assert_eq!((bench.sampled(), bench.class(0)), (None, None));
    // Tried again after another warm-up, as where the plan is refused.
    let plans = bench.plans;
    bench.windows(0, 2);
    assert_eq!(bench.plans, plans);
    bench.makes = None;
    bench.window(0);
    assert_eq!(bench.sampled(), Some(0));
    // Others are let in while it is sampled.
    let actual = together(&bench.partition);
    bench.report(&Event::Applied { plan: PlanId(bench.plans - 1), actual });
    assert_eq!(bench.policy.sampling(), None);
}
