//! No CPU is left idle because of late measurements (§4.3.1; decisions CASC 6 and 8).

use core::time::Duration;

use super::bench::Bench;
use crate::casc::Parameters;

fn quick() -> Parameters {
    Parameters { initial_limit: Duration::from_millis(100), ..Parameters::default() }
}

/// Fewer threads than CPUs: a thread that is a little less greedy than the known ones needs no
/// bucket of its own, and yet they may not all wait for one CPU.
#[test]
fn threads_fewer_than_cpus_can_all_run_at_once() {
    for (cpus, truth) in [(4, [60, 55, 55]), (8, [60, 55, 50])] {
        let mut bench = Bench::with(cpus, &truth[..1], quick());
        for _ in 0..4 {
            bench.ran(&[0], 2000);
        }
        bench.wake_after(Duration::from_millis(100));
        for (app, rate) in (1..).zip(&truth[1..]) {
            bench.start(*rate);
            for _ in 0..4 {
                bench.ran(&[app], 2000);
            }
        }
        // Sets are nested: the one with the fewest CPUs takes the first, and so on.
        let mut allowed = [0, 1, 2].map(|app| bench.allowed(app).len());
        allowed.sort_unstable();
        assert!((1..).zip(allowed).all(|(place, cpus)| cpus >= place), "{cpus} CPUs: {allowed:?}");
    }
}

/// A thread whose turn to be measured again has come is not measured while the other CPUs need it.
#[test]
fn measuring_again_idles_no_cpu() {
    let every = Duration::from_millis(250);
    let mut bench =
        Bench::with(4, &[10, 60, 60, 10, 10], Parameters { remeasure_every: every, ..quick() });
    bench.rows(&[0, 1, 2, 3, 4]);
    for _ in 0..10 {
        bench.wake_after(every);
        let elsewhere = (0..5).filter(|&app| bench.allowed(app).iter().any(|&cpu| cpu > 0));
        assert!(elsewhere.count() >= 3);
    }
}
