//! Threads with work to do, and the kernel's figures for them.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
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
        let started = wait_for(Duration::from_secs(20), || tid.load(Ordering::Acquire) != 0);
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

/// Spins for a moment.
pub(crate) fn spin() {
    for _ in 0..200 {
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
