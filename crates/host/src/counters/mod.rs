//! What programs do: perf counters, or another source.

pub mod emulated;
pub mod perf;

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
