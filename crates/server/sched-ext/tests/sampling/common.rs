//! Perf counters whose windows the kernel reports; a thread's run time stands in for its
//! instructions, because every kernel has it.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fairways_core::{AppId, Counter};
use fairways_perf::events::{BY_PROCESSOR, Encoding, Event, ProcessorEvents};
use fairways_perf::sampling as host;
use fairways_perf::{EndedWindow, Perf, Settings, Source as _, Target};
use fairways_sched_ext::sampling::{Sampler, Span};
use fairways_testing::needs::{Need, has, withheld};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub(crate) const APP: AppId = AppId(7);

/// The kernel's sampler, as the host has it.
struct KernelSampler(Sampler);

impl host::Sampler for KernelSampler {
    fn open(&mut self, window: u64) -> io::Result<u32> {
        self.0.open(window).map_err(io::Error::other)
    }

    fn join(&mut self, series: u32, events: &[(BorrowedFd<'_>, host::Span)]) -> io::Result<u32> {
        let events: Vec<_> = events.iter().map(|&(event, span)| (event, ours(span))).collect();
        self.0.join(series, &events).map_err(io::Error::other)
    }

    fn leave(&mut self, part: u32, last: &[host::Span]) {
        let last: Vec<Span> = last.iter().copied().map(ours).collect();
        self.0.leave(part, &last);
    }

    fn close(&mut self, series: u32) {
        self.0.close(series);
    }

    fn attention(&self) -> BorrowedFd<'_> {
        self.0.attention()
    }

    fn take_ended(&mut self, ended: &mut Vec<host::Window>) {
        let mut windows = Vec::new();
        self.0.take_ended(&mut windows);
        ended.extend(windows.into_iter().map(|of| host::Window {
            series: of.series,
            at: of.at,
            counted: of.counted.into_iter().map(|span| span.map(theirs)).collect(),
            late: of.late,
        }));
    }
}

fn ours(span: host::Span) -> Span {
    Span { value: span.value, enabled: span.enabled, running: span.running }
}

fn theirs(span: Span) -> host::Span {
    host::Span { value: span.value, enabled: span.enabled, running: span.running }
}

/// Nanoseconds that ran are instructions and, once more, cycles; switches are LLC references. In
/// one group, or in two: then the first two are in both.
fn events(groups: usize) -> ProcessorEvents {
    const SOFTWARE: u32 = 1;
    let events = [
        (Counter::Instructions, 1),
        (Counter::Cycles, 1),
        (Counter::L1References, 2),
        (Counter::LlcReferences, 3),
        (Counter::LlcMisses, 4),
        (Counter::StallsL2Miss, 5),
    ];
    let events = events.into_iter().take(if groups == 1 { 4 } else { 6 });
    ProcessorEvents {
        name: "software",
        source: "perf_event_open(2)",
        events: events
            .map(|(field, config)| {
                let encoding = Encoding { kind: SOFTWARE, config };
                Event { field, name: "test", encoding }
            })
            .collect(),
        lost: Vec::new(),
        alone: Vec::new(),
    }
}

/// How long the machine may stand still at any moment while its clock goes on, in nanoseconds: in
/// an emulator, whose CPUs' threads wait for a CPU themselves. Interrupts may be late by that.
pub(crate) fn stall() -> u64 {
    if std::env::var_os(EMULATED).is_some() { 400_000_000 } else { 0 }
}

/// Set where the tests run in an emulator.
pub(crate) const EMULATED: &str = "FAIRWAYS_EMULATED";

static ALONE: Mutex<()> = Mutex::new(());

/// Only one test at a time counts descriptors and uses the CPUs, while no other opens any.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Perf counters with sampling in the kernel; `None` where that is withheld.
pub(crate) fn perf(test: &str, groups: usize) -> Option<(MutexGuard<'static, ()>, Perf)> {
    if !has(test, &[Need::Root]) {
        return None;
    }
    let alone = alone();
    let domains = vec![(0, [0].into_iter().collect())];
    let mut perf = Perf::new(Settings {
        events: events(groups),
        counters: BY_PROCESSOR.to_vec(),
        domains,
        descriptors: None,
    });
    let sampler = match Sampler::load(64) {
        Ok(sampler) => sampler,
        Err(why) => {
            withheld(test, &why.to_string());
            return None;
        }
    };
    match perf.sample_with(Box::new(KernelSampler(sampler))) {
        Ok(()) => Some((alone, perf)),
        Err(why) => {
            withheld(test, &why.to_string());
            None
        }
    }
}

pub(crate) fn begin(perf: &mut Perf, app: AppId, threads: &[i32]) {
    let name = "program".to_owned();
    perf.begin(&Target { app, name, cgroup: None, threads: threads.to_vec() });
}

/// A thread of ours that works for as much CPU time as ordered.
pub(crate) struct Worker {
    pub(crate) thread: i32,
    orders: Sender<Duration>,
    done: Receiver<()>,
    handle: thread::JoinHandle<()>,
}

impl Worker {
    pub(crate) fn start() -> Self {
        let ((orders, ordered), (finish, done), (send_id, id)) = (channel(), channel(), channel());
        let handle = thread::spawn(move || {
            send_id.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            for span in ordered {
                work(span);
                finish.send(()).unwrap();
            }
        });
        Self { thread: id.recv().unwrap(), orders, done, handle }
    }

    pub(crate) fn work(&self, span: Duration) {
        self.orders.send(span).unwrap();
    }

    pub(crate) fn wait(&self) {
        self.done.recv().unwrap();
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done.try_recv().is_ok()
    }

    pub(crate) fn exit(self) {
        drop(self.orders);
        self.handle.join().unwrap();
    }
}

/// Computes until this thread has used that much CPU time.
fn work(span: Duration) {
    let until = cpu_time() + span;
    while cpu_time() < until {
        (0..1000).for_each(|number: u32| _ = std::hint::black_box(number));
    }
}

fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(now).unwrap()
}

/// How long a thread of ours ran, in nanoseconds, by the kernel's scheduler; it must be asleep.
pub(crate) fn ran(thread: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

/// How often a thread of ours was switched out.
pub(crate) fn switches(thread: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/self/task/{thread}/status")).unwrap();
    let counts = status.lines().filter(|line| line.contains("voluntary_ctxt_switches"));
    counts.map(|line| line.split(':').nth(1).unwrap().trim().parse::<u64>().unwrap()).sum()
}

/// How long this process ran, in nanoseconds.
pub(crate) fn process_ran() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(now).unwrap().as_nanos().try_into().unwrap()
}

pub(crate) fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// The reported windows, and the number of wake-ups for them.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) windows: Vec<EndedWindow>,
    pub(crate) wakes: usize,
}

impl Outcome {
    /// Collects the kernel's reports until all have worked, and what is left then.
    pub(crate) fn while_they_work(&mut self, perf: &mut Perf, workers: &[&Worker]) {
        let mut working: Vec<&Worker> = workers.to_vec();
        let began = Instant::now();
        while !working.is_empty() {
            assert!(began.elapsed() < Duration::from_secs(300), "they never end");
            self.wait(perf, Duration::from_millis(200));
            working.retain(|worker| !worker.is_done());
        }
        perf.take_ended(&mut self.windows);
    }

    /// Waits for the kernel, at most this long.
    pub(crate) fn wait(&mut self, perf: &mut Perf, most: Duration) {
        let attention = perf.attention().unwrap();
        let mut polled = [PollFd::new(&attention, PollFlags::IN)];
        let most = Timespec::try_from(most).unwrap();
        self.wakes += poll(&mut polled, Some(&most)).unwrap();
        perf.take_ended(&mut self.windows);
    }

    /// The time that threads ran in all windows, and in each, in nanoseconds.
    pub(crate) fn ran(&self) -> (u64, Vec<u64>) {
        let each: Vec<u64> =
            self.windows.iter().map(|of| of.counters.instructions.unwrap()).collect();
        (each.iter().sum(), each)
    }
}
