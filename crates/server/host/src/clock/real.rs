//! The host's own time.

use std::io;
use std::time::Duration;

use fairways_core::Time;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::{Clock, Wait};

/// The two clocks are not read at the same instant. A larger difference than this means that the
/// machine was suspended in between.
const APART: Duration = Duration::from_millis(100);

/// `CLOCK_MONOTONIC`, which stands still while the machine is suspended, as its programs do
/// (clock_gettime(2)).
#[derive(Debug)]
pub struct RealClock {
    began: Duration,
    /// How long the machine had been suspended since it was booted, when last read: the lead of
    /// `CLOCK_BOOTTIME`.
    suspended: Duration,
}

impl RealClock {
    /// A clock that starts at 0 now.
    #[must_use]
    pub fn new() -> Self {
        Self { began: read(ClockId::Monotonic), suspended: suspended() }
    }

    /// Whether the machine was suspended since the last call; `now` is the total time of
    /// suspensions since boot.
    fn notes_suspension(&mut self, now: Duration) -> bool {
        let was = now > self.suspended + APART;
        self.suspended = now;
        was
    }
}

impl Default for RealClock {
    fn default() -> Self {
        Self::new()
    }
}

fn read(clock: ClockId) -> Duration {
    // Neither clock is ever negative.
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}

fn suspended() -> Duration {
    let awake = read(ClockId::Monotonic);
    read(ClockId::Boottime).saturating_sub(awake)
}

impl Clock for RealClock {
    fn now(&self) -> Time {
        Time::ZERO.after(read(ClockId::Monotonic).saturating_sub(self.began))
    }

    fn notices_instructions(&self) -> bool {
        false
    }

    fn was_suspended(&mut self) -> bool {
        self.notes_suspension(suspended())
    }

    fn wait(&mut self, wait: &Wait<'_>) -> io::Result<bool> {
        let span = wait.until.min(wait.about).since(self.now());
        // A kernel's longest wait is limited. A longer one simply returns early.
        let timeout = Timespec::try_from(span.min(Duration::from_secs(3600)));
        let timeout = timeout.map_err(io::Error::other)?;
        let mut asked: Vec<PollFd<'_>> = wait
            .attention
            .iter()
            .chain(wait.fetch)
            .map(|fd| PollFd::new(fd, PollFlags::IN))
            .collect();
        match poll(&mut asked, Some(&timeout)) {
            Ok(_) => {
                let calls = asked.iter().take(wait.attention.len());
                Ok(calls.map(PollFd::revents).any(|events| !events.is_empty()))
            }
            // A signal arrived, and its handler has run.
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(why) => Err(why.into()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn wait_for(clock: &mut RealClock, until: Duration, stream: &UnixStream) -> (bool, Duration) {
        let from = clock.now();
        let until = from.after(until);
        let attention = [stream.as_fd()];
        let about = from.after(LONG);
        let wait = Wait { until, about, instructions: &[], attention: &attention, fetch: &[] };
        let called = clock.wait(&wait).unwrap();
        (called, clock.now().since(from))
    }

    #[test]
    fn it_waits_until_its_time_or_until_somebody_writes() {
        let mut clock = RealClock::new();
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let (called, waited) = wait_for(&mut clock, Duration::from_millis(20), &theirs);
        assert!(!called && waited >= Duration::from_millis(20) && waited < LONG, "{waited:?}");
        ours.write_all(b"x").unwrap();
        let (called, waited) = wait_for(&mut clock, LONG, &theirs);
        assert!(called && waited < LONG / 2, "{waited:?}");
        // Something to fetch ends a wait without being a call for attention.
        let until = clock.now().after(LONG);
        let fetch = [theirs.as_fd()];
        let wait = Wait { until, about: until, instructions: &[], attention: &[], fetch: &fetch };
        assert!(!clock.wait(&wait).unwrap());
        assert!(clock.now() < until);
        // A wait until a time in the past returns at once.
        let past = Time::ZERO;
        let wait = Wait { until: past, about: past, instructions: &[], attention: &[], fetch: &[] };
        assert!(!clock.wait(&wait).unwrap());
    }

    #[test]
    fn a_suspension_is_reported_once() {
        let mut clock = RealClock::new();
        assert!(!clock.was_suspended());
        let later = clock.suspended + Duration::from_secs(1);
        assert!(clock.notes_suspension(later));
        assert!(!clock.notes_suspension(later + APART / 2));
    }
}
