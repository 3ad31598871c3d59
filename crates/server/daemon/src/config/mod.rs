//! The daemon's configuration, and `fairways config`. docs/config.md describes its keys.

mod coarse;
mod file;
mod import;
mod keys;
mod kubernetes;
mod labels;
mod lacks;
mod listen;
mod load;
mod names;
mod needs;
mod program;
mod schema;
#[cfg(test)]
mod tests;
mod values;

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use fairways_command_kit::plain::plain;
use fairways_command_kit::{BadInput, ExitCode, exit};
use fairways_programs::{Programs, Roots, Running, Wanted};

pub use import::{ImportOptions, SourceKind, import};
pub use keys::keys;
pub(crate) use kubernetes::group_name;
pub use kubernetes::{Kubernetes, PodRule};
pub(crate) use lacks::{all_needs, lacks};
pub use listen::Listen;
pub use load::read;
pub(crate) use load::{Places, load, places};
pub use names::{program_name, unique_name};
pub(crate) use schema::Windows;
pub use schema::{
    Clock, Config, Control, Counters, Journal, Log, LogFormat, LogLevel, LogTarget, Metrics,
    ProgramConfig, Scheduler, SchedulerKind,
};
pub use values::{ClockSource, CounterSource};

/// Runs `fairways config check`: prints ok, or the mistakes in a file, or in the host's files, a
/// line each.
///
/// # Errors
/// If anything is wrong with it.
pub fn check(file: Option<&Path>, out: &mut dyn Write) -> anyhow::Result<()> {
    let config = loaded(file)?;
    // A flag of `run` may name another policy.
    if let Some(why) = config.missing_need() {
        return Err(BadInput(why).into());
    }
    writeln!(out, "ok")?;
    if config.manages_none() {
        fairways_command_kit::warn(
            "no [[program]]: `fairways run`, and so the service, starts only with programs to manage (docs/config.md)",
        );
    }
    let ignored = config.not_honoured().into_iter();
    let lacking = lacking(&config);
    for line in ignored.chain(not_there(&config)).chain(coarse::too_coarse(&config)).chain(lacking)
    {
        fairways_command_kit::warn(&line);
    }
    Ok(())
}

/// Runs `fairways config show`: prints the effective configuration, defaults included, as TOML or
/// as one JSON object.
///
/// # Errors
/// If anything is wrong with it.
pub fn show(file: Option<&Path>, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let config = loaded(file)?;
    if json {
        serde_json::to_writer(&mut *out, &config)?;
        writeln!(out)?;
    } else {
        out.write_all(toml::to_string(&config)?.as_bytes())?;
    }
    Ok(())
}

/// The configuration. Its mistakes are printed, a line each.
fn loaded(file: Option<&Path>) -> anyhow::Result<Config> {
    match load(file) {
        Ok((config, _)) => Ok(config),
        Err(errors) => {
            let mut err = io::stderr().lock();
            for error in errors {
                let _ = writeln!(err, "fairways: {}", plain(&error));
            }
            Err(ExitCode(exit::USAGE).into())
        }
    }
}

/// The policy's unmet needs under this configuration. A policy that is a program of its own is not
/// started to find out.
fn lacking(config: &Config) -> Option<String> {
    let policy = config.descriptor().filter(|_| !config.schedules() && !config.counters_only)?;
    lacks(policy, &lacks::missing(config))
}

/// A line for each program that matches no process now; none if that can't be determined.
fn not_there(config: &Config) -> Vec<String> {
    let wanted = config.program.iter().map(|of| Wanted {
        name: of.name.clone(),
        selector: of.select.clone(),
        each: of.each,
    });
    let programs = Programs::new(Roots::default(), wanted.collect());
    let Ok(mut programs) = programs else { return Vec::new() };
    if programs.look().is_err() {
        return Vec::new();
    }
    let running = Running::look(&Roots::default(), Duration::MAX).unwrap_or_default();
    let line = |of: &Wanted| {
        format!("{}: {}", plain(&of.name), crate::unmatched::why(&of.selector, &running))
    };
    programs.unmatched().map(line).collect()
}
