//! The guest's side of the tests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use fairways_sched_ext::{Scheduler, Settings};

use crate::threads::{HANG, Worker, is_under_ext, state, wait_for};
use crate::{beside, loader, masks, shares, watch};

/// All of the guest's CPUs.
pub(crate) const ALL: u64 = 0b1111;

/// The guest's side; on any other machine it has nothing to do.
#[test]
#[ignore = "for the guest"]
fn side() {
    if loader::is_one() {
        return;
    }
    let only = std::env::var("FAIRWAYS_ONLY").unwrap_or_default();
    let checks: [(&str, fn()); 18] = [
        ("loads", loads),
        ("shares", shares::follow_orders),
        ("weights", shares::follow_weights),
        ("apart", shares::apart),
        ("crowds", shares::a_crowd_elsewhere_leaves_a_quarter_of_the_rate),
        ("orders", shares::long_orders),
        ("raised", shares::raised_go_first),
        ("watch", watch::reports_turns),
        ("beside", beside::others_run_too),
        ("forks", beside::children_come_and_go),
        ("not-raised", beside::children_are_not_raised),
        ("room", beside::threads_without_room_are_counted),
        ("hotplug", beside::a_cpu_goes_and_returns),
        ("stopped", loader::stopped),
        ("killed", loader::killed),
        ("running", masks::of_a_running_thread),
        ("masks", masks::are_kept),
        ("few-sets", masks::are_kept_with_few_queues),
    ];
    let mut failed = 0;
    for (name, check) in checks {
        if !only.is_empty() && !only.split(',').any(|one| one == name) {
            continue;
        }
        let since = Instant::now();
        let held = catch_unwind(AssertUnwindSafe(check)).is_ok();
        let seconds = since.elapsed().as_secs_f64();
        failed += u32::from(!held);
        print(&format!("{} {name} ({seconds:.1} s)", if held { "held" } else { "FAILED" }));
    }
    assert_eq!(failed, 0);
}

pub(crate) fn print(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A busy machine under emulation stalls now and then.
pub(crate) fn settings() -> Settings {
    Settings { stall: Duration::from_secs(20), ..Settings::default() }
}

pub(crate) fn load(settings: &Settings) -> Scheduler {
    assert!(wait_for(HANG, || state() == "disabled"), "{}", state());
    match Scheduler::load(settings) {
        Ok(scheduler) => scheduler,
        Err(error) => panic!("{error}"),
    }
}

/// Adds threads, by their places, and puts them under the scheduler.
pub(crate) fn take(scheduler: &Scheduler, workers: &[Worker]) {
    for (key, worker) in (0u32..).zip(workers) {
        scheduler.add(worker.tid, key).unwrap();
        scheduler.enter(worker.tid).unwrap();
    }
}

/// The verifier accepts the programs, threads come under the scheduler, run, and are given back
/// when it goes.
fn loads() {
    let since = Instant::now();
    let scheduler = load(&settings());
    print(&format!("loaded in {} ms", since.elapsed().as_millis()));
    assert_eq!(state(), "enabled");
    let workers: Vec<Worker> = (0..6).map(|_| Worker::spins()).collect();
    assert!(!workers.iter().any(|worker| is_under_ext(worker.tid)));
    take(&scheduler, &workers);
    assert!(workers.iter().all(|worker| is_under_ext(worker.tid)));
    let before: Vec<u64> = workers.iter().map(Worker::rounds).collect();
    assert!(
        wait_for(Duration::from_secs(10), || workers
            .iter()
            .zip(&before)
            .all(|(worker, before)| worker.rounds() > *before)),
        "a thread stood still"
    );
    let another = Scheduler::load(&settings()).map(drop).unwrap_err().to_string();
    assert!(another.contains("the sched_ext scheduler fairways is loaded"), "{another}");
    assert_eq!(scheduler.ended(), None);
    drop(scheduler);
    assert!(wait_for(Duration::from_secs(2), || state() == "disabled"));
    assert!(!workers.iter().any(|worker| is_under_ext(worker.tid)));
}
