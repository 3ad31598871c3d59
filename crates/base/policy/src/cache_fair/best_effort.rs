//! Best-effort threads: what they lose and get back, which of them is next, and how much may be
//! taken from each.
//!
//! The paper does not define "penalty" (§4.2). Here it is the CPU time taken minus the time given,
//! over the time that the thread was entitled to (decision cache-fair 5).

use core::cmp::Ordering;
use core::time::Duration;

use fairways_core::Time;

use crate::regression::{nearest, saturate};

/// The losses and gains of a best-effort thread since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Penalty {
    /// CPU time that it was entitled to and that others were given.
    pub taken: Duration,
    /// CPU time that it was given beyond what it was entitled to.
    pub given: Duration,
    /// CPU time that it was entitled to.
    pub entitled: Duration,
}

impl Penalty {
    /// Taken minus given over entitled, in units of 2^-32; 0 before its first turn.
    #[must_use]
    pub fn share(&self) -> i64 {
        saturate(nearest(self.lost_nanos().saturating_mul(1 << 32), self.entitled_nanos()))
    }

    /// The nanoseconds taken minus those given.
    fn lost_nanos(&self) -> i128 {
        i128::from(nanos(self.taken)) - i128::from(nanos(self.given))
    }

    /// The nanoseconds that it was entitled to, at least 1.
    fn entitled_nanos(&self) -> i128 {
        i128::from(nanos(self.entitled)).max(1)
    }
}

/// The account of a best-effort thread.
#[derive(Clone, Debug)]
pub(crate) struct Losses {
    pub(super) total: Penalty,
    last: LastSecond,
}

impl Losses {
    pub(super) const fn new() -> Self {
        Self { total: NOTHING, last: LastSecond { parts: [(0, 0); PARTS], newest: 0 } }
    }

    /// Handles the end of a slice in which it lost `lost` of its `entitled` nanoseconds; it gained
    /// if `lost` is negative.
    pub(super) fn slice(&mut self, at: Time, entitled: i128, lost: i128) {
        let total = &mut self.total;
        total.entitled = total.entitled.saturating_add(span(entitled));
        total.taken = total.taken.saturating_add(span(lost));
        total.given = total.given.saturating_add(span(lost.saturating_neg()));
        self.last.add(at, entitled, lost);
    }

    /// How much may be taken from its next turn, of `quantum` nanoseconds, so that no second takes
    /// more than `percent` percent of what it is entitled to (decision cache-fair 6); `None` for
    /// any amount.
    pub(super) fn room(&mut self, at: Time, quantum: i128, percent: u32) -> Option<i128> {
        (percent > 0).then(|| self.last.room(at, quantum, percent.into()))
    }

    /// Compares the losses of two threads relative to what they were entitled to, including
    /// promises: the change of the next turns of each, in nanoseconds.
    pub(super) fn compare(&self, change: i128, other: &Self, others_change: i128) -> Ordering {
        let own = self.total.lost_nanos() - change;
        let others = other.total.lost_nanos() - others_change;
        let left = own.saturating_mul(other.total.entitled_nanos());
        left.cmp(&others.saturating_mul(self.total.entitled_nanos()))
    }
}

const NOTHING: Penalty =
    Penalty { taken: Duration::ZERO, given: Duration::ZERO, entitled: Duration::ZERO };

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn span(nanos: i128) -> Duration {
    let most = if nanos < 0 { 0 } else { u64::MAX };
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(most))
}

/// Into how many parts a second is divided. Ours: memory has a bound, however short slices are.
const PARTS: usize = 64;
const PART_NANOS: u64 = 1_000_000_000 / PARTS as u64;

/// The last second, part by part.
#[derive(Clone, Debug)]
struct LastSecond {
    /// At the part's number modulo their number: the time that the thread was entitled to, and the
    /// time that it lost.
    parts: [(i128, i128); PARTS],
    newest: u64,
}

impl LastSecond {
    fn move_to(&mut self, at: Time) {
        let now = at.nanos() / PART_NANOS;
        let passed = now.saturating_sub(self.newest).min(PARTS as u64);
        for step in 0..passed {
            *self.part(now - step) = (0, 0);
        }
        self.newest = self.newest.max(now);
    }

    fn part(&mut self, number: u64) -> &mut (i128, i128) {
        let place = usize::try_from(number % PARTS as u64).unwrap_or(0);
        &mut self.parts[place]
    }

    fn add(&mut self, at: Time, entitled: i128, lost: i128) {
        self.move_to(at);
        let part = self.part(self.newest);
        part.0 = part.0.saturating_add(entitled);
        part.1 = part.1.saturating_add(lost);
    }

    /// The limit applies to the second that ends now and to every later one. Later seconds no
    /// longer include what the thread got early in this one, so the losses up to now count as the
    /// largest sum over any last part of this second.
    fn room(&mut self, at: Time, quantum: i128, percent: i128) -> i128 {
        self.move_to(at);
        let entitled = self.parts.iter().fold(0i128, |sum, part| sum.saturating_add(part.0));
        let bound = entitled.max(quantum).saturating_mul(percent) / 100;
        let (mut lost, mut most) = (0i128, 0i128);
        let newest = self.newest;
        for back in 0..(PARTS as u64).min(newest + 1) {
            lost = lost.saturating_add(self.part(newest - back).1);
            most = most.max(lost);
        }
        bound.saturating_sub(most).max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i128 = 1_000_000;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_tenth_of_the_last_second_may_be_taken() {
        let mut losses = Losses::new();
        assert_eq!(losses.room(at(0), 10 * MS, 10), Some(MS));
        for ms in (20..=1000).step_by(20) {
            losses.slice(at(ms), 10 * MS, 0);
        }
        assert_eq!(losses.room(at(1000), 10 * MS, 10), Some(50 * MS));
        losses.slice(at(1010), 10 * MS, 5 * MS);
        assert_eq!(losses.room(at(1010), 10 * MS, 10), Some(51 * MS - 5 * MS));
        assert_eq!(losses.room(at(1010), 10 * MS, 0), None);
        // A second later, only the next quantum counts.
        assert_eq!(losses.room(at(2100), 10 * MS, 10), Some(MS));
    }

    /// The time that it was given leaves the second before the time that was taken does.
    #[test]
    fn time_given_pays_only_for_losses_within_the_same_second() {
        let mut losses = Losses::new();
        losses.slice(at(100), 200 * MS, -30 * MS);
        losses.slice(at(600), 200 * MS, 35 * MS);
        assert_eq!(losses.room(at(600), 10 * MS, 10), Some(5 * MS));
        losses.slice(at(700), 0, -30 * MS);
        assert_eq!(losses.room(at(700), 10 * MS, 10), Some(35 * MS));
    }

    #[test]
    fn a_penalty_is_the_time_lost_over_the_time_entitled_to() {
        let mut losses = Losses::new();
        assert_eq!(losses.total.share(), 0);
        losses.slice(at(1), 10 * MS, 4 * MS);
        losses.slice(at(2), 10 * MS, -9 * MS);
        assert_eq!(losses.total.share(), -(1 << 30));
        // Promises count: 5 ms that are promised to others count as lost.
        let fresh = Losses::new();
        assert_eq!(losses.compare(0, &fresh, 0), Ordering::Less);
        assert_eq!(losses.compare(-5 * MS, &fresh, 0), Ordering::Equal);
        assert_eq!(losses.compare(-6 * MS, &fresh, 0), Ordering::Greater);
    }
}
