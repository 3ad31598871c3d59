//! Light programs come and go: what was decided about the others stays.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::bench::{Behaviour, Bench, Does, LLC, light, sensitive, streaming};
use crate::lfoc::Parameters;

/// A policy that has seen no other programs than these, which start in this order.
fn fresh(parameters: &Parameters, programs: &[(u32, Behaviour)]) -> Bench {
    let mut bench = Bench::new(*parameters, LLC);
    for &(app, does) in programs {
        bench.start_known(app, does);
    }
    bench
}

#[track_caller]
fn assert_same(seen: &Bench, programs: &[(u32, Behaviour)], parameters: &Parameters) {
    let fresh = fresh(parameters, programs);
    assert_eq!(seen.partition, fresh.partition);
    assert_eq!(seen.reason, fresh.reason);
    assert_eq!((&seen.classes, &seen.numbers), (&fresh.classes, &fresh.numbers));
}

/// The program whose class was sampled as light leaves while it is sampled again: the plan before
/// that was of sampling mode.
#[test]
fn the_plan_of_sampling_mode_is_not_kept() {
    let mut bench = fresh(&Parameters::default(), &[(0, sensitive), (1, sensitive)]);
    bench.start(2, light);
    bench.windows(2, 3);
    bench.sample_all();
    bench.windows(2, 5);
    assert_eq!(bench.sampled(), None);
    bench.becomes(2, streaming);
    for _ in 0..20 {
        bench.window(2);
        if bench.sampled().is_some() {
            break;
        }
    }
    assert_eq!(bench.sampled(), Some(2));
    bench.exit(2);
    assert_same(&bench, &[(0, sensitive), (1, sensitive)], &Parameters::default());
}

/// Gains by every way up to nine.
fn gains_longer(ways: u32) -> Does {
    let few = u64::from(9_u32.saturating_sub(ways));
    Does { ipc: 1000 - 60 * few, llcmpkc: 3 + 2 * few, stalls: 200 + 30 * few }
}

proptest! {
    #[test]
    fn a_plan_does_not_depend_on_what_ran_before(
        events in prop::collection::vec((0usize..5, 0usize..12), 1..40),
        pairs: bool,
    ) {
        let parameters = if pairs { Parameters::plus() } else { Parameters::default() };
        let mut bench = Bench::new(parameters, LLC);
        let mut running: Vec<(u32, Behaviour)> = Vec::new();
        for (app, (kind, leaves)) in (0..).zip(events) {
            // More start than end until there are some.
            if leaves < running.len() {
                let (gone, _) = running.remove(leaves);
                bench.exit(gone);
            } else {
                let does: Behaviour = [sensitive, gains_longer, streaming, light, light][kind];
                running.push((app, does));
                bench.start_known(app, does);
            }
            if !running.is_empty() {
                assert_same(&bench, &running, &parameters);
            }
        }
    }
}
