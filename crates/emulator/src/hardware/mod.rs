//! The machine behind the files.

mod chip;
mod idle;

pub use chip::{ChipMachine, platform_of};
pub use idle::Idle;

pub use fairways_chip::Class;
use fairways_core::{Counters, Time};

/// A simulated machine with one last-level cache, whose programs the files govern.
///
/// Programs are numbered from 0 and named once; none starts after the machine began.
pub trait Hardware: Send {
    /// The programs' names, by number.
    fn names(&self) -> &[String];

    /// How far its clock is.
    fn now(&self) -> Time;

    /// Lets time pass until then. An earlier time changes nothing.
    fn advance(&mut self, to: Time);

    /// Whether a program still runs.
    fn runs(&self, program: usize) -> bool;

    /// Ends a program, as a signal would.
    fn kill(&mut self, program: usize);

    /// The CPU that a program is on; `None`: on none, or it is over.
    fn cpu(&self, program: usize) -> Option<u32>;

    /// From now on a program fills these ways under these marks, by the CPU that it is on. Nothing is evicted.
    fn set_classes(&mut self, program: usize, by_cpu: Vec<Class>);

    /// What a program's counters have counted since it started; what is not counted is missing.
    fn counters(&self, program: usize) -> Counters;

    /// The bytes of lines in the cache that were brought in under a mark.
    fn occupancy_bytes(&self, mark: u16) -> u64;

    /// Why it cannot go on, in a line, if it can't.
    fn failure(&self) -> Option<String>;
}
