//! Scheduling without a scheduler of our own: threads' own affinity and weight.
//!
//! - The CPUs that a thread may use are its affinity, within what its owner lets it use. What the owner changes meanwhile is the owner's
//!   from then on. cpusets are never changed: they are the owner's, or systemd's.
//! - Time that is ordered becomes weight. A turn is a quantum of the thread's time on CPUs, or what was ordered; while a thread has a turn
//!   of k quanta, its weight is k times that of its owner's nice value, the nearest there is, until it has had that time. That is a share, as the
//!   kernel gives one: among the threads of a CPU, and within their cgroup and (kernel.sched_autogroup_enabled) session.
//! - Who is raised has the nice value -20: 87 times the weight of 0. Unlike a priority, that leaves others a hundredth of the time.
//! - Real-time and idle threads have no such weight. Their affinity is set, and no more.
//!
//! What is asked is carried out by [`settle`](Scheduler::settle), or with the next [`turns`](Scheduler::turns), which
//! [`attention`](Scheduler::attention) calls for: so many threads that are moved at once are written down once.

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

use fairways_core::AppId;
use fairways_linux::topology;
use fairways_perf::events::{self, Cpu, Vendor};
use fairways_perf::switches::{Stay, Switches, now};
use fairways_resctrl::language::CpuSet;
use fairways_resctrl_client::{OpenError, Restored};
use rustix::thread::{CapabilitySet, capabilities};
use rustix::time::{ClockId, clock_getres};

use super::ledger::{Key, Ledger};
use super::thread::{self, Stat};
use super::{Scheduler, Settings, Told};
use alarm::Alarm;
use enforcement::{DryRun, Enforced, Enforcement};
use managed::{Managed, Owners, weighs};
use retry::Retry;
use turn::Turns;

/// How often it is looked, in nanoseconds, whether owners have changed anything, or CPUs came or went.
const LOOK: u64 = 200_000_000;

/// No kernel's clock ticks more often, in nanoseconds (`CONFIG_HZ_1000`).
const LEAST: u64 = 1_000_000;

/// Threads' own affinity (sched_setaffinity(2)) and nice values (setpriority(2)).
#[derive(Debug)]
pub struct Affinity {
    settings: Settings,
    enforcement: &'static dyn Enforcement,
    ledger: Ledger,
    threads: BTreeMap<AppId, Managed>,
    by_thread: HashMap<i32, AppId>,
    /// Those that are to be put back as they were.
    leaving: HashSet<Key>,
    online: CpuSet,
    /// Of whom something was asked, or is due, that was not carried out yet.
    asked: BTreeSet<AppId>,
    looked: u64,
    /// When usual turns were last looked at.
    listed: u64,
    /// The kernel's clock tick, in nanoseconds: the least that the time of a thread on a CPU is told by.
    tick: u64,
    alarm: Alarm,
    switches: Option<Switches>,
    /// What others did for less is not told, in nanoseconds; `None`: nothing is.
    shortest: Option<u64>,
    stays: Vec<Stay>,
    /// CPUs of whose last turn it was told that it goes on.
    going_on: BTreeSet<u32>,
    /// Whether it was said that threads of such policies have no weight.
    said: bool,
    /// What went wrong the last time, which is not said again.
    trouble: Option<String>,
}

impl Affinity {
    /// Takes the state directory, puts back what a fairways that was killed has left, and begins.
    ///
    /// # Errors
    /// If this user may not (`CAP_SYS_NICE`), or the state directory can't be used, or another fairways uses it.
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
            asked: BTreeSet::new(),
            looked: now(),
            listed: 0,
            tick: tick(),
            alarm: Alarm::new().map_err(unsupported)?,
            switches: None,
            shortest: None,
            stays: Vec::new(),
            going_on: BTreeSet::new(),
            said: false,
            trouble: None,
        };
        Ok((affinity, restored))
    }

    /// Puts everything back. Dropping does as well, and tells in the log what it could not.
    #[must_use]
    pub fn close(mut self) -> Restored {
        self.let_all_go()
    }

    fn let_all_go(&mut self) -> Restored {
        let threads = std::mem::take(&mut self.threads);
        self.by_thread.clear();
        // Exactly what each has: what an owner set meanwhile is told from it.
        for managed in threads.values() {
            self.ledger.has_nice(managed.key(), managed.owners.nice, managed.nice);
        }
        self.ledger.end_all().unwrap_or_else(|error| {
            tracing::error!(target: "fairways::schedule", %error, "the ledger is not as it should be");
            Restored::default()
        })
    }

    fn quantum_nanos(&self) -> u64 {
        nanos(self.settings.quantum)
    }

    /// Looks whether owners have changed anything, or CPUs came or went.
    fn look(&mut self) -> io::Result<()> {
        self.find_cpus();
        // One that was off line in between is watched no longer, though as many are on line as before.
        let watched = self.switches.as_mut().map(|switches| switches.set_cpus(&self.online));
        let (quantum, now) = (self.quantum_nanos(), now());
        let Settings { proc, sysfs, .. } = &self.settings;
        for (&app, managed) in &mut self.threads {
            if managed.may_differ(&self.online) {
                self.enforcement.look(managed, proc, sysfs, &self.online);
            }
            if !managed.known || managed.due(&self.online, quantum, now) != (None, None) {
                self.asked.insert(app);
            }
        }
        watched.unwrap_or(Ok(()))
    }

    /// Reads which CPUs are on line; if others than before, what is due of threads may be another.
    fn find_cpus(&mut self) {
        let online = topology::cpus(&self.settings.sysfs, "online");
        if let Some(online) = online.filter(|online| *online != self.online) {
            tracing::info!(target: "fairways::schedule", cpus = online.to_list(), "other CPUs are on line");
            self.online = online;
            self.asked.extend(self.threads.keys());
        }
    }

    /// What is known of a thread at its beginning; `None` if it has ended. What it has from one of ours that made it is not
    /// its owner's.
    ///
    /// # Errors
    /// If it is there, and can't be read.
    fn found(&mut self, thread: i32) -> io::Result<Option<Managed>> {
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
        if !weighs(&stat) && !std::mem::replace(&mut self.said, true) {
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
            weighs: weighs(&stat),
            wanted: None,
            raised: false,
            cpus_retry: Retry::default(),
            nice_retry: Retry::default(),
        })
    }

    /// Says what went wrong, until something else does, or a look finds all well.
    fn say(&mut self, trouble: Option<String>, has_looked: bool) {
        let waits = |of: &Managed| of.cpus_retry.is_waiting() || of.nice_retry.is_waiting();
        if let Some(error) = trouble.as_ref().filter(|_| trouble != self.trouble) {
            tracing::warn!(target: "fairways::schedule", error, "not all was carried out");
        }
        if trouble.is_some() || has_looked && !self.threads.values().any(waits) {
            self.trouble = trouble;
        }
    }

    /// Changes what is asked of a thread, and calls for attention.
    fn ask(&mut self, app: AppId, what: impl FnOnce(&mut Managed)) -> io::Result<()> {
        if let Some(managed) = self.threads.get_mut(&app) {
            what(managed);
            self.asked.insert(app);
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
        // One that left just now begins with what its owner lets it have.
        if self.leaving.iter().any(|&(left, _)| left == thread) {
            self.let_go()?;
        }
        if let Some(managed) = self.found(thread)? {
            self.by_thread.insert(thread, app);
            self.threads.insert(app, managed);
            self.asked.insert(app);
            self.alarm.set(Some(1))?;
        }
        Ok(())
    }

    /// So many that leave at once are written down once, with what is asked next.
    fn end(&mut self, app: AppId) {
        let Some(managed) = self.threads.remove(&app) else { return };
        self.asked.remove(&app);
        // Its number may be another one's already.
        if self.by_thread.get(&managed.thread) == Some(&app) {
            self.by_thread.remove(&managed.thread);
        }
        self.ledger.has_nice(managed.key(), managed.owners.nice, managed.nice);
        self.leaving.insert(managed.key());
        if let Err(error) = self.alarm.set(Some(1)) {
            tracing::error!(target: "fairways::schedule", %error, "not let go at once");
        }
    }

    fn owners(&self, app: AppId) -> Option<CpuSet> {
        self.enforcement.owners_cpus(self.threads.get(&app)?)
    }

    fn allow(&mut self, app: AppId, cpus: &CpuSet) -> io::Result<()> {
        self.ask(app, |managed| managed.wanted = Some(cpus.clone()))
    }

    fn raise(&mut self, app: AppId, raised: bool) -> io::Result<()> {
        self.ask(app, |managed| managed.raised = raised)
    }

    fn order(&mut self, app: AppId, time: Duration) -> io::Result<()> {
        self.ask(app, |managed| managed.order(nanos(time).max(1)))
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

    /// Nothing that the kernel refuses ends it: that is said once, and tried again.
    fn turns(&mut self, told: &mut Told) -> io::Result<()> {
        let now = now();
        let is_time = now.saturating_sub(self.looked) >= LOOK;
        let mut done = Ok(());
        if is_time {
            self.looked = now;
            done = self.look();
        }
        done = done.and(self.stays(told));
        self.given(told);
        done = done.and(self.carry_out());
        self.say(done.err().map(|error| error.to_string()), is_time);
        self.arm()
    }
}

impl Drop for Affinity {
    fn drop(&mut self) {
        self.let_all_go();
    }
}

/// Whether this user may schedule threads of others.
fn check_rights() -> Result<(), OpenError> {
    let rights = capabilities(None);
    if rights.is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_NICE)) {
        return Ok(());
    }
    let why = "threads of others can't be scheduled: expected root, or CAP_SYS_NICE";
    Err(OpenError::NotSupported(why.to_owned()))
}

/// A coarse clock of the kernel's goes on by one tick each time.
fn tick() -> u64 {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    u64::try_from(tick.tv_nsec).unwrap_or(0).max(LEAST)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
