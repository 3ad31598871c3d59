//! How threads are scheduled.

use std::path::PathBuf;
use std::time::Duration;

use fairways_perf::events::ProcessorEvents;

/// How threads are scheduled without a scheduler of our own, and where the ledger is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory for what is to be restored; made if it is missing. It must outlive the
    /// process, and need not outlive the boot.
    pub state: PathBuf,
    /// The file whose text differs from one boot to the next.
    pub boot_id: PathBuf,
    /// Where procfs is mounted.
    pub proc: PathBuf,
    /// Where sysfs is mounted; it lists the CPUs that are on line.
    pub sysfs: PathBuf,
    /// How long a turn is unless the policy orders another length.
    pub quantum: Duration,
    /// What CPUs count while threads run; `None`: this processor's events.
    pub events: Option<ProcessorEvents>,
    /// Whether changes are only logged, and not made.
    pub dry_run: bool,
}

/// The usual places, and turns of 10 ms: one clock tick of the systems that the papers changed.
/// Weights can't give shorter turns exactly.
impl Default for Settings {
    fn default() -> Self {
        Self {
            state: "/var/lib/fairways".into(),
            boot_id: "/proc/sys/kernel/random/boot_id".into(),
            proc: "/proc".into(),
            sysfs: "/sys".into(),
            quantum: Duration::from_millis(10),
            events: None,
            dry_run: false,
        }
    }
}
