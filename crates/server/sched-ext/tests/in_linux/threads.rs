//! Threads with work to do, and the kernel's figures for them.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A thread that works until it is dropped.
pub(crate) struct Worker {
    pub(crate) tid: i32,
    pub(crate) rounds: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Repeats `act` until it is dropped.
    pub(crate) fn new(mut act: impl FnMut() + Send + 'static) -> Self {
        let (stop, rounds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let tid = Arc::new(AtomicI32::new(0));
        let (stops, counts, sets) = (Arc::clone(&stop), Arc::clone(&rounds), Arc::clone(&tid));
        let body = move || {
            // SAFETY: it takes nothing, and always works.
            sets.store(unsafe { libc::gettid() }, Ordering::Release);
            while !stops.load(Ordering::Relaxed) {
                act();
                counts.fetch_add(1, Ordering::Relaxed);
            }
        };
        let thread = Some(thread::Builder::new().stack_size(256 << 10).spawn(body).unwrap());
        let started = wait_for(HANG, || tid.load(Ordering::Acquire) != 0);
        assert!(started, "a thread did not start");
        Self { tid: tid.load(Ordering::Acquire), rounds, stop, thread }
    }

    pub(crate) fn spins() -> Self {
        Self::new(spin)
    }

    /// Its CPU time, as the kernel reports it.
    pub(crate) fn cpu_time(&self) -> Duration {
        cpu_time(self.tid).unwrap_or_default()
    }

    pub(crate) fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Lets it end, without waiting for it.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Set in the guest where time passes by instructions.
pub(crate) const BY_INSTRUCTIONS: &str = "FAIRWAYS_BY_INSTRUCTIONS";

/// Spins for a moment.
///
/// QEMU ends an emulated CPU's turn at each `pause`. Where time passes by itself, that keeps
/// threads waiting for a minute on a busy machine; where it passes by instructions, the CPUs take
/// turns, and one that only spins should end its own. It does so seldom, because a pause takes QEMU
/// a thousand times as long as another instruction.
pub(crate) fn spin() {
    static PAUSES: LazyLock<bool> = LazyLock::new(|| std::env::var_os(BY_INSTRUCTIONS).is_some());
    let rounds = if *PAUSES { 100 } else { 2000 };
    for round in 0..rounds {
        std::hint::black_box(round);
    }
    if *PAUSES {
        std::hint::spin_loop();
    }
}

/// `/proc/TID/schedstat`'s first number.
pub(crate) fn cpu_time(tid: i32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{tid}/schedstat")).ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// Whether `/proc/TID/sched` shows that it is under a sched_ext scheduler.
pub(crate) fn is_under_ext(tid: i32) -> bool {
    let text = fs::read_to_string(format!("/proc/{tid}/sched")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("ext.enabled"));
    line.and_then(|line| line.split(':').nth(1)).is_some_and(|value| value.trim() == "1")
}

/// `/sys/kernel/sched_ext/state`.
pub(crate) fn state() -> String {
    fs::read_to_string("/sys/kernel/sched_ext/state").unwrap_or_default().trim().to_owned()
}

/// Longer than anything takes, however busy this machine is: only a hang reaches it.
pub(crate) const HANG: Duration = Duration::from_secs(300);

pub(crate) fn wait_for(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let since = Instant::now();
    while !done() {
        if since.elapsed() > limit {
            return false;
        }
        thread::sleep(Duration::from_millis(2));
    }
    true
}
