//! The cost of a decision of dCat for 16 workloads on 20 ways, from the last window of a round to
//! the actions.
//!
//! - `steady`: nothing has changed; no plan.
//! - `phase`: a phase began in one workload: it claims its baseline, and there is a plan.
//! - `growth`: a Receiver gets the last spare way, and there is a plan.
//! - `performance`: the same under max-performance, with no spare way left: it goes through every
//!   table.
//!
//! Prints CSV: the median of rounds in ns; each decision in a round is made by another copy of the
//! policy.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use fairways_core::{Action, AppId, Counters, Event, Llc, Policy, Sample, Time, Ways, Wish};
use fairways_policy::dcat::{Dcat, Parameters, SpareWaysGoal};

const WORKLOADS: u32 = 16;
const COPIES: usize = 2000;
const ROUNDS: usize = 21;

fn main() {
    println!("bench,case,workloads,ways,round,ns");
    let fair = Parameters::default();
    let fast = Parameters { objective: SpareWaysGoal::MaxPerformance, ..fair };
    for (case, parameters, rounds, changes) in [
        ("steady", fair, 12, false),
        ("phase", fair, 12, true),
        ("growth", fair, 1, false),
        ("performance", fast, 5, false),
    ] {
        let (policy, at, last) = at_the_end_of(parameters, rounds, changes);
        let mut plans = 0;
        policy.clone().handle(at, &last, &mut |action| {
            plans += usize::from(matches!(action, Action::Partition { .. }));
        });
        assert_eq!(plans, usize::from(matches!(case, "phase" | "growth")), "{case}");
        let mut copies: Vec<Dcat> = Vec::with_capacity(COPIES);
        for round in 0..ROUNDS {
            copies.clear();
            copies.extend(std::iter::repeat_n(&policy, COPIES).cloned());
            let start = Instant::now();
            for policy in &mut copies {
                policy.handle(at, black_box(&last), &mut |action| {
                    black_box(&action);
                });
            }
            let nanos = start.elapsed().as_nanos() as f64 / COPIES as f64;
            println!("dcat,{case},{WORKLOADS},20,{round},{nanos:.0}");
        }
    }
}

/// A workload in a round; with `changed` it begins a phase.
fn sample(app: u32, ways: u32, changed: bool) -> Event {
    // The first three gain by each way, the others hit.
    let gains = app < 3;
    let instructions = 1_000_000_000 + if gains { 200_000_000 * u64::from(ways.min(4)) } else { 0 };
    let counters = Counters {
        instructions: Some(instructions),
        cycles: Some(2_000_000_000),
        l1_references: Some(instructions / if changed { 3 } else { 4 }),
        llc_references: Some(instructions / 100),
        llc_misses: Some(if gains { instructions / 400 } else { 0 }),
        ..Counters::default()
    };
    let app = AppId(app);
    let window = Duration::from_secs(1);
    Event::Sampled(Sample::new(app, counters, window))
}

/// The policy after `rounds` rounds and all windows of the next but the last, which is returned.
fn at_the_end_of(parameters: Parameters, rounds: u32, changes: bool) -> (Dcat, Time, Event) {
    let mut policy = Dcat::new(parameters);
    let llc = Llc::with_ways(Ways::new(20).expect("20 is from 1 to 32"));
    let mut ways = vec![1u32; WORKLOADS as usize];
    let mut notify = |at: Time, event: &Event, ways: &mut [u32]| {
        policy.handle(at, event, &mut |action| {
            if let Action::Partition { partition, .. } = action {
                for (app, slot) in (0..).map(AppId).zip(ways.iter_mut()) {
                    *slot = partition.mask_of(app).map_or(1, |mask| mask.count());
                }
            }
        });
    };
    notify(Time::ZERO, &Event::Machine(llc.into()), &mut ways);
    for app in (0..WORKLOADS).map(AppId) {
        let wish = Wish { baseline_ways: Some(1), ..Wish::default() };
        notify(Time::ZERO, &Event::Started { app, wish, profile: None }, &mut ways);
    }
    let mut at = Time::ZERO;
    for round in 0..=rounds {
        at = at.after(parameters.period);
        let reported = if round < rounds { WORKLOADS } else { WORKLOADS - 1 };
        for app in 0..reported {
            let event = sample(app, ways[app as usize], changes && round == rounds && app == 0);
            notify(at, &event, &mut ways);
        }
    }
    let last = sample(WORKLOADS - 1, ways[WORKLOADS as usize - 1], false);
    (policy, at, last)
}
