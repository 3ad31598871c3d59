//! Serves a client on the CPU that it runs on.
//!
//! A client waits for each answer, and the server for each request. On two CPUs each is woken by
//! the other's, which has to wake up first, or to end what else it does: with other work on the
//! machine that takes five times as long as on one CPU, where either goes on once the other waits.
//! The scheduler keeps them where they are, so whether they share a CPU was left to chance.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use fairways_linux::stat::{Stat, text};
use parking_lot::Mutex;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Requests from one look at a client to the next: a look takes as long as one or two of them.
const LOOK_EVERY: u32 = 64;

/// The number of the field with the CPU that a thread ran on last, in `stat` of /proc.
const PROCESSOR: usize = 39;

/// Where the server's thread runs.
#[derive(Debug, Default)]
pub(crate) struct ClientCpu {
    requests: AtomicU32,
    chosen: Mutex<Option<ServerCpus>>,
}

/// The CPUs of the server's thread.
#[derive(Debug)]
struct ServerCpus {
    /// Those that it may use.
    allowed: CpuSet,
    /// That of its client, or all that are allowed.
    chosen: CpuSet,
}

impl ClientCpu {
    /// Notes a request of this thread of a client. The server's thread calls, and follows it now
    /// and then.
    pub(crate) fn note(&self, thread: i32) {
        let before = self.requests.fetch_add(1, Ordering::Relaxed);
        if before % LOOK_EVERY == LOOK_EVERY - 1 {
            self.follow(thread);
        }
    }

    /// Goes to the CPU of this thread. To all that are allowed, where that is not one of them or
    /// not known: a thread of another namespace has no number here.
    fn follow(&self, thread: i32) {
        // There may be more CPUs than a set has room for.
        let Ok(now) = sched_getaffinity(None) else { return };
        let mut cpus = self.chosen.lock();
        // Somebody else may have moved the server since.
        let known = cpus.as_ref().filter(|cpus| cpus.chosen == now);
        let allowed = known.map_or(now, |cpus| cpus.allowed);
        let mut chosen = CpuSet::new();
        match cpu_of(thread).filter(|&cpu| cpu < CpuSet::MAX_CPU && allowed.is_set(cpu)) {
            Some(cpu) => chosen.set(cpu),
            None => chosen = allowed,
        }
        if chosen == now || sched_setaffinity(None, &chosen).is_ok() {
            *cpus = Some(ServerCpus { allowed, chosen });
        }
    }
}

/// The CPU that a thread runs on, or ran on last; `None` if there is none.
fn cpu_of(thread: i32) -> Option<usize> {
    let path = format!("{thread}/task");
    Stat::parse(&text(&Path::new("/proc").join(path), thread)?)?.field(PROCESSOR)
}

#[cfg(test)]
mod tests {
    use rustix::thread::{gettid, sched_getcpu};

    use super::*;

    fn cpus() -> CpuSet {
        sched_getaffinity(None).expect("the CPUs of this thread")
    }

    fn only(cpu: usize) -> CpuSet {
        let mut set = CpuSet::new();
        set.set(cpu);
        set
    }

    /// The CPUs of this thread after as many requests of another one, which may use `cpu` alone.
    fn follow(near: &ClientCpu, cpu: usize, requests: u32) -> CpuSet {
        let (send, receive) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let client = std::thread::spawn(move || {
            sched_setaffinity(None, &only(cpu)).expect("a CPU of this thread");
            assert_eq!(sched_getcpu(), cpu);
            send.send(gettid().as_raw_nonzero().get()).expect("a test that waits");
            let _ = ended.recv();
        });
        let thread = receive.recv().expect("a client that runs");
        (0..requests).for_each(|_| near.note(thread));
        drop(end);
        client.join().expect("a client that ends");
        cpus()
    }

    #[test]
    fn the_server_goes_to_its_client_within_the_cpus_that_it_may_use() {
        let all = cpus();
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu)).collect();
        let (first, last) = (allowed[0], allowed[allowed.len() - 1]);
        let near = ClientCpu::default();
        assert_eq!(follow(&near, first, LOOK_EVERY - 1), all);
        assert_eq!(follow(&near, first, 1), only(first));
        assert_eq!(follow(&near, last, LOOK_EVERY), only(last));
        // A thread that is gone is nowhere.
        (0..LOOK_EVERY).for_each(|_| near.note(i32::MAX));
        assert_eq!(cpus(), all);
        // What somebody else allows meanwhile holds.
        sched_setaffinity(None, &only(first)).expect("a CPU of this thread");
        assert_eq!(follow(&near, last, LOOK_EVERY), only(first));
    }
}
