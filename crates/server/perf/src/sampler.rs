//! Reports windows that end in the kernel.

use std::cell::RefCell;
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use super::tally::Span;

/// The most events in a part; no processor's table has more.
pub const EVENTS: usize = 16;

/// Runs in the kernel whenever an event has counted for a period: adds up the counts of a program's
/// parts, and reports when they amount to a window.
///
/// A *series* is one window after another of a program; a *part* is one of its threads, or its
/// cgroup on one CPU.
pub trait Sampler {
    /// Opens a series whose windows last `window` counts of the parts' first event.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no room for more.
    fn open(&mut self, window: u64) -> io::Result<u32>;

    /// Adds a part to a series, with at most [`EVENTS`] events and their counts so far. The first
    /// event, whose period the caller sets, reports its overflows.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no room for more.
    fn join(&mut self, series: u32, events: &[(BorrowedFd<'_>, Span)]) -> io::Result<u32>;

    /// Removes a part. Its last counts still belong to its series, if that exists.
    fn leave(&mut self, part: u32, last: &[Span]);

    /// Closes a series: nothing more is reported for it.
    fn close(&mut self, series: u32);

    /// Becomes readable when a window has ended.
    fn attention(&self) -> BorrowedFd<'_>;

    /// Appends the windows that have ended since the last call, each series' in order.
    fn take_ended(&mut self, windows: &mut Vec<Window>);
}

/// A window that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its series.
    pub series: u32,
    /// When it ended, in nanoseconds of `CLOCK_MONOTONIC`.
    pub at: u64,
    /// The counts of the parts' events since the window before, or since the series began; `None`
    /// for an event that could not be read in every part.
    pub counted: Vec<Option<Span>>,
    /// How often its end could not be reported for lack of room, and was reported by a later
    /// overflow.
    pub late: u64,
}

/// A sampler with several owners.
pub(super) type Shared = Rc<RefCell<Box<dyn Sampler>>>;

/// A part's place in a series.
pub(super) struct Joined {
    pub(super) sampler: Shared,
    pub(super) part: u32,
}

impl Joined {
    pub(super) fn leave(self, last: &[Span]) {
        self.sampler.borrow_mut().leave(self.part, last);
    }
}
