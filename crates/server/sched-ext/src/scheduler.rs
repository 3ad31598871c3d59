//! The scheduler, as its loader sees it.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use libbpf_rs::{Link, MapCore as _, MapFlags, MapHandle, Object, ObjectBuilder};
use zerocopy::IntoBytes as _;

use crate::contract;
use crate::policy::{self, FormerPolicy};
use crate::prepare::{CPU_COUNTERS, NAME, WITHOUT_SCHEDULER, cpus, length, nanos, prepare};
use crate::programs::{self, explained};
use crate::reader::Reader;
use crate::settings::{Records, Settings};
use crate::support::callable;
use crate::{Error, supported};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scheduler.bpf.o"));

/// The part in which a turn that lasts is reported: a quantum for managed threads; this long for
/// others' turns, and idle ones.
const PARTED: Duration = Duration::from_millis(50);

/// A scheduler in the kernel. When it is dropped, or its process ends in any way, the kernel takes
/// all threads back. It is not `Sync`: the programs handle one command at a time.
#[derive(Debug)]
pub struct Scheduler {
    object: Object,
    links: Vec<Link>,
    watching: Option<Link>,
    reader: Reader,
    control: MapHandle,
    spans: MapHandle,
    ended: MapHandle,
    counts: MapHandle,
    scheduling: bool,
    quantum: Duration,
    shortest: Option<Duration>,
    epoch: u32,
}

impl Scheduler {
    /// Loads it, and lets it schedule; no thread is under it yet.
    ///
    /// # Errors
    /// If this machine does not support it ([`supported`]), the kernel refuses, or a setting is out
    /// of bounds.
    pub fn load(settings: &Settings) -> Result<Self, Error> {
        supported().and_then(|()| callable()).map_err(Error::Unsupported)?;
        let mut loaded = Self::loaded(settings, true)?;
        let mut operations = loaded.object.maps_mut().find(|m| m.name() == OsStr::new(NAME));
        let operations = operations
            .as_mut()
            .ok_or_else(|| Error::Setting("the object has no scheduler".into()))?;
        let link = explained("the scheduler", || operations.attach_struct_ops())?;
        loaded.links.push(link);
        Ok(loaded)
    }

    /// Loads only the watching programs, which need no sched_ext: threads can be added and are
    /// reported, and nothing else.
    ///
    /// # Errors
    /// If the kernel refuses, or a setting is out of bounds.
    pub fn watcher(settings: &Settings) -> Result<Self, Error> {
        let mut loaded = Self::loaded(settings, false)?;
        for name in WITHOUT_SCHEDULER {
            let program = programs::program(&loaded.object, name)?;
            loaded.links.push(explained("the watch", || program.attach_trace())?);
        }
        Ok(loaded)
    }

    fn loaded(settings: &Settings, scheduling: bool) -> Result<Self, Error> {
        let cpus = cpus()?;
        let mut open = explained("the programs", || ObjectBuilder::default().open_memory(OBJECT))?;
        prepare(&mut open, settings, scheduling, cpus)?;
        let object = explained("the programs", || open.load())?;
        let events = programs::map(&object, "events")?;
        for counter in &settings.counters {
            let slot = u32::try_from(counter.slot).unwrap_or(u32::MAX);
            let place = counter.cpu * CPU_COUNTERS + slot;
            let value = counter.event.as_raw_fd().to_ne_bytes();
            events
                .update(&place.to_ne_bytes(), &value, MapFlags::ANY)
                .map_err(Error::kernel("a CPU's counter"))?;
        }
        let names = [".data.control", "spans", ".data.ended", ".data.counts", "records"];
        let [control, spans, ended, counts, records] =
            names.map(|name| programs::map(&object, name));
        Ok(Self {
            reader: Reader::new(records?)?,
            object,
            links: Vec::new(),
            watching: None,
            control: control?,
            spans: spans?,
            ended: ended?,
            counts: counts?,
            scheduling,
            quantum: settings.quantum,
            shortest: None,
            epoch: 0,
        })
    }

    /// The length of a turn for which nothing else was ordered.
    #[must_use]
    pub fn quantum(&self) -> Duration {
        self.quantum
    }

    /// Adds a thread, as numbered by gettid(2) in this process's name space, under a key that its
    /// records carry. It may run on every CPU that its owner allows, is not raised, and nothing is
    /// ordered for it. This does not put it under the scheduler: [`enter`](Self::enter).
    ///
    /// # Errors
    /// `ESRCH` if it has ended.
    pub fn add(&self, thread: i32, key: u32) -> Result<(), Error> {
        self.command(contract::Command { key, ..command(contract::OP_ADD, thread) }).map(drop)
    }

    /// Forgets everything that was set for a thread.
    ///
    /// # Errors
    /// `ESRCH` if it has ended.
    pub fn remove(&self, thread: i32) -> Result<(), Error> {
        self.command(command(contract::OP_REMOVE, thread)).map(drop)
    }

    /// Puts a thread under the scheduler, and returns how it was scheduled before, to be kept for
    /// [`leave`](Self::leave), and to be written down first. Its nice value, its affinity and its
    /// children stay as they are; children are under the scheduler, too, unless its owner has set
    /// `SCHED_RESET_ON_FORK`.
    ///
    /// # Errors
    /// If the kernel refuses; `EOPNOTSUPP` for a real-time thread, one with deadlines, or one of
    /// `SCHED_IDLE`: these stay as they are.
    pub fn enter(&self, thread: i32) -> Result<FormerPolicy, Error> {
        policy::enter(thread)
    }

    /// Puts a thread back, unless it has another policy by now, which then was set by another
    /// program.
    ///
    /// # Errors
    /// If the kernel refuses; `ESRCH` if it has ended.
    pub fn leave(&self, thread: i32, before: FormerPolicy) -> Result<(), Error> {
        if FormerPolicy::read(thread)?.is_ext() && !before.is_ext() {
            before.set(thread)
        } else {
            Ok(())
        }
    }

    /// Lets a thread run on these CPUs only (bit `c % 64` of word `c / 64` is CPU `c`); or on all
    /// that its owner allows, where that allows none of these, or none is given. Its affinity is
    /// not touched. Returns whether this is in force already; otherwise the thread is just leaving
    /// a CPU, and [`is_in_force`](Self::is_in_force) reports when it has.
    ///
    /// # Errors
    /// `ESRCH` if it has ended or was not taken in.
    pub fn allow(&self, thread: i32, cpus: &[u64]) -> Result<bool, Error> {
        let mut order = command(contract::OP_ALLOW, thread);
        for (to, word) in order.cpus.iter_mut().zip(cpus) {
            *to = *word;
        }
        Ok(self.command(order)?.answer != 0)
    }

    /// Whether a thread is on no CPU that it may not use. Once true, it stays true until other CPUs
    /// are allowed.
    ///
    /// # Errors
    /// `ESRCH` if it has ended or was not taken in.
    pub fn is_in_force(&self, thread: i32) -> Result<bool, Error> {
        Ok(self.command(command(contract::OP_IN_FORCE, thread))?.answer != 0)
    }

    /// Lets a thread run before those that are not raised, or no longer.
    ///
    /// # Errors
    /// `ESRCH` if it has ended or was not taken in.
    pub fn raise(&self, thread: i32, raised: bool) -> Result<(), Error> {
        let value = u64::from(raised);
        self.command(contract::Command { value, ..command(contract::OP_RAISE, thread) }).map(drop)
    }

    /// Sets the length of a thread's next turn, in CPU time. It is a share: the turn is charged as
    /// one quantum, however long. A later order replaces one that has not run yet.
    ///
    /// # Errors
    /// `ESRCH` if it has ended or was not added; an error if the time is zero, or above 10 s.
    pub fn order(&self, thread: i32, time: Duration) -> Result<(), Error> {
        let value = length("an ordered turn", time)?;
        self.command(contract::Command { value, ..command(contract::OP_ORDER, thread) }).map(drop)
    }

    /// Reports turns of added threads from now on; with `shortest`, also others' turns and idle
    /// ones of at least that length.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn watch(&mut self, shortest: Option<Duration>) -> Result<(), Error> {
        if self.watching.is_none() {
            self.epoch += 1;
        }
        self.shortest = shortest;
        let watching =
            if shortest.is_some() { contract::WATCH_ALL } else { contract::WATCH_MANAGED };
        self.control(watching)?;
        if self.watching.is_none() {
            let program = programs::program(&self.object, "switched")?;
            self.watching = Some(explained("the watch", || program.attach_trace())?);
        }
        Ok(())
    }

    /// Stops reporting turns.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn unwatch(&mut self) -> Result<(), Error> {
        self.watching = None;
        self.control(contract::WATCH_NOTHING)
    }

    fn control(&self, watching: u32) -> Result<(), Error> {
        let shortest = self.shortest.map_or(0, nanos);
        let control = contract::Control { watching, epoch: self.epoch, shortest };
        self.control
            .update(&0u32.to_ne_bytes(), control.as_bytes(), MapFlags::ANY)
            .map_err(Error::kernel("the watch"))
    }

    /// Readable when there is something for [`turns`](Self::turns): after 64 KiB of it, or 10 ms.
    /// The last records may not wake a reader: look now and then.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }

    /// Appends the turns that have ended since the last call. Turns that last are reported in
    /// parts: a managed thread's after a quantum, others' after 50 ms, if this is called that
    /// often.
    ///
    /// # Errors
    /// If the kernel ended the scheduler; earlier records are appended nevertheless.
    pub fn turns(&mut self, records: &mut Records) -> Result<(), Error> {
        let ended = self.ended();
        if self.watching.is_some() && ended.is_none() {
            self.part()?;
        }
        // Records from before the end are still there.
        self.reader.read(records)?;
        let counts: contract::Counts = programs::section(&self.counts)?;
        (records.lost, records.threads_without_room) = (counts.lost, counts.threads_without_room);
        ended.map_or(Ok(()), |why| Err(Error::Ended(why)))
    }

    /// Makes the CPUs report turns that last.
    fn part(&self) -> Result<(), Error> {
        let spans = self
            .spans
            .lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY)
            .map_err(Error::kernel("the CPUs' turns"))?
            .unwrap_or_default();
        let now = crate::reader::now();
        let program = programs::program(&self.object, "part")?;
        for (cpu, span) in (0u32..).zip(&spans) {
            let Ok((span, _)) = <contract::Span as zerocopy::FromBytes>::read_from_prefix(span)
            else {
                continue;
            };
            let managed = span.kind == contract::TURN_THREAD;
            let wanted = managed || self.shortest.is_some();
            let longest =
                if managed { self.quantum } else { PARTED.max(self.shortest.unwrap_or_default()) };
            if span.epoch == self.epoch && wanted && now.saturating_sub(span.since) > nanos(longest)
            {
                // A CPU that has gone meanwhile reports nothing.
                let _ = programs::run::<contract::Command>(&program, None, Some(cpu));
            }
        }
        Ok(())
    }

    /// Why the kernel ended the scheduler, if it did: it stalled, made a mistake, or another
    /// program requested it.
    #[must_use]
    pub fn ended(&self) -> Option<String> {
        let ended: contract::Ended = programs::section(&self.ended).ok()?;
        let (reason, message) = (text(&ended.reason), text(&ended.message));
        let contract::Ended { kind, code, .. } = ended;
        (kind != 0).then(|| match message.as_str() {
            "" => format!("{reason} (kind {kind}, code {code})"),
            message => format!("{reason}: {message} (kind {kind}, code {code})"),
        })
    }

    fn command(&self, mut order: contract::Command) -> Result<contract::Command, Error> {
        if !self.scheduling && ![contract::OP_ADD, contract::OP_REMOVE].contains(&order.operation) {
            return Err(Error::Setting("a watcher can't order anything".into()));
        }
        let thread = order.tid;
        let program = programs::program(&self.object, "command")?;
        let answer = programs::run(&program, Some(&mut order), None)
            .map_err(Error::kernel("a thread's orders"))?;
        if answer < 0 {
            let source = std::io::Error::from_raw_os_error(-answer);
            return Err(Error::Thread { thread, source });
        }
        Ok(order)
    }
}

fn command(operation: u32, thread: i32) -> contract::Command {
    contract::Command {
        operation,
        tid: thread,
        key: 0,
        answer: 0,
        value: 0,
        cpus: [0; contract::CPU_WORDS],
    }
}

/// The text before the first zero byte.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
