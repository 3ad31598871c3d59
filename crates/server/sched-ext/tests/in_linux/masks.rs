//! Allowed CPUs.

use std::thread;
use std::time::{Duration, Instant};

use fairways_sched_ext::{Records, Settings};

use crate::guest::{ALL, load, print, settings, take};
use crate::judge::Judge;
use crate::threads::{HANG, Worker, spin, wait_for};

/// The number of switches to judge; and where the queues are few.
const SWITCHES: u64 = 200_000;
const SWITCHES_WITH_FEW: u64 = 60_000;

/// 64 threads that go on and off their CPUs all the time, each confined in another way now and
/// then, by the policy or by its owner, and sometimes all at once: once a mask is reported to be in
/// force, there is not one switch to a CPU that is not allowed, in two hundred thousand to threads
/// that may not be everywhere.
pub(crate) fn are_kept() {
    keep(&settings(), SWITCHES);
}

/// The same where most sets of CPUs have no queue, and the few queues change hands all the time.
pub(crate) fn are_kept_with_few_queues() {
    keep(&Settings { sets: 2, ..settings() }, SWITCHES_WITH_FEW);
}

fn keep(settings: &Settings, switches: u64) {
    let mut scheduler = load(settings);
    let judge = Judge::new(ALL);
    let workers: Vec<Worker> = (0..64u32).map(worker).collect();
    take(&scheduler, &workers);
    for worker in &workers {
        judge.expect(worker.tid, ALL);
    }
    let mut confined = [Confined { allowed: ALL, owners: ALL }; 64];
    let (mut seed, mut changes, mut late, mut owners, mut bursts) = (1u64, 0u32, 0u32, 0u32, 0u32);
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let since = Instant::now();
    let mut records = Records::default();
    while judge.verdict().confined < switches {
        assert!(since.elapsed() < HANG * 3, "{:?}", judge.verdict());
        // All at once now and then: then many masks must be made while all wait.
        let burst = changes % 256 == 255;
        let which =
            if burst { 0..64 } else { usize::try_from(random(64)).map(|i| i..i + 1).unwrap() };
        bursts += u32::from(burst);
        let mut leaving = Vec::new();
        for index in which {
            let thread = workers[index].tid;
            let old = confined[index].cpus();
            let by_owner = random(4) == 0;
            // Any but none; all CPUs is a mask that an owner returns to.
            let mask = 1 + random(if by_owner { ALL } else { ALL - 1 });
            *(if by_owner { &mut confined[index].owners } else { &mut confined[index].allowed }) =
                mask;
            judge.expect(thread, old | confined[index].cpus());
            let done = if by_owner {
                owners += 1;
                affine(thread, mask);
                scheduler.is_in_force(thread).unwrap()
            } else {
                scheduler.allow(thread, &[mask]).unwrap()
            };
            changes += 1;
            if done {
                judge.expect(thread, confined[index].cpus());
            } else {
                leaving.push(index);
            }
        }
        for index in leaving {
            late += 1;
            let thread = workers[index].tid;
            let off = wait_for(HANG, || scheduler.is_in_force(thread).unwrap());
            assert!(off, "a thread did not leave a CPU");
            judge.expect(thread, confined[index].cpus());
        }
        scheduler.turns(&mut records).unwrap();
        if changes > 64 {
            thread::sleep(Duration::from_millis(5));
        }
    }
    let verdict = judge.verdict();
    let seconds = since.elapsed().as_secs_f64();
    print(&format!(
        "{verdict:?}, {changes} changes, {owners} of them the owner's, {bursts} bursts, {late} while it ran where it may not, in \
         {seconds:.1} s"
    ));
    assert_eq!(
        verdict.wrong,
        0,
        "thread {}, CPU {}",
        verdict.last_wrong >> 32,
        verdict.last_wrong & 63
    );
    let (thread, cpu) = (verdict.last_stayed >> 32, verdict.last_stayed & 63);
    assert_eq!(verdict.stayed, 0, "thread {thread} stayed on CPU {cpu}");
    assert!(verdict.switches >= verdict.confined && late > 0 && owners > 0 && bursts > 0);
    let before: Vec<u64> = workers.iter().map(Worker::rounds).collect();
    let since = Instant::now();
    let all_ran = wait_for(HANG, || {
        workers.iter().zip(&before).all(|(worker, before)| worker.rounds() > *before)
    });
    print(&format!("all ran within {:.1} s", since.elapsed().as_secs_f64()));
    assert!(all_ran, "a thread stood still");
    assert_eq!(scheduler.ended(), None);
    for worker in &workers {
        worker.stop();
    }
}

/// A thread runs by its owner's mask alone, as that has none of the allowed CPUs; then its owner,
/// on such a CPU, allows one. It still runs where it was, and the kernel's own threads come between
/// all the time; so a mask reported to be in force is tried at once.
pub(crate) fn of_a_running_thread() {
    const OWNERS: u64 = 0b10;
    const BOTH: u64 = 0b11;
    const ALLOWED: u64 = 0b01;
    affine(0, ALLOWED);
    let scheduler = load(&settings());
    let judge = Judge::new(ALL);
    let worker = Worker::spins();
    judge.expect(worker.tid, ALL);
    let between = Worker::new(|| thread::sleep(Duration::from_micros(100)));
    affine(between.tid, OWNERS);
    take(&scheduler, std::slice::from_ref(&worker));
    scheduler.allow(worker.tid, &[ALLOWED]).unwrap();
    let in_force = || scheduler.is_in_force(worker.tid).unwrap();
    let mut late = 0;
    for _ in 0..100 {
        judge.expect(worker.tid, BOTH);
        affine(worker.tid, OWNERS);
        judge.expect(worker.tid, OWNERS);
        let (before, rounds) = (between.rounds(), worker.rounds());
        assert!(
            wait_for(HANG, || between.rounds() > before && worker.rounds() > rounds),
            "it does not run"
        );
        judge.expect(worker.tid, BOTH);
        affine(worker.tid, BOTH);
        late += u32::from(!in_force());
        assert!(wait_for(HANG, in_force), "it did not leave");
        judge.expect(worker.tid, ALLOWED);
        // For the kernel's thread to come between, if it stayed.
        thread::sleep(Duration::from_millis(2));
    }
    affine(0, ALL);
    let verdict = judge.verdict();
    print(&format!("{verdict:?}, {late} of 100 while it ran where it may not"));
    assert_eq!((verdict.wrong, verdict.stayed), (0, 0));
    assert!(late > 0 && verdict.confined > 0);
}

/// Where a thread may run.
#[derive(Clone, Copy)]
struct Confined {
    allowed: u64,
    owners: u64,
}

impl Confined {
    /// The owner's CPUs that are allowed; all of the owner's, if none are.
    fn cpus(self) -> u64 {
        match self.allowed & self.owners {
            0 => self.owners,
            both => both,
        }
    }
}

/// sched_setaffinity(2), as a thread's owner calls it.
fn affine(thread: i32, cpus: u64) {
    let mut set = rustix::thread::CpuSet::new();
    for cpu in (0..4).filter(|cpu| cpus >> cpu & 1 == 1) {
        set.set(cpu);
    }
    let thread = rustix::thread::Pid::from_raw(thread);
    rustix::thread::sched_setaffinity(thread, &set).unwrap();
}

fn worker(index: u32) -> Worker {
    match index % 8 {
        0 => Worker::spins(),
        1..=4 => Worker::new(thread::yield_now),
        5 | 6 => Worker::new(|| thread::sleep(Duration::from_micros(50))),
        _ => Worker::new(|| {
            spin();
            thread::yield_now();
        }),
    }
}
