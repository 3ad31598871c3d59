//! State that threads share: the machine behind one lock, the files behind another, and the end.
//!
//! A thread that takes both takes the machine's first. The machine's is held while a step is
//! simulated; the files' only between two, while the machine publishes its readings and applies
//! what was written. So operations on files wait for no step: a read shows the machine after its
//! last step, a write takes effect with its next one.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fairways_core::Time;
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::clock::Portions;
use crate::handles::Handles;
use crate::hardware::Until;
use crate::inodes::Inodes;
use crate::kernel_cache::KernelCache;
use crate::state::State;
use crate::stepped::SteppedHardware;
use crate::tasks::Snapshot;

/// The state, and FUSE's view of it.
pub(crate) struct Files {
    pub(crate) state: State,
    pub(crate) inodes: Inodes,
    pub(crate) handles: Handles,
    /// The owner of the mount and of root's files: root, or a user who plays root here.
    pub(crate) user: u32,
    pub(crate) group: u32,
}

/// What the threads of an emulator share.
pub(crate) struct Shared {
    machine: Mutex<SteppedHardware>,
    files: Mutex<Files>,
    /// How many threads wait for the machine: the simulating thread lets them in.
    waiting: AtomicUsize,
    /// How many operations clients have begun.
    operations: AtomicU64,
    /// Signalled when the clock may go on, and at the end.
    wake: Condvar,
    over: AtomicBool,
    unmounted: AtomicBool,
    /// Set once it is mounted.
    cache: OnceLock<KernelCache>,
    pub(crate) dir: PathBuf,
}

/// The longest wait where nothing is to be simulated, before placeholders are checked.
const IDLE: Duration = Duration::from_millis(50);

/// How long to sleep where the machine is as far as it may be, and how often placeholders are
/// checked where it is not.
const AHEAD: Duration = Duration::from_millis(1);

/// How long after one client more are expected.
const ATTENTIVE: Duration = Duration::from_millis(20);

/// How often /proc is read for inherited groups.
const LOOK: Duration = Duration::from_millis(250);

/// Time passes in steps of this length where a client lets it, so that others come in between; they
/// end where the machine's own do.
const STEP: Duration = Duration::from_millis(1);

/// The first time on the machine's clock that is this one or later.
fn on_tick(time: Time, tick: Duration) -> Time {
    let tick = u64::try_from(tick.as_nanos()).unwrap_or(u64::MAX).max(1);
    Time::from_nanos(time.nanos().checked_next_multiple_of(tick).unwrap_or(u64::MAX))
}

impl Shared {
    pub(crate) fn new(machine: SteppedHardware, files: Files, dir: PathBuf) -> Self {
        Self {
            machine: Mutex::new(machine),
            files: Mutex::new(files),
            waiting: AtomicUsize::new(0),
            operations: AtomicU64::new(0),
            wake: Condvar::new(),
            over: AtomicBool::new(false),
            unmounted: AtomicBool::new(false),
            cache: OnceLock::new(),
            dir,
        }
    }

    pub(crate) fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock()
    }

    /// The files, for a client: steps are short while there are any.
    pub(crate) fn files_for_client(&self) -> MutexGuard<'_, Files> {
        self.operations.fetch_add(1, Ordering::Relaxed);
        self.files.lock()
    }

    /// The machine, after the step that is being simulated; before [`files`](Self::files).
    pub(crate) fn machine(&self) -> MutexGuard<'_, SteppedHardware> {
        if let Some(machine) = self.machine.try_lock() {
            return machine;
        }
        self.waiting.fetch_add(1, Ordering::AcqRel);
        let machine = self.machine.lock();
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        machine
    }

    /// Lets in waiting threads, each once: the lock is handed over, rather than left to the
    /// quickest, which is the simulating thread.
    fn let_in(&self, machine: &mut MutexGuard<'_, SteppedHardware>) {
        for _ in 0..self.waiting.load(Ordering::Acquire) {
            MutexGuard::unlocked_fair(machine, || ());
        }
    }

    /// Mounted: the kernel has this end of it.
    pub(crate) fn set_cache(&self, cache: KernelCache) {
        // There is one mount.
        let _ = self.cache.set(cache);
    }

    /// How long the kernel may keep a name or attributes.
    pub(crate) fn time_to_live(&self) -> Duration {
        self.cache.get().map_or(Duration::ZERO, KernelCache::time_to_live)
    }

    /// The tree has changed, other than by a call of which the kernel knows.
    pub(crate) fn invalidate(&self) {
        if let Some(cache) = self.cache.get() {
            cache.invalidate();
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
        self.wake();
    }

    /// The clock may have something to do.
    pub(crate) fn wake(&self) {
        self.wake.notify_all();
    }

    /// FUSE is done: another process has unmounted.
    pub(crate) fn set_unmounted(&self) {
        self.unmounted.store(true, Ordering::Release);
        self.wake();
    }

    pub(crate) fn is_unmounted(&self) -> bool {
        self.unmounted.load(Ordering::Acquire)
    }

    /// Ends the programs whose placeholders were ended from outside.
    pub(crate) fn end_stopped(&self) {
        let stopped = self.files().state.outside.stopped();
        if !stopped.is_empty() {
            self.machine().end_stopped(&mut self.files().state);
        }
    }

    /// The same, before an operation on the file with this number, if it lists tasks.
    pub(crate) fn end_stopped_in(&self, number: u64) {
        let lists_tasks = self.files().lists_tasks(number);
        if lists_tasks {
            self.end_stopped();
        }
    }

    /// Lets time pass: the machine's, and the kernel's work each second, between two steps of the
    /// machine. Returns whether a program ended the wait. `finish` is called after each step.
    fn step(
        &self,
        machine: &mut SteppedHardware,
        until: &Until,
        finish: impl Fn(&mut Files),
    ) -> bool {
        loop {
            let is_met = machine.advance(until);
            let mut files = self.files();
            machine.finish_step(&mut files.state);
            finish(&mut files);
            drop(files);
            if is_met || machine.hardware.now() >= until.about.min(until.to) {
                return is_met;
            }
        }
    }

    /// Looks at /proc, if that is due after so many looks. Others may have the machine meanwhile.
    fn look(&self, machine: &mut MutexGuard<'_, SteppedHardware>, due: Option<u64>) {
        if let Some(after) = due {
            let look = MutexGuard::unlocked_fair(machine, || Snapshot::new(after));
            // A failed look is repeated next time.
            let _ = look.map(|look| self.files().state.inherit(look));
        }
    }

    /// Lets the machine's clock follow real time, until the end.
    pub(crate) fn keep_pace(&self) {
        let mut portions = Portions::new();
        let mut checked = Instant::now();
        let (mut served, mut operations) = (None::<Instant>, 0);
        let mut machine = self.machine();
        while !self.is_over() {
            let began = Instant::now();
            let mut files = self.files();
            if began.saturating_duration_since(checked) >= AHEAD {
                checked = began;
                machine.end_stopped(&mut files.state);
            }
            let (pace, look) = (files.state.clock.runs(), files.state.look_is_due(LOOK));
            if pace.is_none() {
                files.state.clock.stop();
            }
            machine.apply(&mut files.state);
            drop(files);
            let Some(pace) = pace else {
                self.look(&mut machine, look);
                self.wake.wait_for(&mut machine, IDLE);
                portions.reset();
                continue;
            };
            let before =
                std::mem::replace(&mut operations, self.operations.load(Ordering::Relaxed));
            if before != operations {
                served = Some(began);
            }
            let portion = portions.next(
                pace,
                served.is_some_and(|then| began.saturating_duration_since(then) < ATTENTIVE),
            );
            let to = machine.hardware.now().after(portion);
            self.step(&mut machine, &Until::time(to), |files| {
                files.state.clock.note(Instant::now(), to);
            });
            let ended = Instant::now();
            portions.took(portion, ended.saturating_duration_since(began));
            self.look(&mut machine, look);
            if ended.saturating_duration_since(began) < portion / 2 {
                self.wake.wait_for(&mut machine, AHEAD);
            } else {
                self.let_in(&mut machine);
            }
        }
    }

    /// Lets time pass for a client; returns whether it came that far, and was not broken off
    /// because no client waits for it any longer.
    pub(crate) fn advance(&self, until: &Until, is_awaited: impl Fn() -> bool) -> bool {
        let mut machine = self.machine();
        let before = self.files().state.outside.running();
        let to = on_tick(until.to, machine.hardware.tick());
        loop {
            machine.end_stopped(&mut self.files().state);
            let now = machine.hardware.now();
            let about = now.after(STEP).min(until.about);
            let is_met = self.step(&mut machine, &Until { to, about, ..until.clone() }, |_| ());
            let now = machine.hardware.now();
            // A program may have been ended meanwhile.
            let is_over = until.exit && self.files().state.outside.running() < before;
            if is_met || is_over || now >= to.min(until.about) {
                return true;
            }
            if self.is_over() || !is_awaited() {
                return false;
            }
            self.let_in(&mut machine);
        }
    }
}
