//! `fairways profile`: measures how fast a program runs with each number of ways.

mod output;
mod settings;

use std::io::Write;
use std::time::Instant;

use fairways_chip::Profiler;
use fairways_command_kit::{ExitCode, Interrupted};
use fairways_lab::table_of;

use crate::args::Profile;
use crate::traced::{RunEnd, measure};
use settings::Checked;

/// Runs the command; everything is checked before anything is run.
pub(crate) fn run(args: &Profile, out: &mut dyn Write) -> anyhow::Result<()> {
    let checked = Checked::new(args)?;
    let subject = &checked.subject;
    let start = Instant::now();
    let profiler = Profiler::new(checked.settings, &subject.program)?;
    let mut profiler = profiler.within(subject.slices);
    let end = measure(subject, &mut profiler, args.traced.quiet)?;
    let seconds = start.elapsed().as_secs_f64();
    let are_checked = checked.append || args.traced.instructions.is_some();
    if are_checked || profiler.instructions() == 0 {
        subject.check_end(&profiler, end)?;
    }
    let mut table = table_of(&subject.name, &profiler);
    table.set_run(&subject.name, subject.run(&profiler)?);
    output::write(&checked, table.clone(), out)?;
    if let Some(path) = &args.plot {
        output::plot(path, &subject.name, &table)?;
    }
    let measured = output::Measured { profiler: &profiler, table: &table, seconds };
    if args.traced.json {
        output::json(&checked, &measured, out)?;
    } else if !args.traced.quiet {
        output::table(&checked, &measured, &mut std::io::stderr())?;
    }
    out.flush()?;
    if end == RunEnd::Interrupted {
        return Err(Interrupted.into());
    }
    match subject.exit_code(&profiler).unwrap_or(0) {
        0 => Ok(()),
        code => Err(ExitCode(u8::try_from(code).unwrap_or(1)).into()),
    }
}
