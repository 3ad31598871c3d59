//! What runs a step at a time until it is measured.

use std::time::Duration;

use fairways_chip::program::Supply;
use fairways_chip::{Profiler, Profilers, Recorder};

/// A program under measurement.
pub(crate) trait Steppable {
    fn step(&mut self) -> Supply;
    fn wait(&mut self, most: Duration);
    fn end(&mut self);
    fn instructions(&self) -> u64;
    fn references(&self) -> u64;
    fn is_complete(&self) -> bool;
}

macro_rules! measured {
    ($($name:ty),*) => {$(
        impl Steppable for $name {
            fn step(&mut self) -> Supply {
                Self::step(self)
            }

            fn wait(&mut self, most: Duration) {
                Self::wait(self, most);
            }

            fn end(&mut self) {
                Self::end(self);
            }

            fn instructions(&self) -> u64 {
                Self::instructions(self)
            }

            fn references(&self) -> u64 {
                Self::references(self)
            }

            fn is_complete(&self) -> bool {
                Self::is_complete(self)
            }
        }
    )*};
}

measured!(Profiler, Profilers, Recorder);

/// How a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// The program ended, or everything was seen that was to be looked at.
    Ended,
    /// The user stopped it.
    Interrupted,
}
