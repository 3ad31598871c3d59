//! `fairways-lab run`: programs under a policy, reported as it goes.

mod printed;
mod stepped;
mod summary;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fairways_attribution::{Attribution, MemoryLatency, WatchedPolicy};
use fairways_command_kit::Interrupted;
use fairways_core::{AppId, Event, Observer, Policy as _, Time};
use fairways_experiments::blame::memory_latency;
use fairways_policy::stock::Stock;
use fairways_record::blame::BlameReport;
use fairways_record::trial::{Trial, Tried};
use fairways_results::run::Report;
use fairways_simulation::{On, RunJournal, SimulatedRun};

use printed::Printed;
pub(crate) use stepped::Stepped;

/// What is printed of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunFormat {
    /// Events and decisions as they happen, then the results.
    Events,
    /// The results.
    Results,
    /// One JSON object with the results.
    Json,
}

/// Where the journal of a run goes.
pub(crate) struct JournalFile {
    pub(crate) path: PathBuf,
    /// The largest size of a part in bytes, and how many finished parts are kept.
    pub(crate) limits: (u64, Option<u32>),
}

/// Runs programs to the end, and prints how they fared.
pub(crate) fn run(
    mut run: SimulatedRun,
    journal: Option<JournalFile>,
    format: RunFormat,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    fairways_command_kit::stop_on_signals(&stop)?;
    let mut journal = journal.map(|file| run.journal(&file.path, file.limits)).transpose()?;
    let mut machine = run.machine();
    machine.stop_when(Arc::clone(&stop));
    let mut printed = (format == RunFormat::Events)
        .then(|| Printed::new(Report::new(run.ways(), run.names(), out)));
    let mut interruption = Interruption(&stop);
    let mut observers: Vec<&mut dyn Observer<_, _>> = vec![&mut interruption];
    if let Some(journal) = &mut journal {
        observers.push(journal);
    }
    if let Some(printed) = &mut printed {
        observers.push(printed);
    }
    fairways_core::run(&mut machine, run.policy.as_mut(), &mut observers);
    let printed = printed.map_or(Ok(()), Printed::finish).map_err(anyhow::Error::from);
    let kept = journal.map_or(Ok(()), RunJournal::finish);
    machine.end();
    let summary = printed.and(kept).and_then(|()| {
        let end = machine.now();
        machine.failure(end).map_or(Ok(()), Err)?;
        summary::summary(&run, &machine, end, &stop)
    });
    // Of the runs that the summary compares with, too.
    run.remark();
    let summary = summary?;
    if format == RunFormat::Json {
        summary.json(out)?
    } else {
        summary.table(out)?
    }
    out.flush()?;
    if stop.load(Ordering::Relaxed) { Err(Interrupted.into()) } else { Ok(()) }
}

/// Tries a policy on a simulated machine, which takes so long on its clock; its programs do not
/// finish.
pub(crate) fn tried(
    mut run: SimulatedRun,
    on: &dyn Trial,
    takes: Duration,
) -> anyhow::Result<Tried> {
    let stop = Arc::new(AtomicBool::new(false));
    fairways_command_kit::stop_on_signals(&stop)?;
    run.endless();
    let mut machine = run.machine();
    machine.stop_when(Arc::clone(&stop));
    machine.stop_at(Time::ZERO.after(takes * 2));
    let policy = run.policy.name().to_owned();
    let mut tried = on.of(0, std::mem::replace(&mut run.policy, Box::new(Stock::default())));
    let observers: &mut [&mut dyn Observer<_, _>] =
        &mut [&mut Interruption(&stop), &mut TrialProgress { on, is_over: false }];
    fairways_core::run(&mut machine, tried.as_mut(), observers);
    machine.end();
    run.remark();
    if let Some(why) = machine.failure(machine.now()) {
        return Err(why);
    }
    for (app, name) in (0..).map(AppId).zip(run.names()) {
        on.named(app, &name);
    }
    Ok(Tried { policy, interrupted: stop.load(Ordering::Relaxed), ended: Ok(()) })
}

/// Runs programs that do not finish to the end of the run, and returns what they lose from `since`
/// on.
pub(crate) fn blamed(mut run: SimulatedRun, since: Duration) -> anyhow::Result<BlameReport> {
    let stop = Arc::new(AtomicBool::new(false));
    fairways_command_kit::stop_on_signals(&stop)?;
    run.endless();
    let latency = idle_latency(&run);
    let mut machine = run.machine();
    machine.stop_when(Arc::clone(&stop));
    let since = Time::ZERO.after(since);
    let policy = std::mem::replace(&mut run.policy, Box::new(Stock::default()));
    let mut watched = WatchedPolicy::new(policy, Attribution::new(latency, since));
    fairways_core::run(&mut machine, &mut watched, &mut [&mut Interruption(&stop)]);
    machine.end();
    run.remark();
    if stop.load(Ordering::Relaxed) {
        return Err(Interrupted.into());
    }
    let end = Time::ZERO.after(run.duration);
    machine.failure(end).map_or(Ok(()), Err)?;
    let names = run.names();
    let blame = BlameReport::new(&watched.attribution, watched.name(), [since, end], |app| {
        machine.job(app).map_or_else(|| app.to_string(), |job| names[job].clone())
    })
    .with_remedies(&watched.attribution);
    if blame.is_empty() {
        anyhow::bail!("no program had a window after {since}");
    }
    Ok(blame)
}

/// The latencies of the idle machine, if it is a chip.
fn idle_latency(run: &SimulatedRun) -> Option<MemoryLatency> {
    match &run.on {
        On::Chip(world) => Some(memory_latency(&world.settings.chip)),
        On::Model { .. } => None,
    }
}

/// Ends a run once the user has seen enough.
struct Interruption<'a>(&'a AtomicBool);

impl<M: ?Sized, P: ?Sized> Observer<M, P> for Interruption<'_> {
    fn is_done(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Shows how far a trial is, and ends its run once it has found out everything.
struct TrialProgress<'a> {
    on: &'a dyn Trial,
    is_over: bool,
}

impl<M: ?Sized, P: ?Sized> Observer<M, P> for TrialProgress<'_> {
    fn handled(&mut self, at: Time, _: &Event, _: &M, _: &P) {
        self.is_over = self.on.follow(at);
    }

    fn is_done(&self) -> bool {
        self.is_over
    }
}

/// How many instructions each program of a simulated machine runs between two times, with a
/// partition from half of the first time on, or without one.
#[cfg(test)]
pub(crate) fn fixed(
    mut run: SimulatedRun,
    partition: Option<&fairways_core::Partition>,
    from: std::time::Duration,
    to: std::time::Duration,
) -> Vec<f64> {
    use fairways_core::{Action, Machine as _, PlanId};
    use fairways_simulation::Running;
    run.endless();
    let mut machine = run.machine();
    machine.stop_at(Time::ZERO.after(to));
    let jobs = run.names().len();
    let done = |machine: &Running| -> Vec<u64> {
        (0..jobs).map(|job| machine.account(job).instructions).collect()
    };
    machine.next_event();
    machine.carry_out(Action::Wake { at: Time::ZERO.after(from / 2) });
    let (mut woke, mut before) = (0, Vec::new());
    while let Some((_, event)) = machine.next_event() {
        if !matches!(event, Event::Woke) {
            continue;
        }
        woke += 1;
        if woke == 2 {
            before = done(&machine);
            continue;
        }
        if let Some(partition) = partition {
            let plan = PlanId::default();
            machine.carry_out(Action::Partition {
                plan,
                partition: partition.into(),
                reason: "a test".into(),
            });
        }
        machine.carry_out(Action::Wake { at: Time::ZERO.after(from) });
    }
    let after = done(&machine);
    after.iter().zip(&before).map(|(after, before)| (after - before) as f64).collect()
}
