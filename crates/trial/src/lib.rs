//! A trial: a policy decides for a while; then its plan is switched on and off, to measure whether
//! it helps.
//!
//! A [`RunningTrial`] stands between a machine and its policies, in a daemon or over a simulated
//! machine.

mod found;
mod policy;
mod report;
mod verdict;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use fairways_command_kit::{BadInput, Interrupted};
use fairways_core::{AppId, Partition, Policy};
use fairways_daemon::trial::{Trial, Tried};
use parking_lot::Mutex;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use found::{Arm, Found};
use policy::{Planned, PolicyOnTrial};
use report::Report;
use verdict::{Difference, Overall};
pub use verdict::{MATTERS, Verdict};

/// How long all blocks take together without a flag.
const DURATION: Duration = Duration::from_secs(600);
/// The most blocks of a trial: blocks of a second for a day.
const MOST_BLOCKS: u128 = 86_400;

/// How a trial is done, and where its measurements go.
#[derive(Clone, Debug)]
pub struct RunningTrial {
    planned: Planned,
    found: Arc<Mutex<Found>>,
}

impl RunningTrial {
    /// A trial in which the policy decides for the time `learn`, and whose blocks of the length
    /// `block` take `duration` together; `seed` draws their order.
    ///
    /// # Errors
    /// If that makes too few blocks, or too many.
    pub fn new(
        learn: Duration,
        block: Duration,
        duration: Option<Duration>,
        seed: u64,
    ) -> Result<Self, BadInput> {
        let duration = duration.unwrap_or(DURATION);
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
        let planned = Planned { learn, block, order: order(pairs, seed) };
        Ok(Self { planned, found: Arc::default() })
    }

    /// How long it takes, on the machine's clock.
    #[must_use]
    pub fn takes(&self) -> Duration {
        let Planned { learn, block, order } = &self.planned;
        let blocks = u32::try_from(order.len()).unwrap_or(u32::MAX);
        learn.saturating_add(block.saturating_mul(blocks))
    }

    /// Why it ended early, if it did.
    #[must_use]
    pub fn broken(&self) -> Option<&'static str> {
        self.found.lock().domains.values().find_map(|domain| domain.broken)
    }

    /// The verdict on the IPC of all programs; `None` if too little was measured.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        Overall::new(&self.found.lock()).difference.map(Difference::verdict)
    }

    /// The plan that was switched on and off in a domain.
    #[must_use]
    pub fn decided(&self, domain: u32) -> Option<Partition> {
        self.found.lock().domains.get(&domain)?.decided.clone()
    }

    /// Prints what was measured with these programs.
    ///
    /// # Errors
    /// If the trial ended early, not everything was restored, or it can't be printed.
    pub fn print(&self, tried: Tried, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
        let Tried { policy, interrupted, ended } = tried;
        let block_seconds = self.planned.block.as_secs_f64();
        let report = Report::new(&policy, &self.found.lock(), block_seconds, interrupted);
        if json {
            report.json(out)?;
        } else {
            report.print(out)?;
        }
        out.flush()?;
        ended?;
        if let Some(why) = self.broken() {
            anyhow::bail!("the trial has ended early: {why}");
        }
        if interrupted { Err(Interrupted.into()) } else { Ok(()) }
    }
}

impl Trial for RunningTrial {
    fn of(&self, domain: u32, policy: Box<dyn Policy>) -> Box<dyn Policy> {
        let Self { planned, found } = self.clone();
        Box::new(PolicyOnTrial::new(policy, domain, planned, found))
    }

    fn named(&self, app: AppId, name: &str) {
        self.found.lock().named(app, name);
    }

    fn is_over(&self) -> bool {
        self.found.lock().is_over()
    }
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
