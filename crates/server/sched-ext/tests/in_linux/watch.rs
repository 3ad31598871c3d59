//! Records of CPUs between switches.

use std::collections::BTreeMap;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use fairways_sched_ext::{CpuCounter, Occupant, Records, Settings};

use crate::guest::{load, print, settings, take};
use crate::threads::Worker;

/// A CPU's turns follow each other; a thread's add up to the CPU time that the kernel reports; idle
/// CPUs are reported; a software clock in place of a counter counts as much as a turn lasts, and a
/// slot without a counter is missing.
pub(crate) fn reports_turns() {
    let counters = (0..4).map(|cpu| CpuCounter { cpu, slot: 1, event: cpu_clock(cpu) }).collect();
    let mut scheduler = load(&Settings { counters, ..settings() });
    let workers: Vec<Worker> = (0..6).map(|_| Worker::spins()).collect();
    take(&scheduler, &workers);
    // No thread uses CPU 3: it is idle.
    for worker in &workers {
        scheduler.allow(worker.tid, &[0b111]).unwrap();
    }
    scheduler.watch(Some(Duration::from_millis(1))).unwrap();
    let before: Vec<Duration> = workers.iter().map(Worker::cpu_time).collect();
    let (since, mut records) = (Instant::now(), Records::default());
    while since.elapsed() < Duration::from_secs(3) {
        scheduler.turns(&mut records).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    let after: Vec<Duration> = workers.iter().map(Worker::cpu_time).collect();
    scheduler.turns(&mut records).unwrap();
    scheduler.unwatch().unwrap();
    print(&format!(
        "{} turns, {} given, {} lost",
        records.turns.len(),
        records.finished.len(),
        records.lost
    ));
    assert_eq!(records.lost, 0);

    // For each CPU's last turn: its end, and whether it went on.
    let mut last: BTreeMap<u32, (u64, bool)> = BTreeMap::new();
    let mut had: BTreeMap<u32, u64> = BTreeMap::new();
    let (mut idle, mut parted, mut off) = (0, 0, Vec::new());
    // By the turns and by their counters, in total.
    let (mut lasted, mut counted) = (0.0, 0.0);
    for turn in &records.turns {
        let (from, to) = turn.span;
        let before = last.insert(turn.cpu, (to, turn.goes_on));
        assert!(from <= to && before.is_none_or(|(end, _)| end <= from), "{turn:?}");
        // The rest of a turn reported in parts is reported, however short it is.
        let is_rest = before.is_some_and(|(_, went_on)| went_on);
        assert!(!is_rest || before.is_some_and(|(end, _)| end == from), "{turn:?}");
        match turn.occupant {
            Occupant::Thread(key) => {
                assert_eq!(turn.thread, workers[usize::try_from(key).unwrap()].tid);
                assert!(turn.cpu < 3);
                *had.entry(key).or_default() += to - from;
            }
            Occupant::Idle if turn.cpu == 3 => idle += to - from,
            Occupant::Idle | Occupant::Other => {
                assert!(to - from >= 1_000_000 || turn.goes_on || is_rest, "{turn:?}");
            }
        }
        parted += u32::from(turn.goes_on);
        assert_eq!(turn.counters[0], None);
        if let Some(nanos) = turn.counters[1].filter(|_| to - from > 1_000_000) {
            let span = Duration::from_nanos(to - from).as_secs_f64();
            let nanos = Duration::from_nanos(nanos).as_secs_f64();
            (lasted, counted) = (lasted + span, counted + nanos);
            off.push((nanos - span).abs() / span);
        }
    }
    for (key, (before, after)) in (0u32..).zip(before.iter().zip(&after)) {
        let kernel = (*after - *before).as_secs_f64();
        let reported = Duration::from_nanos(had.get(&key).copied().unwrap_or(0)).as_secs_f64();
        print(&format!("thread {key}: {reported:.3} s reported, {kernel:.3} s by the kernel"));
        assert!((reported - kernel).abs() < 0.15 + 0.1 * kernel);
    }
    let idle = Duration::from_nanos(idle).as_secs_f64();
    off.sort_by(f64::total_cmp);
    let of_100 = |part: usize| off[(off.len() * part / 100).min(off.len() - 1)];
    print(&format!(
        "CPU 3 idle for {idle:.2} s; {parted} parts; of {} counted, off by {:.4} (median), {:.3} (99 of 100), {:.3} at most; \
         {counted:.3} s of {lasted:.3} in all",
        off.len(),
        of_100(50),
        of_100(99),
        of_100(100)
    ));
    assert!(idle > 1.0 && parted > 0);
    // Another CPU of the emulated machine may run between the clock and the counter; the next turn
    // is shorter by that.
    assert!(off.len() > 100 && of_100(99) < 0.05 && (counted / lasted - 1.0).abs() < 0.005);
}

/// A counter that every kernel has: nanoseconds on a CPU.
fn cpu_clock(cpu: u32) -> OwnedFd {
    /// `PERF_TYPE_SOFTWARE` and the first published size of `struct perf_event_attr`
    /// (linux/perf_event.h); event 0 is the CPU's clock.
    const SOFTWARE: u32 = 1;
    let mut attributes = [0u32; 16];
    (attributes[0], attributes[1]) = (SOFTWARE, 64);
    // SAFETY: the attributes live across the call, and are as long as they state.
    let fd =
        unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), -1, cpu, -1, 0) };
    let fd = i32::try_from(fd).unwrap();
    assert!(fd >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: it is new, and has no other owner.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
