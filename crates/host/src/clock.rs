//! Whose time it is: the host's, or an emulator's.

use std::io;
use std::os::fd::BorrowedFd;

use fairways_core::{AppId, Time};

/// A clock that can be waited on.
pub trait Clock {
    /// The time since the clock was made.
    fn now(&self) -> Time;

    /// Waits until a time; or until one of these programs has retired so many instructions since its counters were begun, where
    /// the clock can tell; or until one of these descriptors is readable. It may come back earlier.
    ///
    /// # Errors
    /// If the clock has stopped for good.
    fn wait(
        &mut self,
        until: Time,
        instructions: &[(AppId, u64)],
        attention: &[BorrowedFd<'_>],
    ) -> io::Result<()>;
}
