//! `fairways run`: programs under a policy, reported as it goes.

mod best;
mod machine;
mod report;
mod settings;
mod stepped;
mod summary;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairways_core::{Event, Machine};

use crate::Interrupted;
use crate::args::Run;
use crate::journal::Writer;
use machine::Running;
use report::Report;
use settings::Checked;
pub(crate) use settings::{bytes, journal_limits};
pub(crate) use stepped::Stepped;
use summary::Summary;

/// Runs the command; everything is checked before anything happens.
pub(crate) fn run(args: &Run, out: &mut dyn Write) -> anyhow::Result<()> {
    let (size, parts) = journal_limits(args)?;
    let limits = (size.unwrap_or(crate::config::Config::default().journal.size), parts);
    let mut checked = Checked::new(args.machine.as_ref(), &args.of)?;
    let stop = Arc::new(AtomicBool::new(false));
    crate::stop_on_signals(&stop)?;
    let mut journal =
        args.journal.as_ref().map(|path| checked.journal(path, limits)).transpose()?;
    let mut machine = checked.machine();
    machine.stop_when(Arc::clone(&stop));
    let mut report = (!args.json && !args.quiet).then(|| Report::new(&checked, out));
    let told = follow(&mut machine, &mut checked, &stop, &mut report, &mut journal);
    drop(report);
    let kept = journal.map_or(Ok(()), Writer::finish);
    machine.end();
    checked.remark();
    told.and(kept)?;
    let end = machine.now();
    if let Some(why) = machine.failure(end) {
        return Err(why);
    }
    let summary = Summary::new(&checked, &machine, end, &stop);
    if args.json {
        summary.json(out)?
    } else {
        summary.table(out)?
    }
    out.flush()?;
    if stop.load(Ordering::Relaxed) { Err(Interrupted.into()) } else { Ok(()) }
}

/// Runs the machine to its end, or until the user has seen enough.
fn follow(
    machine: &mut Running,
    checked: &mut Checked,
    stop: &AtomicBool,
    report: &mut Option<Report<'_>>,
    journal: &mut Option<Writer>,
) -> anyhow::Result<()> {
    let names = checked.names();
    while !stop.load(Ordering::Relaxed) {
        let Some((at, event)) = machine.next_event() else { break };
        if let Some(journal) = journal {
            let started = match &event {
                Event::Started { app, .. } => machine.job(*app).and_then(|job| names.get(job)),
                _ => None,
            };
            journal.event(at, &event, started.map(String::as_str))?;
        }
        if let Some(report) = report {
            report.event(at, &event, machine)?;
        }
        let mut said = Ok(());
        checked.policy.handle(at, &event, &mut |action| {
            let mut say = || -> anyhow::Result<()> {
                if let Some(journal) = journal {
                    journal.action(at, &action)?;
                }
                if let Some(report) = report {
                    report.action(at, &action)?;
                }
                Ok(())
            };
            if said.is_ok() {
                said = say();
            }
            machine.carry_out(action);
        });
        said?;
        if let Some(report) = report {
            report.numbers(at)?;
        }
    }
    Ok(())
}
