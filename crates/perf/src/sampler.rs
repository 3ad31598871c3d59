//! What tells of windows that end in the kernel.

use std::cell::RefCell;
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use super::tally::Span;

/// Events of a part at most; those of no processor's table are more.
pub const EVENTS: usize = 16;

/// What the kernel runs whenever an event has counted for a while: it adds up what the parts of a
/// program counted, and tells when that is a window.
///
/// A *series* is one window after another of a program; a *part* is one of its threads, or its
/// cgroup on a CPU.
pub trait Sampler {
    /// A new series, whose windows are of so many counts of the parts' first event.
    ///
    /// # Errors
    /// If the kernel refuses, or there is room for no more.
    fn open(&mut self, window: u64) -> io::Result<u32>;

    /// A part of a series from now on, of at most [`EVENTS`] events and what each had counted by
    /// now. The first, whose period is its owner's, tells when it overflows.
    ///
    /// # Errors
    /// If the kernel refuses, or there is room for no more.
    fn join(&mut self, series: u32, events: &[(BorrowedFd<'_>, Span)]) -> io::Result<u32>;

    /// It is a part no longer. What it counted in the end belongs to its series, if that is still
    /// there.
    fn leave(&mut self, part: u32, last: &[Span]);

    /// A series goes on no longer: nothing more is told of it.
    fn close(&mut self, series: u32);

    /// Becomes readable when a window has ended.
    fn attention(&self) -> BorrowedFd<'_>;

    /// Appends the windows that have ended since this was last asked, a series' in their order.
    fn ended(&mut self, told: &mut Vec<Window>);
}

/// A window that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its series.
    pub series: u32,
    /// When it ended, in nanoseconds of `CLOCK_MONOTONIC`.
    pub at: u64,
    /// What the parts' events counted since the window before, or the series' beginning; `None` of
    /// an event that could not be read everywhere.
    pub counted: Vec<Option<Span>>,
    /// How often its end found no room to be told, and was told by a later overflow.
    pub late: u64,
}

/// A sampler of several holders.
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
