//! What is checked.

use std::time::Duration;

use fairways_core::{Llc, Machine, Time, WindowLength};

/// A kind of machine, as its tests present it to the checks.
pub trait Subject {
    /// The cache: at least 4 ways, contiguous masks, at least 3 classes of service.
    fn llc(&self) -> Llc;

    /// How long windows and programs are.
    fn scale(&self) -> Scale;

    /// A fresh machine on which these programs run. Those that start together do so in this order.
    /// It may end when none runs or is to start, or after a thousand windows.
    fn machine(&self, programs: &[Program]) -> Box<dyn Machine + '_>;

    /// Whether time passes; where it does not, no window ends and no alarm rings.
    fn has_time(&self) -> bool {
        true
    }

    /// Whether the same actions on a fresh machine give the same events, to the last bit, and
    /// alarms ring at the nanosecond.
    fn is_simulated(&self) -> bool {
        true
    }

    /// Whether readings are off by more than rounding.
    fn is_noisy(&self) -> bool {
        false
    }

    /// How long random walks are: a machine that takes milliseconds for an event can't take in as many as one that simulates.
    fn walks(&self) -> Walks {
        Walks::default()
    }
}

/// How long random walks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walks {
    /// The events that a walk takes in at most, at least 1; all walks together take in four times as many or more.
    pub events: usize,
    /// The programs that come and go, beside one of each kind that run on.
    pub transient: u32,
}

/// 3000 events, and 20 programs that come and go.
impl Default for Walks {
    fn default() -> Self {
        Self { events: 3000, transient: 20 }
    }
}

/// A window of convenient length for the machine: about as much in instructions as in time.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The instructions of a window, at least 100.
    pub instructions: u64,
    /// The time of a window, at least 100 ns.
    pub time: Duration,
}

impl Scale {
    /// So many windows' time.
    #[must_use]
    pub fn time(&self, windows: u32) -> Duration {
        self.time * windows
    }

    /// So many quarters of a window by instructions.
    pub(crate) fn by_instructions(&self, quarters: u32) -> WindowLength {
        WindowLength::Instructions(self.instructions / 4 * u64::from(quarters))
    }

    /// So many quarters of a window by time.
    pub(crate) fn by_time(&self, quarters: u32) -> WindowLength {
        WindowLength::Time(self.time / 4 * quarters)
    }
}

/// What a program does to the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It hardly uses it.
    Light,
    /// It streams through it.
    Streaming,
    /// It runs faster the more of it it holds.
    Sensitive,
}

/// A program that is to run.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// What it does to the cache.
    pub kind: Kind,
    /// How many windows' time after the machine began it starts.
    pub starts: u32,
    /// After how many windows' instructions it ends, at least 1; `None`: it runs on.
    pub ends: Option<u32>,
}

impl Program {
    /// A program that starts at once and runs on.
    #[must_use]
    pub const fn new(kind: Kind) -> Self {
        Self { kind, starts: 0, ends: None }
    }

    /// When it starts.
    #[must_use]
    pub fn at(&self, scale: Scale) -> Time {
        Time::ZERO.after(scale.time(self.starts))
    }

    /// How many instructions it runs for.
    #[must_use]
    pub fn instructions(&self, scale: Scale) -> Option<u64> {
        self.ends.map(|windows| scale.instructions * u64::from(windows))
    }
}
