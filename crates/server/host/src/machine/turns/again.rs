//! Replaces a scheduler that the kernel has ended, and tries it again a few times.

use std::io;
use std::time::Duration;

use fairways_core::Time;
use fairways_turns::Scheduler;

use super::super::mechanism::Mechanism as _;
use super::super::state::HostState;
use super::super::trouble::Failure;
use super::Turns;

/// How long to wait before the next try after the first end in [`PERIOD`]; three times as long
/// after each further one.
const PAUSE: Duration = Duration::from_secs(10);

/// The most tries in [`PERIOD`].
const MOST: usize = 3;

const PERIOD: Duration = Duration::from_secs(3600);

/// The schedulers that replace one that the kernel has ended.
pub trait Successors {
    /// Another scheduler, as a replacement.
    ///
    /// # Errors
    /// If there is none.
    fn substitute(&mut self) -> io::Result<Box<dyn Scheduler>>;

    /// Checks whether the first scheduler might work again, without trying.
    ///
    /// # Errors
    /// If it would not; the error says why.
    fn may_return(&self) -> Result<(), String>;

    /// The first scheduler again.
    ///
    /// # Errors
    /// If it can't be started.
    fn first(&mut self) -> io::Result<Box<dyn Scheduler>>;
}

/// When a scheduler ended recently, and when it is tried again.
#[derive(Debug, Default)]
pub(super) struct SchedulerEnds {
    /// Ends and failed attempts of the last [`PERIOD`], in order.
    times: Vec<Time>,
    /// How often the kernel has ended it.
    pub(super) count: u64,
    /// [`Scheduler::threads_without_room`], added up over the schedulers that were replaced.
    pub(super) threads_without_room: u64,
    /// When to try it again; `None` while it schedules.
    due: Option<Time>,
    /// What is reported until then.
    pub(super) degraded: Option<String>,
}

impl SchedulerEnds {
    /// Records that it ended just now, or could not be started again.
    fn end(&mut self, now: Time) {
        self.times.retain(|at| at.after(PERIOD) > now);
        self.times.push(now);
        self.due = Some(match (self.times.len(), self.times.first()) {
            (count, Some(first)) if count > MOST => first.after(PERIOD),
            (count, _) => now.after(PAUSE * 3u32.pow(u32::try_from(count - 1).unwrap_or(0))),
        });
    }

    fn is_due(&self, now: Time) -> bool {
        self.due.is_some_and(|due| due <= now)
    }
}

impl Turns {
    /// Replaces the scheduler that the kernel has ended; another one takes over its requests.
    pub(super) fn take_its_place(&mut self, why: &io::Error, state: &mut HostState) {
        // The old scheduler may have resources that the next one needs.
        let name = self.part().map_or("", |ended| ended.name());
        // A replacement that ends is not replaced itself.
        let successors = self.successors.as_mut().filter(|_| self.ends.due.is_none());
        let Some(successors) = successors else {
            let why = io::Error::new(why.kind(), format!("{name}: {why}"));
            return state.trouble.fail(Failure::Scheduler(why));
        };
        let new = match successors.substitute() {
            Ok(new) => new,
            Err(second) => {
                let both = format!("{name}: {why}; and in its place: {second}");
                return state.trouble.fail(Failure::Scheduler(io::Error::new(second.kind(), both)));
            }
        };
        self.ends.count += 1;
        self.ends.end(state.agenda.now());
        let line = format!("{name} has ended: {why}; {} takes its place", new.name());
        tracing::warn!(target: "fairways::machine", "{line}");
        self.ends.degraded =
            Some(format!("{line}; it is tried again, at most {MOST} times an hour"));
        self.install(new, state);
    }

    /// Tries the first scheduler again, if that is due.
    pub(super) fn try_again(&mut self, state: &mut HostState) {
        let now = state.agenda.now();
        let is_due = self.ends.is_due(now);
        let Some(successors) = self.successors.as_ref().filter(|_| is_due) else { return };
        if let Err(why) = successors.may_return() {
            self.ends.end(now);
            tracing::warn!(target: "fairways::machine", "the scheduler can't be tried again yet: {why}");
            return;
        }
        // The replacement uses the same ledger, so it lets all threads go first.
        if let Some(substitute) = self.part() {
            for (thing, why) in substitute.close().failed {
                state.trouble.log(&format!("{thing} is not as it was before: {why}"));
            }
        }
        let Some(successors) = &mut self.successors else { return };
        match successors.first() {
            Ok(new) => {
                (self.ends.due, self.ends.degraded) = (None, None);
                tracing::info!(target: "fairways::machine", "{} schedules again", new.name());
                self.install(new, state);
            }
            Err(why) => {
                self.ends.end(now);
                tracing::warn!(target: "fairways::machine", "the scheduler is not back: {why}");
                match successors.substitute() {
                    Ok(substitute) => self.install(substitute, state),
                    Err(why) => state.trouble.fail(Failure::Scheduler(why)),
                }
            }
        }
    }

    /// Removes the scheduler, and adds its counts to those of earlier ones.
    fn part(&mut self) -> Option<Box<dyn Scheduler>> {
        let scheduler = self.scheduler.take()?;
        self.ends.threads_without_room += scheduler.threads_without_room();
        Some(scheduler)
    }

    /// Repeats all requests to a new scheduler, and uses it from now on.
    fn install(&mut self, mut new: Box<dyn Scheduler>, state: &mut HostState) {
        let (refused, done) = self.ask_again(new.as_mut());
        self.scheduler = Some(new);
        if let Err(why) = done {
            state.trouble.log(&why.to_string());
        }
        // A thread that the scheduler refuses is not managed, and is tried again later.
        for app in refused {
            self.leave(app, state);
        }
        // The length of turns may have changed.
        self.survey(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO.after(Duration::from_secs(seconds))
    }

    #[test]
    fn pauses_grow_and_the_fourth_end_waits_until_the_first_is_an_hour_ago() {
        let mut ends = SchedulerEnds::default();
        assert!(!ends.is_due(at(5000)));
        for (ended, due) in [(100, 110), (200, 230), (300, 390), (400, 3700)] {
            ends.end(at(ended));
            assert!(!ends.is_due(at(due - 1)) && ends.is_due(at(due)), "ended at {ended} s");
        }
        // By then the first is forgotten.
        ends.end(at(3700));
        assert_eq!(
            (ends.times.len(), ends.is_due(at(3799)), ends.is_due(at(3800))),
            (4, false, true)
        );
        ends.end(at(9000));
        assert!(ends.is_due(at(9010)));
    }
}
