//! Why counters can't be had, in a line with its remedy.

use std::fs;
use std::io;

use rustix::io::Errno;

/// /proc/sys/kernel/perf_event_paranoid, which says who may count what; `None` if it can't be read.
#[must_use]
pub fn paranoid() -> Option<i32> {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

pub(crate) fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

/// What perf_event_open(2)'s error means, and what to do about it.
pub(crate) fn line(error: &io::Error) -> String {
    let known = |errno| is(error, errno);
    let remedy = if known(Errno::ACCESS) || known(Errno::PERM) {
        let level = paranoid().map_or_else(|| "unreadable".to_owned(), |level| level.to_string());
        return format!(
            "perf_event_open: {error}: run as root or with CAP_PERFMON, or lower kernel.perf_event_paranoid, which is {level} (1 \
             lets a user count own threads, 0 cgroups; in a container, its seccomp profile must let the call through)"
        );
    } else if known(Errno::NOENT) || known(Errno::OPNOTSUPP) || known(Errno::NODEV) {
        "the processor has no counter for it; a virtual machine needs a virtual PMU (QEMU: -cpu host,pmu=on)"
    } else if known(Errno::MFILE) || known(Errno::NFILE) {
        "no descriptor is left; raise LimitNOFILE of the unit, or `ulimit -n`"
    } else if known(Errno::NOSYS) {
        "the kernel was built without CONFIG_PERF_EVENTS"
    } else if known(Errno::BADF) {
        "the cgroup is in no hierarchy that perf counts (the unified one, or v1's perf_event)"
    } else if known(Errno::INVAL) {
        "the processor's counters do not hold such an event or group"
    } else {
        "no remedy is known"
    };
    format!("perf_event_open: {error}: {remedy}")
}
