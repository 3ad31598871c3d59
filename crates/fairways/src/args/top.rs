//! Flags of the view.

use std::path::PathBuf;
use std::time::Duration;

use fairways_command_kit::input::{real, time, time_within, whole};
use fairways_top::{LONGEST, SHORTEST};

use super::{Machine, RunFlags};

/// Watch programs and their ways, on the whole terminal
///
/// Of a daemon that runs; or of a journal, an emulator, or a simulated machine. A row a program: its class, its ways in the
/// cache's own geometry, what it did in its last window, and whether its objective is met; and why the last decision was taken. Keys:
/// ? lists them. `fairways status` prints the same once.
///
/// Example: fairways top --machine chip:xeon-e5 --programs mlr:8M,mload:60M --policy dcat
#[derive(Debug, clap::Args)]
pub(crate) struct Top {
    /// The daemon's control socket [default: /run/fairways/fairways.sock]
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["journal", "machine", "emulated"])]
    pub(crate) control: Option<PathBuf>,

    /// Play a journal, instead of asking a daemon; its finished parts (FILE.0, ...) are read first
    #[arg(long, value_name = "FILE", conflicts_with_all = ["machine", "emulated"])]
    pub(crate) journal: Option<PathBuf>,

    /// Ask an emulator: where it is mounted, or its control socket; a daemon on it tells classes and reasons too
    #[arg(long, value_name = "DIR", conflicts_with = "machine")]
    pub(crate) emulated: Option<PathBuf>,

    /// Run a simulated machine, with the flags of `fairways run`: the analytic model, or a chip that executes programs
    /// (chip:xeon-e5, say; docs/chip.md)
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: Option<Machine>,

    /// How many times real time a journal or a machine goes at most; a machine is slower where its simulation is [default: 1]
    #[arg(long, value_name = "X", allow_negative_numbers = true, default_value = "1",
        hide_default_value = true, value_parser = real(0.001, 1e6))]
    pub(crate) speed: f64,

    /// Where to begin with a journal, on its clock, and what --once shows of it: 500ms, 60s [default: its start, and its end]
    #[arg(long, value_name = "TIME", requires = "journal", value_parser = time)]
    pub(crate) at: Option<Duration>,

    /// How often to ask a daemon or an emulator: 250ms, 5s [default: 1s]
    #[arg(long, value_name = "TIME", default_value = "1s", hide_default_value = true,
        value_parser = time_within(SHORTEST..=LONGEST, "100ms to 60s"))]
    pub(crate) interval: Duration,

    /// No colours, as with NO_COLOR in the environment
    #[arg(long)]
    pub(crate) no_color: bool,

    /// Print one screen as text, of a journal or a machine at its end, instead of taking the terminal
    #[arg(long)]
    pub(crate) once: bool,

    /// How many columns that screen has [default: 80]
    #[arg(long, value_name = "N", requires = "once", allow_negative_numbers = true,
        default_value = "80", hide_default_value = true, value_parser = whole(1, 1000_u16))]
    pub(crate) width: u16,

    /// How many lines [default: 24]
    #[arg(long, value_name = "N", requires = "once", allow_negative_numbers = true,
        default_value = "24", hide_default_value = true, value_parser = whole(1, 1000_u16))]
    pub(crate) height: u16,

    #[command(flatten)]
    pub(crate) of: RunFlags,
}
