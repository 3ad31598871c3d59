//! Whether the kernel ends windows of instructions, or the daemon polls for their ends.

use fairways_daemon::windows_in_kernel;
use fairways_doctor::{Finding, FindingState};

/// The finding's id, and why it matters.
pub(super) const WINDOWS: (&str, &str) = (
    "windows",
    "the windows of some policies (LFOC) end after a number of instructions; polling reads each thread's counters",
);

/// Tries whether this program can let this kernel end windows, which changes nothing.
pub(super) fn check() -> Finding {
    let (id, why) = WINDOWS;
    let Err(not) = windows_in_kernel() else {
        let found = "the kernel ends windows of instructions".to_owned();
        return Finding { id, state: FindingState::Ok, found, why, remedy: None };
    };
    let first = not.lines().next().unwrap_or_default();
    let remedy = if cfg!(feature = "sched-ext") {
        "Linux 5.15 or later; run it as root, or give it CAP_BPF and CAP_PERFMON"
    } else {
        "build fairways with --features sched-ext"
    };
    let found = format!("windows of instructions are polled: {first}");
    Finding { id, state: FindingState::Limited, found, why, remedy: Some(remedy.to_owned()) }
}
