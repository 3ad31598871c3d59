//! The terminal: taken, drawn on, and given back whatever happens.

use std::io::stdout;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::style::force_color_output;
use ratatui::crossterm::terminal::SetTitle;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::colours::Colours;
use super::draw;
use super::keys::{self, Command};
use super::source::{Scene, Source};
use super::view::View;
use crate::Interrupted;

/// How long keys are waited for before it is looked what is new. It is drawn where something is.
const LOOK: Duration = Duration::from_millis(100);

/// Nothing comes from the source at first for no longer.
const PATIENCE: Duration = Duration::from_secs(600);

/// The terminal, which is given back when this is dropped.
struct Taken(DefaultTerminal);

impl Taken {
    fn take() -> std::io::Result<Self> {
        // Also gives it back before a panic is told.
        let terminal = ratatui::try_init()?;
        Ok(Self(terminal))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Shows what there is to see until the user has seen enough, or a signal comes.
///
/// # Errors
/// If the terminal can't be taken or drawn on; [`Interrupted`] after SIGINT, SIGTERM or SIGHUP.
pub(super) fn watch(mut source: Source, colours: Colours) -> anyhow::Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    if !colours.wanted {
        force_color_output(false);
    }
    let Some(mut scene) = first(&mut source, &stop) else { return Err(Interrupted.into()) };
    let mut terminal = Taken::take().context("can't take the terminal")?;
    execute!(stdout(), SetTitle("fairways top"))?;
    let mut view = View::new(source.is_journal());
    show(&mut terminal.0, &scene, &mut view, colours)?;
    while !stop.load(Ordering::Relaxed) {
        let mut is_new = false;
        if event::poll(LOOK)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    if let Some(command) = keys::command(key, view.journal) {
                        if !view.heeds(command, &scene) {
                            return Ok(());
                        }
                        if let Command::Play(play) = command {
                            source.play(play);
                        }
                        is_new = true;
                    }
                }
                Event::Resize(..) => is_new = true,
                _ => {}
            }
        }
        if let Some(new) = source.look() {
            scene = new;
            is_new = true;
        } else if source.broke_off() {
            anyhow::bail!("the machine broke off");
        }
        if is_new {
            show(&mut terminal.0, &scene, &mut view, colours)?;
        }
    }
    Err(Interrupted.into())
}

/// What there is to see first; `None` if the user has no patience for that.
fn first(source: &mut Source, stop: &AtomicBool) -> Option<Scene> {
    let began = Instant::now();
    while !stop.load(Ordering::Relaxed) && !source.broke_off() && began.elapsed() < PATIENCE {
        if let Some(scene) = source.look() {
            return Some(scene);
        }
        std::thread::sleep(LOOK / 10);
    }
    None
}

fn show(
    terminal: &mut DefaultTerminal,
    scene: &Scene,
    view: &mut View,
    colours: Colours,
) -> std::io::Result<()> {
    terminal.draw(|frame| {
        let area = frame.area();
        draw::screen(scene, view, colours, area, frame.buffer_mut());
    })?;
    Ok(())
}
