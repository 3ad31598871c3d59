//! `fairways top`: programs and their ways on the whole terminal, as they are and as they came to be so.

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
use std::time::Duration;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::{number, real, span};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::args::Top;
use colours::Colours;
use source::{Scene, Source};
use view::View;

/// The smallest screen on which anything is shown but that it is too small.
const LEAST: (u16, u16) = (40, 10);

/// How it is to be shown.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// How many times real time, of a journal or a machine.
    speed: f64,
    /// How often others are asked.
    interval: Duration,
}

/// Runs the command; everything is checked before the terminal is taken.
pub(crate) fn run(args: Top, out: &mut dyn Write) -> anyhow::Result<()> {
    if args.machine.is_none()
        && let Some(flag) = given(&args)
    {
        return Err(BadInput(format!("{flag}: expected --machine with it")).into());
    }
    let speed = args.speed.as_ref().map_or(Ok(1.0), |text| real(text, "--speed", 0.001, 1e6))?;
    let interval = args.interval.as_ref().map_or(Ok(Duration::from_secs(1)), |text| {
        let interval = span(text, "--interval")?;
        let bounds = source::SHORTEST..=source::LONGEST;
        if bounds.contains(&interval) {
            return Ok(interval);
        }
        Err(BadInput(format!("--interval: expected 100ms to 60s, found {text:?}")))
    })?;
    let at = args.at.as_ref().map(|text| span(text, "--at")).transpose()?;
    let (once, pace) = (args.once, Pace { speed, interval });
    let size = |text: &Option<String>, flag, most| {
        text.as_ref().map_or(Ok(most), |text| number(text, flag, 1, 1000))
    };
    let (width, height) = (size(&args.width, "--width", 80)?, size(&args.height, "--height", 24)?);
    let is_terminal = stdout().is_terminal() && stdin().is_terminal();
    if !once && !is_terminal {
        let said =
            "expected a terminal; --once prints one screen, and fairways status a table or JSON";
        return Err(BadInput(said.to_owned()).into());
    }
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let colours = Colours { wanted: wanted && !args.no_color };
    if once {
        let journal = args.journal.is_some();
        print(&Source::once(args, at)?, journal, (width, height), out)
    } else {
        terminal::watch(Source::open(args, pace, at)?, colours)
    }
}

/// The first flag that was given and that only a machine heeds.
fn given(args: &Top) -> Option<&'static str> {
    let of = &args.of;
    let own = [
        ("--mix", of.mix.is_some()),
        ("--policy", of.policy.is_some()),
        ("--set", !of.set.is_empty()),
        ("--duration", of.duration.is_some()),
        ("--time-scale", of.time_scale.is_some()),
        ("--known-profiles", of.known_profiles),
        ("--profiles", of.world.profiles.is_some()),
        ("--phases", of.world.phases.is_some()),
        ("--ways", of.world.ways.is_some()),
        ("--baselines", of.world.baselines.is_some()),
        ("--bandwidth-mbps", of.world.bandwidth_mbps.is_some()),
    ];
    let own = own.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag));
    own.or_else(|| of.chip.given()).or_else(|| of.observation.given())
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
