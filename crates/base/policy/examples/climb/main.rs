//! Reports to `climb` (docs/own-policy.md) a cache of eight ways, two programs, and windows in
//! which the second misses less the more ways it has; prints the plans.

#![allow(clippy::print_stdout)]

pub(crate) mod policy;

use std::time::Duration;

use fairways_core::{
    Action, AppId, Counters, Event, Llc, PlanId, Policy, Sample, Time, Ways, Wish,
};

/// A window of a million cycles in which the program has this many misses.
fn window(app: u32, llc_misses: u64) -> Event {
    let counters =
        Counters { cycles: Some(1_000_000), llc_misses: Some(llc_misses), ..Counters::default() };
    let plan = Some(PlanId(0));
    let window = Duration::from_millis(500);
    Event::Sampled(Sample { plan, ..Sample::new(AppId(app), counters, window) })
}

/// The plans, one on each line.
pub(crate) fn plans() -> String {
    let ways = Ways::new(8).unwrap_or_else(|| unreachable!("8 is a number of ways"));
    let started = |app| Event::Started { app: AppId(app), wish: Wish::default(), profile: None };
    let mut events = vec![Event::Machine(Llc::with_ways(ways).into()), started(0), started(1)];
    for misses in [9000, 6000, 4000, 3990, 4000] {
        events.extend([window(0, 1000), window(1, misses)]);
    }
    let mut policy = policy::Climb::default();
    let mut lines = String::new();
    for event in &events {
        policy.handle(Time::ZERO, event, &mut |action| {
            if let Action::Partition { plan, partition, reason } = action {
                let ways: Vec<u32> = partition.masks().map(|mask| mask.count()).collect();
                lines += &format!("plan {}: {ways:?} ({reason})\n", plan.0);
            }
        });
    }
    lines
}

fn main() {
    print!("{}", plans());
}
