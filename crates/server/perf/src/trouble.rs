//! Why counters are not available, in one line with the remedy.

use std::fs;
use std::io;

use rustix::io::Errno;

/// /proc/sys/kernel/perf_event_paranoid, which states which users may count what; `None` if it
/// can't be read.
#[must_use]
pub fn paranoid() -> Option<i32> {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

pub(crate) fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

/// Explains an error of perf_event_open(2), and what to do about it.
pub(crate) fn explain(error: &io::Error) -> String {
    let remedy = if is(error, Errno::ACCESS) || is(error, Errno::PERM) {
        return format!("perf_event_open: {error}: {}", permit(paranoid()));
    } else if is(error, Errno::NOENT) || is(error, Errno::OPNOTSUPP) || is(error, Errno::NODEV) {
        "the processor has no counter for it; a virtual machine needs a virtual PMU (QEMU: -cpu host,pmu=on)"
    } else if is(error, Errno::MFILE) || is(error, Errno::NFILE) {
        "no descriptor is left; raise LimitNOFILE of the unit, or `ulimit -n`"
    } else if is(error, Errno::NOSYS) {
        "the kernel was built without CONFIG_PERF_EVENTS"
    } else if is(error, Errno::BADF) {
        "the cgroup is in no hierarchy that perf counts (the unified one, or v1's perf_event)"
    } else if is(error, Errno::INVAL) {
        "the processor's counters do not hold such an event or group"
    } else {
        "no remedy is known"
    };
    format!("perf_event_open: {error}: {remedy}")
}

/// What permits counting at this level of `perf_event_paranoid`. Kernels of Debian and Ubuntu have
/// levels above 2, at which CAP_PERFMON does not suffice.
fn permit(level: Option<i32>) -> String {
    match level {
        Some(level @ 3..) => format!(
            "kernel.perf_event_paranoid is {level}, and above 2 some kernels let only CAP_SYS_ADMIN count, not \
             CAP_PERFMON: set it to 2, or give the service the drop-in counting.conf (docs/install.md)"
        ),
        _ => {
            let level = level.map_or_else(|| "unreadable".to_owned(), |level| level.to_string());
            format!(
                "run as root or with CAP_PERFMON, or lower kernel.perf_event_paranoid, which is {level} (1 lets a user count own \
                 threads, 0 cgroups; in a container, its seccomp profile must let the call through)"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::permit;

    #[test]
    fn the_remedy_is_one_that_permits_counting_at_that_level() {
        assert!(permit(Some(2)).contains("CAP_PERFMON") && permit(Some(2)).contains("which is 2"));
        let above = permit(Some(4));
        assert!(above.contains("only CAP_SYS_ADMIN") && above.contains("set it to 2"), "{above}");
        assert!(permit(None).contains("unreadable"));
    }
}
