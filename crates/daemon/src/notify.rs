//! What systemd is told: sd_notify(3), and its watchdog.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sd_notify::NotifyState;

/// A read of the kernel's that takes longer than this will not come back.
const LOST: Duration = Duration::from_secs(600);

/// Where the loop is, and since when.
#[derive(Clone, Copy, Debug)]
enum At {
    /// In the kernel's hands: it waits, or reads and writes resctrl's files, which may be slow.
    System,
    /// In ours.
    Policy,
}

/// An end that takes longer than this asks systemd for more time, as often, and for so much each time: less than
/// the unit's `TimeoutStopSec`, and longer than an operation of the kernel's takes.
const LONG_END: Duration = Duration::from_secs(5);
const MORE: Duration = Duration::from_secs(60);

/// How often it is looked whether the end was asked for.
const LOOK: Duration = Duration::from_millis(200);

/// How long a policy may take where no watchdog says so.
const PATIENCE: Duration = Duration::from_secs(30);

/// Tells systemd, where it listens, that the daemon is alive; only as long as it is.
pub(super) struct Notify {
    pulse: Pulse,
    over: Arc<AtomicBool>,
}

/// Whether the loop goes on.
#[derive(Clone)]
pub(super) struct Pulse {
    at: Arc<Mutex<(At, Instant)>>,
    /// How long the kernel and a policy are waited for: the second as systemd's watchdog would.
    lost: Duration,
    interval: Duration,
}

impl Pulse {
    /// Of a loop of which nothing is longer in a policy's hands.
    pub(super) fn new(interval: Duration) -> Self {
        let at = Arc::new(Mutex::new((At::System, Instant::now())));
        Self { at, lost: LOST, interval }
    }

    /// Whether it does; why not, if not.
    pub(super) fn beats(&self) -> Result<(), String> {
        let (place, since) = *self.at.lock();
        let since = since.elapsed();
        if since < self.patience(place) {
            return Ok(());
        }
        let who = match place {
            At::System => "the kernel",
            At::Policy => "the policy",
        };
        Err(format!("{who} has not answered for {} s", since.as_secs()))
    }

    /// How long the loop may be there: a policy answers at once, the kernel when it can.
    const fn patience(&self, place: At) -> Duration {
        match place {
            At::System => self.lost,
            At::Policy => self.interval,
        }
    }

    /// The loop turns, and waits for the kernel.
    pub(super) fn turns(&self) {
        self.is_at(At::System);
    }

    fn is_at(&self, place: At) {
        *self.at.lock() = (place, Instant::now());
    }
}

impl Notify {
    /// Begins to answer systemd's watchdog, if there is one, and to ask it for more time after `ends` is set.
    pub(super) fn start(ends: Arc<AtomicBool>) -> std::io::Result<Self> {
        let watchdog = sd_notify::watchdog_enabled();
        let pulse = Pulse::new(watchdog.unwrap_or(PATIENCE));
        let over = Arc::new(AtomicBool::new(false));
        if let Some(interval) = watchdog {
            let (pulse, over) = (pulse.clone(), Arc::clone(&over));
            let alive = move || {
                while !over.load(Ordering::Relaxed) {
                    if pulse.beats().is_ok() {
                        tell(&[NotifyState::Watchdog]);
                    }
                    std::thread::sleep(interval / 3);
                }
            };
            std::thread::Builder::new().name("watchdog".to_owned()).spawn(alive)?;
        }
        if std::env::var_os("NOTIFY_SOCKET").is_some() {
            let over = Arc::clone(&over);
            let end = move || extend(&ends, &over);
            std::thread::Builder::new().name("end".to_owned()).spawn(end)?;
        }
        Ok(Self { pulse, over })
    }

    /// Tells whether the loop goes on.
    pub(super) fn pulse(&self) -> Pulse {
        self.pulse.clone()
    }

    /// The machine is looked after from now on.
    pub(super) fn ready(&self, status: &str) {
        tell(&[NotifyState::Ready, NotifyState::Status(status)]);
    }

    /// The configuration is read anew; [`ready`](Self::ready) follows.
    pub(super) fn reloading(&self) {
        let mut states = vec![NotifyState::Reloading];
        // Type=notify-reload wants to know when.
        states.extend(NotifyState::monotonic_usec_now().ok());
        tell(&states);
    }

    /// All is put back from now on.
    pub(super) fn stopping(&self) {
        tell(&[NotifyState::Stopping]);
    }

    /// The loop waits for the kernel.
    pub(super) fn in_system(&self) {
        self.pulse.is_at(At::System);
    }

    /// The loop asks the policy.
    pub(super) fn in_policy(&self) {
        self.pulse.is_at(At::Policy);
    }
}

impl Drop for Notify {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Asks for more time while the end takes long: what was changed is put back, however slow the kernel is. A kernel
/// that is lost is not waited for.
fn extend(ends: &AtomicBool, over: &AtomicBool) {
    let mut began = None;
    let mut due = LONG_END;
    while !over.load(Ordering::Relaxed) {
        if began.is_none() && ends.load(Ordering::Relaxed) {
            began = Some(Instant::now());
        }
        let since = began.map_or(Duration::ZERO, |began| began.elapsed());
        if since > LOST {
            return;
        }
        if since >= due {
            let more = u32::try_from(MORE.as_micros()).unwrap_or(u32::MAX);
            tell(&[NotifyState::ExtendTimeoutUsec(more)]);
            due = since + LONG_END;
        }
        std::thread::sleep(LOOK);
    }
}

fn tell(states: &[NotifyState<'_>]) {
    // Who does not listen misses nothing.
    let _ = sd_notify::notify(states);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_reads_are_waited_for_and_a_policy_that_hangs_is_not() {
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        let pulse = Pulse::new(second);
        let is_alive = |at, since| since < pulse.patience(at);
        assert!(is_alive(At::System, 5 * minute));
        assert!(!is_alive(At::System, 11 * minute));
        assert!(is_alive(At::Policy, second / 2));
        assert!(!is_alive(At::Policy, 2 * second));
        let pulse = Pulse::new(Duration::ZERO);
        assert_eq!(pulse.beats(), Ok(()));
        pulse.is_at(At::Policy);
        let why = pulse.beats().unwrap_err();
        assert!(why.starts_with("the policy has not answered for "), "{why}");
    }

    #[test]
    fn a_loop_that_turns_goes_on_though_nothing_happens() {
        let lost = Duration::from_millis(200);
        let pulse = Pulse { lost, ..Pulse::new(lost) };
        for _ in 0..15 {
            std::thread::sleep(lost / 10);
            pulse.turns();
        }
        assert_eq!(pulse.beats(), Ok(()));
        std::thread::sleep(lost);
        let why = pulse.beats().unwrap_err();
        assert!(why.starts_with("the kernel has not answered for "), "{why}");
    }
}
