//! Stopping on signals.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::exit::INTERRUPTED;

/// Sets `stop` at SIGINT and SIGTERM; a second signal ends the process at once.
///
/// # Errors
/// If the kernel refuses the handlers.
pub fn stop_on_signals(stop: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(
            signal,
            INTERRUPTED.into(),
            Arc::clone(stop),
        )?;
        signal_hook::flag::register(signal, Arc::clone(stop))?;
    }
    Ok(())
}
