//! The cost of decisions of CASC and cache-fair, and of scheduling on the chip.
//!
//! - `solve`: CASC's linear system of n CPUs and n + 1 threads; `assign`: its bucketization of 18
//!   threads, and of four times n.
//! - `regression`: a line through ten points, and through 64.
//! - `chip`: CASC's eighteen threads on its chip with the operating system's scheduler:
//!   instructions simulated per second, on one thread.
//!
//! Prints CSV: ns, the mean of a round; of `chip`, instructions per second.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use fairways_chip::program::named;
use fairways_chip::{Chip, Job, Scheduling, Settings, preset};
use fairways_core::{NoPolicy, Q32, Time, run};
use fairways_policy::casc::{Parameters, buckets};
use fairways_policy::regression::least_squares;
use fairways_policy::solve;

const ROUNDS: u32 = 21;

fn main() {
    println!("bench,size,round,value");
    for cpus in [4, 8, 32] {
        let rows: Vec<Vec<i64>> =
            (0..=cpus).map(|out| (0..=cpus).map(|at| i64::from(at != out)).collect()).collect();
        let right: Vec<i64> = (0..=cpus).map(|row| (cpus * (20 + row % 7)) << 32).collect();
        bench("solve", cpus, || assert!(solve(black_box(&rows), black_box(&right)).is_some()));
    }
    for (threads, cpus) in [(18, 8), (32, 8), (128, 32)] {
        let pcmrs: Vec<Q32> = (0..threads).map(|one| Q32::from_int(5 + 40 * (one % 3))).collect();
        let parameters = Parameters::default();
        bench("assign", i64::from(threads), || {
            black_box(buckets::assign(black_box(&pcmrs), cpus, &parameters));
        });
    }
    for points in [10, 64] {
        let all: Vec<(i64, i64)> = (0..points).map(|x| (x << 20, (x * x % 7) << 24)).collect();
        bench("regression", points, || {
            black_box(least_squares(black_box(&all).iter().copied()));
        });
    }
    for round in 1..=7 {
        println!("chip,18,{round},{:.3e}", chip());
    }
}

fn bench(name: &str, size: i64, what: impl Fn()) {
    const TIMES: u32 = 100;
    for round in 1..=ROUNDS {
        let start = Instant::now();
        (0..TIMES).for_each(|_| what());
        let nanos = start.elapsed().as_nanos() as f64 / f64::from(TIMES);
        println!("{name},{size},{round},{nanos:.0}");
    }
}

/// Instructions per second over 60 simulated milliseconds, after 20.
fn chip() -> f64 {
    let chip = preset::preset("t1").expect("a preset");
    let settings = Settings { scheduler: Some(Scheduling::default()), ..Settings::new(chip) };
    let names = ["art-like", "twolf-like", "berkeley-db-like"];
    let job = |thread: usize| Job::new(named(names[thread % 3]).expect("a program"));
    let mut chip = Chip::new(settings, (0..18).map(job)).expect("a chip");
    fn to(millis: u64, chip: &mut Chip) -> u64 {
        chip.stop_at(Time::from_nanos(millis * 1_000_000));
        run(chip, &mut NoPolicy, &mut []);
        (0..18).map(|job| chip.account(job).instructions).sum::<u64>()
    }
    let before = to(20, &mut chip);
    let start = Instant::now();
    let after = to(80, &mut chip);
    (after - before) as f64 / start.elapsed().as_secs_f64()
}
