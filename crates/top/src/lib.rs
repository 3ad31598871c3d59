//! `fairways top`: programs and their ways on the whole terminal, as they are and as they came to
//! be so. Of a daemon, an emulator or a journal; or of a machine that whoever calls it brings along
//! ([`Machine`]).

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
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use colours::Colours;
pub use source::{LONGEST, Machine, Make, SHORTEST};
use source::{Scene, Source};
use view::View;

/// The smallest screen on which anything is shown but that it is too small.
const LEAST: (u16, u16) = (40, 10);

/// What is watched.
pub enum Watch {
    /// A daemon, by its control socket, or by the usual one.
    Daemon(Option<PathBuf>),
    /// A journal that is played.
    Journal {
        /// Its file; its finished parts are read first.
        file: PathBuf,
        /// Where to begin, or what is shown once, on its clock; without it, its start, or its end.
        at: Option<Duration>,
    },
    /// An emulator: where it is mounted, or its control socket.
    Emulator(PathBuf),
    /// A simulated machine.
    Machine {
        /// Makes it.
        make: Make,
        /// Ends at once what runs outside of it, where there is no time to put it in order.
        kill: fn(),
    },
}

/// How fast it is watched.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How many times real time, of a journal or a machine.
    pub speed: f64,
    /// How often others are asked, from [`SHORTEST`] to [`LONGEST`].
    pub interval: Duration,
}

/// What is asked for.
pub struct Options {
    /// What is watched.
    pub watch: Watch,
    /// How fast.
    pub pace: Pace,
    /// Whether there are to be no colours, whatever the environment says.
    pub no_color: bool,
    /// One screen of so many columns and lines as text, instead of taking the terminal.
    pub once: Option<(u16, u16)>,
}

/// Runs the command; everything is checked before the terminal is taken.
///
/// # Errors
/// If there is no terminal, what is watched is not there or is none, or a machine could not go on;
/// [`Interrupted`](fairways_command_kit::Interrupted) after a signal, and where the terminal is
/// gone.
pub fn run(options: Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let Options { watch, pace, no_color, once } = options;
    let is_terminal = stdout().is_terminal() && stdin().is_terminal();
    if once.is_none() && !is_terminal {
        let said =
            "expected a terminal; --once prints one screen, and fairways status a table or JSON";
        return Err(BadInput(said.to_owned()).into());
    }
    if let Some(size) = once {
        let journal = matches!(watch, Watch::Journal { .. });
        return print(&Source::once(watch)?, journal, size, out);
    }
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let kill = match watch {
        Watch::Machine { kill, .. } => kill,
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
    for line in text_of(&screen) {
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

/// The lines of a screen.
fn text_of(screen: &Buffer) -> Vec<String> {
    let line = |y: u16| {
        let cells = (0..screen.area.width).map(|x| screen[(x, y)].symbol());
        cells.collect::<String>().trim_end().to_owned()
    };
    (0..screen.area.height).map(line).collect()
}
