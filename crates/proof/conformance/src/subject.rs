//! The machines that are checked.

use std::time::Duration;

use fairways_core::{Llc, Machine, Time, WindowLength};

/// A kind of machine, as its tests present it to the checks.
pub trait Subject {
    /// The cache: at least 4 ways, contiguous masks, at least 3 classes of service.
    fn llc(&self) -> Llc;

    /// How long windows and programs are.
    fn scale(&self) -> Scale;

    /// A fresh machine on which these programs run. Programs that start together start in this
    /// order. It may end when no program runs or is still to start, or after a thousand windows.
    fn machine(&self, programs: &[TestProgram]) -> Box<dyn Machine + '_>;

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

    /// The length of random walks: a machine that takes milliseconds for an event gets fewer events
    /// than a simulated one.
    fn walks(&self) -> Walks {
        Walks::default()
    }
}

/// The length of random walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walks {
    /// The most events of a walk, at least 1. All walks together have at least four times as many.
    pub events: usize,
    /// The number of programs that come and go, beside one of each kind that runs without end.
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
    /// The time of this number of windows.
    #[must_use]
    pub fn time(&self, windows: u32) -> Duration {
        self.time * windows
    }

    /// A length in quarters of a window, by instructions.
    pub(crate) fn by_instructions(&self, quarters: u32) -> WindowLength {
        WindowLength::Instructions(self.instructions / 4 * u64::from(quarters))
    }

    /// A length in quarters of a window, by time.
    pub(crate) fn by_time(&self, quarters: u32) -> WindowLength {
        WindowLength::Time(self.time / 4 * quarters)
    }
}

/// How a program uses the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// It hardly uses the cache.
    Light,
    /// It streams through the cache.
    Streaming,
    /// It runs faster the more of the cache it occupies.
    Sensitive,
}

/// A program that the machine is to run.
#[derive(Clone, Copy, Debug)]
pub struct TestProgram {
    /// How it uses the cache.
    pub kind: ProgramKind,
    /// Its start, in windows' time after the machine began.
    pub start_windows: u32,
    /// The length of its run, in windows' instructions, at least 1; `None`: it runs without end.
    pub run_windows: Option<u32>,
}

impl TestProgram {
    /// A program that starts at once and runs without end.
    #[must_use]
    pub const fn new(kind: ProgramKind) -> Self {
        Self { kind, start_windows: 0, run_windows: None }
    }

    /// The same program, which ends after `windows` windows' instructions.
    pub(crate) const fn running_for(self, windows: u32) -> Self {
        Self { run_windows: Some(windows), ..self }
    }

    /// The same program, which starts `windows` windows' time after the machine began.
    pub(crate) const fn starting_after(self, windows: u32) -> Self {
        Self { start_windows: windows, ..self }
    }

    /// When it starts.
    #[must_use]
    pub fn at(&self, scale: Scale) -> Time {
        Time::ZERO.after(scale.time(self.start_windows))
    }

    /// The instructions of its run; `None` if it runs without end.
    #[must_use]
    pub fn instructions(&self, scale: Scale) -> Option<u64> {
        self.run_windows.map(|windows| scale.instructions * u64::from(windows))
    }
}
