//! The flags of `top`.

use std::path::PathBuf;
use std::time::Duration;

use fairways_command_kit::input::{real, time, time_within, whole};
use fairways_record::blame::KnownLatency;
use fairways_top::{LONGEST, Options, Pace, SHORTEST, Target};

/// The journal that `top` plays, its pace and its screen.
#[derive(Clone, Debug, clap::Args)]
pub struct TopFlags {
    /// Play a journal; its finished parts (FILE.0, ...) are read first
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,

    /// Play a journal at most this many times as fast as real time [default: 1]
    #[arg(long, value_name = "X", allow_negative_numbers = true, default_value = "1",
        hide_default_value = true, value_parser = real(0.001, 1e6))]
    pub speed: f64,

    /// Begin a journal at this time on its clock, or show this time with --once: 500ms, 60s
    /// [default: its start, or with --once its end]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub at: Option<Duration>,

    /// How often to ask: 250ms, 5s [default: 1s]
    #[arg(long, value_name = "TIME", default_value = "1s", hide_default_value = true,
        value_parser = time_within(SHORTEST..=LONGEST, "100ms to 60s"))]
    pub interval: Duration,

    /// Use no colours, as with NO_COLOR in the environment
    #[arg(long)]
    pub no_color: bool,

    /// Print one screen as text and exit; of a journal, it is the last
    #[arg(long)]
    pub once: bool,

    /// Columns of the screen that --once prints [default: 80]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        default_value = "80", hide_default_value = true, value_parser = whole(1, 1000_u16))]
    pub width: u16,

    /// Lines of the screen that --once prints [default: 24]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        default_value = "24", hide_default_value = true, value_parser = whole(1, 1000_u16))]
    pub height: u16,
}

impl TopFlags {
    /// The journal to play, if one is named; `latency` knows the machines of simulations.
    pub fn journal(&self, latency: KnownLatency) -> Option<Target> {
        let file = self.journal.clone()?;
        Some(Target::Journal { file, at: self.at, latency })
    }

    /// The options for what is watched.
    #[must_use]
    pub fn options(&self, watch: Target) -> Options {
        let pace = Pace { speed: self.speed, interval: self.interval };
        let once = self.once.then_some((self.width, self.height));
        Options { watch, pace, no_color: self.no_color, once }
    }
}
