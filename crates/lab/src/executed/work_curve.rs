//! How long a program takes alone for its instructions.
//!
//! The instructions of a stream, and of a real program, differ from part to part: a program that is
//! slowed down is at another part after the same time. So its slowdown is of the same instructions.

use std::time::Duration;

use fairways_chip::{Account, Job};

/// The time that passes until a program has run alone up to some instructions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkCurve {
    clock: WorkClock,
    /// Instructions and time, in growing order.
    points: Vec<(u64, f64)>,
}

/// The clock of a program's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WorkClock {
    /// The chip's time: what waits for its turn is slower for that.
    #[default]
    Chip,
    /// The program's own cycles: a real program sleeps in real time, and starts as fast as this
    /// machine lets it.
    Cycles,
}

/// How far a program may get beyond where it got alone.
const BEYOND: f64 = 1.02;

impl WorkCurve {
    /// A curve for a job that replays a stream or runs a real program all the time; `None` for
    /// others.
    pub(super) fn for_job(job: &Job) -> Option<Self> {
        let (has_live, has_stream) = (job.live().next().is_some(), job.streams().next().is_some());
        let clock = if has_live { WorkClock::Cycles } else { WorkClock::Chip };
        let is_of_one_kind = job.phases.len() == 1 && (has_live || has_stream);
        is_of_one_kind.then(|| Self { clock, points: vec![(0, 0.0)] })
    }

    fn time(&self, at: Duration, account: &Account) -> f64 {
        match self.clock {
            WorkClock::Chip => at.as_secs_f64(),
            WorkClock::Cycles => account.cycles(),
        }
    }

    /// Notes how far the program is at a time.
    pub(super) fn note(&mut self, at: Duration, account: &Account) {
        let (instructions, time) = (account.instructions, self.time(at, account));
        if self.points.last().is_none_or(|&(last, _)| last < instructions) {
            self.points.push((instructions, time));
        }
    }

    /// The time up to some instructions; `None` if the program did not get that far.
    fn until(&self, instructions: u64) -> Option<f64> {
        let above = self.points.partition_point(|&(count, _)| count < instructions);
        if above == 0 {
            return Some(0.0);
        }
        let last = self.points.len() - 1;
        if above > last && instructions as f64 > BEYOND * self.points[last].0 as f64 {
            return None;
        }
        let place = above.min(last).max(1);
        let ((from, began), (to, ended)) = (*self.points.get(place - 1)?, *self.points.get(place)?);
        let share = (instructions - from) as f64 / (to - from) as f64;
        Some(began + share * (ended - began))
    }

    /// How many times longer the program took for its instructions between two accounts, `span`
    /// apart, than alone; `None` if that is not known, because it did not get that far alone.
    pub(super) fn slowdown(&self, from: &Account, to: &Account, span: Duration) -> Option<f64> {
        let alone = self.until(to.instructions)? - self.until(from.instructions)?;
        let here = self.time(span, to) - self.time(Duration::ZERO, from);
        (alone > 0.0).then(|| here / alone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(instructions: u64, cycles: u64) -> Account {
        Account { instructions, ticks: cycles * 1024, ..Account::default() }
    }

    fn curve(clock: WorkClock) -> WorkCurve {
        let mut curve = WorkCurve { clock, points: vec![(0, 0.0)] };
        // Slow, then asleep, then fast.
        for (seconds, instructions, cycles) in [(1, 100, 1000), (2, 100, 1000), (3, 300, 1500)] {
            curve.note(Duration::from_secs(seconds), &account(instructions, cycles));
        }
        curve
    }

    #[test]
    fn slowdowns_are_of_the_same_instructions() {
        let second = Duration::from_secs(1);
        let chip = curve(WorkClock::Chip);
        // Alone 100 instructions took a second, and the next 200 two, with the sleep.
        assert_eq!(chip.slowdown(&account(0, 0), &account(50, 9), second), Some(2.0));
        assert_eq!(chip.slowdown(&account(100, 0), &account(200, 9), second), Some(1.0));
        let cycles = curve(WorkClock::Cycles);
        assert_eq!(cycles.slowdown(&account(100, 7), &account(200, 507), second), Some(2.0));
    }

    #[test]
    fn a_program_that_did_not_get_that_far_alone_is_not_compared() {
        let cycles = curve(WorkClock::Cycles);
        let from = account(100, 0);
        for (to, slowdown) in [(300, Some(1.0)), (307, None), (100, None)] {
            assert_eq!(cycles.slowdown(&from, &account(to, 500), Duration::ZERO), slowdown);
        }
        assert!(cycles.slowdown(&from, &account(305, 500), Duration::ZERO).is_some());
    }
}
