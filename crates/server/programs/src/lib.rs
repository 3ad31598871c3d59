//! Which programs to manage, and their arrivals, threads and exits.
//!
//! A list names which programs are [`Wanted`], by cgroup or by process; [`Programs`] finds them on
//! the host. A task that two entries select belongs to the first in the list. Kernel threads are
//! never managed.
//!
//! A program of a cgroup (a unit, a container, a pod) exists while a task is in it or below it. If
//! its cgroup is removed and made again under its path, as when a unit restarts, that program is
//! over, and another exists. A program of processes is the matched process and everything it forked
//! since, until the last of them has ended: a process that outlives its parent stays, and so does
//! one that executes another program or takes another name.
//!
//! A container that its runtime [announces](Programs::announce) is known with its first process,
//! before a look finds its cgroup.
//!
//! A process that ends before a look is not seen. A descendant is known by its parent, or by a fork
//! that the kernel reported; where it does not report forks, a process whose parent came and went
//! between two looks is missed.
//!
//! Descriptors report changes where the kernel allows it (inotify on the cgroup tree and on
//! `cgroup.events`, pidfds, the proc connector); otherwise looks find them.
//!
//! Source: the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/cgroups.rst,
//! `proc_pid_stat(5)`, `pidfd_open(2)`, `inotify(7)`, Documentation/driver-api/connector.rst, and
//! systemd's `systemd.slice(5)`.

mod announced;
mod connector;
mod dirs;
mod entries;
mod glob;
mod hierarchy;
mod known;
mod pods;
mod process;
mod running;
mod selector;
mod table;
mod tasks;
mod tree;
mod user;
mod users;
mod watcher;

use std::path::PathBuf;

pub use announced::AnnouncedContainer;
pub use glob::matches;
pub use known::Programs;
pub use running::Running;
pub use selector::{Selector, SelectorError};
pub use user::User;
pub use users::CpuUser;

/// Where the kernel's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// The proc filesystem. Descriptors of processes and the proc connector are used only if it is
    /// `/proc`: elsewhere its numbers may belong to another namespace.
    pub proc: PathBuf,
    /// Where cgroup hierarchies are mounted: one at this path, or several below.
    pub cgroup: PathBuf,
    /// Where the kubelet keeps a folder for the logs of each pod, which gives namespaces and names.
    pub pods: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        let [proc, cgroup, pods] = ["/proc", "/sys/fs/cgroup", "/var/log/pods"].map(PathBuf::from);
        Self { proc, cgroup, pods }
    }
}

/// One entry of the list of programs to manage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// How it is found.
    pub selector: Selector,
    /// Whether every match (a cgroup, a unit, a container, the uppermost of matching processes) is
    /// a program of its own, called `name.1`, `name.2`, ... as they come; for a pod by its UID,
    /// every container. Otherwise all matches are one program.
    pub each: bool,
}

/// Identifies a program as long as it exists; never used again for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ProgramKey(pub u64);

/// A change that a look has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A program exists.
    Arrived {
        /// The program.
        program: ProgramKey,
        /// Its entry in the list, from 0.
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
