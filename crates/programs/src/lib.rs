//! Whom to manage, and their arrivals, threads and exits.
//!
//! Somebody writes down which programs are [`Wanted`], by cgroup or by process; [`Programs`] finds them on the host. Where
//! two of the wanted select the same task it belongs to the first in the list. Kernel threads are never managed.
//!
//! A program of a cgroup (of a unit, a container, a pod) is there while a task is in it or below it; one whose cgroup was removed and made
//! again under its path, as a unit's is when it restarts, is over, and another is there. A program of processes is
//! what was matched and everything it forked since, until the last of them has ended: a process that outlives its parent
//! stays, and so does one that executes another program or takes another name.
//!
//! What ends before anybody looks is not seen. A descendant is known by its parent, or by a fork that the kernel told of: where it
//! doesn't tell, one whose parent came and went between two looks is missed.
//!
//! What changes is told by descriptors where the kernel allows it (inotify on the cgroup tree and on `cgroup.events`, pidfds,
//! the proc connector), and found by looking where it doesn't.
//!
//! Source: the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/cgroups.rst, `proc_pid_stat(5)`,
//! `pidfd_open(2)`, `inotify(7)`, Documentation/driver-api/connector.rst, and systemd's `systemd.slice(5)`.

mod connector;
mod dirs;
mod glob;
mod hierarchy;
mod known;
mod notice;
mod pods;
mod process;
mod running;
mod selector;
mod table;
mod tasks;
mod tree;
mod user;
mod users;

use std::path::PathBuf;

pub use known::Programs;
pub use running::Running;
pub use selector::{Selector, SelectorError};
pub use user::User;
pub use users::CpuUser;

/// Where the kernel's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// The proc filesystem. Descriptors of processes and the proc connector are used only if it is `/proc`: elsewhere its
    /// numbers may be of another namespace.
    pub proc: PathBuf,
    /// Where cgroup hierarchies are mounted: one there or several below.
    pub cgroup: PathBuf,
    /// Where the kubelet keeps a folder for the logs of each pod, by which namespaces and names are known.
    pub pods: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        let [proc, cgroup, pods] = ["/proc", "/sys/fs/cgroup", "/var/log/pods"].map(PathBuf::from);
        Self { proc, cgroup, pods }
    }
}

/// One entry of the list of those to manage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// What it is called.
    pub name: String,
    /// How it is found.
    pub selector: Selector,
    /// Whether every match (a cgroup, a unit, a container, the uppermost of matching processes) is a program of its own,
    /// called `name.1`, `name.2`, ... as they come; of a pod by its UID, every container. Otherwise all matches are one program.
    pub each: bool,
}

/// A program that was found, for as long as it is there; never used again for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ProgramKey(pub u64);

/// What a look has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A program is there.
    Arrived {
        /// The program.
        program: ProgramKey,
        /// Which of the list it is, from 0.
        wanted: usize,
        /// Its name: the entry's, with a number where each match is a program.
        name: String,
    },
    /// A program has no task any more, or is not wanted any more.
    Gone {
        /// The program.
        program: ProgramKey,
    },
}
