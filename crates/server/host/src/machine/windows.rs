//! Windows: the spans in which a program is counted.

use std::time::Duration;

use fairways_core::{Counters, Time, WindowLength};

/// An open window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The state that windows of every machine have.
    pub(super) common: fairways_core::machine::OpenWindow<Counters>,
    /// Whether the counters' source reports its end.
    pub(super) is_reported: bool,
    /// If the clock does not notice retired instructions: the earliest time to look at them when
    /// anything else wakes the machine, and when to be woken for it.
    pub(super) poll_at: Time,
    pub(super) poll_by: Time,
    /// When instructions were last looked at, and how many were retired by then.
    seen: (Time, Option<u64>),
    /// The program's rate until then.
    pub(super) rate: Rate,
    /// The program's rate in the window before.
    rate_before: Rate,
}

/// When to look at a window, if only time ends a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowLooks {
    /// The earliest time to look.
    pub(super) from: Time,
    /// When to be woken for it, exactly and approximately.
    pub(super) until: Time,
    pub(super) about: Time,
}

impl WindowLooks {
    /// The source of the counters reports its end.
    pub(super) const NEVER: Self = {
        let never = Time::from_nanos(u64::MAX);
        Self { from: never, until: never, about: never }
    };
}

/// A number of instructions, and the time that they took; zeros if unknown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rate {
    instructions: u64,
    time: Duration,
}

impl Rate {
    /// How long this many instructions take; `None` if unknown.
    fn time_of(self, instructions: u64) -> Option<Duration> {
        let nanos = self.time.as_nanos().saturating_mul(instructions.into());
        let nanos = nanos.checked_div(self.instructions.into())?;
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }
}

/// The shortest time between two looks at a program.
const SOONEST: Duration = Duration::from_millis(1);

/// The most by which a window's end may be found late.
const LATE: Duration = Duration::from_millis(10);

/// A window may be longer than planned by one part in this many, so that several windows can be
/// looked at together.
const LONGER: u32 = 32;

/// A program is steady if two windows in a row took equally long, to one part in this many.
const STEADY: u32 = 8;

/// How long a rate is relied on: a program that has just begun to run again was slow until now.
const RELIED_ON: Duration = Duration::from_secs(1);

/// How long to wait if instructions can't be read or do not increase.
const IDLE: Duration = Duration::from_millis(100);

impl Window {
    /// A window that begins now, of a program that last ran at this rate.
    pub(super) fn new(every: WindowLength, since: Time, from: Counters, rate: Rate) -> Self {
        Self::begin(every, since, from, rate, false)
    }

    /// A window that begins now, of a program that may be steady (`is_steady`).
    fn begin(
        every: WindowLength,
        since: Time,
        from: Counters,
        rate: Rate,
        is_steady: bool,
    ) -> Self {
        let length = match every {
            WindowLength::Instructions(count) => rate.time_of(count.max(1)),
            WindowLength::Time(_) => None,
        };
        // Unreadable counters are tried again soon.
        let length = length.filter(|_| from.instructions.is_some());
        let soonest = since.after(SOONEST);
        let (poll_at, poll_by) =
            length.map_or((soonest, soonest), |length| looks(since, length, length, is_steady));
        let seen = (since, from.instructions);
        let common = fairways_core::machine::OpenWindow::new(every, since, from);
        Self { common, is_reported: false, poll_at, poll_by, seen, rate, rate_before: rate }
    }

    /// The next window, which begins with the end of this one.
    pub(super) fn next(&self, now: Time, from: Counters) -> Self {
        let did = from.instructions.zip(self.common.start_counts.instructions);
        let instructions = did.map_or(0, |(to, from)| to.saturating_sub(from));
        let took = now.since(self.common.start);
        let rate = Rate { instructions, time: took };
        let expected = self.rate_before.time_of(instructions);
        let is_steady = expected.is_some_and(|time| time.abs_diff(took) <= took / STEADY);
        let next = Self::begin(self.common.length, now, from, rate, is_steady);
        Self { is_reported: self.is_reported, ..next }
    }

    /// When to look at it, if the clock does not notice retired instructions.
    pub(super) fn looks(&self) -> WindowLooks {
        match self.common.ends_at() {
            Some(end) => WindowLooks { from: end, until: end, ..WindowLooks::NEVER },
            None if self.is_reported => WindowLooks::NEVER,
            None => WindowLooks { from: self.poll_at, about: self.poll_by, ..WindowLooks::NEVER },
        }
    }

    /// Whether it is due for a look; `by_instructions` if the clock notices retired instructions.
    pub(super) fn is_due(&self, now: Time, by_instructions: bool) -> bool {
        self.common.start < now
            && match self.common.length {
                WindowLength::Time(_) => self.common.ends_at().is_some_and(|end| end <= now),
                WindowLength::Instructions(_) if self.is_reported => false,
                WindowLength::Instructions(_) => by_instructions || self.poll_at <= now,
            }
    }

    /// How many instructions the program has retired in total at the window's end, if its length is
    /// in instructions and they are counted.
    pub(super) fn ends_at(&self) -> Option<u64> {
        match self.common.length {
            WindowLength::Time(_) => None,
            WindowLength::Instructions(count) => {
                Some(self.common.start_counts.instructions?.saturating_add(count.max(1)))
            }
        }
    }

    /// Sets when to look again at a window whose instructions are not reached. Returns whether it
    /// restarts now, because its instructions can be read again.
    pub(super) fn go_on(&mut self, now: Time, counters: &Counters) -> bool {
        let WindowLength::Instructions(count) = self.common.length else { return false };
        let (Some(from), Some(to)) = (self.common.start_counts.instructions, counters.instructions)
        else {
            let begins = counters.instructions.is_some();
            if begins {
                *self = Self::new(self.common.length, now, *counters, Rate::default());
            } else {
                // Counts since the old start are incomplete, so it is of no use any longer.
                self.common.start_counts = Counters::default();
                (self.poll_at, self.poll_by) = (now.after(IDLE - LATE), now.after(IDLE));
            }
            return begins;
        };
        let left = count.max(1).saturating_sub(to.saturating_sub(from));
        // Uses the recent rate: the program may have slept before.
        let (last, seen) = self.seen;
        let passed = now.since(last);
        self.rate = Rate { instructions: to.saturating_sub(seen.unwrap_or(from)), time: passed };
        (self.poll_at, self.poll_by) = match self.rate.time_of(left) {
            None => {
                let wait = (passed * 2).clamp(SOONEST, IDLE);
                (now.after(wait - wait / 8), now.after(wait))
            }
            Some(left) => {
                looks(now, left, now.since(self.common.start).saturating_add(left), false)
            }
        };
        self.seen = (now, Some(to));
        false
    }
}

/// The first and the last time to look at a window that is expected to end after `left` and to be
/// `length` long by then. That is its end. But if its end is so far off that a program which
/// doubles its speed would be noticed too late, it is half-way first, unless the program is steady;
/// and after a second in any case.
fn looks(now: Time, left: Duration, length: Duration, is_steady: bool) -> (Time, Time) {
    let first = if is_steady { left } else { left / 2 }.min(RELIED_ON);
    let latest = first + LATE;
    let (from, by) = if left <= latest {
        let end = left.max(SOONEST);
        (end, latest.min(end + length / LONGER))
    } else {
        (first, latest)
    };
    (now.after(from), now.after(by))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(instructions: Option<u64>) -> Counters {
        Counters { instructions, ..Counters::default() }
    }

    fn at(millis: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(millis))
    }

    /// Follows a program whose rate changes. Returns how late the ends of windows are found, and
    /// how often it is looked at.
    fn follow(instructions: u64, rate: impl Fn(u64) -> u64) -> (Duration, u32) {
        let mut window = Window::new(
            WindowLength::Instructions(instructions),
            at(0),
            counted(Some(0)),
            Rate::default(),
        );
        let (mut ran, mut looks, mut ended) = (0, 0, None);
        for micro in 0_u64.. {
            let now = Time::ZERO.after(Duration::from_micros(micro));
            if ran >= instructions && ended.is_none() {
                ended = Some(now);
            }
            if now >= window.poll_by {
                looks += 1;
                if let Some(ended) = ended {
                    return (now.since(ended), looks);
                }
                window.go_on(now, &counted(Some(ran)));
            }
            ran += rate(micro);
        }
        (Duration::MAX, looks)
    }

    #[test]
    fn an_end_is_found_soon_without_looking_often() {
        // A second of a steady program.
        let (late, looks) = follow(1_000_000_000, |_| 1000);
        assert!(late <= LATE && looks < 20, "{late:?} {looks}");
        // A program that gets twice as fast at any moment.
        for turns in [0, 100_000, 400_000, 490_000, 499_000] {
            let (late, looks) =
                follow(1_000_000_000, |micro| if micro < turns { 1000 } else { 2000 });
            assert!(late <= LATE && looks < 20, "{late:?} {looks}");
        }
        // A program that sleeps for a second first.
        let (late, _) = follow(50_000_000, |micro| if micro < 1_000_000 { 0 } else { 1000 });
        assert!(late <= IDLE, "{late:?}");
    }

    /// Follows 64 programs for a second, with windows of 100 to 163 times `times`. Returns how many
    /// windows ended, how often one was looked at, and how often the machine was woken for that.
    fn follow_all(times: Duration) -> [usize; 3] {
        let every = WindowLength::Instructions(100_000_000);
        let lengths: Vec<Duration> = (100..164).map(|length| length * times).collect();
        let ran = |length: Duration, now: Time| {
            counted(u64::try_from(100_000_000 * u128::from(now.nanos()) / length.as_nanos()).ok())
        };
        let mut windows = vec![Window::new(every, at(0), counted(Some(0)), Rate::default()); 64];
        let [mut ends, mut looks, mut wakes] = [0; 3];
        loop {
            let now = windows.iter().map(|window| window.poll_by).min().unwrap();
            if now > at(1000) {
                return [ends, looks, wakes];
            }
            wakes += 1;
            let due = windows.iter_mut().zip(&lengths).filter(|(of, _)| of.poll_at <= now);
            for (window, &length) in due {
                looks += 1;
                let ran = ran(length, now);
                if ran.instructions >= window.ends_at() {
                    let was = now.since(window.common.start);
                    let longest = length + length / LONGER + SOONEST;
                    let is_long = was + Duration::from_micros(1) >= length;
                    assert!(is_long && was <= longest, "{was:?} {length:?}");
                    *window = window.next(now, ran);
                    ends += 1;
                } else {
                    window.go_on(now, &ran);
                }
            }
        }
    }

    #[test]
    fn looks_that_are_due_at_about_the_same_time_are_taken_at_once() {
        let [ends, looks, wakes] = follow_all(Duration::from_millis(1));
        assert!(ends > 450 && looks < 2 * ends && wakes < 200, "{ends} {looks} {wakes}");
        // Short windows do not grow from one to the next.
        let [ends, looks, _] = follow_all(Duration::from_micros(100));
        assert!(ends > 4500 && looks < 2 * ends, "{ends} {looks}");
    }

    #[test]
    fn a_window_of_a_steady_program_is_looked_at_once_and_of_others_half_way() {
        let every = WindowLength::Instructions(100_000_000);
        let ran = |millions: u64| counted(Some(millions * 1_000_000));
        let first = Window::new(every, at(0), ran(0), Rate::default());
        // The first window has no known rate; then the program keeps its rate; then it doubles it.
        let second = first.next(at(100), ran(100));
        let third = second.next(at(200), ran(200));
        let fourth = third.next(at(250), ran(300));
        let looks = [second, third, fourth].map(|window| (window.poll_at, window.poll_by));
        assert_eq!(looks[0], (at(150), at(160)));
        assert_eq!(looks[1], (at(300), at(300).after(Duration::from_micros(3125))));
        assert_eq!(looks[2], (at(275), at(285)));
        // Half-way it is found to be slow, and stays so: the window takes twice as long as before.
        let mut slow = second;
        slow.go_on(at(150), &ran(125));
        assert_eq!(slow.next(at(300), ran(200)).poll_at, at(400));
    }

    #[test]
    fn a_window_of_a_program_whose_rate_is_known_is_not_looked_at_before_its_end() {
        let begun = |rate| {
            Window::new(WindowLength::Instructions(5_000_000), at(0), counted(Some(0)), rate)
        };
        assert_eq!(begun(Rate::default()).poll_by, at(1));
        let rate = Rate { instructions: 100_000_000, time: Duration::from_millis(100) };
        assert_eq!(begun(rate).poll_at, at(5));
    }

    #[test]
    fn who_was_slow_and_is_fast_is_not_left_alone_for_long() {
        let (late, looks) = follow(100_000_000, |micro| if micro < 1_000_000 { 1 } else { 1000 });
        assert!(late <= RELIED_ON + LATE && looks < 20, "{late:?} {looks}");
    }

    #[test]
    fn a_window_of_which_nothing_can_be_read_is_looked_at_soon() {
        let rate = Rate { instructions: 1, time: Duration::from_secs(1) };
        assert_eq!(
            Window::new(WindowLength::Instructions(100), at(0), counted(None), rate).poll_by,
            at(1)
        );
    }

    #[test]
    fn what_cannot_be_read_ends_no_window() {
        let mut window =
            Window::new(WindowLength::Instructions(5), at(0), counted(None), Rate::default());
        assert_eq!(window.ends_at(), None);
        window.go_on(at(1), &counted(None));
        assert_eq!((window.ends_at(), window.common.start), (None, at(0)));
        window.go_on(at(101), &counted(Some(7)));
        assert_eq!((window.ends_at(), window.common.start), (Some(12), at(101)));
        window.common.straddled = true;
        window.go_on(at(102), &counted(None));
        assert_eq!((window.ends_at(), window.poll_by), (None, at(202)));
        assert_eq!(window.common.ends_at(), None);
        // It restarts with the counts of this moment, as earlier counts are missing.
        assert!(window.go_on(at(202), &counted(Some(9))));
        assert_eq!((window.ends_at(), window.common.start), (Some(14), at(202)));
        assert!(!window.common.straddled && !window.go_on(at(203), &counted(Some(10))));
    }

    #[test]
    fn the_least_windows_are_not_none() {
        let now = at(3);
        let by_time =
            Window::new(WindowLength::Time(Duration::ZERO), now, counted(Some(9)), Rate::default());
        assert_eq!(by_time.common.ends_at(), Some(now.after(Duration::from_nanos(1))));
        let by_count =
            Window::new(WindowLength::Instructions(0), now, counted(Some(9)), Rate::default());
        assert_eq!(by_count.ends_at(), Some(10));
    }
}
