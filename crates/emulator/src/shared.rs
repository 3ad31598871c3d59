//! State that threads share: the files behind one lock, and the end.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fairways_core::Time;
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::clock::Portions;
use crate::handles::Handles;
use crate::hardware::Until;
use crate::inodes::Inodes;
use crate::state::State;
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
    files: Mutex<Files>,
    /// How many threads wait for the lock: the simulating thread lets them in.
    waiting: AtomicUsize,
    /// Signalled when the clock may go on, and at the end.
    wake: Condvar,
    over: AtomicBool,
    unmounted: AtomicBool,
    pub(crate) dir: PathBuf,
}

/// The longest wait where nothing is to be simulated, before placeholders are checked.
const IDLE: Duration = Duration::from_millis(50);

/// How long to sleep where the machine is as far as it may be.
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
    pub(crate) fn new(files: Files, dir: PathBuf) -> Self {
        Self {
            files: Mutex::new(files),
            waiting: AtomicUsize::new(0),
            wake: Condvar::new(),
            over: AtomicBool::new(false),
            unmounted: AtomicBool::new(false),
            dir,
        }
    }

    pub(crate) fn files(&self) -> MutexGuard<'_, Files> {
        if let Some(files) = self.files.try_lock() {
            return files;
        }
        self.waiting.fetch_add(1, Ordering::AcqRel);
        let files = self.files.lock();
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        files
    }

    /// Lets in waiting threads, each once: the lock is handed over, rather than left to the
    /// quickest, which is the simulating thread. Returns whether any came.
    fn let_in(&self, files: &mut MutexGuard<'_, Files>) -> bool {
        let waiting = self.waiting.load(Ordering::Acquire);
        for _ in 0..waiting {
            MutexGuard::unlocked_fair(files, || ());
        }
        waiting > 0
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

    /// Lets the machine's clock follow real time, until the end.
    pub(crate) fn keep_pace(&self) {
        let mut portions = Portions::new();
        let mut served: Option<Instant> = None;
        let mut files = self.files();
        while !self.is_over() {
            let Some(pace) = files.state.clock.runs() else {
                files.state.clock.stop();
                files.state.end_stopped();
                self.wake.wait_for(&mut files, IDLE);
                portions.reset();
                continue;
            };
            let began = Instant::now();
            let portion = portions.next(
                pace,
                served.is_some_and(|then| began.saturating_duration_since(then) < ATTENTIVE),
            );
            let to = files.state.outside.hardware.now().after(portion);
            files.state.advance(&Until::time(to));
            if let Some(after) = files.state.look_is_due(LOOK) {
                let look = MutexGuard::unlocked_fair(&mut files, || Snapshot::new(after));
                // A failed look is repeated next time.
                let _ = look.map(|look| files.state.inherit(look));
            }
            let ended = Instant::now();
            files.state.clock.note(ended, to);
            portions.took(portion, ended.saturating_duration_since(began));
            if ended.saturating_duration_since(began) < portion / 2 {
                self.wake.wait_for(&mut files, AHEAD);
            } else if self.let_in(&mut files) {
                served = Some(ended);
            }
        }
    }

    /// Lets time pass for a client; returns whether it came that far, and was not broken off
    /// because no client waits for it any longer.
    pub(crate) fn advance(&self, until: &Until, is_awaited: impl Fn() -> bool) -> bool {
        let mut files = self.files();
        let before = files.state.outside.running();
        let to = on_tick(until.to, files.state.outside.hardware.tick());
        loop {
            let now = files.state.outside.hardware.now();
            let about = now.after(STEP).min(until.about);
            let is_met = files.state.advance(&Until { to, about, ..until.clone() });
            let now = files.state.outside.hardware.now();
            // A program may have been ended meanwhile.
            let is_over = until.exit && files.state.outside.running() < before;
            if is_met || is_over || now >= to.min(until.about) {
                return true;
            }
            if self.is_over() || !is_awaited() {
                return false;
            }
            self.let_in(&mut files);
        }
    }
}
