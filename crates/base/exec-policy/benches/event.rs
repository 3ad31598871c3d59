//! What an event costs a policy that is a program, and one that is compiled in.
//!
//! - `compiled in`: `ucp`, which ignores windows.
//! - `program`: a compiled program that reads each event as text and answers nothing.
//! - `python`: `examples/ucp.py`, which reads each event as JSON.
//!
//! Prints CSV: microseconds for each window, the mean of a round.

#![allow(clippy::print_stdout)]

use std::io::{BufRead as _, Write as _};
use std::time::{Duration, Instant};

use fairways_core::{AppId, Counters, Event, Sample, Time};

const ROUNDS: usize = 7;
const EVENTS: u32 = 5000;

/// Answers every line, as the simplest policy does.
fn answer() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let is_question = line.expect("a line").contains("\"describe\"");
        let answer = if is_question { "{\"describe\":{}}" } else { "{\"actions\":[]}" };
        writeln!(out, "{answer}").expect("a reader");
        out.flush().expect("a reader");
    }
}

fn main() {
    if std::env::args().any(|argument| argument == "answer") {
        return answer();
    }
    let this = std::env::current_exe().expect("a path");
    let this = format!("exec:{} answer", this.display());
    let python = concat!("exec:", env!("CARGO_MANIFEST_DIR"), "/examples/ucp.py");
    let subjects = [("compiled in", "ucp"), ("program", &*this), ("python", python)];
    let sample = Event::Sampled(Sample {
        app: AppId(0),
        counters: Counters {
            instructions: Some(100_000_000),
            cycles: Some(120_000_000),
            llc_misses: Some(123_456),
            ..Counters::default()
        },
        occupancy: None,
        window: Duration::from_millis(100),
        plan: None,
        straddled: false,
        occupancy_at_least: None,
    });
    println!("policy,round,us_per_event");
    for round in 1..=ROUNDS {
        for (name, policy) in subjects {
            let descriptor = fairways_exec_policy::described(policy, false).expect("a policy");
            let mut policy = descriptor.make(&[]).policy;
            let mut start = Instant::now();
            for number in 0..=EVENTS {
                // The first event starts the program.
                if number == 1 {
                    start = Instant::now();
                }
                let at = Time::ZERO.after(Duration::from_millis(number.into()));
                policy.handle(at, &sample, &mut |_| ());
            }
            let each = start.elapsed().as_secs_f64() * 1e6 / f64::from(EVENTS);
            println!("{name},{round},{each:.3}");
        }
    }
    assert_eq!(fairways_exec_policy::faults().0, 0);
}
