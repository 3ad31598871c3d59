//! The daemon's own process, as the kernel reports it: the metrics that every Prometheus client
//! exports, under their usual names.

use std::fs;

use rustix::param::{clock_ticks_per_second, page_size};

/// The daemon's process. A value that can't be read is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Process {
    /// When it began, in seconds since 1970, and the CPU time that it has used.
    pub(super) start_seconds: Option<f64>,
    pub(super) cpu_seconds: Option<f64>,
    /// Its memory that is resident.
    pub(super) resident_bytes: Option<u64>,
    /// Its descriptors, and how many it may have.
    pub(super) open_fds: Option<u64>,
    pub(super) max_fds: Option<u64>,
}

impl Process {
    /// The process as it is now.
    pub(super) fn now() -> Self {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let system_stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let booted = system_stat.lines().find_map(|line| line.strip_prefix("btime "));
        let open = fs::read_dir("/proc/self/fd").ok().map(|found| found.count() as u64);
        let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        let booted = booted.and_then(|text| text.trim().parse().ok());
        Self {
            // One of them is the folder that lists them.
            open_fds: open.map(|count| count.saturating_sub(1)),
            max_fds: limits.current,
            ..Self::read(&stat, booted).unwrap_or_default()
        }
    }

    /// Reads `/proc/PID/stat` (proc_pid_stat(5)); `booted` is the machine's boot time.
    fn read(stat: &str, booted: Option<u64>) -> Option<Self> {
        // The name, in parentheses, may hold anything; the state, field 3, is behind it.
        let (_, behind) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = behind.split(' ').collect();
        let field = |number: usize| fields.get(number - 3)?.trim().parse::<u64>().ok();
        #[allow(clippy::cast_precision_loss)] // Of centuries.
        let seconds = |ticks: u64| ticks as f64 / clock_ticks_per_second() as f64;
        let (user, system) = (field(14), field(15));
        #[allow(clippy::cast_precision_loss)] // Likewise.
        let start = field(22).zip(booted).map(|(ticks, booted)| booted as f64 + seconds(ticks));
        Some(Self {
            start_seconds: start,
            cpu_seconds: user.zip(system).map(|(user, system)| seconds(user + system)),
            resident_bytes: field(24).map(|pages| pages * page_size() as u64),
            ..Self::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything_and_an_absent_field_is_missing() {
        let stat = "7 (a) R 9) S 1 7 7 0 -1 4 5 0 0 0 150 50 0 0 20 0 3 0 200 4096 10 99\n";
        let process = Process::read(stat, Some(1000)).unwrap();
        let tick = 1.0 / clock_ticks_per_second() as f64;
        assert_eq!(process.cpu_seconds, Some(200.0 * tick));
        assert_eq!(process.start_seconds, Some(1000.0 + 200.0 * tick));
        assert_eq!(process.resident_bytes, Some(10 * page_size() as u64));
        let process = Process::read("7 (a) S 1", None).unwrap();
        assert_eq!(
            (process.cpu_seconds, process.start_seconds, process.resident_bytes),
            (None, None, None)
        );
        let now = Process::now();
        assert!(now.resident_bytes.unwrap() > 0 && now.open_fds.unwrap() > 0);
    }
}
