//! CPU time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use fairways_sched_ext::{FinishedTurn, Records, Scheduler, Settings};

use crate::guest::{load, print, settings, take};
use crate::threads::{HANG, Worker, spin, wait_for};

/// How long shares are measured.
const WINDOW: Duration = Duration::from_secs(1);
const WINDOWS: usize = 4;

/// Twelve threads spin on four CPUs. A half, one, two and four quanta are ordered for each turn: a
/// second's CPU time, as the kernel reports it, is divided as ordered.
pub(crate) fn follow_orders() {
    let quantum = Duration::from_millis(20);
    let mut scheduler = load(&Settings { quantum, ..settings() });
    let orders = [quantum / 2, quantum, quantum * 2, quantum * 4];
    let workers: Vec<Worker> = (0..12).map(|_| Worker::spins()).collect();
    take(&scheduler, &workers);
    let order = |index: usize| orders[index % orders.len()];
    for (index, worker) in workers.iter().enumerate() {
        scheduler.order(worker.tid, order(index)).unwrap();
    }
    let weights: Vec<f64> = (0..workers.len()).map(|i| order(i).as_secs_f64()).collect();
    // The first window is not counted: not all came at once.
    let (mut errors, mut given, mut turn) = (Vec::new(), Vec::new(), 0);
    for window in 0..=WINDOWS {
        let shares = shares(&workers, || {
            let mut records = Records::default();
            scheduler.turns(&mut records).unwrap();
            // Ordered again and again, so that the next turn has an order as soon as one begins.
            for _ in 0..workers.len() / 2 {
                turn = (turn + 1) % workers.len();
                scheduler.order(workers[turn].tid, order(turn)).unwrap();
            }
            given.append(&mut records.finished);
        });
        if window > 0 {
            errors.extend(shares.iter().zip(&weights).map(|(share, weight)| {
                let due = weight / weights.iter().sum::<f64>();
                ((share - due) / due).abs()
            }));
        }
    }
    report("shares by orders", &mut errors);
    // A turn is as long as ordered, plus what ticks and a busy machine add.
    let as_ordered = |over: &&FinishedTurn| {
        let ordered = order(usize::try_from(over.key).unwrap());
        over.ordered == ordered && over.ran >= ordered
    };
    let (all, as_ordered) = (given.len(), given.iter().filter(as_ordered).count());
    print(&format!("{all} turns reported, {as_ordered} of them had what was ordered"));
    assert!(all > 100 && as_ordered * 10 > all * 8);
    assert!(median(&mut errors) < 0.08 && percentile(&mut errors, 95) < 0.20, "{errors:?}");
    assert_eq!(scheduler.ended(), None);
}

/// Without orders, by the weights of nice values (1024 and 335 in the kernel's table: 5 levels).
pub(crate) fn follow_weights() {
    let scheduler = load(&settings());
    let workers: Vec<Worker> = (0..8).map(|_| Worker::spins()).collect();
    for worker in &workers[4..] {
        let tid = worker.tid.unsigned_abs();
        // SAFETY: it takes numbers and touches no memory of ours.
        assert_eq!(unsafe { libc::setpriority(libc::PRIO_PROCESS, tid, 5) }, 0);
    }
    take(&scheduler, &workers);
    let mut errors = Vec::new();
    for window in 0..=WINDOWS {
        let shares = shares(&workers, || ());
        if window > 0 {
            errors.extend(shares.iter().enumerate().map(|(index, share)| {
                let due = if index < 4 { 1024.0 } else { 335.0 } / (4.0 * (1024.0 + 335.0));
                ((share - due) / due).abs()
            }));
        }
    }
    report("shares by nice values", &mut errors);
    assert!(median(&mut errors) < 0.08 && percentile(&mut errors, 95) < 0.20, "{errors:?}");
}

fn renew(quantum: Duration, scheduler: &mut Scheduler, thread: i32) {
    scheduler.turns(&mut Records::default()).unwrap();
    scheduler.order(thread, quantum * 4).unwrap();
}

/// Threads that share no CPU progress at different speeds: a thread alone on CPU 0 with four quanta
/// ordered per turn is far behind one alone on CPU 3. A thread that comes to CPU 0 then has its
/// part of it at once, whether it is new, or woken, or was among the others before.
pub(crate) fn apart() {
    let quantum = Duration::from_millis(20);
    let mut scheduler = load(&Settings { quantum, ..settings() });
    let mut workers: Vec<Worker> = (0..2).map(|_| Worker::spins()).collect();
    take(&scheduler, &workers);
    scheduler.allow(workers[0].tid, &[0b0001]).unwrap();
    scheduler.allow(workers[1].tid, &[0b1000]).unwrap();
    let ordered = workers[0].tid;
    for _ in 0..6 {
        shares(&workers, || renew(quantum, &mut scheduler, ordered));
    }
    // A new one; one that slept nearly all the time, and was on CPU 3.
    workers.push(Worker::spins());
    let sleeps = Worker::new({
        let since = Instant::now();
        move || {
            if since.elapsed() < Duration::from_secs(2) {
                thread::sleep(Duration::from_millis(20))
            } else {
                spin()
            }
        }
    });
    workers.push(sleeps);
    for (key, worker) in (2..).zip(&workers[2..]) {
        scheduler.add(worker.tid, key).unwrap();
        scheduler.allow(worker.tid, &[if key == 2 { 0b0001 } else { 0b1000 }]).unwrap();
        scheduler.enter(worker.tid).unwrap();
    }
    shares(&workers, || renew(quantum, &mut scheduler, ordered));
    let new = on_cpu_0(&shares(&workers, || renew(quantum, &mut scheduler, ordered)), &[0, 2]);
    print(&format!(
        "a new thread has {:.3} of a CPU whose other thread has four quanta a turn",
        new[1]
    ));
    scheduler.allow(workers[3].tid, &[0b0001]).unwrap();
    shares(&workers, || renew(quantum, &mut scheduler, ordered));
    let moved = on_cpu_0(&shares(&workers, || renew(quantum, &mut scheduler, ordered)), &[0, 2, 3]);
    print(&format!(
        "with one that was let come there, they have {:.3} and {:.3}",
        moved[1], moved[2]
    ));
    assert!((new[1] - 0.2).abs() < 0.06, "{new:?}");
    assert!(
        (moved[1] - 1.0 / 6.0).abs() < 0.06 && (moved[2] - 1.0 / 6.0).abs() < 0.06,
        "{moved:?}"
    );
    assert_eq!(scheduler.ended(), None);
}

/// Each one's part of these threads' joint time.
fn on_cpu_0(shares: &[f64], which: &[usize]) -> Vec<f64> {
    let all: f64 = which.iter().map(|&index| shares[index]).sum();
    which.iter().map(|&index| shares[index] / all).collect()
}

/// A turn may be ordered that is longer than the kernel lets a thread wait: the others have theirs
/// nevertheless.
pub(crate) fn long_orders() {
    let settings = Settings { stall: Duration::from_secs(5), ..settings() };
    let scheduler = load(&settings);
    let workers: Vec<Worker> = (0..3).map(|_| Worker::spins()).collect();
    take(&scheduler, &workers);
    for worker in &workers {
        scheduler.allow(worker.tid, &[0b0001]).unwrap();
        scheduler.order(worker.tid, Duration::from_secs(10)).unwrap();
    }
    let before: Vec<u64> = workers.iter().map(Worker::rounds).collect();
    thread::sleep(settings.stall * 2);
    assert!(workers.iter().zip(&before).all(|(worker, before)| worker.rounds() > *before));
    assert_eq!(scheduler.ended(), None);
}

fn raise(scheduler: &Scheduler, which: &[Worker], raised: bool) {
    for worker in which {
        scheduler.raise(worker.tid, raised).unwrap();
    }
}

/// Eight threads spin, and four of them are raised: these have the CPUs, without the others being
/// forgotten for good; and a raised thread that sleeps does not wait for a turn to end.
pub(crate) fn raised_go_first() {
    let settings = Settings { stall: Duration::from_secs(8), ..settings() };
    let scheduler = load(&settings);
    let workers: Vec<Worker> = (0..8).map(|_| Worker::spins()).collect();
    take(&scheduler, &workers);
    raise(&scheduler, &workers[..4], true);
    shares(&workers, || ());
    let raised: f64 = shares(&workers, || ())[..4].iter().sum();
    print(&format!("raised threads had {raised:.3} of the CPU time"));
    assert!(raised > 0.9, "{raised}");
    // For longer than the kernel lets a thread wait: no thread waits that long.
    let before: Vec<u64> = workers.iter().map(Worker::rounds).collect();
    assert!(
        wait_for(settings.stall * 3, || workers
            .iter()
            .zip(&before)
            .all(|(worker, before)| worker.rounds() > *before)),
        "a thread was forgotten"
    );
    raise(&scheduler, &workers[..4], false);
    shares(&workers, || ());
    let before: f64 = shares(&workers, || ())[..4].iter().sum();
    print(&format!("raised no longer, {before:.3}"));
    assert!((before - 0.5).abs() < 0.1, "{before}");

    // Two threads with one CPU between them: here, being raised means more than having one's own
    // CPU.
    for (index, worker) in workers.iter().enumerate() {
        scheduler.allow(worker.tid, &[if index < 2 { 0b1000 } else { 0b0111 }]).unwrap();
    }
    raise(&scheduler, &workers[..1], true);
    shares(&workers, || ());
    let two = shares(&workers, || ());
    let first = two[0] / (two[0] + two[1]);
    print(&format!("of a CPU that two have, the one that is raised had {first:.3}"));
    assert!(first > 0.9, "{two:?}");
    raise(&scheduler, &workers[..1], false);
    for worker in &workers {
        scheduler.allow(worker.tid, &[]).unwrap();
    }

    let waits = Arc::new(Mutex::new(Vec::new()));
    let sleeper = Worker::new({
        let waits = Arc::clone(&waits);
        move || {
            let before = waited();
            thread::sleep(Duration::from_millis(5));
            waits.lock().unwrap().push((waited() - before) as f64 / 1e6);
        }
    });
    scheduler.add(sleeper.tid, 99).unwrap();
    scheduler.enter(sleeper.tid).unwrap();
    // In turns, so that both meet what else keeps this machine busy.
    let (mut usual, mut raised) = (Vec::new(), Vec::new());
    for round in 0..8 {
        scheduler.raise(sleeper.tid, round % 2 == 1).unwrap();
        waits.lock().unwrap().clear();
        thread::sleep(Duration::from_millis(700));
        let had = std::mem::take(&mut *waits.lock().unwrap());
        if round % 2 == 1 { &mut raised } else { &mut usual }.extend(had);
    }
    for (what, waits) in [("as usual", &mut usual), ("raised", &mut raised)] {
        let (times, half) = (waits.len(), median(waits));
        let (quarters, most) = (percentile(waits, 75), percentile(waits, 95));
        print(&format!(
            "a thread that sleeps, {what}: of {times} waits half are under {half:.3} ms, 75 of 100 \
             under {quarters:.3}, 95 of 100 under {most:.3}"
        ));
    }
    // Many find a CPU idle or a turn at its end, raised or not.
    assert!(percentile(&mut raised, 75) < percentile(&mut usual, 75), "it waits no less");
    assert_eq!(scheduler.ended(), None);
}

/// How long this thread has waited for a CPU when it could run, in ns: `schedstat`.
fn waited() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Rounds of two threads that yield to each other on CPU 0, in a window.
fn yields(pair: &[Worker]) -> u64 {
    let before: u64 = pair.iter().map(Worker::rounds).sum();
    thread::sleep(WINDOW);
    pair.iter().map(Worker::rounds).sum::<u64>() - before
}

/// Threads that begin to spin at once, and sleep once that is over until they may end.
#[derive(Default)]
struct Crowd {
    begin: OnceLock<()>,
    is_over: AtomicBool,
    asleep: AtomicUsize,
    end: OnceLock<()>,
}

impl Crowd {
    fn spin(&self) {
        self.begin.wait();
        if self.is_over.load(Ordering::Relaxed) {
            self.asleep.fetch_add(1, Ordering::Relaxed);
            self.end.wait();
        } else {
            // Nothing but pauses: the emulated CPU of the two that yield once had no turn for so
            // long beside threads that compute that the kernel noticed.
            // They end at once when that is over: a pause may take a millisecond of the guest's
            // time, and two hundred of each of eight hundred threads took up to half an hour here.
            for _ in 0..200 {
                if self.is_over.load(Ordering::Relaxed) {
                    break;
                }
                std::hint::spin_loop();
            }
        }
    }
}

/// Two threads yield to each other on CPU 0, as often while eight hundred others wait for the other
/// CPUs: a CPU does not look at threads that it may not run.
pub(crate) fn a_crowd_elsewhere_leaves_a_quarter_of_the_rate() {
    const CROWD: usize = 800;
    let scheduler = load(&Settings { stall: Duration::from_secs(30), ..settings() });
    let pair: Vec<Worker> = (0..2).map(|_| Worker::new(thread::yield_now)).collect();
    take(&scheduler, &pair);
    for worker in &pair {
        scheduler.allow(worker.tid, &[0b0001]).unwrap();
    }
    thread::sleep(WINDOW);
    let alone = yields(&pair);
    // They come all at once: threads that spin meanwhile would keep the next from starting.
    let crowd = Arc::new(Crowd::default());
    let others: Vec<Worker> = (0..CROWD)
        .map(|_| {
            let crowd = Arc::clone(&crowd);
            Worker::new(move || crowd.spin())
        })
        .collect();
    for (key, worker) in (2u32..).zip(&others) {
        scheduler.add(worker.tid, key).unwrap();
        scheduler.allow(worker.tid, &[1 << (1 + key % 3)]).unwrap();
        scheduler.enter(worker.tid).unwrap();
    }
    crowd.begin.set(()).unwrap();
    thread::sleep(WINDOW);
    let beside = yields(&pair);
    print(&format!("{alone} yields a second alone, {beside} beside {CROWD} that wait elsewhere"));
    let ended = scheduler.ended();
    // They sleep before they end: a thread that ends needs a lock of the process, and those that
    // spin would each time have a turn before it has the lock.
    crowd.is_over.store(true, Ordering::Relaxed);
    let all_sleep = wait_for(HANG, || crowd.asleep.load(Ordering::Relaxed) == CROWD);
    drop(scheduler);
    others.iter().for_each(Worker::stop);
    crowd.end.set(()).unwrap();
    drop(others);
    assert!(all_sleep, "a thread stood still");
    assert_eq!(ended, None);
    // Emulated CPUs share a clock: what the others do takes a part of each second.
    assert!(beside * 4 > alone, "{beside} of {alone}");
}

/// Each thread's part of their CPU time in a window, while something is done now and then.
fn shares(workers: &[Worker], mut meanwhile: impl FnMut()) -> Vec<f64> {
    let before: Vec<Duration> = workers.iter().map(Worker::cpu_time).collect();
    let since = Instant::now();
    while since.elapsed() < WINDOW {
        meanwhile();
        thread::sleep(Duration::from_millis(4));
    }
    let had: Vec<f64> = workers
        .iter()
        .zip(&before)
        .map(|(worker, before)| (worker.cpu_time() - *before).as_secs_f64())
        .collect();
    let all: f64 = had.iter().sum();
    had.iter().map(|had| had / all).collect()
}

fn report(what: &str, errors: &mut [f64]) {
    print(&format!(
        "{what}: off by {:.1} % (median), {:.1} % (95 of 100), {:.1} % at most, of {} seconds of threads",
        median(errors) * 100.0,
        percentile(errors, 95) * 100.0,
        percentile(errors, 100) * 100.0,
        errors.len()
    ));
}

fn median(errors: &mut [f64]) -> f64 {
    percentile(errors, 50)
}

fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) * percent).div_ceil(100)]
}
