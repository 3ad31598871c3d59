//! Other threads, children, and CPUs that come and go.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use fairways_sched_ext::{Records, Settings};

use crate::guest::{load, print, settings, take};
use crate::threads::{HANG, Worker, cpu_time, is_under_ext, spin, state, wait_for};

fn cpu_time_of(of: &[Worker]) -> Duration {
    of.iter().map(Worker::cpu_time).sum::<Duration>()
}

/// As many spinning threads are managed as are not: the kernel's own class comes first, and neither
/// stands still.
pub(crate) fn others_run_too() {
    let scheduler = load(&settings());
    let managed: Vec<Worker> = (0..4).map(|_| Worker::spins()).collect();
    let others: Vec<Worker> = (0..4).map(|_| Worker::spins()).collect();
    take(&scheduler, &managed);
    let (before, others_before) = (cpu_time_of(&managed), cpu_time_of(&others));
    let rounds: Vec<u64> = managed.iter().chain(&others).map(Worker::rounds).collect();
    thread::sleep(Duration::from_secs(4));
    assert!(
        wait_for(HANG, || {
            managed
                .iter()
                .chain(&others)
                .zip(&rounds)
                .all(|(worker, before)| worker.rounds() > *before)
        }),
        "a thread stood still"
    );
    let (had, others_had) = (cpu_time_of(&managed) - before, cpu_time_of(&others) - others_before);
    print(&format!("managed threads had {had:?}, others {others_had:?}"));
    assert_eq!((scheduler.ended(), state().as_str()), (None, "enabled"));
}

/// The number of children that are looked at.
const CHILDREN: u64 = 300;

/// Threads that keep starting programs which end at once: the children are under the scheduler,
/// too, run where their parents may run, and nothing is left of them.
pub(crate) fn children_come_and_go() {
    let mut scheduler = load(&settings());
    let confined = Arc::new(AtomicBool::new(false));
    let (under, seen, strayed) = <(Arc<AtomicU64>, Arc<AtomicU64>, Arc<AtomicU64>)>::default();
    let workers: Vec<Worker> = (0..4)
        .map(|_| {
            let (under, confined) = (Arc::clone(&under), Arc::clone(&confined));
            let (seen, strayed) = (Arc::clone(&seen), Arc::clone(&strayed));
            Worker::new(move || {
                let confined = confined.load(Ordering::Relaxed);
                let mut child = Command::new("/bin/true").spawn().unwrap();
                let child_is = i32::try_from(child.id()).unwrap();
                if is_under_ext(child_is) {
                    under.fetch_add(1, Ordering::Relaxed);
                }
                if confined {
                    seen.fetch_add(1, Ordering::Relaxed);
                    strayed.fetch_add(u64::from(last_cpu(child_is) > 1), Ordering::Relaxed);
                }
                let _ = child.wait();
            })
        })
        .collect();
    take(&scheduler, &workers);
    for worker in &workers {
        scheduler.allow(worker.tid, &[0b0011]).unwrap();
    }
    thread::sleep(Duration::from_secs(1));
    // Where its children may run is inherited, not set.
    confined.store(true, Ordering::Relaxed);
    let before: u64 = workers.iter().map(Worker::rounds).sum();
    let mut records = Records::default();
    let enough = wait_for(HANG, || {
        scheduler.turns(&mut records).unwrap();
        under.load(Ordering::Relaxed) > 0 && seen.load(Ordering::Relaxed) > CHILDREN
    });
    let children: u64 = workers.iter().map(Worker::rounds).sum::<u64>() - before;
    let under = under.load(Ordering::Relaxed);
    print(&format!("{children} children, {under} in all found under the scheduler"));
    let (seen, strayed) = (seen.load(Ordering::Relaxed), strayed.load(Ordering::Relaxed));
    print(&format!(
        "of {seen} children seen, {strayed} on a CPU on which their parents may not be"
    ));
    assert!(enough, "too few children");
    assert_eq!(strayed, 0);
    assert_eq!(scheduler.ended(), None);
}

/// A raised thread starts another: that one is not raised. Beside a third, not raised either, it
/// has half of the time that the raised one leaves them.
pub(crate) fn children_are_not_raised() {
    let scheduler = load(&settings());
    let child = Arc::new(AtomicI32::new(0));
    let (started, stop) = (Arc::clone(&child), Arc::new(AtomicBool::new(false)));
    let stops = Arc::clone(&stop);
    // The parent waits until it is raised, starts a thread that spins, and sleeps from then on.
    let starts = Arc::new(AtomicBool::new(false));
    let may_start = Arc::clone(&starts);
    let parent = Worker::new(move || {
        if may_start.swap(false, Ordering::Relaxed) {
            let (started, stops) = (Arc::clone(&started), Arc::clone(&stops));
            thread::spawn(move || {
                // SAFETY: it takes nothing, and always works.
                started.store(unsafe { libc::gettid() }, Ordering::Relaxed);
                while !stops.load(Ordering::Relaxed) {
                    spin();
                }
            });
        }
        thread::sleep(Duration::from_millis(5));
    });
    let other = Worker::spins();
    for (key, worker) in (0u32..).zip([&parent, &other]) {
        scheduler.add(worker.tid, key).unwrap();
        scheduler.allow(worker.tid, &[0b0001]).unwrap();
        scheduler.enter(worker.tid).unwrap();
    }
    scheduler.raise(parent.tid, true).unwrap();
    starts.store(true, Ordering::Relaxed);
    assert!(wait_for(HANG, || child.load(Ordering::Relaxed) != 0), "no child");
    let child = child.load(Ordering::Relaxed);
    assert!(is_under_ext(child));
    let before = [child, other.tid].map(cpu_time);
    thread::sleep(Duration::from_secs(3));
    let after = [child, other.tid].map(cpu_time);
    let had: Vec<f64> = after
        .iter()
        .zip(before)
        .map(|(after, before)| (after.unwrap() - before.unwrap()).as_secs_f64())
        .collect();
    stop.store(true, Ordering::Relaxed);
    let share = had[0] / (had[0] + had[1]);
    print(&format!("a raised thread's child has {share:.3} of the time beside another"));
    assert!((0.3..0.7).contains(&share), "{had:?}");
    assert_eq!(scheduler.ended(), None);
}

/// Room for eight threads: those beyond are refused or counted, and run.
pub(crate) fn threads_without_room_are_counted() {
    let mut scheduler = load(&Settings { threads: 8, ..settings() });
    let workers: Vec<Worker> = (0..12).map(|_| Worker::spins()).collect();
    let mut records = Records::default();
    scheduler.turns(&mut records).unwrap();
    assert_eq!(records.threads_without_room, 0);
    let added: Vec<bool> =
        (0u32..).zip(&workers).map(|(key, of)| scheduler.add(of.tid, key).is_ok()).collect();
    assert_eq!(added.iter().filter(|added| **added).count(), 8, "{added:?}");
    scheduler.turns(&mut records).unwrap();
    assert_eq!(records.threads_without_room, 4);
    let before: Vec<u64> = workers.iter().map(Worker::rounds).collect();
    for worker in &workers {
        scheduler.enter(worker.tid).unwrap();
    }
    assert!(
        wait_for(HANG, || workers
            .iter()
            .zip(&before)
            .all(|(worker, before)| worker.rounds() > *before + 10)),
        "a thread stood still"
    );
    scheduler.turns(&mut records).unwrap();
    assert!(
        records.threads_without_room >= 8,
        "each that came under it without room: {}",
        records.threads_without_room
    );
    assert_eq!(scheduler.ended(), None);
}

fn set_online(value: &str) {
    fs::write("/sys/devices/system/cpu/cpu3/online", value).unwrap();
}

/// CPU 3 goes off line with a thread that may only run there, and returns.
pub(crate) fn a_cpu_goes_and_returns() {
    let mut scheduler = load(&settings());
    let workers: Vec<Worker> = (0..6).map(|_| Worker::spins()).collect();
    take(&scheduler, &workers);
    scheduler.allow(workers[0].tid, &[0b1000]).unwrap();
    scheduler.allow(workers[1].tid, &[0b1100]).unwrap();
    scheduler.watch(Some(Duration::from_millis(1))).unwrap();
    let moves = |what: &str| {
        let before: Vec<u64> = workers.iter().map(Worker::rounds).collect();
        assert!(
            wait_for(HANG, || workers
                .iter()
                .zip(&before)
                .all(|(worker, before)| worker.rounds() > *before)),
            "{what}: a thread stood still"
        );
    };
    moves("before");
    for _ in 0..10 {
        set_online("0");
        moves("off line");
        assert_ne!(last_cpu(workers[0].tid), 3);
        set_online("1");
        assert!(wait_for(HANG, || last_cpu(workers[0].tid) == 3), "it does not return to its CPU");
        moves("on line");
    }
    let mut records = Records::default();
    scheduler.turns(&mut records).unwrap();
    assert_eq!((scheduler.ended(), state().as_str()), (None, "enabled"));
}

/// The CPU on which a thread was last: field 39 of `/proc/TID/stat`.
fn last_cpu(tid: i32) -> u32 {
    let text = fs::read_to_string(format!("/proc/{tid}/stat")).unwrap();
    let (_, fields) = text.rsplit_once(')').unwrap();
    fields.split_whitespace().nth(36).unwrap().parse().unwrap()
}
