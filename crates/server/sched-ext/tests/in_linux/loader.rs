//! A loader that stands still, or is killed.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fairways_sched_ext::{Scheduler, Settings};

use crate::ROLE;
use crate::guest::print;
use crate::threads::{HANG, Worker, is_under_ext, state, wait_for};

/// How long this loader's threads may wait at most.
const STALL: Duration = Duration::from_secs(3);

/// Loads the scheduler for threads of another process, and waits for its end, if that is this
/// process's task. Returns whether it is.
pub(crate) fn is_one() -> bool {
    let Ok(threads) = std::env::var(ROLE) else { return false };
    let scheduler = Scheduler::load(&Settings { stall: STALL, ..Settings::default() }).unwrap();
    for (key, thread) in (0u32..).zip(threads.split(' ')) {
        let thread = thread.parse().unwrap();
        scheduler.add(thread, key).unwrap();
        scheduler.allow(thread, &[0b0111]).unwrap();
        scheduler.enter(thread).unwrap();
    }
    print("LOADED");
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}

/// The loader for threads of this process.
struct Loader(Child);

impl Loader {
    fn of(workers: &[Worker]) -> Self {
        assert!(wait_for(HANG, || state() == "disabled"), "{}", state());
        let threads: Vec<String> = workers.iter().map(|worker| worker.tid.to_string()).collect();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["guest::side", "--exact", "--ignored", "--nocapture"])
            .env(ROLE, threads.join(" "))
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok).inspect(|line| {
            if line != "LOADED" {
                print(line);
            }
        });
        assert!(lines.any(|line| line == "LOADED"), "the loader did not load");
        Self(child)
    }

    fn signal(&self, signal: i32) {
        // SAFETY: it takes numbers and touches no memory of ours.
        assert_eq!(unsafe { libc::kill(self.0.id().cast_signed(), signal) }, 0);
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn moves(workers: &[Worker], what: &str) {
    let before: Vec<u64> = workers.iter().map(Worker::rounds).collect();
    assert!(
        wait_for(Duration::from_secs(10), || workers
            .iter()
            .zip(&before)
            .all(|(worker, before)| worker.rounds() > *before)),
        "{what}: a thread stood still"
    );
}

/// A loader that stands still for longer than a thread may wait does no harm.
pub(crate) fn stopped() {
    let workers: Vec<Worker> = (0..8).map(|_| Worker::spins()).collect();
    let loader = Loader::of(&workers);
    loader.signal(libc::SIGSTOP);
    let since = Instant::now();
    while since.elapsed() < STALL * 2 {
        moves(&workers, "stopped");
        assert_eq!(state(), "enabled");
        thread::sleep(Duration::from_millis(200));
    }
    assert!(workers.iter().all(|worker| is_under_ext(worker.tid)));
}

/// A loader that is killed: within a second all threads are the kernel's, and run.
pub(crate) fn killed() {
    let workers: Vec<Worker> = (0..8).map(|_| Worker::spins()).collect();
    let loader = Loader::of(&workers);
    moves(&workers, "loaded");
    assert!(workers.iter().all(|worker| is_under_ext(worker.tid)));
    let since = Instant::now();
    loader.signal(libc::SIGKILL);
    assert!(wait_for(HANG, || state() == "disabled"), "{}", state());
    let gone = since.elapsed();
    print(&format!("gone {} ms after SIGKILL", gone.as_millis()));
    assert!(gone < Duration::from_secs(1));
    assert!(!workers.iter().any(|worker| is_under_ext(worker.tid)));
    moves(&workers, "killed");
}
