//! How long a program takes alone for its instructions.
//!
//! The instructions of a stream, and of a real program, differ from part to part: a program that is
//! slowed down is at another part after the same time. So its slowdown is of the same instructions.

use std::time::Duration;

use fairways_chip::{Account, Job, PhaseLength, Settings};

/// The time that passes until a program has run alone up to some instructions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkCurve {
    clock: WorkClock,
    /// Instructions and time, in growing order.
    points: Vec<(u64, f64)>,
}

/// The clock of a program's work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum WorkClock {
    /// The chip's time: a program that waits for its turn is slower for that.
    #[default]
    Chip,
    /// The chip's time without the time in which the program slept: a real program sleeps in real
    /// time, and how much the chip does meanwhile depends on how busy this machine is.
    Awake {
        /// Seconds of a cycle, on the policy's clock.
        cycle: f64,
    },
}

/// The largest part of the time that a real program may sleep and still be compared: its neighbours
/// use the cache meanwhile, for as long as this machine lets them.
const MOST_ASLEEP: f64 = 0.05;

/// How far a program may get beyond where it got alone.
const BEYOND: f64 = 1.02;

impl WorkCurve {
    /// A curve for a job that only replays streams, one after the other by instructions, or runs a
    /// real program all the time; `None` for others.
    #[must_use]
    pub fn for_job(job: &Job, settings: &Settings) -> Option<Self> {
        let has_live = job.live().next().is_some();
        let cycle = f64::from(settings.time_scale) / (f64::from(settings.chip.mhz) * 1e6);
        let clock = if has_live { WorkClock::Awake { cycle } } else { WorkClock::Chip };
        // A phase that ends by time ends at other instructions than alone.
        let is_ended_by_time = job.phases.len() > 1
            && job.phases.iter().any(|phase| matches!(phase.length, Some(PhaseLength::Time(_))));
        let of_one_kind = job.live().count().max(job.streams().count());
        let is_alike = of_one_kind == job.phases.len() && !is_ended_by_time;
        is_alike.then(|| Self { clock, points: vec![(0, 0.0)] })
    }

    fn time(&self, at: Duration, account: &Account) -> f64 {
        match self.clock {
            WorkClock::Chip => at.as_secs_f64(),
            WorkClock::Awake { cycle } => at.as_secs_f64() - cycle * account.asleep_cycles(),
        }
    }

    /// Notes how far the program is at a time.
    pub fn note(&mut self, at: Duration, account: &Account) {
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

    /// Whether the program slept for so long between two accounts, `span` apart, that what it did
    /// depends on how busy this machine was.
    #[must_use]
    pub fn slept_long(&self, from: &Account, to: &Account, span: Duration) -> bool {
        let WorkClock::Awake { cycle } = self.clock else { return false };
        cycle * to.minus(from).asleep_cycles() > MOST_ASLEEP * span.as_secs_f64()
    }

    /// How many times longer the program took for its instructions between two accounts, `span`
    /// apart, than alone; `None` if that is not known, because it did not get that far alone.
    #[must_use]
    pub fn slowdown(&self, from: &Account, to: &Account, span: Duration) -> Option<f64> {
        let alone = self.until(to.instructions)? - self.until(from.instructions)?;
        let here = self.time(span, to) - self.time(Duration::ZERO, from);
        (alone > 0.0).then(|| here / alone)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fairways_chip::Phase;
    use fairways_chip::preset::preset;
    use fairways_chip::program::parse;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// After so many seconds asleep.
    fn account(instructions: u64, asleep: u64) -> Account {
        Account { instructions, asleep_ticks: asleep * 1024 * 1000, ..Account::default() }
    }

    fn curve(clock: WorkClock) -> WorkCurve {
        let mut curve = WorkCurve { clock, points: vec![(0, 0.0)] };
        // Fast, then asleep, then slow.
        for (second, instructions, asleep) in [(1, 100, 0), (2, 100, 1), (4, 300, 1)] {
            curve.note(SECOND * second, &account(instructions, asleep));
        }
        curve
    }

    /// The program of which a cycle takes a millisecond.
    fn awake() -> WorkCurve {
        curve(WorkClock::Awake { cycle: 0.001 })
    }

    fn has_curve(text: &str) -> bool {
        let phases = parse(text, |_| None).expect("a program").into_iter();
        let phases =
            phases.map(|(program, length)| Phase { program: program.map(Arc::new), length });
        let job = Job { phases: phases.collect(), ..Job::default() };
        let chip = preset("skylake").expect("a preset");
        WorkCurve::for_job(&job, &Settings::new(chip)).is_some()
    }

    #[test]
    fn streams_are_compared_by_work_where_that_is_the_same() {
        let stream =
            concat!("stream:", env!("CARGO_MANIFEST_DIR"), "/../../../corpus/streams/bzip2.stream");
        assert!(has_curve(stream));
        assert!(has_curve(&format!("{stream}@5M+{stream}@7M+{stream}")));
        for other in ["mlr:8M", "idle@1s+STREAM", "STREAM@1s+STREAM", "mlr:8M@5M+STREAM"] {
            assert!(!has_curve(&other.replace("STREAM", stream)), "{other}");
        }
    }

    #[test]
    fn slowdowns_are_of_the_same_instructions() {
        let chip = curve(WorkClock::Chip);
        // Alone 100 instructions took a second, and the next 200 three, with the sleep.
        assert_eq!(chip.slowdown(&account(0, 0), &account(50, 0), SECOND), Some(2.0));
        assert_eq!(chip.slowdown(&account(100, 0), &account(200, 0), 3 * SECOND), Some(2.0));
    }

    #[test]
    fn sleep_of_real_programs_does_not_count() {
        let awake = awake();
        // Alone 100 of the last instructions took a second; here six, four of them asleep.
        assert_eq!(awake.slowdown(&account(200, 3), &account(300, 7), 6 * SECOND), Some(2.0));
        for (asleep, span, is_long) in [(1, 19, true), (1, 21, false), (0, 1, false)] {
            let to = account(9, asleep);
            assert_eq!(awake.slept_long(&account(0, 0), &to, span * SECOND), is_long);
        }
    }

    #[test]
    fn a_program_that_did_not_get_that_far_alone_is_not_compared() {
        let awake = awake();
        let from = account(100, 0);
        for (to, slowdown) in [(300, Some(1.0)), (307, None), (100, None)] {
            assert_eq!(awake.slowdown(&from, &account(to, 0), 2 * SECOND), slowdown);
        }
        assert!(awake.slowdown(&from, &account(305, 0), 2 * SECOND).is_some());
    }
}
