//! `fairways-lab profile`: measures how fast a program runs with each number of ways.

mod output;
mod settings;

use std::io::Write;
use std::time::Instant;

use fairways_chip::{Profilers, Settings};
use fairways_command_kit::{ExitCode, Interrupted};
use fairways_experiments::table_of;

use crate::profiling::measured::measure;
use crate::profiling::steppable::RunEnd;
use settings::Checked;
pub(crate) use settings::ProfileSettings;

/// Runs a command, and writes how fast it runs on each chip with each number of ways; everything
/// is checked before anything is run.
///
/// # Errors
/// If the settings are wrong, the command can't be run or failed, or the user ended it.
pub(crate) fn profile(settings: &ProfileSettings, out: &mut dyn Write) -> anyhow::Result<()> {
    let checked = Checked::new(settings)?;
    let subject = &checked.subject;
    let start = Instant::now();
    let chips: Vec<Settings> = checked.chips.iter().map(|chip| chip.chip.settings).collect();
    let mut profilers = Profilers::new(&chips, &subject.program, subject.slices)?;
    let end = measure(subject, &mut profilers, settings.trace.quiet)?;
    let seconds = start.elapsed().as_secs_f64();
    let are_checked = checked.append || settings.trace.instructions.is_some();
    if are_checked || profilers.instructions() == 0 {
        subject.check_end(&profilers, end)?;
    }
    for (chip, profiler) in checked.chips.iter().zip(profilers.each()) {
        let mut table = table_of(&subject.name, profiler);
        table.set_run(&subject.name, subject.run(&chip.chip, profiler)?);
        output::write(&checked, chip, table.clone(), out)?;
        if let Some(path) = &settings.plot {
            output::plot(path, &subject.name, &table)?;
        }
        let measured = output::Measured { chip, profiler, table: &table, seconds };
        if settings.trace.json {
            output::json(&checked, &measured, out)?;
        } else if !settings.trace.quiet {
            output::table(&checked, &measured, &mut std::io::stderr())?;
        }
    }
    out.flush()?;
    if end == RunEnd::Interrupted {
        return Err(Interrupted.into());
    }
    match subject.exit_code(&profilers).unwrap_or(0) {
        0 => Ok(()),
        code => Err(ExitCode(u8::try_from(code).unwrap_or(1)).into()),
    }
}
