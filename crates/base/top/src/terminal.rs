//! The terminal: it is set up, drawn on, and restored whatever happens.

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
use super::keyboard::{self, Input, Keyboard};
use super::keys::{self, Command};
use super::source::{Scene, Source};
use super::view::View;

/// How long to wait for a key before the source is checked.
const LOOK: Duration = Duration::from_millis(100);

/// How long to wait for the first scene.
const PATIENCE: Duration = Duration::from_secs(600);

/// How long an orderly end may take after a signal. Writing to a terminal that is not read blocks
/// for ever.
const GRACE: Duration = Duration::from_secs(2);

/// The terminal, which is restored on drop. Ratatui's own drop would panic on a terminal that is
/// gone: it reports to standard error that it could not show the cursor.
struct TerminalGuard(ManuallyDrop<DefaultTerminal>);

impl TerminalGuard {
    fn acquire() -> std::io::Result<Self> {
        // The panic hook restores the terminal before a panic is printed.
        let terminal = ratatui::try_init()?;
        Ok(Self(ManuallyDrop::new(terminal)))
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        // A terminal that is gone can't be restored, and there is nowhere to report that.
        let _ = self.0.show_cursor();
        let _ = ratatui::try_restore();
    }
}

/// Shows the source until the user quits, a signal comes, or the terminal hangs up; `kill` ends
/// what the source has started, where there is no time to end it in order.
///
/// # Errors
/// If the terminal can't be set up or drawn on; [`Interrupted`] after SIGINT, SIGTERM or SIGHUP,
/// and where the terminal is gone.
pub(super) fn watch(mut source: Source, colours: Colours, kill: fn()) -> anyhow::Result<()> {
    let (stop, resized) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    end_on_signals(&stop, kill)?;
    signal_hook::flag::register(SIGWINCH, Arc::clone(&resized))?;
    if !colours.wanted {
        force_color_output(false);
    }
    let Some(mut scene) = first(&mut source, &stop) else { return Err(Interrupted.into()) };
    let mut terminal = TerminalGuard::acquire().context("can't set up the terminal")?;
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
        let input = keyboard.wait(LOOK);
        is_new = resized.swap(false, Ordering::Relaxed);
        let command = match input {
            Input::HungUp => break,
            Input::Nothing => None,
            Input::Key(key) => keys::command(key, view.is_journal),
        };
        if let Some(command) = command {
            if !view.handle(command, &scene) {
                return Ok(());
            }
            if let Command::Play(play) = command {
                source.play(play);
            }
            is_new = true;
        }
        if let Some(new) = source.take_new_scene() {
            scene = new;
            is_new = true;
        } else if source.has_broken_off() {
            anyhow::bail!("the machine broke off");
        }
    }
    Err(Interrupted.into())
}

/// SIGINT, SIGTERM and SIGHUP ask to stop; after the grace period the process ends, after `kill`
/// has ended what it started.
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

/// Waits for the first scene; `None` if the user or the limit ends the wait.
fn first(source: &mut Source, stop: &AtomicBool) -> Option<Scene> {
    let began = Instant::now();
    while !stop.load(Ordering::Relaxed) && !source.has_broken_off() && began.elapsed() < PATIENCE {
        if let Some(scene) = source.take_new_scene() {
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
