//! Stopping a measurement.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairways_command_kit::exit;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Signals within this time of the first are the same request: `timeout` sends one to the command,
/// and one to its group.
const SAME: Duration = Duration::from_secs(1);

/// Sets `stop` at SIGINT and SIGTERM. A further signal ends the process at once, unless it follows
/// within a second.
pub(super) fn stop_on_signals(stop: &Arc<AtomicBool>) -> std::io::Result<()> {
    let (mut signals, stop) = (Signals::new([SIGINT, SIGTERM])?, Arc::clone(stop));
    std::thread::spawn(move || {
        let mut first: Option<Instant> = None;
        for _ in signals.forever() {
            stop.store(true, Ordering::SeqCst);
            if first.get_or_insert_with(Instant::now).elapsed() > SAME {
                std::process::exit(exit::INTERRUPTED.into());
            }
        }
    });
    Ok(())
}
