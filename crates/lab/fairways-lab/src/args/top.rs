//! The flags of `top`.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use fairways_command_kit::input::{real, time, time_within, whole};
use fairways_experiments::blame::memory_latency_of;
use fairways_top::{LONGEST, MakeMachine, Options, Pace, SHORTEST, Target};

use super::{Machine, RunFlags};
use crate::run::Stepped;

/// Watch programs and their ways in the terminal
///
/// Examples:
///   fairways top
///   fairways top --journal run.journal --speed 10
///   fairways top --machine chip:xeon-e5 --programs mlr:8M,mload:60M --policy dcat
///
/// Shows a running daemon, a journal, an emulator or a simulated machine. Each
/// program is a row: its class, its ways, its last sample, and whether it meets its
/// objective. Below is the reason for the last decision. Press ? for the keys.
/// `fairways status` prints the same state of a daemon once.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Top {
    /// Control socket of the daemon [default: /run/fairways/fairways.sock]
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["journal", "machine", "emulated"])]
    pub(crate) control: Option<PathBuf>,

    /// Play a journal instead of asking a daemon; its finished parts (FILE.0, ...) are read first
    #[arg(long, value_name = "FILE", conflicts_with_all = ["machine", "emulated"])]
    pub(crate) journal: Option<PathBuf>,

    /// Watch an emulator, by its mount or its control socket; for classes and reasons, use
    /// --control with the daemon that manages it
    #[arg(long, value_name = "DIR", conflicts_with = "machine")]
    pub(crate) emulated: Option<PathBuf>,

    /// Run a simulated machine, with the flags of `fairways run`: model (the analytic model), or a
    /// chip that executes programs, such as chip:xeon-e5 (docs/chip.md)
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: Option<Machine>,

    /// Play a journal or run a machine at most this many times as fast as real time; a slow
    /// simulation slows a machine [default: 1]
    #[arg(long, value_name = "X", allow_negative_numbers = true, default_value = "1",
        hide_default_value = true, value_parser = real(0.001, 1e6))]
    pub(crate) speed: f64,

    /// Begin a journal at this time on its clock, or show this time with --once: 500ms, 60s
    /// [default: its start, or with --once its end]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) at: Option<Duration>,

    /// How often to ask a daemon or an emulator: 250ms, 5s [default: 1s]
    #[arg(long, value_name = "TIME", default_value = "1s", hide_default_value = true,
        value_parser = time_within(SHORTEST..=LONGEST, "100ms to 60s"))]
    pub(crate) interval: Duration,

    /// Use no colours, as with NO_COLOR in the environment
    #[arg(long)]
    pub(crate) no_color: bool,

    /// Print one screen as text and exit; of a journal or a machine, it is the last
    #[arg(long)]
    pub(crate) once: bool,

    /// Columns of the screen that --once prints [default: 80]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        default_value = "80", hide_default_value = true, value_parser = whole(1, 1000_u16))]
    pub(crate) width: u16,

    /// Lines of the screen that --once prints [default: 24]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        default_value = "24", hide_default_value = true, value_parser = whole(1, 1000_u16))]
    pub(crate) height: u16,

    #[command(flatten)]
    pub(crate) of: RunFlags,
}

impl Top {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        fairways_top::run(self.into(), out)
    }
}

impl From<Top> for Options {
    fn from(top: Top) -> Self {
        let Top { control, journal, emulated, machine, at, no_color, once, of, .. } = top;
        let watch = match (journal, machine, emulated) {
            (Some(file), ..) => Target::Journal { file, at, latency: memory_latency_of },
            (None, Some(machine), _) => {
                let make: MakeMachine =
                    Box::new(move |stop| Ok(Box::new(Stepped::new(of.simulated(&machine)?, stop))));
                Target::Machine { make, kill: fairways_tracer::kill_all }
            }
            (None, None, Some(dir)) => Target::Emulator(dir),
            (None, None, None) => Target::Daemon(control),
        };
        let pace = Pace { speed: top.speed, interval: top.interval };
        Self { watch, pace, no_color, once: once.then_some((top.width, top.height)) }
    }
}
