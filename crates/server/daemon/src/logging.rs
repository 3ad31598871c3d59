//! Where the daemon's log lines go: to journald, with their fields, or to standard error.

use std::io;

use fairways_command_kit::moment::TimeOfDay;
use fairways_command_kit::plain::LogLine;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt};

use crate::config::{Log, LogFormat, LogLevel, LogTarget};
use crate::repeated::FirstOnly;

/// Starts the log, in which a failure that repeats is one line and then a count. journald keeps the
/// values in a line as fields: `journalctl FAIRWAYS_GROUP=...`.
///
/// # Errors
/// If the configuration asks for journald and it does not answer.
pub(super) fn start(log: Log) -> io::Result<()> {
    let journal = match log.target {
        LogTarget::Stderr => None,
        LogTarget::Journald => Some(tracing_journald::layer()?),
        LogTarget::Auto if log.format == LogFormat::Json => None,
        LogTarget::Auto => stderr_is_journal().then(|| tracing_journald::layer().ok()).flatten(),
    };
    let registry = Registry::default();
    let filter = match log.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let done = match journal {
        Some(layer) => {
            let layer = layer
                .with_field_prefix(Some("FAIRWAYS".to_owned()))
                .with_syslog_identifier("fairways".to_owned());
            registry.with(layer.with_filter(FirstOnly(filter))).try_init()
        }
        None => {
            let layer = fmt::layer()
                .with_writer(|| LogLine(io::stderr()))
                .with_ansi(false)
                .with_timer(TimeOfDay)
                .with_target(false);
            match log.format {
                LogFormat::Text => registry.with(layer.with_filter(FirstOnly(filter))).try_init(),
                LogFormat::Json => registry
                    .with(layer.json().flatten_event(true).with_filter(FirstOnly(filter)))
                    .try_init(),
            }
        }
    };
    // Only a second start can fail; the first one stays in force.
    let _ = done;
    Ok(())
}

/// Whether standard error is the stream that systemd gave (systemd.exec(5), `$JOURNAL_STREAM`).
fn stderr_is_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let Some((device, inode)) = stream.split_once(':') else { return false };
    let Ok(stat) = rustix::fs::fstat(io::stderr()) else { return false };
    device == stat.st_dev.to_string() && inode == stat.st_ino.to_string()
}
