//! `fairways top`: programs and their ways on the whole terminal, now and in the past. It shows a
//! daemon, an emulator, a journal, or a machine that the caller brings along ([`WatchedMachine`]).

mod colours;
mod draw;
mod history;
mod keyboard;
mod keys;
mod source;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

use std::io::{IsTerminal, Write, stdin, stdout};
use std::path::PathBuf;
use std::time::Duration;

use fairways_command_kit::BadInput;
use fairways_record::blame::KnownLatency;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use colours::Colours;
pub use source::{LONGEST, MakeMachine, SHORTEST, WatchedMachine};
use source::{Scene, Source};
use view::View;

/// The smallest screen that shows more than that it is too small.
const LEAST: (u16, u16) = (40, 10);

/// What is watched.
pub enum Target {
    /// A daemon, by its control socket, or at the default one.
    Daemon(Option<PathBuf>),
    /// A journal that is played.
    Journal {
        /// Its file; the finished parts beside it are read first.
        file: PathBuf,
        /// The time on its clock at which to begin, or to print once; without it, its start, or its
        /// end.
        at: Option<Duration>,
        /// The latencies of an idle machine of a kind, if they are known.
        latency: KnownLatency,
    },
    /// An emulator: where it is mounted, or its control socket.
    Emulator(PathBuf),
    /// A simulated machine.
    Machine {
        /// Makes the machine.
        make: MakeMachine,
        /// Ends at once what runs outside of the machine, where there is no time to end it in
        /// order.
        kill: fn(),
    },
}

/// The speed of watching.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The multiple of real time at which a journal or a machine runs.
    pub speed: f64,
    /// The interval at which a daemon or an emulator is polled, from [`SHORTEST`] to [`LONGEST`].
    pub interval: Duration,
}

/// The command's options.
pub struct Options {
    /// What is watched.
    pub watch: Target,
    /// The speed.
    pub pace: Pace,
    /// Whether to use no colours, whatever the environment says.
    pub no_color: bool,
    /// Print one screen of this many columns and lines as text, instead of using the terminal.
    pub once: Option<(u16, u16)>,
}

/// Runs the command; everything is checked before the terminal changes.
///
/// # Errors
/// If there is no terminal, the target is missing or not valid, or a machine fails;
/// [`Interrupted`](fairways_command_kit::Interrupted) after a signal, and where the terminal is
/// gone.
pub fn run(options: Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let Options { watch, pace, no_color, once } = options;
    let is_terminal = stdout().is_terminal() && stdin().is_terminal();
    if once.is_none() && !is_terminal {
        let text =
            "expected a terminal; --once prints one screen, and fairways status a table or JSON";
        return Err(BadInput(text.to_owned()).into());
    }
    if let Some(size) = once {
        let journal = matches!(watch, Target::Journal { .. });
        return print(&Source::once(watch)?, journal, size, out);
    }
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let kill = match watch {
        Target::Machine { kill, .. } => kill,
        _ => || (),
    };
    terminal::watch(Source::open(watch, pace)?, Colours { wanted: wanted && !no_color }, kill)
}

/// Prints one screen as text, without blanks at the ends of lines.
fn print(
    scene: &Scene,
    journal: bool,
    (width, height): (u16, u16),
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let area = Rect::new(0, 0, width, height);
    let mut screen = Buffer::empty(area);
    draw::screen(scene, &mut View::new(journal), Colours { wanted: false }, area, &mut screen);
    for line in screen_lines(&screen) {
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

/// The lines of a screen.
fn screen_lines(screen: &Buffer) -> Vec<String> {
    (0..screen.area.height)
        .map(|y: u16| {
            let cells = (0..screen.area.width).map(|x| screen[(x, y)].symbol());
            cells.collect::<String>().trim_end().to_owned()
        })
        .collect()
}
