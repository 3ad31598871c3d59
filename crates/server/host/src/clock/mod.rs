//! The time of a host: its own, or an emulator's.

mod emulator;
mod real;

use std::io;
use std::os::fd::BorrowedFd;

use fairways_core::{AppId, Time};

pub use emulator::EmulatorClock;
pub use real::RealClock;

/// The conditions that end a wait: the first to become true does.
#[derive(Debug)]
pub struct Wait<'a> {
    /// At exactly this time.
    pub until: Time,
    /// At about this time: a simulated machine finishes its step first.
    pub about: Time,
    /// A program has retired this many instructions since its counters began, if the clock [notices
    /// that](Clock::notices_instructions).
    pub instructions: &'a [(AppId, u64)],
    /// One of these descriptors is readable, or hung up.
    pub attention: &'a [BorrowedFd<'a>],
    /// One of these descriptors is readable: there is something to fetch, but no call for
    /// attention. A simulated machine's clock ignores them.
    pub fetch: &'a [BorrowedFd<'a>],
}

/// A clock that can be waited on.
pub trait Clock {
    /// The time since the clock was made; while the machine is suspended, it stands still.
    fn now(&self) -> Time;

    /// Whether a wait ends as soon as a program has retired its instructions.
    fn notices_instructions(&self) -> bool;

    /// Whether the machine was suspended since the last call, or since the clock was made.
    fn was_suspended(&mut self) -> bool;

    /// Waits; it may return early. Returns whether there was a call for attention, or a program has
    /// ended, if the clock notices that.
    ///
    /// # Errors
    /// If the clock has stopped for good.
    fn wait(&mut self, wait: &Wait<'_>) -> io::Result<bool>;
}
