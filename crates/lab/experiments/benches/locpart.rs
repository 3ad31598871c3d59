//! The cost of a decision of Locpart, from the end of a period to the actions, with the latencies
//! of the last window of every service in it.
//!
//! - `hold`: one service and a batch program, 1000 requests in each window of the last ten; nothing
//!   changes.
//! - `miss`: the same, and the service claims a way.
//! - `services`: eight services and eight batch programs, 1000 requests in each window; nothing
//!   changes.
//! - `busy`: one service that answered 100 000 requests, all differently long to three digits.
//!
//! Prints CSV: the median of rounds in ns; each decision in a round is made by another copy of the
//! policy.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use fairways_core::{
    Action, AppId, Event, Latencies, LatencyBin, Llc, Objective, Policy, Q32, Time, Ways, Wish,
};
use fairways_policy::locpart::{Locpart, Parameters};

const COPIES: usize = 200;
const ROUNDS: usize = 21;
const PERIODS: u32 = 30;

/// A case: services, batch programs, values of latency in a window, requests of each, and the
/// shortest latency of the last window in microseconds; the objective is 2 ms.
type Case = (&'static str, u32, u32, u32, u64, u64);

fn main() {
    println!("bench,case,services,batch,values,round,ns");
    let cases: [Case; 4] = [
        ("hold", 1, 1, 1000, 1, 10),
        ("miss", 1, 1, 1000, 1, 2500),
        ("services", 8, 8, 1000, 1, 10),
        ("busy", 1, 1, 10_000, 10, 10),
    ];
    for (case, services, batch, values, requests, last) in cases {
        let (policy, at, events) = ready(services, batch, values, requests, last);
        let decide = |policy: &mut Locpart, act: &mut dyn FnMut(Action<'_>)| {
            for event in &events {
                policy.handle(at, black_box(event), act);
            }
        };
        let mut plans = 0;
        decide(&mut policy.clone(), &mut |action| {
            plans += usize::from(matches!(action, Action::Partition { .. }));
        });
        assert_eq!(plans, usize::from(case == "miss"), "{case}");
        let mut copies: Vec<Locpart> = Vec::with_capacity(COPIES);
        for round in 0..ROUNDS {
            copies.clear();
            copies.extend(std::iter::repeat_n(&policy, COPIES).cloned());
            let start = Instant::now();
            for policy in &mut copies {
                decide(policy, &mut |action| {
                    black_box(&action);
                });
            }
            let nanos = start.elapsed().as_nanos() as f64 / COPIES as f64;
            println!("locpart,{case},{services},{batch},{values},{round},{nanos:.0}");
        }
    }
}

/// A policy at the end of a period, and the events that it handles then: windows, and the alarm.
fn ready(
    services: u32,
    batch: u32,
    values: u32,
    requests: u64,
    last: u64,
) -> (Locpart, Time, Vec<Event>) {
    // At the objective's edge no way is given away; the margin rule then holds the ways.
    let parameters = Parameters { util_th: Q32::default(), ..Parameters::default() };
    let mut policy = Locpart::new(parameters);
    let llc = Llc::with_ways(Ways::new(20).expect("20 is from 1 to 32"));
    let objective = Objective { slo: Duration::from_millis(2), percentile: Q32::from_int(99) };
    let mut ignore = |_: Action<'_>| ();
    policy.handle(Time::ZERO, &Event::Machine(llc.into()), &mut ignore);
    for app in 0..services + batch {
        let wish = Wish { objective: (app < services).then_some(objective), ..Wish::default() };
        let started = Event::Started { app: AppId(app), wish, profile: None };
        policy.handle(Time::ZERO, &started, &mut ignore);
    }
    let mut at = Time::ZERO;
    for period in 1..=PERIODS {
        at = at.after(parameters.t_sched);
        let shortest = Duration::from_micros(if period < PERIODS { 10 } else { last });
        let answered = (0..values).map(|value| LatencyBin {
            latency: shortest + Duration::from_nanos(137) * value,
            requests,
        });
        let answered: Vec<LatencyBin> = answered.collect();
        let windows = (0..services).map(|app| {
            let (app, window) = (AppId(app), parameters.t_sched);
            Event::Latency(Latencies { app, window, answered: answered.clone() })
        });
        let events: Vec<Event> = windows.chain([Event::Woke]).collect();
        if period == PERIODS {
            return (policy, at, events);
        }
        events.iter().for_each(|event| policy.handle(at, event, &mut ignore));
    }
    (policy, at, Vec::new())
}
