//! What `fairways scan` prints: the programs that use the cache now, and a first configuration.

mod measure;
mod report;
#[cfg(test)]
mod tests;
mod users;

use std::io::Write;
use std::time::Duration;

use fairways_command_kit::{ExitCode, Interrupted, exit, fail};
use fairways_daemon::config::Config;
use fairways_linux::namespaces;

use report::Report;

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanFormat {
    /// A table, and a configuration.
    Text,
    /// One JSON object.
    Json,
    /// Only the configuration, as TOML.
    Toml,
}

/// Watches the `most` busiest programs for this duration, where and by what the configuration
/// says.
///
/// # Errors
/// If programs can't be listed, the cache can't be watched, the user ended it early, or, after
/// printing, if not everything was restored; or if /proc is of another PID namespace.
pub(crate) fn run(
    config: &Config,
    most: usize,
    duration: Duration,
    format: ScanFormat,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    for apart in namespaces::apart() {
        if apart.misnumbers {
            fail(&apart.to_string(), exit::NOT_SUPPORTED);
            return Err(ExitCode(exit::NOT_SUPPORTED).into());
        }
        exit::warn(&apart.to_string());
    }
    let users = users::busiest(config, most)?;
    let mut measured = measure::measure(config, users, duration)?;
    let interrupted = measured.interrupted;
    let ended = std::mem::replace(&mut measured.ended, Ok(()));
    let report = Report::new(config, measured);
    match format {
        ScanFormat::Json => report.json(out)?,
        ScanFormat::Toml => write!(out, "{}", report.configuration())?,
        ScanFormat::Text => report.print(out)?,
    }
    out.flush()?;
    ended?;
    if interrupted { Err(Interrupted.into()) } else { Ok(()) }
}
