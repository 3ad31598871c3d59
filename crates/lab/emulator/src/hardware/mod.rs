//! The machine behind the files.

mod idle;

use std::time::Duration;

use fairways_core::{Counters, LatencyBin, Time, WayMask};

pub use idle::Idle;

/// How far to let time pass: until the first of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Until {
    /// Exactly this time.
    pub to: Time,
    /// The first step of the machine's own that ends at this time or later.
    pub about: Time,
    /// The step in which a program exits.
    pub exit: bool,
    /// The step in which these programs together have retired that many instructions since they
    /// started.
    pub instructions: Vec<(Vec<usize>, u64)>,
}

impl Until {
    /// Until exactly this time.
    #[must_use]
    pub fn time(to: Time) -> Self {
        Self { to, about: to, exit: false, instructions: Vec::new() }
    }
}

/// A program's class on a CPU: like a CLOSID's mask and limit, and an RMID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuClass {
    /// The ways that the program may fill there. An empty mask counts as way 0.
    pub mask: WayMask,
    /// The mark under which its lines are counted until they are evicted.
    pub mark: u16,
    /// The limit of its memory bandwidth, if it has one.
    pub limit: Option<ClassLimit>,
}

/// A limit of memory bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassLimit {
    /// The class of service: its programs have one cap together, on platforms that cap.
    pub class: u16,
    /// The limit, in the unit of the platform's `MB` values.
    pub value: u32,
}

/// The CPUs and caches of a machine, as its files in /proc and /sys show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorShape {
    /// Cores.
    pub cores: u32,
    /// Hardware threads of each core. Each is a CPU; numbering starts with the first core's.
    pub threads: u32,
    /// Core clock, MHz.
    pub mhz: u32,
    /// The first data cache of each core.
    pub l1: CacheSize,
    /// The instruction cache of each core.
    pub l1i: CacheSize,
    /// The second private cache of each core, if it has one.
    pub l2: Option<CacheSize>,
    /// The cache that all cores share.
    pub llc: CacheSize,
}

impl ProcessorShape {
    /// The CPUs: the hardware threads of all cores.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        self.cores.saturating_mul(self.threads)
    }
}

/// The size of a cache of lines of 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSize {
    /// Sets.
    pub sets: u32,
    /// Lines of a set.
    pub ways: u32,
}

/// A simulated machine with one last-level cache, whose programs the files govern.
///
/// Programs are numbered from 0 and named once; none starts after the machine began.
pub trait Hardware: Send {
    /// The programs' names, by number.
    fn names(&self) -> &[String];

    /// Its clock.
    fn now(&self) -> Time;

    /// The smallest step of its clock.
    fn tick(&self) -> Duration {
        Duration::from_nanos(1)
    }

    /// Lets time pass, and returns whether a program ended the wait: by exiting, or by its
    /// instructions. A past time changes nothing.
    fn advance(&mut self, until: &Until) -> bool;

    /// Whether a program still runs.
    fn runs(&self, program: usize) -> bool;

    /// Ends a program, as a signal would.
    fn kill(&mut self, program: usize);

    /// The CPU that a program is on; `None`: on none, or it is over.
    fn cpu(&self, program: usize) -> Option<u32>;

    /// From now on a program fills these ways under these marks, with these limits of memory
    /// bandwidth, by the CPU that it is on. Nothing is evicted.
    fn set_classes(&mut self, program: usize, by_cpu: Vec<CpuClass>);

    /// A program's counts since it started; uncounted ones are missing.
    fn counters(&self, program: usize) -> Counters;

    /// The latencies of the requests that a service has answered since it started, from the
    /// shortest to the longest; `None`: it is no service.
    fn latencies(&mut self, program: usize) -> Option<Vec<LatencyBin>>;

    /// The bytes of lines in the cache that were brought in under a mark.
    fn occupancy_bytes(&self, mark: u16) -> u64;

    /// Why it can't go on, in a line, if it can't.
    fn failure(&self) -> Option<String>;
}
