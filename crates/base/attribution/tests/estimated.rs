//! Occupancies that no machine reports, on a cache of 8 ways of 1000 lines.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use fairways_attribution::Attribution;
use fairways_core::{AppId, Counters, Event, Llc, PlanId, Q32, Sample, Time, Ways, Wish};

const WINDOW: Duration = Duration::from_millis(10);

/// Programs with so many references and misses a window, after so many windows each.
fn occupancies(programs: &[(u64, u64)], windows: u32) -> Vec<f64> {
    let mut of = Attribution::new(None, Time::ZERO).estimating(1000);
    of.handle(Time::ZERO, &Event::Machine(Llc::with_ways(Ways::new(8).unwrap()).into()));
    let apps: Vec<(AppId, &(u64, u64))> = (0..).map(AppId).zip(programs).collect();
    for &(app, _) in &apps {
        of.handle(Time::ZERO, &Event::Started { app, wish: Wish::default(), profile: None });
    }
    for number in 1..=windows {
        for &(app, &(references, misses)) in &apps {
            let (llc_references, llc_misses) = (Some(references), Some(misses));
            let counters = Counters { llc_references, llc_misses, ..Counters::default() };
            let at = Time::ZERO.after(WINDOW * number);
            let plan: Option<PlanId> = None;
            let sample = Sample { plan, ..Sample::new(app, counters, WINDOW) };
            of.handle(at, &Event::Sampled(sample));
        }
    }
    apps.iter()
        .map(|&(app, _)| of.occupancy(app).unwrap_or_default().raw() as f64 / Q32::ONE.raw() as f64)
        .collect()
}

fn near(found: &[f64], expected: &[f64], off: f64) {
    let all = found.iter().zip(expected);
    assert!(all.clone().all(|(one, other)| (one - other).abs() <= off), "{found:?}");
}

#[test]
fn until_the_cache_is_full_programs_have_what_they_brought_in() {
    near(&occupancies(&[(500, 500), (100, 100)], 4), &[2.0, 0.4], 1e-6);
}

#[test]
fn programs_that_never_hit_share_a_full_cache_by_what_they_bring_in() {
    near(&occupancies(&[(3000, 3000), (1000, 1000)], 500), &[6.0, 2.0], 0.05);
    // Also if the cache turns over many times in a window.
    near(&occupancies(&[(3_000_000, 3_000_000), (1_000_000, 1_000_000)], 500), &[6.0, 2.0], 0.05);
}

#[test]
fn a_program_that_hits_its_lines_keeps_them_beside_one_that_streams() {
    // It brings in a tenth of what the other does, and hits each line three times while the other's
    // lines last.
    let [hits, streams] = occupancies(&[(20_000, 100), (1000, 1000)], 500)[..] else { panic!() };
    assert!(hits > 2.0 * streams && (hits + streams - 8.0).abs() < 0.05, "{hits} {streams}");
}

#[test]
fn a_window_without_misses_leaves_the_estimate_as_it_was() {
    let mut of = Attribution::new(None, Time::ZERO).estimating(1000);
    of.handle(Time::ZERO, &Event::Machine(Llc::with_ways(Ways::new(8).unwrap()).into()));
    let app = AppId(0);
    of.handle(Time::ZERO, &Event::Started { app, wish: Wish::default(), profile: None });
    for (number, llc_misses) in [(1, Some(3000)), (2, None), (3, Some(500))] {
        let counters = Counters { llc_misses, llc_references: Some(9000), ..Counters::default() };
        let sample = Sample::new(app, counters, WINDOW);
        of.handle(Time::ZERO.after(WINDOW * number), &Event::Sampled(sample));
    }
    assert_eq!(of.occupancy(app).map(|of| (of.raw() * 2) >> 32), Some(7));
}

#[test]
fn without_a_size_of_ways_nothing_is_estimated() {
    let mut of = Attribution::new(None, Time::ZERO);
    of.handle(Time::ZERO, &Event::Machine(Llc::with_ways(Ways::new(8).unwrap()).into()));
    let app = AppId(0);
    of.handle(Time::ZERO, &Event::Started { app, wish: Wish::default(), profile: None });
    let counters = Counters { llc_misses: Some(1), ..Counters::default() };
    let sample = Sample::new(app, counters, WINDOW);
    of.handle(Time::ZERO.after(WINDOW), &Event::Sampled(sample));
    assert_eq!(of.occupancy(app), None);
}
