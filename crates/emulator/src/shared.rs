//! What threads share: the files behind one lock, and word of the end.

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
use crate::tasks::Look;

/// The state, and what FUSE knows of it.
pub(crate) struct Files {
    pub(crate) state: State,
    pub(crate) inodes: Inodes,
    pub(crate) handles: Handles,
    /// Who has mounted, and has what is root's: root, or a user who plays root here.
    pub(crate) user: u32,
    pub(crate) group: u32,
}

/// What the threads of an emulator share.
pub(crate) struct Shared {
    files: Mutex<Files>,
    /// How many wait for the lock: whoever simulates lets them in.
    waiting: AtomicUsize,
    /// Told when the clock may go on, and when all is over.
    wake: Condvar,
    over: AtomicBool,
    unmounted: AtomicBool,
    pub(crate) dir: PathBuf,
}

/// How long to wait at most where nothing is to be simulated, before placeholders are looked after.
const IDLE: Duration = Duration::from_millis(50);

/// How long to sleep where the machine is as far as it may be.
const AHEAD: Duration = Duration::from_millis(1);

/// How long after one client more are expected.
const ATTENTIVE: Duration = Duration::from_millis(20);

/// How often /proc is looked at for who inherits whose group.
const LOOK: Duration = Duration::from_millis(250);

/// Time passes in steps that long where a client lets it, so that others come in between; they end
/// where the machine's own do.
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

    /// Lets in who waits, each once: the lock is handed over, and not just let go for whoever is quickest, which is the
    /// thread that simulates. Whether anybody did.
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

    /// FUSE is done: somebody has unmounted.
    pub(crate) fn unmounted(&self) {
        self.unmounted.store(true, Ordering::Release);
        self.wake();
    }

    pub(crate) fn is_unmounted(&self) -> bool {
        self.unmounted.load(Ordering::Acquire)
    }

    /// Lets the machine's clock go with real time, until the end.
    pub(crate) fn keep_pace(&self) {
        let mut portions = Portions::new();
        let mut served: Option<Instant> = None;
        let mut files = self.files();
        while !self.is_over() {
            let Some(pace) = files.state.clock.runs() else {
                files.state.clock.stopped();
                files.state.notice();
                self.wake.wait_for(&mut files, IDLE);
                portions.reset();
                continue;
            };
            let began = Instant::now();
            let is_soon = |then: Instant| began.saturating_duration_since(then) < ATTENTIVE;
            let portion = portions.next(pace, served.is_some_and(is_soon));
            let to = files.state.outside.hardware.now().after(portion);
            files.state.advance(&Until::time(to));
            if let Some(after) = files.state.look_is_due(LOOK) {
                let look = MutexGuard::unlocked_fair(&mut files, || Look::new(after));
                // What could not be looked at is looked at next time.
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

    /// Lets time pass on a client's behalf; whether it came so far, and was not broken off because nobody waits for it any longer.
    pub(crate) fn advance(&self, until: &Until, is_awaited: impl Fn() -> bool) -> bool {
        let mut files = self.files();
        let running = |files: &Files| files.state.outside.running();
        let before = running(&files);
        let to = on_tick(until.to, files.state.outside.hardware.tick());
        loop {
            let now = files.state.outside.hardware.now();
            let about = now.after(STEP).min(until.about);
            let is_met = files.state.advance(&Until { to, about, ..until.clone() });
            let now = files.state.outside.hardware.now();
            // Somebody may have ended a program.
            let is_over = until.exit && running(&files) < before;
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
