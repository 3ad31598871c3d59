//! The promises, each as a failed check names it.

use std::fmt::Arguments;

/// [`Event::Machine`](fairways_core::Event::Machine) comes first.
pub const FIRST: &str = "the first event is the machine";
/// No event is told with a time before that of the last.
pub const FORWARD: &str = "time never goes back";
/// The order of what happens at one instant.
pub const ORDER: &str = "at one instant windows come first and the alarm last";
/// An [`AppId`](fairways_core::AppId) is one program's for ever.
pub const NO_REUSE: &str = "ids are never reused";
/// Nothing is told of a program before its start or after its exit.
pub const RUNNING: &str = "a program is told of while it runs";
/// Each start and each end is told.
pub const LIVES: &str = "programs start and end";
/// A window that a policy asked for is told when it ends.
pub const TOLD: &str = "windows that end are told";
/// No window is told that nobody asked for.
pub const ASKED: &str = "only windows that were asked for are told";
/// A window is no shorter than was asked for.
pub const LONG: &str = "a window is at least as long as was asked";
/// A window begins where the one before ended, or where it was asked for.
pub const GAPLESS: &str = "windows follow each other without a gap";
/// What [`Sample::plan`](fairways_core::Sample::plan) says.
pub const PLAN: &str = "a window says under which plan it ended";
/// What [`Sample::straddled`](fairways_core::Sample::straddled) says.
pub const STRADDLED: &str = "a window says whether a plan was carried out in it";
/// A service's latencies are told after its window's sample, before anything but refusals, and from the shortest on.
pub const LATENCIES: &str = "latencies are those of the window that was just told";
/// An objective is more than nothing.
pub const WISHES: &str = "wishes are such as can be";
/// Counters that are read make sense together.
pub const COUNTERS: &str = "counters agree with each other";
/// Every plan is answered before any other event, several in the order of the plans. The plan in
/// force may be answered again.
pub const ANSWERED: &str = "each plan is answered before any other event";
/// The partition in force has programs that run, and no others.
pub const ACTUAL: &str = "the partition in force has only programs that run";
/// A machine that has no lever for memory bandwidth refuses no limit, and answers that there is
/// none.
pub const NOT_THERE: &str = "a limit without a lever is answered as not there";
/// A plan that breaks a rule is refused, and no other but by a machine that fails.
pub const REFUSED: &str = "a plan that breaks a rule is refused";
/// A plan that breaks no rule is carried out, if not at the first attempt.
pub const CARRIED_OUT: &str = "a plan that breaks no rule is carried out";
/// What became of the last [`Action::Wake`](fairways_core::Action::Wake), and of no other.
pub const ALARM: &str = "there is one alarm, and it rings once, in time";
/// What a machine tells of turns is of threads that run, on CPUs that there are, one after the other, and as long
/// as its quantum or as was ordered.
pub const TURNS: &str = "turns are such as can have been";
/// A turn that began after a thread was confined to CPUs is on one of them.
pub const ALLOWED: &str = "threads run where they may";
/// Times together are told once they are asked for, and are no shorter than was asked.
pub const TOGETHER: &str = "times together are those that were asked for";
/// Once a machine has no more to tell, it never has.
pub const FINAL: &str = "the end is final";
/// A simulated machine is a function of what is asked of it.
pub const SAME: &str = "the same actions give the same events";

/// Panics with the promise and what broke it, unless it is kept.
#[track_caller]
pub(crate) fn hold(kept: bool, promise: &str, told: Arguments<'_>) {
    assert!(kept, "{promise}: {told}");
}
