//! The flags of a scan.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use crate::scan::ScanFormat;
use fairways_command_kit::input::{time, whole};
use fairways_daemon::config::{ClockSource, Config, CounterSource};

use super::daemon::set;

/// More monitoring ids than any processor has.
const MOST: usize = 4096;

/// List the programs that use the cache, with a first configuration
///
/// Examples:
///   fairways scan
///   fairways scan --duration 1m --toml > fairways.toml
///   fairways scan --json | jq '.programs[] | .select'
///
/// Finds the busiest programs (pods, containers, units, other cgroups, and processes
/// by command), watches them for a while, and lists them by cache occupancy and
/// memory traffic. These need resctrl with monitoring; the monitoring groups are
/// removed on exit. Without resctrl, perf counts misses; without perf, only CPU time
/// is known. No program's ways change.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Scan {
    /// How long to watch
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time)]
    pub(crate) duration: Duration,

    /// How many programs to watch, the busiest first; each needs a monitoring id
    #[arg(long, value_name = "N", default_value = "16", value_parser = whole(1, MOST))]
    pub(crate) most: usize,

    /// Print only the configuration, as TOML
    #[arg(long, conflicts_with = "json")]
    pub(crate) toml: bool,

    /// Print one JSON object instead of text (docs/scan.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Where resctrl is mounted [default: /sys/fs/resctrl]
    #[arg(long, value_name = "DIR")]
    pub(crate) resctrl_root: Option<PathBuf>,

    /// Where the state needed for `restore` is kept meanwhile [default: /var/lib/fairways]
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,

    /// Scan an emulator instead of this host: its programs, by its counters and its clock
    #[arg(long)]
    pub(crate) emulator: bool,
}

impl Scan {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut config = Config::default();
        set(&mut config.resctrl.root, &self.resctrl_root);
        set(&mut config.resctrl.state, &self.state);
        if self.emulator {
            config.clock.source = ClockSource::Emulator(None);
            config.counters.source = CounterSource::Emulator(None);
        }
        let format = match () {
            () if self.json => ScanFormat::Json,
            () if self.toml => ScanFormat::Toml,
            () => ScanFormat::Text,
        };
        crate::scan::run(&config, self.most, self.duration, format, out)
    }
}
