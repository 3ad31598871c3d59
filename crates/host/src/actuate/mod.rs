//! The client of resctrl: groups, masks, tasks, and what is put back.
//!
//! What Fairways did not make it does not change. Other managers' groups are planned around: their ways and classes of service are
//! not offered to policies, and their tasks stay where they are unless [`Settings::take_over`] says otherwise. What is made or
//! changed is written down before it is, so that a process that was killed at any moment can be cleaned up after:
//! [`Actuator::open`] does, and [`restore`].
//!
//! - A CTRL_MON group `fairways.N` is a class of service. Programs that a plan gives the same ways share one.
//! - A MON group `fairways.APP-NAME` in it is one program's, so that what it holds and moves is counted for itself. A program that
//!   gets other ways is taken along by rename(2), which keeps its monitoring id and what was counted.
//! - Programs that no plan knows yet are in the root's group, with everybody else.
//!
//! Sources: Documentation/filesystems/resctrl.rst; fs/resctrl of the kernel.

mod actuator;
mod adopt;
mod apply;
mod classes;
mod domain;
mod error;
mod events;
mod foreign;
mod kept;
mod leave;
mod ledger;
mod limits;
mod lock;
mod look;
mod offer;
mod program;
mod put_back;
mod recover;
mod refine;
mod survey;
mod taken;
mod tally;
mod tasks;
pub(crate) mod threads;
pub(crate) mod topology;
mod tree;

use std::path::PathBuf;
use std::time::Duration;

pub use actuator::Actuator;
pub use apply::{Applied, Placed};
pub use domain::Domain;
pub use error::{Error, OpenError, Refused};
#[cfg(any(test, feature = "fuzzing"))]
pub use ledger::fuzz;
pub use look::Changes;
pub use program::Added;
pub use put_back::{Restored, Thing, restore};
pub use tally::{Errors, Ids};
pub use tasks::Moved;

/// How to manage.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where resctrl is mounted.
    pub root: PathBuf,
    /// The directory for what is to be restored; made if it is not there. It must outlive the process, and need not outlive
    /// the boot.
    pub state: PathBuf,
    /// What tells one boot from another.
    pub boot_id: PathBuf,
    /// Where sysfs is mounted, which tells the CPUs of a cache.
    pub sysfs: PathBuf,
    /// Where procfs is mounted, which tells when threads started, and who holds a lock.
    pub proc: PathBuf,
    /// Whether tasks are taken out of other managers' groups. They are put back in the end.
    pub take_over: bool,
    /// Whether monitoring groups that others made in the root's group come along with a program that has them for itself, by rename(2)
    /// (Linux 6.5 and later). They are given back in the end.
    pub adopt_monitors: bool,
    /// So many ways for everybody in the root's group, which nobody else fills then; `None`: the root's masks stay as they are.
    pub confine_others: Option<u32>,
    /// Whether ways are given out that hardware other than CPUs fills too (`shareable_bits`).
    pub use_shareable: bool,
    /// How many programs get a monitoring group at most; classes' own are not counted. `None`: as many as there are free ids for.
    pub rmids: Option<u32>,
    /// Whether nothing is written, and what would be is logged.
    pub dry_run: bool,
    /// How long another manager's lock is waited for.
    pub patience: Duration,
    /// How long after a class of service could not be had it is tried again.
    pub try_again: Duration,
}

/// The usual places; nothing is taken over, and nobody confined.
impl Default for Settings {
    fn default() -> Self {
        Self {
            root: "/sys/fs/resctrl".into(),
            state: "/var/lib/fairways".into(),
            boot_id: "/proc/sys/kernel/random/boot_id".into(),
            sysfs: "/sys".into(),
            proc: "/proc".into(),
            take_over: false,
            adopt_monitors: false,
            confine_others: None,
            use_shareable: false,
            rmids: None,
            dry_run: false,
            patience: Duration::from_secs(5),
            try_again: Duration::from_secs(60),
        }
    }
}
