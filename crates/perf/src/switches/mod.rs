//! Who runs on which CPU, as the kernel's perf events tell, without a program in the kernel.
//!
//! On each CPU a group of events is led by `PERF_COUNT_SW_CONTEXT_SWITCHES` with a sample of every one: it tells who leaves, when by
//! `CLOCK_MONOTONIC`, and what the whole group has counted on this CPU until then. Between two samples, one thread ran, or none. Where there is
//! no PMU, the group is the leader alone, and times are all there is. It takes `CAP_PERFMON`, or `perf_event_paranoid` of 0 or less.
//!
//! Within a container that has a PID namespace of its own, threads outside of it have no number, and are taken for idleness.

mod records;
mod ring;
mod row;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use fairways_core::{Counter, Counters};
use fairways_resctrl::language::CpuSet;
use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_SAMPLE_READ, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
    PERF_TYPE_SOFTWARE,
};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::events::{Chosen, Encoding, Event};
use crate::sys::{self, Whom};
use crate::{budget, trouble};
use records::Record;
use ring::Ring;
use row::Row;

/// How long, in nanoseconds, somebody is on a CPU before it is looked whether that goes on: it takes an interrupt there.
const LOOK: u64 = 5_000_000;

/// How long, in nanoseconds, a group may be off the counters, so that no switch is told.
const PATIENCE: u64 = 1_000_000_000;

/// Events beside instructions and cycles in the group at most, as for programs (layout.rs).
const BESIDE: usize = 3;

/// What policies that schedule ask for comes first, when not all can be counted at once.
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

/// What a CPU did between two switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// The CPU.
    pub cpu: u32,
    /// The thread that ran, as gettid(2) tells it; 0: none.
    pub thread: i32,
    /// When it began and ended, in nanoseconds of `CLOCK_MONOTONIC`.
    pub span: (u64, u64),
    /// What the CPU counted meanwhile.
    pub counters: Counters,
    /// Whether it goes on.
    pub goes_on: bool,
}

/// A CPU that is watched.
#[derive(Debug)]
struct Cpu {
    // The buffer goes before the event that it is of.
    ring: Ring,
    leader: OwnedFd,
    /// Held open: closing one takes it out of the group.
    _members: Vec<OwnedFd>,
    row: Row,
    /// What was last read of the times that the group was enabled and on the counters.
    times: (u64, u64),
}

/// The switches of CPUs.
#[derive(Debug)]
pub struct Switches {
    events: Vec<Event>,
    cpus: BTreeMap<u32, Cpu>,
}

impl Switches {
    /// Watches these CPUs, and counts those of the events that one group of counters holds.
    ///
    /// # Errors
    /// If the kernel does not tell of switches, with the remedy.
    pub fn open(cpus: &CpuSet, chosen: &Chosen) -> io::Result<Self> {
        budget::allowed();
        let place = |event: &Event| ORDER.iter().position(|&field| field == event.field);
        let mut events = chosen.events.clone();
        events.sort_by_key(place);
        let mut switches = Self { events, cpus: BTreeMap::new() };
        switches.fit(cpus)?;
        switches.set_cpus(cpus)?;
        Ok(switches)
    }

    /// What is counted of each CPU.
    pub fn counted(&self) -> impl Iterator<Item = Counter> + '_ {
        self.events.iter().map(|event| event.field)
    }

    /// Leaves out the events that a group on one of these CPUs does not hold.
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
                    let (field, why) = (event.field.name(), trouble::line(&error));
                    tracing::info!(target: "fairways::schedule", field, why, "not counted at switches");
                }
            }
        }
        self.events = held;
        Ok(())
    }

    /// Watches these CPUs from now on; those that are not on line are passed over. Those that are watched already go on.
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

    fn watch(&self, cpu: u32) -> io::Result<Cpu> {
        let leader = Leader::open(cpu)?;
        let explained = |error: io::Error| io::Error::new(error.kind(), trouble::line(&error));
        let members = self.events.iter().map(|event| leader.member(event).map_err(explained));
        let members = members.collect::<io::Result<Vec<OwnedFd>>>()?;
        let Leader { event: leader, .. } = leader;
        let what = |error: io::Error| {
            let why = "the buffer of a CPU's switches can't be mapped: expected CAP_IPC_LOCK, or kernel.perf_event_mlock_kb of 516 or more";
            io::Error::new(error.kind(), format!("{why}: {error}"))
        };
        let ring = Ring::map(&leader).map_err(what)?;
        sys::enable(&leader)?;
        let fields = self.counted().collect();
        Ok(Cpu { ring, leader, _members: members, row: Row::new(cpu, fields), times: (0, 0) })
    }

    /// One of each CPU, readable when a quarter of its buffer is full.
    #[must_use]
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.cpus.values().map(|cpu| cpu.leader.as_fd()).collect()
    }

    /// Appends what happened since the last time: of a CPU in the order of time. What goes on is cut.
    ///
    /// # Errors
    /// If the kernel does not tell of one CPU's switches any longer, which is not watched then until it is
    /// [asked for again](Self::set_cpus); the others' are appended.
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
                Look::Well => {}
                Look::Starved => starved = true,
                Look::Dead => dead.push(number),
            }
        }
        self.cpus.retain(|cpu, _| !mute.contains(cpu));
        // Their CPU was off line meanwhile, and took the events with it.
        for cpu in dead {
            self.cpus.remove(&cpu);
            done = done.and(self.watch_if_there(cpu));
        }
        if starved {
            self.count_less();
        }
        done
    }

    /// Watches all anew with an event less, as the group is never put on the counters: others hold those that it needs.
    fn count_less(&mut self) {
        let Some(event) = self.events.pop() else { return };
        let field = event.field.name();
        tracing::warn!(target: "fairways::schedule", field, "no longer counted at switches: no counters were free for a second");
        let cpus: CpuSet = std::mem::take(&mut self.cpus).into_keys().collect();
        if let Err(error) = self.set_cpus(&cpus) {
            tracing::warn!(target: "fairways::schedule", %error, "switches are not told");
        }
    }
}

/// How it stands with a CPU's events.
enum Look {
    Well,
    /// They are not on the counters, so that no switch is told.
    Starved,
    /// They are no longer on any CPU.
    Dead,
}

impl Cpu {
    fn drain(&mut self, stays: &mut Vec<Stay>) -> io::Result<()> {
        let Self { ring, row, .. } = self;
        let mut malformed = false;
        ring.drain(|raw| {
            let record = Record::of(&raw);
            malformed |= record == Record::Malformed;
            row.take(record, stays);
        })?;
        if malformed {
            Err(io::Error::other("perf: a record of another form than asked for"))
        } else {
            Ok(())
        }
    }

    fn look(&mut self, events: usize, stays: &mut Vec<Stay>) -> Look {
        let at = now();
        if self.row.since().is_some_and(|since| at.saturating_sub(since) < LOOK) {
            return Look::Well;
        }
        let Ok(counted) = sys::read(&self.leader, events + 1) else { return Look::Dead };
        let before = std::mem::replace(&mut self.times, (counted.enabled, counted.running));
        if counted.enabled == before.0 {
            return Look::Dead;
        }
        if counted.running == before.1 && counted.enabled - before.0 > PATIENCE {
            return Look::Starved;
        }
        if counted.running == before.1 {
            // Until it has run, its last time on the counters is waited from.
            self.times = before;
        }
        self.row.look(at, counted, stays);
        Look::Well
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
        match sys::open_as(attr, Whom::Cpu(cpu), None) {
            Ok(event) => Ok(Self { cpu, event }),
            Err(error) if is_absent(&error) => Err(error),
            Err(error) => Err(io::Error::new(error.kind(), trouble::line(&error))),
        }
    }

    fn member(&self, event: &Event) -> io::Result<OwnedFd> {
        sys::open(event.encoding, Whom::Cpu(self.cpu), Some(self.event.as_fd()), false, 0)
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
