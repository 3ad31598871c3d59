//! The daemon's configuration, and `fairways config`.

mod coarse;
mod file;
mod listen;
mod load;
mod needs;
pub(crate) mod schema;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod values;

use std::io::{self, Write};

use fairways_command_kit::plain::plain;
use fairways_command_kit::{BadInput, ExitCode, exit};
use fairways_host::programs::{Programs, Roots, Running, Wanted};

pub(crate) use listen::Listen;
pub(crate) use load::load;
pub(crate) use schema::{
    Config, Log, LogFormat, LogLevel, LogTarget, ProgramConfig, SchedulerKind, Windows,
};
pub(crate) use values::{ClockSource, CounterSource};

use crate::args::{AskedOfConfig, Config as Args};

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let (AskedOfConfig::Check { file } | AskedOfConfig::Show { file, .. }) = &args.asked;
    let config = match load(file.as_deref()) {
        Ok((config, _)) => config,
        Err(errors) => {
            let mut err = io::stderr().lock();
            for error in errors {
                let _ = writeln!(err, "fairways: {}", plain(&error));
            }
            return Err(ExitCode(exit::USAGE).into());
        }
    };
    match &args.asked {
        AskedOfConfig::Check { .. } => {
            // A flag of `run` may name another policy.
            if let Some(why) = config.missing_need() {
                return Err(BadInput(why).into());
            }
            writeln!(out, "ok")?;
            for line in not_there(&config).into_iter().chain(coarse::too_coarse(&config)) {
                fairways_command_kit::warn(&line);
            }
        }
        AskedOfConfig::Show { json: true, .. } => {
            serde_json::to_writer(&mut *out, &config)?;
            writeln!(out)?;
        }
        AskedOfConfig::Show { .. } => out.write_all(toml::to_string(&config)?.as_bytes())?,
    }
    Ok(())
}

/// The programs that nothing on this host is now; none where that can't be told.
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
    let running = Running::look(&Roots::default()).unwrap_or_default();
    let line = |of: &Wanted| {
        format!("{}: {}", plain(&of.name), crate::unmatched::why(&of.selector, &running))
    };
    programs.unmatched().map(line).collect()
}
