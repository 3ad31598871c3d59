//! The time of a host: its own, or an emulator's.

mod emulator;
mod real;

use std::io;
use std::os::fd::BorrowedFd;

use fairways_core::{AppId, Time};

pub use emulator::EmulatorClock;
pub use real::RealClock;

/// What ends a wait: the first of these.
#[derive(Debug)]
pub struct Wait<'a> {
    /// This very time.
    pub until: Time,
    /// About this time: a simulated machine is not held up in the midst of a step for it.
    pub about: Time,
    /// A program has retired so many instructions since its counters began, where the clock
    /// [notices that](Clock::notices_instructions).
    pub instructions: &'a [(AppId, u64)],
    /// One of these descriptors is readable, or hung up.
    pub attention: &'a [BorrowedFd<'a>],
    /// One of these descriptors is readable: there is something to fetch, and nobody calls. A
    /// simulated machine's clock ignores them.
    pub fetch: &'a [BorrowedFd<'a>],
}

/// A clock that can be waited on.
pub trait Clock {
    /// The time since the clock was made, without the time for which the machine was suspended.
    fn now(&self) -> Time;

    /// Whether it comes back by itself as soon as a program has retired instructions.
    fn notices_instructions(&self) -> bool;

    /// Whether the machine was suspended since this was last asked, or the clock was made.
    fn was_suspended(&mut self) -> bool;

    /// Waits. Returns whether somebody called for attention, or a program has ended, where the
    /// clock notices that. It may return earlier.
    ///
    /// # Errors
    /// If the clock has stopped for good.
    fn wait(&mut self, wait: &Wait<'_>) -> io::Result<bool>;
}
