//! The alarm of a policy.

use crate::Time;

/// The alarm of a policy ([`Action::Wake`](crate::Action::Wake)). There is one alarm:
/// setting it replaces the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alarm(Option<Time>);

impl Alarm {
    /// Sets the alarm to this time; it rings at once if that is past.
    pub fn set(&mut self, at: Time) {
        self.0 = Some(at);
    }

    /// Cancels the alarm.
    pub fn clear(&mut self) {
        self.0 = None;
    }

    /// When it is to ring; `None` if it is not set.
    #[must_use]
    pub fn at(&self) -> Option<Time> {
        self.0
    }

    /// Whether it rings now; if so, it is no longer set.
    pub fn rings(&mut self, now: Time) -> bool {
        self.0.take_if(|at| *at <= now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rings_once_and_not_before_its_time() {
        let mut alarm = Alarm::default();
        assert!(!alarm.rings(Time::from_nanos(9)));
        alarm.set(Time::from_nanos(4));
        alarm.set(Time::from_nanos(7));
        assert!(!alarm.rings(Time::from_nanos(6)));
        assert!(alarm.rings(Time::from_nanos(7)) && !alarm.rings(Time::from_nanos(8)));
    }
}
