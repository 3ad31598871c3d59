//! `fairways scan`: the programs that use the cache now, and a first configuration.

mod measure;
mod report;
#[cfg(test)]
mod tests;
mod users;

use std::io::Write;

use fairways_command_kit::Interrupted;

use fairways_daemon::config::{ClockSource, Config, CounterSource};

use crate::args::{Scan, set};
use report::Report;

/// Runs the command.
pub(crate) fn run(args: &Scan, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut config = Config::default();
    set(&mut config.resctrl.root, &args.resctrl_root);
    set(&mut config.resctrl.state, &args.state);
    if args.emulator {
        config.clock.source = ClockSource::Emulator(None);
        config.counters.source = CounterSource::Emulator(None);
    }
    let users = users::busiest(&config, args.most)?;
    let measured = measure::measure(&config, users, args.duration)?;
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
