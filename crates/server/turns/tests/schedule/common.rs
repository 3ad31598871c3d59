//! Threads to schedule, and their state by /proc.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use fairways_core::{AppId, CpuSet};
use fairways_turns::{Affinity, Scheduler as _, Settings, TurnReport};
use tempfile::TempDir;

/// Locked by one test at a time: a host has one fairways, which puts back all threads of a process
/// that it changed.
static ALONE: Mutex<()> = Mutex::new(());

/// A state directory. A test that has it is the only one that runs.
pub(crate) struct Folder {
    folder: TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Folder {
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Settings with a state directory of their own.
pub(crate) fn settings() -> (Folder, Settings) {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { state: folder.path().to_owned(), ..Settings::default() };
    (Folder { folder, _alone: alone }, settings)
}

pub(crate) fn open(settings: &Settings) -> Affinity {
    let (affinity, restored) = Affinity::open(settings.clone()).unwrap();
    assert_eq!(restored, Default::default(), "nothing was left before");
    affinity
}

/// Does one round of a daemon's loop: waits up to 10 ms for descriptors that call for attention,
/// and reads the turns that ended.
pub(crate) fn turn(affinity: &mut Affinity, ended: &mut TurnReport) {
    let descriptors = affinity.attention();
    let mut waited: Vec<_> = descriptors
        .iter()
        .map(|fd| rustix::event::PollFd::new(fd, rustix::event::PollFlags::IN))
        .collect();
    let most = rustix::event::Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
    rustix::event::poll(&mut waited, Some(&most)).unwrap();
    drop(waited);
    affinity.turns(ended).unwrap();
}

pub(crate) fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list, 8192).unwrap()
}

/// The values of a thread that are changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Has {
    pub(crate) cpus: String,
    pub(crate) nice: i32,
}

/// Reads a thread's values from /proc, in another way than the code under test does.
pub(crate) fn has(thread: i32) -> Has {
    let folder = format!("/proc/{thread}");
    let status = fs::read_to_string(format!("{folder}/status")).unwrap();
    let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t")).unwrap();
    let stat = fs::read_to_string(format!("{folder}/stat")).unwrap();
    // proc_pid_stat(5), field 19; here, the name has no bracket but the one at its end.
    let nice = stat.split(") ").nth(1).unwrap().split(' ').nth(16).unwrap();
    Has { cpus: cpus.to_owned(), nice: nice.parse().unwrap() }
}

/// The CPUs of this process.
pub(crate) fn own() -> Vec<u32> {
    set(&has(rustix::thread::gettid().as_raw_nonzero().get()).cpus).iter().collect()
}

/// Threads that repeat their work until this is dropped.
pub(crate) struct Crew {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    pub(crate) ids: Vec<i32>,
}

impl Crew {
    /// Starts `count` threads, each of which calls `what` with its number again and again.
    pub(crate) fn start(count: usize, what: impl Fn(usize) + Send + Clone + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = channel();
        let start = |number: usize| {
            let (stop, what, sender) = (Arc::clone(&stop), what.clone(), sender.clone());
            std::thread::spawn(move || {
                let id = rustix::thread::gettid().as_raw_nonzero().get();
                sender.send((number, id)).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    what(number);
                }
            })
        };
        let threads = (0..count).map(start).collect();
        let mut ids: Vec<(usize, i32)> = receiver.iter().take(count).collect();
        ids.sort_unstable();
        let ids = ids.into_iter().map(|(_, id)| id).collect();
        Self { stop, threads, ids }
    }

    /// The threads, numbered as programs.
    pub(crate) fn apps(&self) -> impl Iterator<Item = (AppId, i32)> + '_ {
        (1..).map(AppId).zip(self.ids.iter().copied())
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Keeps a CPU busy for about this long, once it has one.
pub(crate) fn spin(time: Duration) {
    let began = std::time::Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Nanoseconds that a thread has been on CPUs.
pub(crate) fn ran(thread: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{thread}/schedstat")).unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Whether nothing is left to restore.
pub(crate) fn is_clean(state: &Path) -> bool {
    let ledgers = ["schedule.json", "schedule.json.before"];
    ledgers.iter().all(|name| !state.join(name).exists())
}
