//! Which thread runs on which CPU, from the kernel's perf events, without a program in the kernel.
//!
//! On each CPU a group of events is led by `PERF_COUNT_SW_CONTEXT_SWITCHES`, with a sample for
//! every switch: it names the thread that leaves, the time by `CLOCK_MONOTONIC`, and the group's
//! counts on this CPU until then. Between two samples, one thread ran, or none. Where there is no
//! PMU, the group is the leader alone, and only times are known. It takes `CAP_PERFMON`, or
//! `perf_event_paranoid` of 0 or less.
//!
//! In a container with its own PID namespace, threads outside of it have no number, and count as
//! idleness.

mod records;
mod ring;
mod timeline;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use fairways_core::{Counter, Counters, CpuSet};
use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_SAMPLE_READ, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
    PERF_TYPE_SOFTWARE,
};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::events::{Encoding, Event, ProcessorEvents};
use crate::sys::{self, Scope};
use crate::{budget, trouble};
use records::Record;
use ring::Ring;
use timeline::Timeline;

/// Nanoseconds that a thread is on a CPU before a look finds out whether it still is: a look takes
/// an interrupt there.
const LOOK: u64 = 5_000_000;

/// Nanoseconds that a group may be off the counters, during which no switch is reported.
const PATIENCE: u64 = 1_000_000_000;

/// The most events in the group besides instructions and cycles, as for programs (layout.rs).
const BESIDE: usize = 3;

/// The counters that scheduling policies use come first, when not all can be counted at once.
const ORDER: [Counter; 8] = [
    Counter::Instructions,
    Counter::Cycles,
    Counter::LlcMisses,
    Counter::LlcReferences,
    Counter::StallsLlcMiss,
    Counter::StallsStoreBuffer,
    Counter::L1References,
    Counter::StallsL2Miss,
];

/// A CPU's record between two switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// The CPU.
    pub cpu: u32,
    /// The thread that ran, as numbered by gettid(2); 0: none.
    pub thread: i32,
    /// When it began and ended, in nanoseconds of `CLOCK_MONOTONIC`.
    pub span: (u64, u64),
    /// The CPU's counts meanwhile.
    pub counters: Counters,
    /// Whether the thread stays on.
    pub goes_on: bool,
}

/// A CPU that is watched.
#[derive(Debug)]
struct WatchedCpu {
    // The buffer is dropped before its event.
    ring: Ring,
    leader: OwnedFd,
    /// Kept open: closing a member takes it out of the group.
    _members: Vec<OwnedFd>,
    timeline: Timeline,
    /// The group's times enabled and on the counters, as last read.
    times: (u64, u64),
}

/// The switches of CPUs.
#[derive(Debug)]
pub struct Switches {
    events: Vec<Event>,
    cpus: BTreeMap<u32, WatchedCpu>,
}

impl Switches {
    /// Watches these CPUs, and counts those of the events that one group of counters holds.
    ///
    /// If the kernel does not report switches, with the remedy.
    /// If the kernel does not report switches, with the remedy.
    pub fn open(cpus: &CpuSet, chosen: &ProcessorEvents) -> io::Result<Self> {
        budget::allowed();
        let mut events = chosen.events.clone();
        events.sort_by_key(|event| ORDER.iter().position(|&field| field == event.field));
        let mut switches = Self { events, cpus: BTreeMap::new() };
        switches.fit(cpus)?;
        switches.set_cpus(cpus)?;
        Ok(switches)
    }

    /// The counters that are read on each CPU.
    pub fn counted(&self) -> impl Iterator<Item = Counter> + '_ {
        self.events.iter().map(|event| event.field)
    }

    /// Leaves out the events that do not fit into a group on one of these CPUs.
    fn fit(&mut self, cpus: &CpuSet) -> io::Result<()> {
        let on_line = cpus.iter().find_map(|cpu| match Leader::open(cpu) {
            Err(error) if is_absent(&error) => None,
            opened => Some(opened),
        });
        let Some(leader) = on_line.transpose()? else { return Ok(()) };
        let (mut held, mut members) = (Vec::new(), Vec::new());
        let mut beside = 0;
        for event in std::mem::take(&mut self.events) {
            let is_beside = !matches!(event.field, Counter::Instructions | Counter::Cycles);
            if is_beside && beside == BESIDE {
                continue;
            }
            match leader.member(&event) {
                Ok(member) => {
                    members.push(member);
                    held.push(event);
                    beside += usize::from(is_beside);
                }
                Err(error) => {
                    let (field, why) = (event.field.name(), trouble::explain(&error));
                    tracing::info!(target: "fairways::schedule", field, why, "not counted at switches");
                }
            }
        }
        self.events = held;
        Ok(())
    }

    /// Watches these CPUs from now on, except those that are not on line. CPUs that are already
    /// watched stay so.
    ///
    /// # Errors
    /// As [`Switches::open`], if one can't be watched; the others are.
    pub fn set_cpus(&mut self, cpus: &CpuSet) -> io::Result<()> {
        self.cpus.retain(|&cpu, _| cpus.contains(cpu));
        let mut done = Ok(());
        for cpu in cpus.iter() {
            if !self.cpus.contains_key(&cpu) {
                done = done.and(self.watch_if_there(cpu));
            }
        }
        done
    }

    fn watch_if_there(&mut self, cpu: u32) -> io::Result<()> {
        match self.watch(cpu) {
            Ok(watched) => drop(self.cpus.insert(cpu, watched)),
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(io::Error::new(error.kind(), format!("CPU {cpu}: {error}"))),
        }
        Ok(())
    }

    fn watch(&self, cpu: u32) -> io::Result<WatchedCpu> {
        let leader = Leader::open(cpu)?;
        let members = self.events.iter().map(|event| {
            leader
                .member(event)
                .map_err(|error| io::Error::new(error.kind(), trouble::explain(&error)))
        });
        let members = members.collect::<io::Result<Vec<OwnedFd>>>()?;
        let Leader { event: leader, .. } = leader;
        let ring = Ring::map(&leader).map_err(|error| {
            let why = "the buffer of a CPU's switches can't be mapped: expected CAP_IPC_LOCK, or kernel.perf_event_mlock_kb of 516 or more";
            io::Error::new(error.kind(), format!("{why}: {error}"))
        })?;
        sys::enable(&leader)?;
        let fields = self.counted().collect();
        Ok(WatchedCpu {
            ring,
            leader,
            _members: members,
            timeline: Timeline::new(cpu, fields),
            times: (0, 0),
        })
    }

    /// One descriptor per CPU, readable when a quarter of its buffer is full.
    #[must_use]
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.cpus.values().map(|cpu| cpu.leader.as_fd()).collect()
    }

    /// Appends what happened since the last call, for each CPU in order of time. A stay that goes
    /// on is cut.
    ///
    /// # Errors
    /// If the kernel does not report one CPU's switches any longer; it is not watched until it is
    /// [requested again](Self::set_cpus). The others' are appended.
    pub fn read(&mut self, stays: &mut Vec<Stay>) -> io::Result<()> {
        let (mut dead, mut mute) = (Vec::new(), Vec::new());
        let (mut starved, mut done) = (false, Ok(()));
        for (&number, cpu) in &mut self.cpus {
            if let Err(error) = cpu.drain(stays) {
                mute.push(number);
                done = done.and(Err(error));
                continue;
            }
            match cpu.look(self.events.len(), stays) {
                CpuHealth::Well => {}
                CpuHealth::Starved => starved = true,
                CpuHealth::Dead => dead.push(number),
            }
        }
        self.cpus.retain(|cpu, _| !mute.contains(cpu));
        // Their CPU was off line meanwhile, which ended its events.
        for cpu in dead {
            self.cpus.remove(&cpu);
            done = done.and(self.watch_if_there(cpu));
        }
        if starved {
            self.count_less();
        }
        done
    }

    /// Watches all CPUs again with one event less, because the group is never put on the counters:
    /// other events occupy those that it needs.
    fn count_less(&mut self) {
        let Some(event) = self.events.pop() else { return };
        let field = event.field.name();
        tracing::warn!(target: "fairways::schedule", field, "no longer counted at switches: no counters were free for a second");
        let cpus: CpuSet = std::mem::take(&mut self.cpus).into_keys().collect();
        if let Err(error) = self.set_cpus(&cpus) {
            tracing::warn!(target: "fairways::schedule", %error, "switches are not reported");
        }
    }
}

/// The state of a CPU's events.
enum CpuHealth {
    Well,
    /// They are not on the counters, so that no switch is reported.
    Starved,
    /// They are no longer on any CPU.
    Dead,
}

impl WatchedCpu {
    fn drain(&mut self, stays: &mut Vec<Stay>) -> io::Result<()> {
        let Self { ring, timeline: row, .. } = self;
        let mut malformed = false;
        ring.drain(|raw| {
            let record = Record::parse(&raw);
            malformed |= record == Record::Malformed;
            row.take(record, stays);
        })?;
        if malformed {
            Err(io::Error::other("perf: a record of another form than requested"))
        } else {
            Ok(())
        }
    }

    fn look(&mut self, events: usize, stays: &mut Vec<Stay>) -> CpuHealth {
        let at = now();
        if self.timeline.since().is_some_and(|since| at.saturating_sub(since) < LOOK) {
            return CpuHealth::Well;
        }
        let Ok(counted) = sys::read(&self.leader, events + 1) else { return CpuHealth::Dead };
        let before = std::mem::replace(&mut self.times, (counted.enabled, counted.running));
        if counted.enabled == before.0 {
            return CpuHealth::Dead;
        }
        if counted.running == before.1 && counted.enabled - before.0 > PATIENCE {
            return CpuHealth::Starved;
        }
        if counted.running == before.1 {
            // Until the group has run, waiting counts from its last time on the counters.
            self.times = before;
        }
        self.timeline.look(at, counted, stays);
        CpuHealth::Well
    }
}

/// The leader of a CPU's group.
struct Leader {
    cpu: i32,
    event: OwnedFd,
}

impl Leader {
    fn open(cpu: u32) -> io::Result<Self> {
        let encoding = Encoding {
            kind: PERF_TYPE_SOFTWARE,
            config: u64::from(PERF_COUNT_SW_CONTEXT_SWITCHES),
        };
        let mut attr = sys::event(encoding);
        attr.__bindgen_anon_1.sample_period = 1;
        attr.sample_type = u64::from(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_READ);
        attr.set_disabled(1);
        attr.set_sample_id_all(1);
        attr.set_context_switch(1);
        attr.set_use_clockid(1);
        attr.clockid = rustix::time::ClockId::Monotonic as i32;
        attr.set_watermark(1);
        attr.__bindgen_anon_2.wakeup_watermark = u32::try_from(ring::SIZE / 4).unwrap_or(1);
        let cpu = i32::try_from(cpu).map_err(io::Error::other)?;
        match sys::open_as(attr, Scope::Cpu(cpu), None) {
            Ok(event) => Ok(Self { cpu, event }),
            Err(error) if is_absent(&error) => Err(error),
            Err(error) => Err(io::Error::new(error.kind(), trouble::explain(&error))),
        }
    }

    fn member(&self, event: &Event) -> io::Result<OwnedFd> {
        sys::open(event.encoding, Scope::Cpu(self.cpu), Some(self.event.as_fd()), false, 0)
    }
}

/// Whether a CPU is not on line.
fn is_absent(error: &io::Error) -> bool {
    trouble::is(error, Errno::NODEV) || trouble::is(error, Errno::NXIO)
}

/// The time, in nanoseconds of `CLOCK_MONOTONIC`.
#[must_use]
pub fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let (seconds, rest) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
    seconds.unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(rest.unwrap_or(0))
}
