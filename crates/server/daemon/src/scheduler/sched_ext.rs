//! The scheduler in the kernel, as a `Scheduler` of the host.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use fairways_core::{AppId, Counter, Counters, CpuSet};
use fairways_ledger::{OpenError, Restored};
use fairways_perf::events;
use fairways_perf::on_cpus;
use fairways_sched_ext as kernel;
use fairways_turns::ledger::Ledger;
use fairways_turns::{Given, Scheduler, Settings, Turn, TurnReport, Who};

/// `SCHED_EXT` of sched(7).
const SCHED_EXT: i32 = 7;

/// How long to wait where the ledger can't be written. The kernel's own scheduler has the threads
/// meanwhile.
const AGAIN: Duration = Duration::from_secs(1);

/// The scheduler in the kernel, and the ledger of the scheduling policies that threads had before.
struct SchedExt {
    inner: kernel::Scheduler,
    ledger: Ledger,
    /// The counter in each slot of a turn's counters.
    fields: Vec<Counter>,
    threads: BTreeMap<AppId, i32>,
    by_thread: HashMap<i32, AppId>,
    /// Threads that are not under it yet.
    entering: Vec<i32>,
    /// When to try again, if the ledger could not be written.
    again: Option<Instant>,
    /// A buffer for new records.
    records: kernel::Records,
    /// How many records had no room, as last logged.
    lost: u64,
    /// How often there was no room for a thread, as last logged.
    threads_without_room: u64,
}

/// Loads it; no thread is under it yet.
pub(super) fn open(settings: &Settings) -> Result<Box<dyn Scheduler>, OpenError> {
    supported().map_err(OpenError::NotSupported)?;
    let (ledger, restored) = Ledger::open(settings)?;
    super::log_restored(&restored);
    let (counters, fields) = counters(settings);
    let wanted = kernel::Settings { quantum: settings.quantum, counters, ..Default::default() };
    let inner = kernel::Scheduler::load(&wanted);
    let inner = inner.map_err(|why| OpenError::NotSupported(why.to_string()))?;
    Ok(Box::new(SchedExt {
        inner,
        ledger,
        fields,
        threads: BTreeMap::new(),
        by_thread: HashMap::new(),
        entering: Vec::new(),
        again: None,
        records: kernel::Records::default(),
        lost: 0,
        threads_without_room: 0,
    }))
}

/// Why it can't be loaded, as far as is known without trying.
pub(super) fn supported() -> Result<(), String> {
    kernel::supported()
}

/// The counters of CPUs, and the field in each slot; nothing where there is no PMU.
fn counters(settings: &Settings) -> (Vec<kernel::CpuCounter>, Vec<Counter>) {
    let chosen = settings.events.clone().or_else(|| {
        let devices = settings.sysfs.join("bus/event_source/devices");
        let cpu = events::Cpu::read(&settings.proc.join("cpuinfo"), &devices).ok()?;
        Some(events::for_cpu(&cpu))
    });
    let online = std::fs::read_to_string(settings.sysfs.join("devices/system/cpu/online"));
    let online = online.ok().and_then(|list| CpuSet::parse_list(list.trim(), 8192).ok());
    let (Some(chosen), Some(online)) = (chosen, online) else { return Default::default() };
    let (mut fields, mut counters) = (Vec::new(), Vec::new());
    for on_cpus::CpuEvent { cpu, field, event } in on_cpus::open(&chosen, &online) {
        let slot = fields.iter().position(|known| *known == field).unwrap_or_else(|| {
            fields.push(field);
            fields.len() - 1
        });
        counters.push(kernel::CpuCounter { cpu, slot, event });
    }
    (counters, fields)
}

/// The system's error, with the thread that it concerns.
fn failed(why: kernel::Error) -> io::Error {
    match &why {
        kernel::Error::Thread { source, .. } => io::Error::new(source.kind(), why),
        _ => io::Error::other(why),
    }
}

/// A thread that has ended is no failure.
fn unless_gone(done: Result<(), kernel::Error>) -> io::Result<()> {
    const ESRCH: i32 = rustix::io::Errno::SRCH.raw_os_error();
    match done {
        Err(kernel::Error::Thread { source, .. }) if source.raw_os_error() == Some(ESRCH) => Ok(()),
        done => done.map_err(failed),
    }
}

impl SchedExt {
    fn with(
        &self,
        app: AppId,
        ask: impl FnOnce(&kernel::Scheduler, i32) -> Result<(), kernel::Error>,
    ) -> io::Result<()> {
        let Some(&thread) = self.threads.get(&app) else { return Ok(()) };
        unless_gone(ask(&self.inner, thread))
    }

    /// A thread's policy before it was `SCHED_EXT`. A thread that a managed thread started has
    /// inherited that policy.
    fn before(&self, thread: i32) -> Option<i32> {
        let now = kernel::FormerPolicy::read(thread).ok()?;
        if !now.is_ext() {
            return Some(now.policy);
        }
        let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line?.trim().parse().ok()
        };
        let known = self.ledger.policy_before(field("Tgid:")?, field("PPid:")?, now.policy);
        Some(known.unwrap_or(now.policy))
    }

    fn turn(&self, turn: &kernel::Turn) -> Turn {
        let mut counters = Counters::default();
        for (field, value) in self.fields.iter().zip(turn.counters) {
            *counters.get_mut(*field) = value;
        }
        let who = match turn.occupant {
            kernel::Occupant::Idle => Who::Idle,
            kernel::Occupant::Other => Who::Other,
            kernel::Occupant::Thread(key) => Who::Thread(AppId(key)),
        };
        Turn { cpu: turn.cpu, who, span: turn.span, counters, goes_on: turn.goes_on }
    }
}

impl Scheduler for SchedExt {
    fn name(&self) -> &'static str {
        "sched_ext"
    }

    fn quantum(&self) -> Duration {
        self.inner.quantum()
    }

    fn begin(&mut self, app: AppId, thread: i32) -> io::Result<()> {
        unless_gone(self.inner.add(thread, app.0))?;
        self.threads.insert(app, thread);
        self.by_thread.insert(thread, app);
        self.entering.push(thread);
        Ok(())
    }

    fn end(&mut self, app: AppId) {
        let Some(thread) = self.threads.remove(&app) else { return };
        if self.by_thread.get(&thread) != Some(&app) {
            // It has ended, and a thread that was added since has its number.
            return;
        }
        self.by_thread.remove(&thread);
        self.entering.retain(|other| *other != thread);
        if let Err(why) = self.ledger.end(&[thread]) {
            tracing::error!("thread {thread}: {why}");
        }
        // It may have ended, or an unknown thread may have its number.
        let _ = self.inner.remove(thread);
    }

    fn allow(&mut self, app: AppId, cpus: &CpuSet) -> io::Result<()> {
        let mut words = Vec::new();
        for cpu in cpus.iter() {
            let word = (cpu / 64) as usize;
            words.resize(words.len().max(word + 1), 0u64);
            words[word] |= 1 << (cpu % 64);
        }
        self.with(app, |inner, thread| inner.allow(thread, &words).map(drop))
    }

    fn raise(&mut self, app: AppId, raised: bool) -> io::Result<()> {
        self.with(app, |inner, thread| inner.raise(thread, raised))
    }

    fn order(&mut self, app: AppId, time: Duration) -> io::Result<()> {
        self.with(app, |inner, thread| inner.order(thread, time))
    }

    /// Puts all new threads under it at once: that is one line of the ledger, which is on disk
    /// before.
    fn settle(&mut self) -> io::Result<()> {
        if self.again.is_some_and(|again| Instant::now() < again) {
            return Ok(());
        }
        let entering = std::mem::take(&mut self.entering);
        let before = |&thread: &i32| Some((thread, self.before(thread)?, SCHED_EXT));
        let changes: Vec<(i32, i32, i32)> = entering.iter().filter_map(before).collect();
        if changes.is_empty() {
            return Ok(());
        }
        if let Err(why) = self.ledger.policy(&changes) {
            self.entering = entering;
            self.again = Some(Instant::now() + AGAIN);
            return Err(io::Error::other(why));
        }
        self.again = None;
        let mut done = Ok(());
        for (thread, ..) in changes {
            done = done.and(unless_gone(self.inner.enter(thread).map(drop)));
        }
        done
    }

    fn close(mut self: Box<Self>) -> Restored {
        self.ledger.end_all().unwrap_or_else(|why| {
            tracing::error!("{why}");
            Restored::default()
        })
    }

    fn watch(&mut self, shortest: Option<Duration>) -> io::Result<()> {
        self.inner.watch(shortest).map_err(failed)
    }

    fn threads_without_room(&self) -> u64 {
        self.threads_without_room
    }

    fn attention(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.inner.fd()]
    }

    fn turns(&mut self, report: &mut TurnReport) -> io::Result<()> {
        // A thread that can't be put under it, or not yet, does not stop the others.
        if let Err(why) = self.settle() {
            tracing::warn!("not all threads are under it: {why}");
        }
        let mut new = std::mem::take(&mut self.records);
        let done = self.inner.turns(&mut new).map_err(failed);
        report.turns.extend(new.turns.drain(..).map(|turn| self.turn(&turn)));
        let given = new.finished.drain(..).map(|given| Given {
            app: AppId(given.key),
            cpu: given.cpu,
            ordered: given.ordered,
            ran: given.ran,
            at: given.at,
        });
        report.given.extend(given);
        if new.lost > self.lost {
            tracing::warn!(
                lost = new.lost - self.lost,
                "turns were lost: there was no room to record them"
            );
            self.lost = new.lost;
        }
        if new.threads_without_room > self.threads_without_room {
            tracing::warn!(
                times = new.threads_without_room - self.threads_without_room,
                "the scheduler in the kernel has no room for further threads: they run where their owners let them"
            );
            self.threads_without_room = new.threads_without_room;
        }
        self.records = new;
        done
    }
}

/// The kernel takes threads back by itself; this restores their policies.
impl Drop for SchedExt {
    fn drop(&mut self) {
        if let Err(why) = self.ledger.end_all() {
            tracing::error!("{why}");
        }
    }
}
