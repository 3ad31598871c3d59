//! The cost of scheduling in a real kernel, by its own scheduler and by this one, in instructions
//! of the kernel lab's processor, whose time passes by instructions. On one CPU, the CPU time of a
//! load's threads, switches included, is the instructions spent on them.
//!
//! `cargo bench -p fairways-sched-ext --features sched-ext --bench cost > cost.csv`, with the
//! kernel lab.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/in_linux/threads.rs"]
#[allow(dead_code, reason = "tests use it")]
mod threads;

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _, pipe};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use fairways_kernel_lab::{Guest, Kernel, required};
use fairways_sched_ext::{Records, Scheduler, Settings};
use rustix::time::{ClockId, clock_gettime};
use threads::{Worker, is_under_ext, state, wait_for};

/// An instruction takes 2^this nanoseconds.
const SHIFT: u8 = 3;
/// How long each load is measured: 25 million instructions.
const WINDOW: Duration = Duration::from_millis(200);
/// How long it runs before.
const BEFORE: Duration = Duration::from_millis(40);
const ROUNDS: u32 = 3;

/// Set in the guest.
const SIDE: &str = "FAIRWAYS_COST";
const RESULTS: &str = "/root/cost.csv";

/// Its name, and its threads.
type Load = (&'static str, fn() -> Vec<Worker>);

/// The scheduler of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LoadedScheduler {
    /// The kernel's own, alone.
    Kernel,
    /// The kernel's own, while this one is loaded.
    Beside,
    Fairways,
    /// With its turns reported, and read.
    Watched,
}

fn main() {
    if std::env::var_os(SIDE).is_some() {
        return in_guest();
    }
    let Some(lab) = required("cost", Kernel::Sid) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (whole, program) = (std::env::current_exe().unwrap(), folder.path().join("cost"));
    let mut strip = Command::new("strip");
    strip.arg("--strip-debug").arg(&whole).arg("-o").arg(&program);
    let stripped = strip.status().is_ok_and(|status| status.success());
    let outcome = Guest::new()
        .file(if stripped { program } else { whole }, "/cost")
        .job(format!("{SIDE}=1 RUST_BACKTRACE=1 /cost 2>&1"))
        .take(RESULTS)
        // With several CPUs, each one's time would depend on the others' work.
        .parameters("maxcpus=1")
        .time_by_instructions(SHIFT)
        .seconds(1200)
        .echo(|line| eprintln!("{line}"), false)
        .run(&lab)
        .unwrap();
    eprintln!("the guest took {} s", outcome.duration.as_secs());
    assert_eq!(outcome.code, 0, "{}", outcome.console.join("\n"));
    print!("{}", String::from_utf8_lossy(outcome.file(RESULTS).unwrap()));
}

/// Measures all loads, in turn under each scheduler.
fn in_guest() {
    let mut results = about();
    eprint!("{results}");
    results.push_str(
        "load,threads,scheduler,round,switches,operations,instructions,per_switch,per_operation\n",
    );
    // Work left after booting takes CPU time, too: it is not counted.
    all(LoadedScheduler::Kernel, None, 0, &mut String::new());
    for round in 1..=ROUNDS {
        assert!(wait_for(Duration::from_secs(10), || state() == "disabled"), "{}", state());
        all(LoadedScheduler::Kernel, None, round, &mut results);
        let settings = Settings { stall: Duration::from_secs(20), ..Settings::default() };
        let mut scheduler = Scheduler::load(&settings).unwrap();
        all(LoadedScheduler::Beside, None, round, &mut results);
        all(LoadedScheduler::Fairways, Some(&mut scheduler), round, &mut results);
        scheduler.watch(None).unwrap();
        all(LoadedScheduler::Watched, Some(&mut scheduler), round, &mut results);
        assert_eq!(scheduler.ended(), None);
    }
    fs::write(RESULTS, results).unwrap();
}

fn all(
    by: LoadedScheduler,
    mut scheduler: Option<&mut Scheduler>,
    round: u32,
    results: &mut String,
) {
    let loads: [Load; 4] = [
        ("yield_alone", || vec![Worker::new(thread::yield_now)]),
        ("yield", || (0..16).map(|_| Worker::new(thread::yield_now)).collect()),
        ("pipe", || (0..4).flat_map(|_| pair()).collect()),
        ("sleep", || (0..64).map(|_| Worker::new(nap)).collect()),
    ];
    for (load, start) in loads {
        let workers = start();
        if let Some(scheduler) = &scheduler {
            for (key, worker) in (0..).zip(&workers) {
                scheduler.add(worker.tid, key).unwrap();
                scheduler.enter(worker.tid).unwrap();
            }
        }
        let ours = by == LoadedScheduler::Fairways || by == LoadedScheduler::Watched;
        assert!(workers.iter().all(|worker| is_under_ext(worker.tid) == ours));
        let watched = scheduler.as_deref_mut().filter(|_| by == LoadedScheduler::Watched);
        let cost = measure(&workers, watched);
        let row = format!(
            "{load},{},{by:?},{round},{},{},{},{},{}\n",
            workers.len(),
            cost.switches,
            cost.operations,
            cost.instructions,
            per(cost.instructions, cost.switches),
            per(cost.instructions, cost.operations),
        );
        eprint!("{row}");
        results.push_str(&row.to_lowercase());
        workers.iter().for_each(Worker::stop);
    }
}

/// Two threads that pass a byte to each other: an operation is a wake-up, and a wait for one.
fn pair() -> [Worker; 2] {
    let ((mut here, mut there), (mut other_here, mut other_there)) =
        (pipe().unwrap(), pipe().unwrap());
    // A thread that finds the other gone is about to be stopped.
    [
        Worker::new(move || {
            let _ = there.write(&[0]);
            let _ = other_here.read(&mut [0]);
        }),
        Worker::new(move || {
            let _ = here.read(&mut [0]);
            let _ = other_there.write(&[0]);
        }),
    ]
}

fn nap() {
    thread::sleep(Duration::from_micros(50));
}

/// The cost of a load.
#[derive(Clone, Copy, Default)]
struct Cost {
    /// How often one of its threads came to the CPU.
    switches: u64,
    operations: u64,
    instructions: u64,
}

impl Cost {
    /// The cost since the threads began.
    fn total(workers: &[Worker]) -> Self {
        let mut cost = Self::default();
        let mut time = Duration::ZERO;
        for worker in workers {
            let text = fs::read_to_string(format!("/proc/{}/schedstat", worker.tid)).unwrap();
            let mut fields = text.split_whitespace().map(|field| field.parse::<u64>().unwrap());
            time += Duration::from_nanos(fields.next().unwrap());
            cost.switches += fields.nth(1).unwrap();
            cost.operations += worker.rounds();
        }
        Self { instructions: instructions(time), ..cost }
    }
}

/// The cost of a window.
fn measure(workers: &[Worker], mut watched: Option<&mut Scheduler>) -> Cost {
    let (mut records, mut turns) = (Records::default(), 0);
    let mut wait = |time: Duration| {
        let since = Instant::now();
        while since.elapsed() < time {
            thread::sleep(time.saturating_sub(since.elapsed()).min(Duration::from_millis(10)));
            let Some(scheduler) = &mut watched else { continue };
            scheduler.turns(&mut records).unwrap();
            turns += records.turns.len();
            records.turns.clear();
            records.finished.clear();
        }
    };
    wait(BEFORE);
    let before = Cost::total(workers);
    wait(WINDOW);
    let after = Cost::total(workers);
    assert!(watched.is_none() || turns > 0, "no turn was reported");
    Cost {
        switches: after.switches - before.switches,
        operations: after.operations - before.operations,
        instructions: after.instructions - before.instructions,
    }
}

/// Instructions per event; empty if there was none.
fn per(instructions: u64, events: u64) -> String {
    match events {
        0 => String::new(),
        _ => format!("{:.0}", instructions as f64 / events as f64),
    }
}

fn instructions(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap() >> SHIFT
}

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap().trim().to_owned()
}

/// Describes the guest, and whether its time passes by instructions, for a known number of them.
fn about() -> String {
    let clock = text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let mut about = format!("# Linux {}, clocksource {clock}", text("/proc/sys/kernel/osrelease"));
    #[cfg(target_arch = "x86_64")]
    {
        let rounds: u64 = 20_000_000;
        let since = cpu();
        // SAFETY: it counts a register down to zero, and touches nothing else.
        unsafe {
            std::arch::asm!("2: dec {0}", "jnz 2b", inout(reg) rounds => _, options(nomem, nostack));
        }
        let (counted, done) = (instructions(cpu() - since), 2 * rounds);
        let _ = write!(about, "; a loop of {done} instructions: {counted} counted");
        // Clock ticks, and work for devices.
        assert!(counted >= done && counted < done + done / 10, "{about}");
    }
    about + "\n"
}

/// CPU time of this thread.
fn cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}
