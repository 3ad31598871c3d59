//! `fairways trial`, on this host or on a simulated machine.

#[cfg(test)]
mod tests;

use std::io::Write;

use fairways_command_kit::BadInput;
use fairways_trial::RunningTrial;

use crate::args::Trial;
use crate::daemon;

/// Runs the command; everything is checked before anything happens.
pub(crate) fn run(args: Trial, out: &mut dyn Write) -> anyhow::Result<()> {
    let (trial, json) = (prepared(&args)?, args.run.json);
    let tried = match &args.run.machine {
        Some(machine) => crate::run::tried(machine, &args.run, &trial, trial.takes())?,
        None => fairways_daemon::tried(&daemon::options(args.run), Box::new(trial.clone()))?,
    };
    trial.print(&tried, json, out)
}

fn prepared(Trial { run, learn, block }: &Trial) -> Result<RunningTrial, BadInput> {
    RunningTrial::new(*learn, *block, run.of.duration, run.of.world.seed)
}
