//! How long threads ran and waited for a CPU, by `/proc/THREAD/schedstat` (the kernel's
//! Documentation/scheduler/sched-stats.rst), and what a hypervisor took of the machine's CPU time,
//! by `/proc/stat` (proc_stat(5)).

use std::fs;
use std::path::Path;

/// What a thread got of CPUs since it began, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCpuTime {
    /// How long it ran.
    pub ran: u64,
    /// How long it was ready to run, and waited for a CPU; without a wait that still lasts.
    pub waited: u64,
}

impl ThreadCpuTime {
    /// Reads the file's text; `None` if it has another form, or the kernel counts nothing: then
    /// all three fields are 0, and so are those of a thread that has never run.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_ascii_whitespace().map(|field| field.parse::<u64>().ok());
        let [ran, waited, turns] = [fields.next()??, fields.next()??, fields.next()??];
        (turns > 0).then_some(Self { ran, waited })
    }

    /// A thread's; `None` if there is no such thread, or it can't be read.
    #[must_use]
    pub fn read(proc: &Path, thread: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(proc.join(format!("{thread}/schedstat"))).ok()?)
    }

    /// What was added since an earlier reading; `None` if that is not of the same thread.
    #[must_use]
    pub fn since(self, earlier: Self) -> Option<Self> {
        let ran = self.ran.checked_sub(earlier.ran)?;
        Some(Self { ran, waited: self.waited.checked_sub(earlier.waited)? })
    }
}

/// The CPU time of a machine since it booted, in clock ticks of all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineCpuTime {
    /// All of it, idle time included.
    pub all: u64,
    /// What a hypervisor gave to others while this machine wanted to run.
    pub stolen: u64,
}

impl MachineCpuTime {
    /// Reads the file's text; `None` if it has another form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        // Guests' time, behind it, is in the user's, too.
        let mut fields = line.split_ascii_whitespace().map(|field| field.parse::<u64>().ok());
        let (mut all, mut stolen) = (0_u64, 0);
        for _ in 0..8 {
            stolen = fields.next()??;
            all = all.checked_add(stolen)?;
        }
        Some(Self { all, stolen })
    }

    /// That of this machine; `None` if it can't be read.
    #[must_use]
    pub fn read(proc: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(proc.join("stat")).ok()?)
    }

    /// What was added since an earlier reading; `None` if that is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Option<Self> {
        let all = self.all.checked_sub(earlier.all)?;
        Some(Self { all, stolen: self.stolen.checked_sub(earlier.stolen)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_unknown_and_not_0() {
        let time = ThreadCpuTime { ran: 1_000, waited: 250 };
        assert_eq!(ThreadCpuTime::parse("1000 250 7\n"), Some(time));
        assert_eq!(ThreadCpuTime::parse("1000 0 7\n"), Some(ThreadCpuTime { waited: 0, ..time }));
        for unknown in ["", "0 0 0\n", "1000\n", "1000 250\n", "1000 -1 7\n", "a b c\n"] {
            assert_eq!(ThreadCpuTime::parse(unknown), None, "{unknown:?}");
        }
        let later = ThreadCpuTime { ran: 1_500, waited: 250 };
        assert_eq!(later.since(time), Some(ThreadCpuTime { ran: 500, waited: 0 }));
        // Another thread has its number.
        assert_eq!(time.since(later), None);
    }

    #[test]
    fn steal_is_a_part_of_all_ticks() {
        let text = "cpu  10 1 5 80 2 0 1 3 4 0\ncpu0 5 1 5 40 2 0 1 3 4 0\nintr 7\n";
        let time = MachineCpuTime { all: 102, stolen: 3 };
        assert_eq!(MachineCpuTime::parse(text), Some(time));
        let later = MachineCpuTime { all: 202, stolen: 13 };
        assert_eq!(later.since(time), Some(MachineCpuTime { all: 100, stolen: 10 }));
        assert_eq!(time.since(later), None);
        for unknown in ["", "cpu  1 2 3\n", "cpu  1 2 3 4 5 6 7 x\n", "cpu0 1 2 3 4 5 6 7 8\n"] {
            assert_eq!(MachineCpuTime::parse(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn this_process_ran() {
        let thread = i32::try_from(std::process::id()).unwrap();
        assert!(ThreadCpuTime::read("/proc".as_ref(), thread).is_some_and(|time| time.ran > 0));
        assert_eq!(ThreadCpuTime::read("/proc".as_ref(), i32::MAX), None);
        assert!(MachineCpuTime::read("/proc".as_ref()).is_some_and(|time| time.all > 0));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*", ran: u64, waited: u64, turns in 1..u64::MAX) {
            let _ = (ThreadCpuTime::parse(&text), MachineCpuTime::parse(&text));
            let _ = MachineCpuTime::parse(&format!("cpu  {ran} {waited} {turns} {ran} 0 0 0 1"));
            let line = format!("{ran} {waited} {turns}\n");
            let time = ThreadCpuTime { ran, waited };
            proptest::prop_assert_eq!(ThreadCpuTime::parse(&line), Some(time));
        }
    }
}
