//! Lets a program run to where it is to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairways_chip::program::Supply;
use fairways_command_kit::BadInput;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::profiling::signals::stop_on_signals;
use crate::profiling::steppable::{RunEnd, Steppable};
use crate::profiling::subject::TracedCommand;

/// How long a program that is asleep is waited for at a time, and how often progress is shown.
const NAP: Duration = Duration::from_millis(50);
const OFTEN: Duration = Duration::from_millis(200);

/// How long the signal that ended the program may take to arrive here, too.
const LATE: Duration = Duration::from_millis(100);

/// The exit codes of a program that SIGINT or SIGTERM ended.
const BY_SIGNAL: [i32; 2] = [128 + SIGINT, 128 + SIGTERM];

/// Lets the program run, and ends it.
pub(crate) fn measure(
    subject: &TracedCommand,
    measured: &mut impl Steppable,
    quiet: bool,
) -> anyhow::Result<RunEnd> {
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_signals(&stop)?;
    let end = advance(measured, &stop, quiet)?;
    measured.end();
    subject.remark();
    if subject.exit_code(measured).is_some_and(|code| BY_SIGNAL.contains(&code)) {
        std::thread::sleep(LATE);
    }
    Ok(if stop.load(Ordering::SeqCst) { RunEnd::Interrupted } else { end })
}

fn advance(
    measured: &mut impl Steppable,
    stop: &AtomicBool,
    quiet: bool,
) -> anyhow::Result<RunEnd> {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template("{spinner} {elapsed}  {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    let (mut shown, mut before) = (Instant::now(), 0);
    let end = loop {
        match measured.step() {
            Supply::More => {}
            Supply::Asleep => measured.wait(NAP),
            Supply::Ended => break RunEnd::Ended,
            Supply::Failed(why) => return Err(BadInput(why).into()),
        }
        if shown.elapsed() < OFTEN {
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            break RunEnd::Interrupted;
        }
        if bar.is_hidden() && !quiet {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let references = measured.references();
        let rate = (references - before) as f64 / shown.elapsed().as_secs_f64();
        let instructions = measured.instructions();
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
    Ok(end)
}
