//! The counters of an emulator's programs.

use fairways_core::{AppId, Counters};
use fairways_perf::{Source, Target};

use super::{Connection, Joined, Socket};

/// The counters of an emulator's programs, which are identified by their placeholders' processes.
/// If no thread of a program is a placeholder, all of its counters are missing.
#[derive(Debug)]
pub struct Emulated {
    connection: Connection,
    is_silent: bool,
}

impl Emulated {
    /// Reads the counters through this connection.
    #[must_use]
    pub fn new(connection: &Connection) -> Self {
        Self { connection: connection.clone(), is_silent: false }
    }

    /// Makes a request through the connection; logs once if the emulator does not answer.
    fn ask<T>(&mut self, ask: impl FnOnce(&mut Socket) -> std::io::Result<T>) -> Option<T> {
        match ask(&mut self.connection.socket()) {
            Ok(answer) => {
                self.is_silent = false;
                Some(answer)
            }
            Err(why) => {
                if !self.is_silent {
                    tracing::warn!(target: "fairways::counters", "counters are missing: {why}");
                }
                self.is_silent = true;
                None
            }
        }
    }
}

/// Combines each counter of two readings; missing if one reading lacks it.
fn each(one: &Counters, other: &Counters, of: fn(u64, u64) -> Option<u64>) -> Counters {
    one.zip_with(other, |one, other| one.zip(other).and_then(|(one, other)| of(one, other)))
}

/// The counts between two readings. A counter is missing if a reading lacks it or if it decreases.
pub(crate) fn between(from: &Counters, to: &Counters) -> Counters {
    each(to, from, u64::checked_sub)
}

/// The sums of two counts; missing if either is.
fn sum(one: &Counters, other: &Counters) -> Counters {
    each(one, other, u64::checked_add)
}

/// Zero for every counter that the emulator has.
const NOTHING: Counters = Counters { cpu_nanos: None, ..Counters::ZERO };

/// A program's processes, and the sum of their instruction counts when the program has retired
/// `count` since its counters began; `None` if the emulator knows none of its processes, or does
/// not count one of them.
pub(crate) fn threshold(socket: &Socket, app: AppId, count: u64) -> Option<(Vec<i32>, u64)> {
    let joined = socket.counted.get(&app).filter(|joined| !joined.is_empty())?;
    let kept = socket.kept.get(&app).unwrap_or(&NOTHING).instructions?;
    let before = joined.iter().map(|of| of.from.instructions).sum::<Option<u64>>()?;
    let pids = joined.iter().map(|of| of.pid).collect();
    Some((pids, count.saturating_sub(kept).saturating_add(before)))
}

impl Source for Emulated {
    fn begin(&mut self, target: &Target) {
        let mut socket = self.connection.socket();
        socket.counted.insert(target.app, Vec::new());
        socket.kept.insert(target.app, NOTHING);
        drop(socket);
        self.threads(target.app, &target.threads);
    }

    fn has_not_run(&self, app: AppId) -> bool {
        let socket = self.connection.socket();
        let joined = socket.counted.get(&app).map(Vec::as_slice).unwrap_or_default();
        !joined.is_empty() && joined.iter().all(|of| of.from.instructions == Some(0))
    }

    fn threads(&mut self, app: AppId, threads: &[i32]) {
        self.ask(|socket| {
            let seen = socket.counters()?.clone();
            let Some(mut joined) = socket.counted.remove(&app) else { return Ok(()) };
            let mut kept = socket.kept.remove(&app).unwrap_or(NOTHING);
            joined.retain(|of| {
                let is_there = threads.contains(&of.pid);
                if !is_there {
                    // The emulator has forgotten this process: its last counts are unknown.
                    let to = seen.get(&of.pid).copied().unwrap_or_default();
                    kept = sum(&kept, &between(&of.from, &to));
                }
                is_there
            });
            for pid in threads {
                if let Some(from) = seen.get(pid).filter(|_| joined.iter().all(|of| of.pid != *pid))
                {
                    joined.push(Joined { pid: *pid, from: *from });
                }
            }
            socket.counted.insert(app, joined);
            socket.kept.insert(app, kept);
            Ok(())
        });
    }

    fn read(&mut self, app: AppId, _: u32) -> Counters {
        let read = self.ask(|socket| {
            let seen = socket.counters()?.clone();
            let joined = socket.counted.get(&app).map(Vec::as_slice).unwrap_or_default();
            let kept = socket.kept.get(&app).copied().unwrap_or(NOTHING);
            if joined.is_empty() && kept == NOTHING {
                return Ok(Counters::default());
            }
            Ok(joined.iter().fold(kept, |all, of| {
                let to = seen.get(&of.pid).copied().unwrap_or_default();
                sum(&all, &between(&of.from, &to))
            }))
        });
        read.unwrap_or_default()
    }

    fn end(&mut self, app: AppId) {
        let mut socket = self.connection.socket();
        socket.counted.remove(&app);
        socket.kept.remove(&app);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_at_either_end_is_missing_between() {
        let of = |instructions, cycles| Counters { instructions, cycles, ..Counters::default() };
        let from = of(Some(5), Some(9));
        assert_eq!(between(&from, &of(Some(8), None)), of(Some(3), None));
        assert_eq!(between(&of(None, Some(9)), &of(Some(8), Some(9))), of(None, Some(0)));
        // No counter goes backwards.
        assert_eq!(between(&from, &of(Some(4), Some(10))), of(None, Some(1)));
        assert_eq!(sum(&from, &of(Some(1), None)), of(Some(6), None));
        assert_eq!(sum(&from, &NOTHING).instructions, Some(5));
    }

    #[test]
    fn what_a_thread_counted_that_the_emulator_knows_no_longer_is_missing_and_not_less() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let mut source = Emulated::new(&Connection::connect(&path).unwrap());
        let seen = |source: &Emulated, counts: &[(i32, u64)]| {
            let of = |&(pid, count): &(i32, u64)| {
                (pid, Counters { instructions: Some(count), ..Counters::default() })
            };
            source.connection.socket().seen = Some(counts.iter().map(of).collect());
        };
        let app = AppId(1);
        seen(&source, &[(7, 100), (8, 10)]);
        source.begin(&Target { app, name: "a".to_owned(), cgroup: None, threads: vec![7, 8] });
        seen(&source, &[(7, 150), (8, 20)]);
        assert_eq!(source.read(app, 0).instructions, Some(60));
        source.threads(app, &[8]);
        seen(&source, &[(7, 150), (8, 25)]);
        assert_eq!(source.read(app, 0).instructions, Some(65), "what it counted is kept");
        seen(&source, &[(9, 5)]);
        source.threads(app, &[9]);
        assert_eq!(source.read(app, 0).instructions, None);
    }
}
