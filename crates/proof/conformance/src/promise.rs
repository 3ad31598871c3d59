//! The promises, each as a failed check names it.

use std::fmt::{self, Debug, Display, Formatter};

use fairways_core::Time;

/// [`Event::Machine`](fairways_core::Event::Machine) comes first.
pub const FIRST: &str = "the first event is the machine";
/// No event has an earlier time than the event before it.
pub const FORWARD: &str = "time never goes back";
/// The order of events at one instant.
pub const ORDER: &str = "at one instant windows come first and the alarm last";
/// An [`AppId`](fairways_core::AppId) never belongs to a second program.
pub const NO_REUSE: &str = "ids are never reused";
/// Nothing is reported about a program before its start or after its exit.
pub const RUNNING: &str = "a program is reported while it runs";
/// Each start and each end is reported.
pub const LIVES: &str = "programs start and end";
/// A window that a policy requested is reported when it ends.
pub const REPORTED: &str = "windows that end are reported";
/// No window is reported that was not requested.
pub const REQUESTED: &str = "only requested windows are reported";
/// A window is no shorter than requested.
pub const LONG: &str = "a window is at least as long as requested";
/// A window begins where the one before ended, or when it was requested.
pub const GAPLESS: &str = "windows follow each other without a gap";
/// The plan in [`Sample::plan`](fairways_core::Sample::plan) is right.
pub const PLAN: &str = "a window names the plan under which it ended";
/// The mark in [`Sample::straddled`](fairways_core::Sample::straddled) is right.
pub const STRADDLED: &str = "a window is marked if a plan was carried out in it";
/// A service's latencies are reported after its window's sample, before anything but refusals, and
/// in ascending order.
pub const LATENCIES: &str = "latencies belong to the window reported just before";
/// An objective is more than 0.
pub const WISHES: &str = "an objective is more than 0";
/// Counters that are read make sense together.
pub const COUNTERS: &str = "counters agree with each other";
/// Every plan is answered before any other event, several plans in their order. The plan in force
/// may be answered again.
pub const ANSWERED: &str = "each plan is answered before any other event";
/// Every program of the partition in force runs.
pub const ACTUAL: &str = "the partition in force has only programs that run";
/// The levels of memory bandwidth in an answer are those in force, which the machine's lever has.
pub const LEVELS: &str = "levels of memory bandwidth in an answer are those of the lever";
/// A plan that breaks a rule is refused. A plan that breaks no rule is refused only if the machine
/// fails.
pub const REFUSED: &str = "a plan that breaks a rule is refused";
/// A plan that breaks no rule is carried out, if not at the first attempt.
pub const CARRIED_OUT: &str = "a plan that breaks no rule is carried out";
/// The alarm rings for the last [`Action::Wake`](fairways_core::Action::Wake), and for no other.
pub const ALARM: &str = "there is one alarm, and it rings once, in time";
/// Reported turns are of threads that run, on CPUs that exist, one after the other, and as long as
/// the machine's quantum or the order.
pub const TURNS: &str = "turns are of running threads, on existing CPUs, one after the other";
/// A turn that begins after a thread was confined to some CPUs is on one of these.
pub const ALLOWED: &str = "threads run where they may";
/// Co-runs are reported only once they are requested, and are no shorter than requested.
pub const CO_RUNS: &str = "co-runs are those that were requested";
/// A machine that has reported its last event never reports another.
pub const FINAL: &str = "the end is final";
/// A simulated machine's events depend only on the actions.
pub const SAME: &str = "the same actions give the same events";

/// Panics with the promise and the evidence that breaks it, unless it is kept.
#[track_caller]
pub(crate) fn require(kept: bool, promise: &str, evidence: impl Display) {
    assert!(kept, "{promise}: {evidence}");
}

/// What a machine reported, and when, as evidence; it is formatted only if it is needed.
#[derive(Clone, Copy)]
pub(crate) struct Reported<'a, T>(pub(crate) &'a T, pub(crate) Time);

impl<T: Debug> Display for Reported<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?}", self.0, self.1)
    }
}
