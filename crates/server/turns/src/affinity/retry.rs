//! When a change that the kernel refused is tried again.

use super::LOOK;

/// The longest wait, in nanoseconds.
const MOST: u64 = 64 * LOOK;

/// A change that may be refused: it is tried again at the next check, and after each further
/// refusal the wait doubles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Retry {
    at: u64,
    wait: u64,
}

impl Retry {
    pub(super) const fn is_time(&self, now: u64) -> bool {
        now >= self.at
    }

    /// Whether it was refused the last time.
    pub(super) const fn is_waiting(&self) -> bool {
        self.wait > 0
    }

    pub(super) fn refused(&mut self, now: u64) {
        self.wait = (self.wait * 2).clamp(LOOK, MOST);
        self.at = now.saturating_add(self.wait);
    }

    pub(super) fn done(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_each_refusal_the_wait_is_longer() {
        let mut retry = Retry::default();
        assert!(retry.is_time(0) && !retry.is_waiting());
        let (mut now, mut tried) = (0, 0);
        for _ in 0..600 {
            now += LOOK;
            if retry.is_time(now) {
                retry.refused(now);
                tried += 1;
                assert!(retry.is_waiting() && !retry.is_time(now));
            }
        }
        // After 1, 2, 4, … 64 checks, and then after 64 each.
        assert_eq!(tried, 1 + 6 + (600 - 64) / 64);
        retry.done();
        assert!(retry.is_time(0) && !retry.is_waiting());
    }
}
