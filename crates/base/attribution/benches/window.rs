//! What taking in a window costs, in ns, by the number of programs.
//!
//! `cargo bench -p fairways-attribution`

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::time::{Duration, Instant};

use fairways_attribution::{Attribution, MemoryLatency};
use fairways_core::{AppId, Counters, Event, Llc, Q32, Sample, Time, Ways, Wish};

const ROUNDS: u32 = 2000;

fn main() {
    for programs in [4, 16, 64] {
        let latency = Some(MemoryLatency { llc: 50, memory: 200 });
        let mut all = Attribution::new(latency, Time::ZERO);
        all.handle(Time::ZERO, &Event::Machine(Llc::with_ways(Ways::new(20).unwrap()).into()));
        for app in (0..programs).map(AppId) {
            let (wish, profile) = (Wish::default(), None);
            all.handle(Time::ZERO, &Event::Started { app, wish, profile });
        }
        let windows: Vec<Event> = (0..programs).map(window).collect();
        let mut fastest = Duration::MAX;
        for round in 1..=ROUNDS {
            let at = Time::from_nanos(u64::from(round) * 100_000_000);
            let start = Instant::now();
            windows.iter().for_each(|window| all.handle(at, window));
            fastest = fastest.min(start.elapsed() / programs);
        }
        let start = Instant::now();
        let blamed = all.losses().filter(|&loss| all.worst_culprit(loss).is_some()).count();
        let read = start.elapsed() / programs;
        println!("{programs} programs: {fastest:?} for a window, {read:?} for a loss ({blamed})");
    }
}

fn window(app: u32) -> Event {
    let misses = 1_000_000 + u64::from(app);
    let counters = Counters {
        instructions: Some(100_000_000),
        cycles: Some(200_000_000),
        llc_references: Some(2 * misses),
        llc_misses: Some(misses),
        stalls_l2_miss: Some(80 * misses),
        stalls_llc_miss: Some(60 * misses),
        memory_bytes: Some(64 * misses),
        ..Counters::default()
    };
    let (app, occupancy) = (AppId(app), Some(Q32::from_raw(1 << 30)));
    let window = Duration::from_millis(100);
    Event::Sampled(Sample { occupancy, ..Sample::new(app, counters, window) })
}
