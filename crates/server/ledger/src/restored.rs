//! The outcome for everything that was made or changed.

use std::fmt;
use std::path::PathBuf;

/// What was made or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A group, by its path.
    Group(String),
    /// A mask of the root's: the line of `schemata`, and the domain.
    Mask(String, u32),
    /// What devices fill of a domain (`io_alloc_cbm`): the directory in `info`, and the domain.
    IoMask(String, u32),
    /// A thread, and the group that it was taken from.
    Task(i32, String),
    /// The CPUs that a thread may run on.
    Affinity(i32),
    /// A thread's nice value.
    Nice(i32),
    /// A thread's scheduling policy.
    Policy(i32),
    /// The records of a ledger that can't be read; the path at which it is kept.
    Ledger(PathBuf),
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(path) => write!(f, "group {path}"),
            Self::Mask(line, domain) => write!(f, "{line}:{domain} of the root's schemata"),
            Self::IoMask(line, domain) => write!(f, "domain {domain} of info/{line}/io_alloc_cbm"),
            Self::Task(thread, group) => write!(f, "task {thread} of group {group}"),
            Self::Affinity(thread) => write!(f, "affinity of thread {thread}"),
            Self::Nice(thread) => write!(f, "nice value of thread {thread}"),
            Self::Policy(thread) => write!(f, "scheduling policy of thread {thread}"),
            Self::Ledger(path) => write!(f, "what {} records", path.display()),
        }
    }
}

/// The final outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// What is as it was before: groups are gone, masks and tasks put back.
    pub done: Vec<Thing>,
    /// What was left as it is because others have changed it, with the change.
    pub left: Vec<(Thing, String)>,
    /// What could not be put back, with the reason. It stays written down, and is tried again the
    /// next time.
    pub failed: Vec<(Thing, String)>,
}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for thing in &self.done {
            writeln!(f, "restored {thing}")?;
        }
        for (thing, why) in &self.left {
            writeln!(f, "left {thing}: {why}")?;
        }
        for (thing, why) in &self.failed {
            writeln!(f, "not restored {thing}: {why}")?;
        }
        Ok(())
    }
}
