//! `fairways trial`: a policy decides for a while; then its plan is switched on and off, to measure
//! whether it helps.

mod found;
mod policy;
mod report;
#[cfg(test)]
mod tests;
mod verdict;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use fairways_command_kit::{BadInput, Interrupted};
use fairways_core::Policy;
use fairways_daemon::trial::Tried;
use parking_lot::Mutex;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::args;
use crate::daemon;
use found::{Arm, Found};
use policy::{Planned, Trial};
use report::Report;

/// How long all blocks take together without a flag.
const DURATION: Duration = Duration::from_secs(600);
/// The most blocks of a trial: blocks of a second for a day.
const MOST_BLOCKS: u128 = 86_400;

/// Runs the command; everything is checked before anything happens.
pub(crate) fn run(args: args::Trial, out: &mut dyn Write) -> anyhow::Result<()> {
    let planned = planned(&args)?;
    let found = Arc::new(Mutex::new(Found::default()));
    let on = On { planned, found: Arc::clone(&found) };
    let block_seconds = on.planned.block.as_secs_f64();
    let json = args.run.json;
    let tried = match &args.run.machine {
        Some(machine) => crate::run::tried(machine, &args.run, &on, on.takes())?,
        None => fairways_daemon::tried(&daemon::options(args.run), Box::new(on))?,
    };
    let found = found.lock();
    let broken = found.domains.values().find_map(|domain| domain.broken);
    let Tried { policy, names, interrupted } = tried;
    let report = Report::new(&policy, &found, block_seconds, interrupted, &*names);
    if json {
        report.json(out)?;
    } else {
        report.print(out)?;
    }
    out.flush()?;
    if let Some(why) = broken {
        anyhow::bail!("the trial has ended early: {why}");
    }
    if interrupted { Err(Interrupted.into()) } else { Ok(()) }
}

/// How a trial is done, and where its measurements go.
#[derive(Clone)]
pub(crate) struct On {
    pub(crate) planned: Planned,
    pub(crate) found: Arc<Mutex<Found>>,
}

impl On {
    /// How long it takes, on the machine's clock.
    pub(crate) fn takes(&self) -> Duration {
        let Planned { learn, block, order } = &self.planned;
        let blocks = u32::try_from(order.len()).unwrap_or(u32::MAX);
        learn.saturating_add(block.saturating_mul(blocks))
    }
}

impl fairways_daemon::trial::Trial for On {
    fn of(&self, domain: u32, policy: Box<dyn Policy>) -> Box<dyn Policy> {
        let On { planned, found } = self.clone();
        Box::new(Trial::new(policy, domain, planned, found))
    }

    fn is_over(&self) -> bool {
        self.found.lock().is_over()
    }
}

fn planned(args: &args::Trial) -> Result<Planned, BadInput> {
    let args::Trial { run, learn, block } = args;
    let (learn, block) = (*learn, *block);
    let duration = run.of.duration.unwrap_or(DURATION);
    let blocks = duration.as_nanos() / block.as_nanos().max(1);
    if !(6..=MOST_BLOCKS).contains(&blocks) {
        return Err(BadInput(format!(
            "--duration: expected from 6 to {MOST_BLOCKS} times --block, found {} times ({} s of {} s)",
            blocks,
            duration.as_secs_f64(),
            block.as_secs_f64()
        )));
    }
    let pairs = usize::try_from(blocks / 2).unwrap_or(usize::MAX);
    Ok(Planned { learn, block, order: order(pairs, run.of.world.seed) })
}

/// Draws the order of the blocks of each pair.
fn order(pairs: usize, seed: u64) -> Vec<Arm> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let pair = |_| match rng.next_u64() % 2 {
        0 => [Arm::With, Arm::Without],
        _ => [Arm::Without, Arm::With],
    };
    (0..pairs).flat_map(pair).collect()
}
