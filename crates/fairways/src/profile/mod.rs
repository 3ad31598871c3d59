//! `fairways profile`: measures how fast a program runs with each number of ways.

mod output;
mod settings;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairways_chip::Profiler;
use fairways_chip::program::Supply;
use fairways_command_kit::{BadInput, ExitCode, Interrupted};
use fairways_lab::table_of;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::Profile;
use settings::Checked;

/// How long a program that is asleep is waited for at a time, and how often progress is shown.
const NAP: Duration = Duration::from_millis(50);
const OFTEN: Duration = Duration::from_millis(200);

/// Runs the command; everything is checked before anything is run.
pub(crate) fn run(args: &Profile, out: &mut dyn Write) -> anyhow::Result<()> {
    let checked = Checked::new(args)?;
    let stop = Arc::new(AtomicBool::new(false));
    fairways_command_kit::stop_on_signals(&stop)?;
    let start = Instant::now();
    let mut profiler = Profiler::new(checked.settings, &checked.program)?;
    let ended = measure(&mut profiler, &stop, args.quiet)?;
    let seconds = start.elapsed().as_secs_f64();
    profiler.end();
    for remark in checked.live().remarks() {
        let hint = if remark.of_children { "; --children measures them, too" } else { "" };
        fairways_command_kit::warn(&format!("{}{hint}", remark.text));
    }
    if profiler.instructions() == 0 {
        return Err(BadInput(format!("{}: ran no instruction that was seen", checked.name)).into());
    }
    let table = table_of(&checked.name, &profiler);
    output::write(&checked, table.clone(), out)?;
    if let Some(path) = &args.plot {
        output::plot(path, &checked.name, &table)?;
    }
    let measured = output::Measured { profiler: &profiler, table: &table, seconds };
    if args.json {
        output::json(&checked, &measured, out)?;
    } else if !args.quiet {
        output::table(&checked, &measured, &mut std::io::stderr())?;
    }
    out.flush()?;
    if !ended {
        return Err(Interrupted.into());
    }
    match checked.live().exit_code().unwrap_or(0) {
        0 => Ok(()),
        code => Err(ExitCode(u8::try_from(code).unwrap_or(1)).into()),
    }
}

/// Lets the program run; whether it came to its end.
fn measure(profiler: &mut Profiler, stop: &AtomicBool, quiet: bool) -> anyhow::Result<bool> {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template("{spinner} {elapsed}  {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    let (mut shown, mut before) = (Instant::now(), 0);
    let ended = loop {
        match profiler.step() {
            Supply::More => {}
            Supply::Asleep => profiler.wait(NAP),
            Supply::Ended => break true,
            Supply::Failed(why) => return Err(BadInput(why).into()),
        }
        if shown.elapsed() < OFTEN {
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            break false;
        }
        if bar.is_hidden() && !quiet {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let references = profiler.references();
        let rate = (references - before) as f64 / shown.elapsed().as_secs_f64();
        let instructions = profiler.instructions();
        bar.set_message(format!(
            "{:.2} G instructions, {:.2} G references, {:.0} M references/s",
            instructions as f64 / 1e9,
            references as f64 / 1e9,
            rate / 1e6
        ));
        bar.tick();
        (shown, before) = (Instant::now(), references);
    };
    bar.finish_and_clear();
    Ok(ended)
}
