//! When to retry a failed operation: what the kernel refuses once, it usually refuses again.

use std::time::{Duration, Instant};

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(60);

/// The pause before the next attempt after this many failures before the last one: a second, then
/// twice as long each time, at most a minute.
#[must_use]
pub fn pause_after(failures: u32) -> Duration {
    Duration::from_secs(1 << failures.min(6)).min(LONGEST)
}

/// The attempts at one operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
    until: Option<Instant>,
}

impl Backoff {
    /// Whether it is too early for another attempt.
    pub(crate) fn is_waiting(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }

    /// Records a failed attempt.
    pub(crate) fn fail(&mut self) {
        self.until = Some(Instant::now() + pause_after(self.failures));
        self.failures = self.failures.saturating_add(1);
    }

    /// Records a success, or a reason to expect one.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_minute() {
        let pauses: Vec<u64> = (0..9).map(|failures| pause_after(failures).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(pause_after(u32::MAX), LONGEST);
    }

    #[test]
    fn only_a_failure_makes_the_next_attempt_wait() {
        let mut attempts = Backoff::default();
        assert!(!attempts.is_waiting());
        attempts.fail();
        assert!(attempts.is_waiting());
        attempts.reset();
        assert!(!attempts.is_waiting());
    }
}
