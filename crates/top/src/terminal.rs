//! The terminal: taken, drawn on, and given back whatever happens.

use std::io::stdout;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use fairways_command_kit::Interrupted;
use ratatui::DefaultTerminal;
use ratatui::crossterm::execute;
use ratatui::crossterm::style::force_color_output;
use ratatui::crossterm::terminal::{SetTitle, disable_raw_mode};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;

use super::colours::Colours;
use super::draw;
use super::keyboard::{self, Heard, Keyboard};
use super::keys::{self, Command};
use super::source::{Scene, Source};
use super::view::View;

/// How long keys are waited for before it is looked what is new. It is drawn where something is.
const LOOK: Duration = Duration::from_millis(100);

/// Nothing comes from the source at first for no longer.
const PATIENCE: Duration = Duration::from_secs(600);

/// How long after a signal all may take to be put in order. A terminal that is not read blocks who writes to it for ever.
const GRACE: Duration = Duration::from_secs(2);

/// The terminal, which is given back when this is dropped. Ratatui's own end would panic where the
/// terminal is gone: it tells standard error that it could not show the cursor.
struct Taken(ManuallyDrop<DefaultTerminal>);

impl Taken {
    fn take() -> std::io::Result<Self> {
        // Also gives it back before a panic is told.
        let terminal = ratatui::try_init()?;
        Ok(Self(ManuallyDrop::new(terminal)))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // A terminal that is gone can't be given back, and nobody is there to be told.
        let _ = self.0.show_cursor();
        let _ = ratatui::try_restore();
    }
}

/// Shows what there is to see until the user has seen enough, a signal comes, or the terminal hangs
/// up; `kill` ends what the source has started, where there is no time to put it in order.
///
/// # Errors
/// If the terminal can't be taken or drawn on; [`Interrupted`] after SIGINT, SIGTERM or SIGHUP, and
/// where the terminal is gone.
pub(super) fn watch(mut source: Source, colours: Colours, kill: fn()) -> anyhow::Result<()> {
    let (stop, resized) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    end_on_signals(&stop, kill)?;
    signal_hook::flag::register(SIGWINCH, Arc::clone(&resized))?;
    if !colours.wanted {
        force_color_output(false);
    }
    let Some(mut scene) = first(&mut source, &stop) else { return Err(Interrupted.into()) };
    let mut terminal = Taken::take().context("can't take the terminal")?;
    execute!(stdout(), SetTitle("fairways top"))?;
    let mut keyboard = Keyboard::default();
    let mut view = View::new(source.is_journal());
    let mut is_new = true;
    while !stop.load(Ordering::Relaxed) {
        if is_new && let Err(why) = show(&mut terminal.0, &scene, &mut view, colours) {
            if keyboard::ready(Duration::ZERO).is_err() {
                break;
            }
            return Err(why.into());
        }
        let heard = keyboard.wait(LOOK);
        is_new = resized.swap(false, Ordering::Relaxed);
        let command = match heard {
            Heard::HungUp => break,
            Heard::Nothing => None,
            Heard::Key(key) => keys::command(key, view.journal),
        };
        if let Some(command) = command {
            if !view.heeds(command, &scene) {
                return Ok(());
            }
            if let Command::Play(play) = command {
                source.play(play);
            }
            is_new = true;
        }
        if let Some(new) = source.look() {
            scene = new;
            is_new = true;
        } else if source.broke_off() {
            anyhow::bail!("the machine broke off");
        }
    }
    Err(Interrupted.into())
}

/// SIGINT, SIGTERM and SIGHUP ask to stop; after the grace they end this process, and what it has
/// started, which `kill` does.
fn end_on_signals(stop: &Arc<AtomicBool>, kill: fn()) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let stop = Arc::clone(stop);
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if signals.forever().next().is_some() {
            stop.store(true, Ordering::Relaxed);
            std::thread::sleep(GRACE);
            kill();
            let _ = disable_raw_mode();
            std::process::exit(i32::from(fairways_command_kit::exit::INTERRUPTED));
        }
    })?;
    Ok(())
}

/// What there is to see first; `None` if the user has no patience for that.
fn first(source: &mut Source, stop: &AtomicBool) -> Option<Scene> {
    let began = Instant::now();
    while !stop.load(Ordering::Relaxed) && !source.broke_off() && began.elapsed() < PATIENCE {
        if let Some(scene) = source.look() {
            return Some(scene);
        }
        if keyboard::ready(Duration::ZERO).is_err() {
            return None;
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
