//! `fairways scan`: who uses the cache now, and a configuration to begin with.

mod measure;
mod report;
#[cfg(test)]
mod tests;
mod users;

use std::io::Write;

use fairways_command_kit::Interrupted;
use fairways_command_kit::input::{number, span};

use fairways_daemon::config::{ClockSource, Config, CounterSource};

use crate::args::Scan;
use report::Report;

/// More monitoring ids than any processor has.
const MOST: usize = 4096;

/// Runs the command.
pub(crate) fn run(args: &Scan, out: &mut dyn Write) -> anyhow::Result<()> {
    let duration = span(&args.duration, "--duration")?;
    let most = number(&args.most, "--most", 1, MOST)?;
    let mut config = Config::default();
    config.resctrl.root = args.resctrl_root.clone().unwrap_or(config.resctrl.root);
    config.resctrl.state = args.state.clone().unwrap_or(config.resctrl.state);
    if args.emulator {
        config.clock.source = ClockSource::Emulator(None);
        config.counters.source = CounterSource::Emulator(None);
    }
    let users = users::busiest(&config, most)?;
    let measured = measure::measure(&config, users, duration)?;
    let interrupted = measured.interrupted;
    let report = Report::new(&config, measured);
    if args.json {
        report.json(out)?;
    } else if args.toml {
        write!(out, "{}", report.configuration())?;
    } else {
        report.print(out)?;
    }
    out.flush()?;
    if interrupted { Err(Interrupted.into()) } else { Ok(()) }
}
