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

/// Tells systemd, where it listens, that the daemon is alive; only as long as it is.
pub(super) struct Notify {
    at: Arc<Mutex<(At, Instant)>>,
    over: Arc<AtomicBool>,
}

impl Notify {
    /// Begins to answer systemd's watchdog, if there is one.
    pub(super) fn start() -> std::io::Result<Self> {
        let at = Arc::new(Mutex::new((At::System, Instant::now())));
        let over = Arc::new(AtomicBool::new(false));
        if let Some(interval) = sd_notify::watchdog_enabled() {
            let (at, over) = (Arc::clone(&at), Arc::clone(&over));
            let alive = move || {
                while !over.load(Ordering::Relaxed) {
                    let (place, since) = *at.lock();
                    if is_alive(place, since.elapsed(), interval) {
                        tell(&[NotifyState::Watchdog]);
                    }
                    std::thread::sleep(interval / 3);
                }
            };
            std::thread::Builder::new().name("watchdog".to_owned()).spawn(alive)?;
        }
        Ok(Self { at, over })
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
        *self.at.lock() = (At::System, Instant::now());
    }

    /// The loop asks the policy.
    pub(super) fn in_policy(&self) {
        *self.at.lock() = (At::Policy, Instant::now());
    }
}

impl Drop for Notify {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Whether a loop that has been there for so long goes on: a policy answers at once, the kernel when it can.
fn is_alive(at: At, since: Duration, interval: Duration) -> bool {
    match at {
        At::System => since < LOST,
        At::Policy => since < interval,
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
        assert!(is_alive(At::System, 5 * minute, second));
        assert!(!is_alive(At::System, 11 * minute, second));
        assert!(is_alive(At::Policy, second / 2, second));
        assert!(!is_alive(At::Policy, 2 * second, second));
    }
}
