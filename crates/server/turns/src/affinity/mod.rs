//! Scheduling without a scheduler of our own: threads' own affinity and weight.
//!
//! - The CPUs that a thread may use are its affinity, within what its owner lets it use. What the
//!   owner changes meanwhile is the owner's from then on. cpusets are never changed: they are the
//!   owner's, or systemd's.
//! - Ordered time becomes weight. A turn is a quantum of the thread's time on CPUs, or the ordered
//!   time. During a turn of k quanta, the thread's weight is k times that of its owner's nice value
//!   (the nearest that exists), until it has had that time. The kernel applies weights among the
//!   threads of a CPU, within their cgroup and (kernel.sched_autogroup_enabled) session.
//! - A raised thread has the nice value -20: 87 times the weight of 0. Unlike a priority, that
//!   leaves others a hundredth of the time. Its children begin with 0, and not with such a value
//!   (`SCHED_RESET_ON_FORK`).
//! - Real-time and idle threads have no such weight. Only their affinity is set.
//!
//! Requests are carried out by [`settle`](Scheduler::settle), or with the next
//! [`turns`](Scheduler::turns), which [`attention`](Scheduler::attention) calls for: threads that
//! are moved together are recorded in one write.

mod alarm;
mod enforcement;
mod managed;
mod report;
mod retry;
mod settle;
mod turn;
mod weight;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use fairways_core::{AppId, CpuSet};
use fairways_ledger::{OpenError, Restored};
use fairways_linux::topology;
use fairways_perf::events::{self, Cpu, Vendor};
use fairways_perf::switches::{Stay, Switches, now};
use rustix::thread::{CapabilitySet, capabilities};
use rustix::time::{ClockId, clock_getres};

use super::ledger::{Key, Ledger};
use super::thread::{self, Stat};
use super::{Scheduler, Settings, TurnReport};
use alarm::Alarm;
use enforcement::{DryRun, Enforced, Enforcement};
use managed::{Managed, Owners, weighs};
use retry::Retry;
use turn::Turns;

/// How often to check, in nanoseconds, whether owners have changed anything, or CPUs came or went.
const LOOK: u64 = 200_000_000;

/// The shortest clock tick of a kernel, in nanoseconds (`CONFIG_HZ_1000`).
const LEAST: u64 = 1_000_000;

/// Threads' own affinity (sched_setaffinity(2)) and nice values (setpriority(2)).
#[derive(Debug)]
pub struct Affinity {
    settings: Settings,
    enforcement: &'static dyn Enforcement,
    ledger: Ledger,
    threads: BTreeMap<AppId, Managed>,
    by_thread: HashMap<i32, AppId>,
    /// Threads that have left and are to be put back.
    leaving: HashSet<Key>,
    online: CpuSet,
    /// Threads with a request, or a change that is due, that was not carried out yet.
    pending: BTreeSet<AppId>,
    looked: u64,
    /// When usual turns were last looked at.
    listed: u64,
    /// The kernel's clock tick, in nanoseconds: the step in which a thread's time on a CPU grows.
    tick: u64,
    alarm: Alarm,
    switches: Option<Switches>,
    /// Shorter turns of other threads are not reported, in nanoseconds; `None`: none of them is.
    shortest: Option<u64>,
    stays: Vec<Stay>,
    /// CPUs whose last turn was reported as going on.
    going_on: BTreeSet<u32>,
    /// Whether it was logged that threads of some policies have no weight.
    has_warned: bool,
    /// What went wrong the last time, which is not logged again.
    trouble: Option<String>,
}

impl Affinity {
    /// Claims the state directory, puts back what a killed fairways has left, and begins.
    ///
    /// # Errors
    /// If this user lacks the right (`CAP_SYS_NICE`), or the state directory can't be used, or
    /// another fairways uses it.
    pub fn open(settings: Settings) -> Result<(Self, Restored), OpenError> {
        let unsupported = |why: io::Error| OpenError::NotSupported(why.to_string());
        let enforcement: &'static dyn Enforcement = if settings.dry_run {
            &DryRun
        } else {
            check_rights()?;
            &Enforced
        };
        let Some(online) = topology::cpus(&settings.sysfs, "online") else {
            let path = settings.sysfs.join("devices/system/cpu/online");
            return Err(OpenError::NotSupported(format!(
                "{}: expected a list of CPUs",
                path.display()
            )));
        };
        let (ledger, restored) = enforcement.open(&settings)?;
        let affinity = Self {
            settings,
            enforcement,
            ledger,
            threads: BTreeMap::new(),
            by_thread: HashMap::new(),
            leaving: HashSet::new(),
            online,
            pending: BTreeSet::new(),
            looked: now(),
            listed: 0,
            tick: tick(),
            alarm: Alarm::new().map_err(unsupported)?,
            switches: None,
            shortest: None,
            stays: Vec::new(),
            going_on: BTreeSet::new(),
            has_warned: false,
            trouble: None,
        };
        Ok((affinity, restored))
    }

    /// Puts everything back. Dropping does as well, and logs what could not be put back.
    #[must_use]
    pub fn close(mut self) -> Restored {
        self.let_all_go()
    }

    fn let_all_go(&mut self) -> Restored {
        let threads = std::mem::take(&mut self.threads);
        self.by_thread.clear();
        // Exactly what each has, so that values that an owner set meanwhile are recognized.
        for managed in threads.values() {
            self.ledger.has_nice(managed.key(), managed.owners.nice, managed.nice);
        }
        self.ledger.end_all().unwrap_or_else(|error| {
            tracing::error!(target: "fairways::schedule", %error, "the ledger can't be written");
            Restored::default()
        })
    }

    fn quantum_nanos(&self) -> u64 {
        nanos(self.settings.quantum)
    }

    /// Checks whether owners have changed anything, or CPUs came or went.
    fn look(&mut self) -> io::Result<()> {
        self.find_cpus();
        // A CPU that was off line in between is no longer watched, though as many are on line as
        // before.
        let watched = self.switches.as_mut().map(|switches| switches.set_cpus(&self.online));
        let (quantum, now) = (self.quantum_nanos(), now());
        let Settings { proc, sysfs, .. } = &self.settings;
        for (&app, managed) in &mut self.threads {
            self.enforcement.check(managed, proc, sysfs, &self.online);
            if !managed.known || managed.due(&self.online, quantum, now) != (None, None) {
                self.pending.insert(app);
            }
        }
        watched.unwrap_or(Ok(()))
    }

    /// Reads which CPUs are on line. If these have changed, every thread may be due a change.
    fn find_cpus(&mut self) {
        let online = topology::cpus(&self.settings.sysfs, "online");
        if let Some(online) = online.filter(|online| *online != self.online) {
            tracing::info!(target: "fairways::schedule", cpus = online.to_list(), "other CPUs are on line");
            self.online = online;
            self.pending.extend(self.threads.keys());
        }
    }

    /// Reads a thread that is taken in; `None` if it has ended. What it inherited from a managed
    /// thread is not its owner's.
    ///
    /// # Errors
    /// If it lives, and can't be read.
    fn read_new(&mut self, thread: i32) -> io::Result<Option<Managed>> {
        let path = self.settings.proc.join(format!("{thread}/schedstat"));
        let explained =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let unread = match File::open(&path) {
            Ok(time) => match self.read(thread, time) {
                Some(managed) => return Ok(Some(managed)),
                None => io::Error::other("it, or stat or status beside it, can't be read"),
            },
            Err(error) => error,
        };
        if thread::exists(thread) { Err(explained(unread)) } else { Ok(None) }
    }

    fn read(&mut self, thread: i32, time: File) -> Option<Managed> {
        let Settings { proc, sysfs, .. } = &self.settings;
        let stat = Stat::read(proc, thread)?;
        let family = thread::family(proc, thread)?;
        let cpus = thread::affinity(proc, thread)?;
        let before = self.ledger.affinity_before(family, stat.started, &cpus);
        let is_ours = before.is_some();
        let (theirs, all) = before.unwrap_or_else(|| {
            let all = Some(&cpus) == thread::unrestricted(proc, sysfs, thread).as_ref();
            (cpus.clone(), all)
        });
        let nice = self.ledger.nice_before(family, stat.started, stat.nice).unwrap_or(stat.nice);
        if !weighs(&stat) && !std::mem::replace(&mut self.has_warned, true) {
            let policy = stat.policy;
            tracing::warn!(target: "fairways::schedule", thread, policy, "threads of this policy have no weight: they get CPUs only");
        }
        Some(Managed {
            thread,
            started: stat.started,
            known: false,
            turns: Turns::new(self.quantum_nanos(), thread::time(&time)?, now()),
            time,
            owners: Owners { cpus: theirs, all, nice },
            cpus,
            is_ours,
            is_remembered: false,
            nice: stat.nice,
            resets: false,
            weighs: weighs(&stat),
            wanted: None,
            raised: false,
            cpus_retry: Retry::default(),
            nice_retry: Retry::default(),
        })
    }

    /// Logs what went wrong, once until another thing does, or a check finds all well.
    fn log_trouble(&mut self, trouble: Option<String>, has_looked: bool) {
        if let Some(error) = trouble.as_ref().filter(|_| trouble != self.trouble) {
            tracing::warn!(target: "fairways::schedule", error, "not every request was carried out");
        }
        if trouble.is_some() || has_looked && !self.threads.values().any(Managed::is_waiting) {
            self.trouble = trouble;
        }
    }

    /// Changes what is requested for a thread, and calls for attention.
    fn request(&mut self, app: AppId, change: impl FnOnce(&mut Managed)) -> io::Result<()> {
        if let Some(managed) = self.threads.get_mut(&app) {
            change(managed);
            self.pending.insert(app);
            self.alarm.set(Some(1))?;
        }
        Ok(())
    }
}

impl Scheduler for Affinity {
    fn name(&self) -> &'static str {
        "affinity"
    }

    fn quantum(&self) -> Duration {
        self.settings.quantum
    }

    fn begin(&mut self, app: AppId, thread: i32) -> io::Result<()> {
        // A thread that left just now is put back first, and begins with what its owner lets it
        // have.
        if self.leaving.iter().any(|&(left, _)| left == thread) {
            self.let_go()?;
        }
        if let Some(managed) = self.read_new(thread)? {
            self.by_thread.insert(thread, app);
            self.threads.insert(app, managed);
            self.pending.insert(app);
            self.alarm.set(Some(1))?;
        }
        Ok(())
    }

    /// Threads that leave together are recorded in one write, with the next requests.
    fn end(&mut self, app: AppId) {
        let Some(managed) = self.threads.remove(&app) else { return };
        self.pending.remove(&app);
        // Its number may be another thread's already.
        if self.by_thread.get(&managed.thread) == Some(&app) {
            self.by_thread.remove(&managed.thread);
        }
        self.ledger.has_nice(managed.key(), managed.owners.nice, managed.nice);
        self.leaving.insert(managed.key());
        if let Err(error) = self.alarm.set(Some(1)) {
            tracing::error!(target: "fairways::schedule", %error, "a thread is not released at once");
        }
    }

    fn owners(&self, app: AppId) -> Option<CpuSet> {
        self.enforcement.owners_cpus(self.threads.get(&app)?)
    }

    fn allow(&mut self, app: AppId, cpus: &CpuSet) -> io::Result<()> {
        self.request(app, |managed| managed.wanted = Some(cpus.clone()))
    }

    fn raise(&mut self, app: AppId, raised: bool) -> io::Result<()> {
        self.request(app, |managed| managed.raised = raised)
    }

    fn order(&mut self, app: AppId, time: Duration) -> io::Result<()> {
        self.request(app, |managed| managed.order(nanos(time).max(1)))
    }

    fn settle(&mut self) -> io::Result<()> {
        self.carry_out()
    }

    fn watch(&mut self, shortest: Option<Duration>) -> io::Result<()> {
        self.shortest = shortest.map(nanos);
        if self.switches.is_none() {
            let chosen = self.settings.events.clone().unwrap_or_else(|| {
                let devices = self.settings.sysfs.join("bus/event_source/devices");
                let cpu = Cpu::read(Path::new("/proc/cpuinfo"), &devices);
                let unknown = |_| Cpu { vendor: Vendor::Other(String::new()), hybrid: false };
                events::for_cpu(&cpu.unwrap_or_else(unknown))
            });
            self.switches = Some(Switches::open(&self.online, &chosen)?);
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Restored {
        Self::close(*self)
    }

    fn attention(&self) -> Vec<BorrowedFd<'_>> {
        let switches = self.switches.as_ref().map(Switches::descriptors);
        [self.alarm.fd()].into_iter().chain(switches.into_iter().flatten()).collect()
    }

    /// A refusal of the kernel does not end it: it is logged once, and tried again.
    fn turns(&mut self, ended: &mut TurnReport) -> io::Result<()> {
        let now = now();
        let is_time = now.saturating_sub(self.looked) >= LOOK;
        let mut done = Ok(());
        if is_time {
            self.looked = now;
            done = self.look();
        }
        done = done.and(self.stays(ended));
        self.given(ended);
        done = done.and(self.carry_out());
        self.log_trouble(done.err().map(|error| error.to_string()), is_time);
        self.arm()
    }
}

impl Drop for Affinity {
    fn drop(&mut self) {
        self.let_all_go();
    }
}

/// Checks that this user may schedule other users' threads.
fn check_rights() -> Result<(), OpenError> {
    let rights = capabilities(None);
    if rights.is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_NICE)) {
        return Ok(());
    }
    let why = "threads of others can't be scheduled: expected root, or CAP_SYS_NICE";
    Err(OpenError::NotSupported(why.to_owned()))
}

/// The kernel's clock tick, in nanoseconds: the resolution of its coarse clock.
fn tick() -> u64 {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    u64::try_from(tick.tv_nsec).unwrap_or(0).max(LEAST)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
