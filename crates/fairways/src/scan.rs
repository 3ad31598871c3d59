//! `fairways scan`: its settings, from the flags.

use std::io::Write;

use fairways_daemon::config::{ClockSource, Config, CounterSource};
use fairways_scan::ScanFormat;

use crate::args::{Scan, set};

/// Runs the command.
pub(crate) fn run(args: &Scan, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut config = Config::default();
    set(&mut config.resctrl.root, &args.resctrl_root);
    set(&mut config.resctrl.state, &args.state);
    if args.emulator {
        config.clock.source = ClockSource::Emulator(None);
        config.counters.source = CounterSource::Emulator(None);
    }
    let format = match () {
        () if args.json => ScanFormat::Json,
        () if args.toml => ScanFormat::Toml,
        () => ScanFormat::Text,
    };
    fairways_scan::run(&config, args.most, args.duration, format, out)
}
