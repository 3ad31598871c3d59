//! How resctrl is to be managed.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

/// How to manage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where resctrl is mounted.
    pub root: PathBuf,
    /// The directory for what is to be restored; made if it is missing. It must outlive the
    /// process, and need not outlive the boot.
    pub state: PathBuf,
    /// The file that distinguishes one boot from another.
    pub boot_id: PathBuf,
    /// Where sysfs is mounted, which shows the CPUs of a cache.
    pub sysfs: PathBuf,
    /// Where procfs is mounted, which shows when threads started, and which processes hold a lock.
    pub proc: PathBuf,
    /// Whether tasks are taken out of other managers' groups. They are put back on exit. The ways
    /// of a group that has no others, and no CPUs, are given out.
    pub take_over: bool,
    /// The threads that are about to be added, as far as they are known when this host is opened:
    /// a group that has only these is as good as empty.
    pub to_take: BTreeSet<i32>,
    /// Whether monitoring groups that others made in the root's group come along with the program
    /// whose threads alone are in them, by rename(2) (Linux 6.5 and later). They are given back on
    /// exit.
    pub adopt_monitors: bool,
    /// The ways for all programs in the root's group, which no others fill then; `None`: the root's
    /// masks stay as they are.
    pub confine_others: Option<u32>,
    /// The highest ways, which are all that devices may fill where they have a class of their own
    /// (`io_alloc`); `None`: what they fill stays as it is.
    pub confine_io: Option<u32>,
    /// Whether ways are given out that hardware other than CPUs fills too (`shareable_bits`).
    pub use_shareable: bool,
    /// How many programs get a monitoring group at most; the classes' own are not counted. `None`:
    /// as many as ids are free.
    pub rmids: Option<u32>,
    /// What programs can move between the cache and memory of a domain together, as measured, in MB
    /// (10^6 bytes) a second; `None` where it was not measured: no policy limits bandwidth then.
    pub memory_mbps: Option<u32>,
    /// Whether nothing is to be given out, so that a domain of which nothing is free is watched as
    /// any other.
    pub only_watch: bool,
    /// Whether nothing is written, and what would be is logged. It needs no free way either.
    pub dry_run: bool,
    /// How long another manager's lock is waited for.
    pub patience: Duration,
    /// How long to wait before trying again for a class of service that was not available.
    pub try_again: Duration,
}

/// The usual places; nothing is taken over, and no program is confined.
impl Default for Settings {
    fn default() -> Self {
        Self {
            root: "/sys/fs/resctrl".into(),
            state: "/var/lib/fairways".into(),
            boot_id: "/proc/sys/kernel/random/boot_id".into(),
            sysfs: "/sys".into(),
            proc: "/proc".into(),
            take_over: false,
            to_take: BTreeSet::new(),
            adopt_monitors: false,
            confine_others: None,
            confine_io: None,
            use_shareable: false,
            rmids: None,
            memory_mbps: None,
            only_watch: false,
            dry_run: false,
            patience: Duration::from_secs(5),
            try_again: Duration::from_secs(60),
        }
    }
}
