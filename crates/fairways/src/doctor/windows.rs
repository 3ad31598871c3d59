//! Who says when windows by instructions are over.

use fairways_daemon::windows_in_kernel;
use fairways_doctor::{Finding, FindingState};

/// Whether the kernel can, by this program on this host: it is tried, which changes nothing.
pub(super) fn check() -> Finding {
    let id = "windows";
    let why = "policies watch programs by instructions (LFOC); to poll for them is to read each thread's counters";
    let Err(not) = windows_in_kernel() else {
        let found = "by instructions they end in the kernel".to_owned();
        return Finding { id, state: FindingState::Ok, found, why, remedy: None };
    };
    let first = not.lines().next().unwrap_or_default();
    let remedy = if cfg!(feature = "sched-ext") {
        "Linux 5.15 or later; run it as root, or give it CAP_BPF and CAP_PERFMON"
    } else {
        "a fairways that was built with --features sched-ext"
    };
    let found = format!("by instructions they are polled for: {first}");
    Finding { id, state: FindingState::Limited, found, why, remedy: Some(remedy.to_owned()) }
}
