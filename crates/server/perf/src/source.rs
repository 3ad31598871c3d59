//! Where counters come from: perf, or another source.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use fairways_core::{AppId, Counter, Counters, CpuSet};

/// A program that is to be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The program.
    pub app: AppId,
    /// Its name, by which a source other than the kernel may know it.
    pub name: String,
    /// The cgroup's directory, if the program is exactly the tasks of a cgroup.
    pub cgroup: Option<std::path::PathBuf>,
    /// Its threads now, as numbered by gettid(2).
    pub threads: Vec<i32>,
}

/// A source of counters.
pub trait Source {
    /// Begins to count a program, from zero. Where that is impossible, its counters are missing,
    /// and the reason is logged once.
    fn begin(&mut self, target: &Target);

    /// Whether a program had not run when it was begun, for a source that counted it before.
    fn has_not_run(&self, _: AppId) -> bool {
        false
    }

    /// Sets the program's threads: new ones are counted from now on, and the counts of those that
    /// went are kept.
    fn threads(&mut self, app: AppId, threads: &[i32]);

    /// The program's counts since it was begun, scaled where counters were multiplexed; unknown
    /// ones are missing. On several domains, the counts of the CPUs of `domain`; missing where the
    /// source does not know them.
    fn read(&mut self, app: AppId, domain: u32) -> Counters;

    /// Stops counting a program.
    fn end(&mut self, app: AppId);

    /// Whether hardware counts, whose other counts can be compared with these; a model's can't.
    fn is_measured(&self) -> bool {
        true
    }

    /// Sets the CPUs of each domain, for a source that separates CPUs.
    fn set_domains(&mut self, _: &[(u32, CpuSet)]) {}

    /// Counts these counters as well, from now on. With `may_take_turns`, all of them; otherwise
    /// those first ones that fit on the processor beside what is counted already. A source that
    /// counts everything has nothing to do.
    fn count_also(&mut self, _: &[Counter], _may_take_turns: bool) {}

    /// The counters that are not counted, of any program, with the reason; `None`: nothing reads
    /// it.
    fn uncounted(&self) -> Vec<(Counter, Option<String>)> {
        Vec::new()
    }

    /// The counts of a program that ran on a CPU of `domain` for that duration, beside these others
    /// on its other CPUs all the time, where CPUs did not count it themselves: for a source that
    /// models programs. By default all is missing.
    fn beside(&mut self, _: AppId, _domain: u32, _others: &[AppId], _: Duration) -> Counters {
        Counters::default()
    }

    /// Reports CPU time that a program had in `domain` since the last call, for a source that
    /// depends on it. The caller has requested the counts [beside](Self::beside) others for that
    /// time before.
    fn ran(&mut self, _: AppId, _domain: u32, _: Duration) {}

    /// Starts to report a program's windows, each of which ends as soon as the program has retired
    /// that many instructions since the last; with `None`, stops. Returns whether windows are
    /// reported: if a source does not, callers [read](Self::read) now and then.
    fn report_windows(&mut self, _: AppId, _domain: u32, _instructions: Option<u64>) -> bool {
        false
    }

    /// Whether a program's windows are still reported.
    fn reports_windows(&self, _: AppId, _domain: u32) -> bool {
        false
    }

    /// A descriptor that becomes readable when a window has [ended](Self::take_ended), if the
    /// source reports any.
    fn attention(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Appends the windows that have ended since the last call, each program's in order.
    fn take_ended(&mut self, _: &mut Vec<EndedWindow>) {}
}

/// A window that a source [reports](Source::report_windows).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedWindow {
    /// The program.
    pub app: AppId,
    /// The domain for which it was requested.
    pub domain: u32,
    /// What it counted; unknown counters are missing.
    pub counters: Counters,
    /// How long the window was.
    pub length: Duration,
    /// How long ago it ended.
    pub ago: Duration,
}

/// A source that counts nothing: every counter is missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCounters;

impl Source for NoCounters {
    fn begin(&mut self, _: &Target) {}

    fn threads(&mut self, _: AppId, _: &[i32]) {}

    fn read(&mut self, _: AppId, _: u32) -> Counters {
        Counters::default()
    }

    fn end(&mut self, _: AppId) {}
}
