//! Notifies systemd of the daemon's state, and answers its watchdog (sd_notify(3)).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sd_notify::NotifyState;

/// A kernel operation that takes longer than this will never finish.
const LOST: Duration = Duration::from_secs(600);

/// Where the loop is, and since when.
#[derive(Clone, Copy, Debug)]
enum At {
    /// In the kernel: it waits, or reads and writes resctrl's files, which may be slow.
    System,
    /// In the policy.
    Policy,
}

/// If a shutdown takes longer than this, the daemon requests more time from systemd, and again
/// after each further span of this length.
const LONG_END: Duration = Duration::from_secs(5);
/// The time to request: less than the unit's `TimeoutStopSec`, and longer than an operation of the
/// kernel takes.
const MORE: Duration = Duration::from_secs(60);

/// How often to check whether the daemon is to stop.
const LOOK: Duration = Duration::from_millis(200);

/// How long a policy may take if systemd sets no watchdog.
const PATIENCE: Duration = Duration::from_secs(30);

/// Notifies systemd, where it listens, that the daemon is alive, as long as the loop goes on.
pub(super) struct Notify {
    pulse: Pulse,
    over: Arc<AtomicBool>,
}

/// Whether the loop goes on.
#[derive(Clone)]
pub(super) struct Pulse {
    at: Arc<Mutex<(At, Instant)>>,
    /// The longest wait for the kernel, and for a policy. The second is the interval of systemd's
    /// watchdog.
    lost: Duration,
    interval: Duration,
}

impl Pulse {
    /// The pulse of a loop in which a policy takes no longer than `interval`.
    pub(super) fn new(interval: Duration) -> Self {
        let at = Arc::new(Mutex::new((At::System, Instant::now())));
        Self { at, lost: LOST, interval }
    }

    /// Ok while the loop goes on; otherwise what it waits for.
    pub(super) fn beats(&self) -> Result<(), String> {
        let (place, since) = *self.at.lock();
        let since = since.elapsed();
        if since < self.patience(place) {
            return Ok(());
        }
        let silent = match place {
            At::System => "the kernel",
            At::Policy => "the policy",
        };
        Err(format!("{silent} has not answered for {} s", since.as_secs()))
    }

    /// How long the loop may be there: a policy must answer at once, the kernel when it can.
    const fn patience(&self, place: At) -> Duration {
        match place {
            At::System => self.lost,
            At::Policy => self.interval,
        }
    }

    /// Records that the loop turns, and then waits for the kernel.
    pub(super) fn turns(&self) {
        self.is_at(At::System);
    }

    fn is_at(&self, place: At) {
        *self.at.lock() = (place, Instant::now());
    }
}

impl Notify {
    /// Begins to answer systemd's watchdog, if one is set, and to request more time once `ends` is
    /// set.
    pub(super) fn start(ends: Arc<AtomicBool>) -> std::io::Result<Self> {
        let watchdog = sd_notify::watchdog_enabled();
        let pulse = Pulse::new(watchdog.unwrap_or(PATIENCE));
        let over = Arc::new(AtomicBool::new(false));
        if let Some(interval) = watchdog {
            let (pulse, over) = (pulse.clone(), Arc::clone(&over));
            let alive = move || {
                while !over.load(Ordering::Relaxed) {
                    if pulse.beats().is_ok() {
                        send(&[NotifyState::Watchdog]);
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

    /// The loop's pulse, which reports whether it goes on.
    pub(super) fn pulse(&self) -> Pulse {
        self.pulse.clone()
    }

    /// Notifies systemd that the daemon manages the machine from now on.
    pub(super) fn ready(&self, status: &str) {
        send(&[NotifyState::Ready, NotifyState::Status(status)]);
    }

    /// Notifies systemd that the configuration is read again; [`ready`](Self::ready) follows.
    pub(super) fn reloading(&self) {
        let mut states = vec![NotifyState::Reloading];
        // Type=notify-reload needs the time.
        states.extend(NotifyState::monotonic_usec_now().ok());
        send(&states);
    }

    /// Notifies systemd that the daemon stops, and restores everything from now on.
    pub(super) fn stopping(&self) {
        send(&[NotifyState::Stopping]);
    }

    /// Records that the loop waits for the kernel.
    pub(super) fn in_system(&self) {
        self.pulse.turns();
    }

    /// Records that the loop waits for the policy.
    pub(super) fn in_policy(&self) {
        self.pulse.is_at(At::Policy);
    }
}

impl Drop for Notify {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Requests more time from systemd while a shutdown takes long, so that everything is restored
/// however slow the kernel is. It stops after [`LOST`].
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
            send(&[NotifyState::ExtendTimeoutUsec(more)]);
            due = since + LONG_END;
        }
        std::thread::sleep(LOOK);
    }
}

fn send(states: &[NotifyState<'_>]) {
    // Without systemd there is no need to notify it.
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
