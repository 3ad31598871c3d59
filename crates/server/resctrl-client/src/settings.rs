//! How resctrl is managed.

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
    /// The file that identifies the boot.
    pub boot_id: PathBuf,
    /// Where sysfs is mounted, which shows the CPUs of a cache.
    pub sysfs: PathBuf,
    /// Where procfs is mounted, which shows when threads started, and which processes hold a lock.
    pub proc: PathBuf,
    /// Whether tasks are taken out of other managers' groups. They are put back on exit. The ways
    /// of a group without other tasks, and without CPUs, are then offered.
    pub take_over: bool,
    /// The threads that will be added, as far as known when this host is opened: a group that has
    /// only these counts as empty.
    pub to_take: BTreeSet<i32>,
    /// Whether a monitoring group that others made in the root's group, and that has only threads
    /// of one program, moves with that program, by rename(2) (Linux 6.5 and later). It is moved
    /// back on exit.
    pub adopt_monitors: bool,
    /// The number of ways for all programs in the root's group, which then no other program fills;
    /// `None`: the root's masks do not change.
    pub confine_others: Option<u32>,
    /// The number of the highest ways that devices are confined to, if they have a class of their
    /// own (`io_alloc`); `None`: their ways do not change.
    pub confine_io: Option<u32>,
    /// Whether to offer ways that hardware other than CPUs fills, too (`shareable_bits`).
    pub use_shareable: bool,
    /// The most programs with a monitoring group; the classes' own do not count. `None`: as many as
    /// there are free ids.
    pub rmids: Option<u32>,
    /// The measured bandwidth between the cache and memory of a domain, for all programs together,
    /// in MB (10^6 bytes) per second; `None` if it was not measured: then no policy limits
    /// bandwidth.
    pub memory_mbps: Option<u32>,
    /// Whether nothing is to be assigned, so that a domain without free ways is watched like any
    /// other.
    pub only_watch: bool,
    /// Whether writes are only logged. A dry run does not need a free way either.
    pub dry_run: bool,
    /// How long to wait for another manager's lock.
    pub patience: Duration,
    /// How long to wait before trying again to make a class of service that was not available.
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
