//! How the programs fared in the end.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use fairways_core::Time;
use fairways_policy::stock::Stock;
use fairways_results::run::{RunOfProgram, Summary};
use fairways_simulation::{Best, Running, SimulatedRun, run_until};

/// Sums up a run that ended at `end`. Unless it was interrupted, this repeats it under `stock`.
///
/// # Errors
/// If a program can't continue alone or under `stock`.
pub(super) fn summary(
    run: &SimulatedRun,
    machine: &Running,
    end: Time,
    stop: &AtomicBool,
) -> anyhow::Result<Summary> {
    let (names, best) = (run.names(), Best::new(run, end, stop)?);
    let ours = best.fares(machine, names.len());
    let mut stock = run.machine();
    let is_compared = !stop.load(Ordering::Relaxed)
        && run_until(&mut stock, &mut Stock::default(), end, stop)
            .context("the run under stock")?;
    let theirs = is_compared.then(|| best.fares(&stock, names.len()));
    let programs = names.into_iter().enumerate().map(|(job, name)| RunOfProgram {
        name,
        runs: machine.runs(job),
        slowdown: ours[job].slowdown,
        stock_slowdown: theirs.as_ref().map(|theirs| theirs[job].slowdown),
        not_comparable: ours[job].not_comparable
            || theirs.as_ref().is_some_and(|theirs| theirs[job].not_comparable),
        served: machine.served(job),
        stock_served: theirs.as_ref().and_then(|_| stock.served(job)),
        alone_served: best.served(job),
    });
    let interrupted = stop.load(Ordering::Relaxed);
    let summary = Summary::new(run.policy.name(), end, interrupted, programs.collect());
    Ok(summary.with_least_time_scale(run.least_time_scale()))
}
