//! How resctrl is to be managed.

use std::path::PathBuf;
use std::time::Duration;

/// How to manage.
#[derive(Clone, Debug, PartialEq, Eq)]
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
