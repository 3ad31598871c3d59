//! The pace of the machine's clock.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use fairways_core::Time;
use fairways_emulated::ClockState;

/// The pace of the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// At most this many times real time, and slower where the simulation is.
    Real(f64),
    /// It stands still until a client lets time pass.
    Lockstep,
}

/// The clock.
#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) pace: Pace,
    /// The connection that holds it.
    pub(crate) holder: Option<u64>,
    /// The connections that let time pass right now.
    advancing: Vec<u64>,
    meter: Meter,
}

impl Clock {
    pub(crate) fn new(pace: Pace) -> Self {
        Self { pace, holder: None, advancing: Vec::new(), meter: Meter::default() }
    }

    /// The most times real time that it may go by itself; `None`: it stands still.
    pub(crate) fn runs(&self) -> Option<f64> {
        match self.pace {
            Pace::Real(pace) if self.holder.is_none() => Some(pace),
            _ => None,
        }
    }

    /// Whether this connection may let time pass.
    pub(crate) fn obeys(&self, connection: u64) -> bool {
        match self.holder {
            Some(holder) => holder == connection,
            None => self.pace == Pace::Lockstep,
        }
    }

    /// Takes the clock for a connection, unless another one holds it, or is letting time pass, in
    /// the middle of which it would stop.
    ///
    /// # Errors
    /// Why it can't be taken.
    pub(crate) fn hold(&mut self, connection: u64) -> Result<(), &'static str> {
        if self.holder.is_some_and(|holder| holder != connection) {
            return Err("another client holds the clock");
        }
        if self.advancing.iter().any(|&other| other != connection) {
            return Err("another client lets time pass");
        }
        self.holder = Some(connection);
        self.stop();
        Ok(())
    }

    /// Records that a connection begins or ends letting time pass.
    pub(crate) fn set_advancing(&mut self, connection: u64, does: bool) {
        self.advancing.retain(|&other| other != connection);
        self.advancing.extend(does.then_some(connection));
    }

    pub(crate) fn state(&self) -> ClockState {
        match (self.holder, self.pace) {
            (Some(_), _) => ClockState::Held,
            (None, Pace::Real(_)) => ClockState::Paced,
            (None, Pace::Lockstep) => ClockState::Lockstep,
        }
    }

    /// Records the machine's time.
    pub(crate) fn note(&mut self, real: Instant, machine: Time) {
        self.meter.note(real, machine);
    }

    /// It has stood still, or does now.
    pub(crate) fn stop(&mut self) {
        self.meter = Meter::default();
    }

    /// How many times real time it went recently.
    pub(crate) fn factor(&self) -> Option<f64> {
        self.meter.factor()
    }
}

/// The span over which the factor is taken, and the least time between records.
const SPAN: Duration = Duration::from_secs(1);
const APART: Duration = Duration::from_millis(10);

#[derive(Debug, Default)]
struct Meter {
    notes: VecDeque<(Instant, Time)>,
}

impl Meter {
    fn note(&mut self, real: Instant, machine: Time) {
        if self.notes.back().is_some_and(|last| real.saturating_duration_since(last.0) < APART) {
            return;
        }
        self.notes.push_back((real, machine));
        while self
            .notes
            .get(1)
            .is_some_and(|&(then, _)| real.saturating_duration_since(then) > SPAN)
        {
            self.notes.pop_front();
        }
    }

    fn factor(&self) -> Option<f64> {
        let ((from, first), (to, last)) = (self.notes.front()?, self.notes.back()?);
        let real = to.saturating_duration_since(*from).as_secs_f64();
        (real > 0.0).then(|| last.since(*first).as_secs_f64() / real)
    }
}

/// Chooses how much time passes at once: what real time allows, in portions that are simulated
/// quickly, so that what is written soon takes effect. What is not reached is not made up for, so
/// that the clock is never too fast.
#[derive(Debug)]
pub(crate) struct Portions {
    last: Instant,
    /// Real nanoseconds that a simulated nanosecond took recently.
    cost: f64,
}

/// How many real nanoseconds a portion should take, alone and while clients come and go: what they
/// write takes effect after one.
const PORTION: f64 = 2e6;
const SHARED: f64 = 2e5;

/// The longest and shortest portion, in nanoseconds on the machine's clock.
const LONGEST: f64 = 20e6;
const SHORTEST: f64 = 1e3;

impl Portions {
    pub(crate) fn new() -> Self {
        Self { last: Instant::now(), cost: 1.0 }
    }

    /// Begins again after standing still.
    pub(crate) fn reset(&mut self) {
        self.last = Instant::now();
    }

    /// The next portion, at this pace; `shared` with clients or not.
    pub(crate) fn next(&mut self, pace: f64, shared: bool) -> Duration {
        let now = Instant::now();
        let allowed = now.saturating_duration_since(self.last).as_secs_f64() * 1e9 * pace;
        self.last = now;
        let portion = if shared { SHARED } else { PORTION };
        nanos(allowed.min(portion / self.cost.max(1e-9)).min(LONGEST))
    }

    /// Records how long a portion took.
    pub(crate) fn took(&mut self, portion: Duration, real: Duration) {
        let portion = portion.as_secs_f64().max(SHORTEST * 1e-9);
        self.cost = f64::midpoint(self.cost, real.as_secs_f64() / portion);
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "neither negative nor long"
)]
fn nanos(count: f64) -> Duration {
    Duration::from_nanos(count as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_is_that_of_the_last_second() {
        let start = Instant::now();
        let mut clock = Clock::new(Pace::Real(1.0));
        assert_eq!(clock.factor(), None);
        let mut machine = 0;
        for tenth in 0..40_u32 {
            machine += if tenth < 20 { 100_000_000 } else { 25_000_000 };
            clock.note(start + tenth * Duration::from_millis(100), Time::from_nanos(machine));
        }
        assert!(clock.factor().is_some_and(|factor| (factor - 0.25).abs() < 1e-6));
        clock.stop();
        assert_eq!(clock.factor(), None);
    }

    #[test]
    fn a_clock_obeys_the_connection_that_holds_it() {
        let mut clock = Clock::new(Pace::Real(2.0));
        assert_eq!(
            (clock.runs(), clock.obeys(1), clock.state()),
            (Some(2.0), false, ClockState::Paced)
        );
        clock.holder = Some(1);
        assert_eq!((clock.runs(), clock.obeys(1), clock.obeys(2)), (None, true, false));
        let mut clock = Clock::new(Pace::Lockstep);
        assert_eq!((clock.runs(), clock.obeys(1), clock.obeys(2)), (None, true, true));
        clock.set_advancing(1, true);
        assert_eq!(clock.hold(2), Err("another client lets time pass"));
        clock.set_advancing(1, false);
        assert_eq!((clock.hold(2), clock.hold(2)), (Ok(()), Ok(())));
        assert_eq!(clock.hold(1), Err("another client holds the clock"));
        assert_eq!((clock.obeys(1), clock.state()), (false, ClockState::Held));
    }

    #[test]
    fn what_was_missed_is_not_made_up_for() {
        let mut portions = Portions::new();
        portions.last =
            Instant::now().checked_sub(Duration::from_secs(10)).unwrap_or(portions.last);
        assert!(portions.next(1.0, false) <= Duration::from_millis(20));
        assert!(portions.next(1.0, false) < Duration::from_millis(20));
        // Where simulation is slow, portions are short.
        for _ in 0..50 {
            portions.took(Duration::from_millis(1), Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(5));
        assert!(portions.next(1.0, false) <= Duration::from_micros(101));
        std::thread::sleep(Duration::from_millis(5));
        assert!(portions.next(1.0, true) <= Duration::from_micros(11));
    }
}
