//! A trial: policies decide for a while, one after the other; then their plans are switched on and
//! off, to measure whether they help.
//!
//! A [`RunningTrial`] stands between a machine and its policies, in a daemon or over a simulated
//! machine.

mod comparison;
mod found;
mod learner;
mod plan;
mod policy;
mod progress;
mod report;
#[cfg(test)]
mod tests;
mod verdict;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use fairways_command_kit::exit::ExitCode;
use fairways_command_kit::{BadInput, Interrupted};
use fairways_core::{AppId, Counter, Partition, Policy, Time};
use fairways_exec_policy::policies::SharedParameters;
use fairways_policy::{Descriptor, descriptor};
use fairways_record::trial::{Trial, Tried};
use parking_lot::Mutex;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use comparison::PolicyComparison;
use found::{Arm, Found};
use learner::CandidatePolicy;
use policy::{Planned, PolicyOnTrial};
use progress::{ProgressLine, progress};
use report::Report;
pub use verdict::{MATTERS, Verdict};

/// How long all blocks take together without a flag.
const DURATION: Duration = Duration::from_secs(600);
/// The most blocks of a trial: blocks of a second for a day.
const MOST_BLOCKS: u128 = 86_400;

/// The fewest rounds of a trial, each with a block for every policy and one without partitioning.
const LEAST_ROUNDS: u128 = 3;
/// The exit code if nothing was tried: no other verdict has it.
const NOTHING_TRIED: u8 = 1;

/// Policies to compare.
#[derive(Clone, Debug, Default)]
pub struct ComparedPolicies {
    /// Their names.
    pub names: Vec<String>,
    /// Their parameters.
    pub parameters: SharedParameters,
    /// Whether a policy that can learn gets the profiles that the machine reports.
    pub gives_profiles: bool,
}

impl ComparedPolicies {
    /// Whether this policy gets profiles.
    fn gives_to(&self, policy: &Descriptor) -> bool {
        self.gives_profiles || !policy.learns()
    }
}

/// How a trial is done, and where its measurements go.
#[derive(Clone, Debug)]
pub struct RunningTrial {
    planned: Planned,
    /// `None`: the one that the machine's configuration names.
    policies: Option<ComparedPolicies>,
    found: Arc<Mutex<Found>>,
    line: Arc<Mutex<ProgressLine>>,
}

impl RunningTrial {
    /// A trial in which each policy decides for the time `learn`, and whose blocks of the length
    /// `block` take `duration` together; `seed` draws their order.
    ///
    /// # Errors
    /// If that makes too few blocks, or too many.
    pub fn new(
        learn: Duration,
        block: Duration,
        duration: Option<Duration>,
        seed: u64,
        policies: Option<ComparedPolicies>,
    ) -> Result<Self, BadInput> {
        let duration = duration.unwrap_or(DURATION);
        let blocks = duration.as_nanos() / block.as_nanos().max(1);
        let count = policies.as_ref().map_or(1, |policies| policies.names.len());
        let round = count as u128 + 1;
        let least = LEAST_ROUNDS * round;
        if !(least..=MOST_BLOCKS).contains(&blocks) {
            return Err(BadInput(format!(
                "--duration: expected from {least} to {MOST_BLOCKS} times --block, found {} times ({} s of {} s)",
                blocks,
                duration.as_secs_f64(),
                block.as_secs_f64()
            )));
        }
        let rounds = usize::try_from(blocks / round).unwrap_or(usize::MAX);
        let planned = Planned { learn, block, order: order(rounds, count, seed) };
        Ok(Self { planned, policies, found: Arc::default(), line: Arc::default() })
    }

    /// The policies to compare; `None`: there is one, which the machine's configuration names.
    #[must_use]
    pub const fn compared(&self) -> Option<&ComparedPolicies> {
        self.policies.as_ref()
    }

    /// The policies that the trial makes itself: all but the first.
    fn others(&self) -> impl Iterator<Item = (&ComparedPolicies, &'static Descriptor)> {
        let all = self.policies.iter();
        all.flat_map(|of| of.names.iter().skip(1).map(move |name| (of, name)))
            .filter_map(|(of, name)| Some((of, descriptor(name)?)))
    }

    /// How long it takes, on the machine's clock.
    #[must_use]
    pub fn takes(&self) -> Duration {
        let Planned { learn, block, order } = &self.planned;
        let blocks = u32::try_from(order.len()).unwrap_or(u32::MAX);
        let learners = u32::try_from(1 + self.others().count()).unwrap_or(u32::MAX);
        learn.saturating_mul(learners).saturating_add(block.saturating_mul(blocks))
    }

    /// Why it ended early, if it did.
    #[must_use]
    pub fn broken(&self) -> Option<&'static str> {
        self.found.lock().domains.values().find_map(|domain| domain.broken)
    }

    /// The verdict on the policy with this number.
    #[must_use]
    pub fn verdict(&self, policy: usize) -> Verdict {
        Report::new((policy, ""), &self.found.lock(), 0.0, false).verdict
    }

    /// The plan of the policy with this number in a domain.
    #[must_use]
    pub fn decided(&self, domain: u32, policy: usize) -> Option<Partition> {
        Some(self.found.lock().domains.get(&domain)?.attempts.get(policy)?.plan.clone())
    }

    /// Prints what was measured with these programs.
    ///
    /// # Errors
    /// If nothing was tried, the trial ended early, not everything was restored, or it can't be
    /// printed.
    pub fn print(&self, tried: Tried, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
        self.line.lock().show("");
        let Tried { policy, interrupted, ended } = tried;
        let names = match &self.policies {
            None => std::slice::from_ref(&policy),
            Some(compared) => &compared.names,
        };
        let found = self.found.lock().clone();
        let block_seconds = self.planned.block.as_secs_f64();
        let mut reports = Vec::new();
        for of in names.iter().map(String::as_str).enumerate() {
            reports.push(Report::new(of, &found, block_seconds, interrupted));
        }
        let has_tried = reports.iter().any(|of| of.verdict != Verdict::NothingWasTried);
        match (&self.policies, &*reports) {
            (None, [report]) if json => report.json(out)?,
            (None, [report]) => report.print(out)?,
            _ => {
                let all = PolicyComparison::new(reports, &found);
                if json { all.json(out)? } else { all.print(out)? }
            }
        }
        out.flush()?;
        ended?;
        if let Some(why) = self.broken() {
            anyhow::bail!("the trial has ended early: {why}");
        }
        match () {
            () if interrupted => Err(Interrupted.into()),
            () if !has_tried => Err(ExitCode(NOTHING_TRIED).into()),
            () => Ok(()),
        }
    }
}

impl Trial for RunningTrial {
    fn of(&self, domain: u32, policy: Box<dyn Policy>) -> Box<dyn Policy> {
        let Self { planned, found, .. } = self.clone();
        self.found.lock().policy = policy.name();
        let first =
            self.policies.as_ref().and_then(|of| Some((of, descriptor(of.names.first()?)?)));
        let first = CandidatePolicy {
            policy,
            gets_profiles: first.is_none_or(|(of, policy)| of.gives_to(policy)),
        };
        let others = self.others().filter_map(|(of, policy)| {
            let made = of.parameters.make(policy.name)?;
            Some(CandidatePolicy { policy: made, gets_profiles: of.gives_to(policy) })
        });
        let candidates = std::iter::once(first).chain(others).collect();
        Box::new(PolicyOnTrial::new(candidates, domain, planned, found))
    }

    fn counters(&self) -> Vec<Counter> {
        let of = self.others().flat_map(|(_, policy)| policy.counters.iter().copied());
        of.collect()
    }

    fn named(&self, app: AppId, name: &str) {
        self.found.lock().named(app, name);
    }

    fn follow(&self, at: Time) -> bool {
        let found = self.found.lock();
        let names = self.policies.as_ref().map_or(&[][..], |policies| &policies.names);
        if let Some(text) = progress(&found, names, at) {
            self.line.lock().show(&text);
        }
        found.is_over()
    }
}

/// Draws the order of the blocks of each round.
fn order(rounds: usize, policies: usize, seed: u64) -> Vec<(usize, Arm)> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut order = Vec::new();
    for round in 0..rounds {
        let mut arms: Vec<Arm> = (0..policies).map(Arm::With).collect();
        arms.push(Arm::Without);
        // As Fisher and Yates: from the last place on, each gets one of those that are left.
        for place in (1..arms.len()).rev() {
            let other = rng.next_u64() % (place as u64 + 1);
            arms.swap(place, usize::try_from(other).unwrap_or(place));
        }
        order.extend(arms.into_iter().map(|arm| (round, arm)));
    }
    order
}
