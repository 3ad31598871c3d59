//! The keeper of a policy's programs, as the daemon sees it: who guards the guard.
//!
//! A keeper may be killed, by an administrator or for want of memory. What it started must not
//! outlive it:
//!
//! - Where the keeper may, each program is the first process of a PID namespace of its own. It ends
//!   with the keeper, and the kernel then ends every other process of the namespace.
//! - Elsewhere the processes of a program, which can't leave their group, become children of the
//!   daemon (`PR_SET_CHILD_SUBREAPER`), which ends the group.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, set_child_subreaper,
    waitid,
};

use crate::faults::report;

/// A child that has ended is reaped, or only looked at.
const EXITED: WaitIdOptions = WaitIdOptions::EXITED.union(WaitIdOptions::NOHANG);
const LOOKED: WaitIdOptions = EXITED.union(WaitIdOptions::NOWAIT);

/// How long killed processes may take to end.
const DYING: Duration = Duration::from_secs(1);

/// For how long a program that was ended may leave processes whose parents end before them.
const LEAVING: Duration = Duration::from_secs(10);

/// The keepers of this process.
static KEEPERS: Mutex<Vec<Arc<GuardedKeeper>>> = Mutex::new(Vec::new());

/// A keeper, and the programs that it has started.
pub(super) struct GuardedKeeper {
    /// The policy's name.
    name: String,
    socket: Mutex<OwnedFd>,
    state: Mutex<KeeperState>,
}

struct KeeperState {
    child: Child,
    /// The programs that run: each is the first process of its group.
    programs: BTreeSet<i32>,
    /// Those that the keeper ends, and since when.
    ending: BTreeMap<i32, Instant>,
    /// A line about its end, once it has ended.
    ended: Option<String>,
}

impl GuardedKeeper {
    /// Guards a keeper that was started, at the other end of this socket.
    pub(super) fn new(name: String, child: Child, socket: OwnedFd) -> Arc<Self> {
        // Without it, what outlives the keeper where there are no namespaces can't be distinguished
        // from other processes, and is left.
        let _ = set_child_subreaper(Some(rustix::process::getpid()));
        let state =
            KeeperState { child, programs: BTreeSet::new(), ending: BTreeMap::new(), ended: None };
        let keeper = Arc::new(Self { name, socket: Mutex::new(socket), state: Mutex::new(state) });
        locked(&KEEPERS).push(Arc::clone(&keeper));
        keeper
    }

    /// The socket to it, for one question at a time.
    pub(super) fn socket(&self) -> MutexGuard<'_, OwnedFd> {
        locked(&self.socket)
    }

    /// It has started a program.
    pub(super) fn started(&self, program: i32) {
        locked(&self.state).programs.insert(program);
    }

    /// A program has ended, or is to end: if the keeper `is_there`, it ends the program.
    pub(super) fn ended(&self, program: i32, is_there: bool) {
        let mut state = locked(&self.state);
        state.programs.remove(&program);
        if is_there {
            state.ending.insert(program, Instant::now());
            // Somebody may have stopped it.
            let _ = kill_process(Pid::from_child(&state.child), Signal::CONT);
            return;
        }
        // Its socket is closed a moment before its children become those of this process.
        let until = Instant::now() + DYING;
        while matches!(state.child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        end_group(program);
    }

    /// Whether it has ended, and what was left of its programs with it.
    pub(super) fn is_over(&self) -> bool {
        let mut state = locked(&self.state);
        if state.ended.is_some() {
            return true;
        }
        match state.child.try_wait() {
            Ok(Some(status)) => {
                let line = self.line(status);
                report(line.clone());
                state.ended = Some(line);
                std::mem::take(&mut state.programs).into_iter().for_each(end_group);
                true
            }
            _ => {
                let KeeperState { programs, ending, .. } = &mut *state;
                programs.iter().chain(ending.keys()).for_each(|&program| reap_orphans(program));
                ending.retain(|_, since| since.elapsed() < LEAVING);
                false
            }
        }
    }

    fn line(&self, status: ExitStatus) -> String {
        format!(
            "{}: the process that guards it has ended ({status}), and what was left of it was ended; its last plan stays in force, and it is not started again before the daemon is",
            self.name
        )
    }
}

/// The keepers that have ended, a line each.
pub(crate) fn ended_keepers() -> Vec<String> {
    let keepers = locked(&KEEPERS).clone();
    let over = keepers.iter().filter(|keeper| keeper.is_over());
    over.filter_map(|keeper| locked(&keeper.state).ended.clone()).collect()
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a program's group, if its first process is a child of this process, as it is once its
/// keeper has ended. Otherwise its number may be of others by now.
fn end_group(program: i32) {
    let Some(first) = Pid::from_raw(program) else { return };
    // It keeps its number as long as it is not reaped.
    if waitid(WaitId::Pid(first), LOOKED).is_err() {
        return;
    }
    // It may have ended already, or be in a namespace that has.
    let _ = kill_process_group(first, Signal::KILL);
    let until = Instant::now() + DYING;
    loop {
        match waitid(WaitId::Pgid(Some(first)), EXITED) {
            Ok(Some(_)) => {}
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(1)),
            _ => return,
        }
    }
}

/// Reaps processes of a program whose parents have ended before them, without its first one.
fn reap_orphans(program: i32) {
    let Some(first) = Pid::from_raw(program) else { return };
    // Its first process is a child of this one only if the keeper has just ended: then it keeps its
    // number until its group is ended.
    while waitid(WaitId::Pid(first), LOOKED).is_err()
        && let Ok(Some(_)) = waitid(WaitId::Pgid(Some(first)), EXITED)
    {}
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio};

    use super::*;

    /// As its keeper does, a shell starts a program in a group of its own, and waits for it. The
    /// program leaves a child, whose parent this process becomes.
    #[test]
    fn what_an_ended_program_leaves_is_reaped() {
        let script = "setsid sh -c 'sleep 0.5 & echo $$ $!' & wait; exec sleep 1000";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        let (ours, _theirs) = UnixStream::pair().unwrap();
        set_child_subreaper(Some(rustix::process::getpid())).unwrap();
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let numbers: Vec<i32> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let [program, left] = numbers[..] else { panic!("{line}") };
        let keeper = GuardedKeeper::new("a test's".to_owned(), child, ours.into());
        keeper.started(program);
        keeper.ended(program, true);
        let until = Instant::now() + Duration::from_secs(60);
        while std::path::Path::new(&format!("/proc/{left}")).exists() {
            assert!(Instant::now() < until, "{left} is a zombie");
            assert!(!keeper.is_over());
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut state = locked(&keeper.state);
        state.child.kill().unwrap();
        state.child.wait().unwrap();
    }
}
