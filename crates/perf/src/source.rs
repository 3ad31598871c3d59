//! What programs do: perf counters, or another source.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use fairways_core::{AppId, Counters};
use fairways_resctrl::language::CpuSet;

/// What is counted of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The program.
    pub app: AppId,
    /// Its name, by which a source other than the kernel may know it.
    pub name: String,
    /// The cgroup's directory whose tasks it is, all of them and no others, where it is one.
    pub cgroup: Option<std::path::PathBuf>,
    /// Its threads now, as gettid(2) tells them.
    pub threads: Vec<i32>,
}

/// A source of counters.
pub trait Source {
    /// Begins to count a program, from zero. Where it can't be counted, its counters are missing, and why is said once in the log.
    fn begin(&mut self, target: &Target);

    /// Which threads the program has now: those that came are counted too, from now on, and what those that went
    /// counted is kept.
    fn threads(&mut self, app: AppId, threads: &[i32]);

    /// What the program has counted since it was begun, scaled where counters were multiplexed; what can't be told is missing. On
    /// several domains, what its CPUs of `domain` counted where the source tells CPUs apart, and else all.
    fn read(&mut self, app: AppId, domain: u32) -> Counters;

    /// Counts it no longer.
    fn end(&mut self, app: AppId);

    /// Which CPUs each domain has from now on, for a source that tells CPUs apart.
    fn set_domains(&mut self, _: &[(u32, CpuSet)]) {}

    /// What a program did that ran on a CPU of `domain` for so long, beside these others on its other CPUs all the time, where CPUs did
    /// not count it themselves: for a source that knows what programs do. By default all is missing.
    fn beside(&mut self, _: AppId, _domain: u32, _others: &[AppId], _: Duration) -> Counters {
        Counters::default()
    }

    /// A program had so much CPU time in `domain` since this was last told, for a source that goes by it. What it was [beside](Self::beside)
    /// meanwhile was asked before.
    fn ran(&mut self, _: AppId, _domain: u32, _: Duration) {}

    /// Tells from now on of a program's windows, each of which ends as soon as it has retired so many instructions since the end of the
    /// last; or no longer, with `None`. The answer is whether it will: of a source that does not, whoever wants to know [reads](Self::read)
    /// now and then.
    fn tell(&mut self, _: AppId, _domain: u32, _instructions: Option<u64>) -> bool {
        false
    }

    /// Whether it tells of a program's windows still.
    fn tells(&self, _: AppId, _domain: u32) -> bool {
        false
    }

    /// A descriptor that becomes readable when a window has [ended](Self::ended), of a source that tells of any.
    fn attention(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Appends the windows that have ended since this was last asked, a program's in their order.
    fn ended(&mut self, _: &mut Vec<Ended>) {}
}

/// A window of which the source [tells](Source::tell).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The program.
    pub app: AppId,
    /// In which domain it was told to.
    pub domain: u32,
    /// What it counted in the window; what can't be told is missing.
    pub counters: Counters,
    /// How long the window was.
    pub length: Duration,
    /// How long ago it ended.
    pub ago: Duration,
}

/// A source that counts nothing: everything is missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Source for Nothing {
    fn begin(&mut self, _: &Target) {}

    fn threads(&mut self, _: AppId, _: &[i32]) {}

    fn read(&mut self, _: AppId, _: u32) -> Counters {
        Counters::default()
    }

    fn end(&mut self, _: AppId) {}
}
