//! Capabilities (capabilities(7)).

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// The write permission of a file's owner.
const OWNER_WRITES: u32 = 0o200;

/// Keeps those of these capabilities that the process has, and gives up all others. Returns the
/// names of the capabilities that are left.
pub(super) fn keep(needed: CapabilitySet) -> Vec<String> {
    if let Ok(now) = capabilities(None) {
        let kept = now.permitted & needed;
        let sets = CapabilitySets {
            effective: kept,
            permitted: kept,
            inheritable: CapabilitySet::empty(),
        };
        // The unit of packaging/systemd forbids capset(2), and has dropped the others itself.
        if let Err(why) = set_capabilities(None, sets) {
            tracing::debug!("capabilities are kept: capset: {why}");
        }
    }
    effective()
}

/// The names of the capabilities that the process has, such as `CAP_PERFMON`.
pub(super) fn effective() -> Vec<String> {
    let now = capabilities(None).map_or(CapabilitySet::empty(), |now| now.effective);
    now.iter_names().map(|(name, _)| format!("CAP_{name}")).collect()
}

/// Whether the process has this capability, until it gives it up.
pub(super) fn has(capability: CapabilitySet) -> bool {
    capabilities(None).is_ok_and(|now| now.effective.contains(capability))
}

/// Whether this user may make control and monitoring groups in resctrl's root without
/// CAP_DAC_OVERRIDE. The kernel makes both directories without write permission
/// (`kernfs_create_root`); the unit of packaging/systemd gives it to their owner.
pub(super) fn owner_may_write(root: &Path) -> bool {
    let writes = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|about| {
            let owned = about.uid() == rustix::process::geteuid().as_raw();
            owned && about.mode() & OWNER_WRITES != 0
        })
    };
    let monitors = root.join("mon_groups");
    writes(root) && (writes(&monitors) || !monitors.exists())
}

/// Whether the kernel reports processes without CAP_NET_ADMIN: Linux 6.6 and later
/// (drivers/connector/cn_proc.c).
pub(super) fn processes_are_reported_to_all() -> bool {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(6))
}

/// Whether `kernel.perf_event_paranoid` is above 2, the highest level of the kernel itself. At the
/// higher levels of distributions' kernels, counting needs CAP_SYS_ADMIN.
pub(super) fn perf_takes_more() -> bool {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    level.is_ok_and(|level| level.trim().parse::<i32>().is_ok_and(|level| level > 2))
}
