//! The CPUs on which a thread may run.

use std::path::Path;

use fairways_core::CpuSet;
use rustix::process::Pid;
use rustix::thread::sched_getaffinity;

use crate::status;

/// The CPUs that a thread of this machine may use: sched_getaffinity(2), or where there are more
/// CPUs than the fixed size of its set has room for, which is EINVAL, `PROC/THREAD/status`. `None`
/// if the thread is gone.
#[must_use]
pub fn of_thread(proc: &Path, thread: i32) -> Option<CpuSet> {
    let Ok(allowed) = sched_getaffinity(Some(Pid::from_raw(thread)?)) else {
        return status::cpus(&status::text(proc, thread)?);
    };
    let cpus = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
    Some(cpus.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_status_shows() {
        let proc = Path::new("/proc");
        let own = i32::try_from(std::process::id()).expect("a number of a process");
        let shown = status::text(proc, own).and_then(|text| status::cpus(&text));
        assert!(shown.as_ref().is_some_and(|cpus| !cpus.is_empty()));
        assert_eq!(of_thread(proc, own), shown);
        assert_eq!(of_thread(proc, i32::MAX), None);
    }
}
