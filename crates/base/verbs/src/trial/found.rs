//! What was measured in a trial's blocks.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::{AppId, Counters, Latencies, Objective, Partition, Sample, Time};

use super::plan::Attempt;

/// What happens in a domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Doing {
    #[default]
    Nothing,
    /// This policy decides.
    Learning(usize),
    Block {
        /// From 1 on.
        number: usize,
        of: usize,
        arm: Arm,
    },
}

/// What is in force in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Arm {
    /// The plan of this policy.
    With(usize),
    /// All programs may fill every way.
    Without,
}

/// The measurements of a program in a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Did {
    time: Duration,
    /// A counter that is missing in any window is `None`.
    counters: Option<Counters>,
    /// Number of requests by their latency in nanoseconds.
    answered: BTreeMap<u64, u64>,
}

/// A domain's blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Domain {
    /// What the programs did in each block, by its round and what was in force.
    blocks: BTreeMap<(usize, Arm), BTreeMap<AppId, Did>>,
    /// The block that is not over.
    current: Option<(usize, Arm)>,
    objectives: BTreeMap<AppId, Objective>,
    /// Whether the trial is over.
    is_over: bool,
    /// Why it ended early.
    pub(crate) broken: Option<&'static str>,
    /// By policy, what became of its plan.
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) doing: Doing,
    /// When the trial will be over.
    pub(crate) ends_at: Time,
    /// How often programs came or went in blocks.
    others: BTreeMap<AppId, u32>,
}

/// The measurements of all domains.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) domains: BTreeMap<u32, Domain>,
    names: BTreeMap<AppId, String>,
    /// The first policy's name.
    pub(crate) policy: &'static str,
}

/// A quantity of a program that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Measure {
    /// Instructions per cycle.
    Ipc,
    /// Misses of the last-level cache per 1000 instructions.
    Llcmpki,
    /// Bytes from and to memory per second.
    Traffic,
    /// The tail of a service's latencies, in nanoseconds.
    Tail,
}

impl Found {
    fn domain(&mut self, id: u32) -> &mut Domain {
        self.domains.entry(id).or_default()
    }

    pub(super) fn begins(&mut self, id: u32, policies: usize) {
        self.domain(id).attempts = vec![Attempt::default(); policies];
    }

    pub(super) fn does(&mut self, id: u32, doing: Doing, ends_at: Time) {
        let domain = self.domain(id);
        (domain.doing, domain.ends_at) = (doing, ends_at);
    }

    pub(super) fn decided(&mut self, id: u32, policy: usize, attempt: Attempt) {
        if let Some(own) = self.domain(id).attempts.get_mut(policy) {
            *own = attempt;
        }
    }

    /// The plan of this policy is in force, as the machine carried it out.
    pub(super) fn in_force(&mut self, id: u32, policy: usize, actual: &Partition) {
        if let Some(attempt) = self.domain(id).attempts.get_mut(policy) {
            attempt.begins(actual);
        }
    }

    pub(super) fn block(&mut self, id: u32, round: usize, arm: Arm) {
        let domain = self.domain(id);
        domain.blocks.insert((round, arm), BTreeMap::new());
        domain.current = Some((round, arm));
    }

    pub(super) fn ends(&mut self, id: u32, why: Option<&'static str>) {
        let domain = self.domain(id);
        (domain.is_over, domain.broken) = (true, why);
        if why.is_none() {
            domain.current = None;
        }
    }

    pub(super) fn other(&mut self, id: u32, app: AppId) {
        *self.domain(id).others.entry(app).or_default() += 1;
    }

    pub(super) fn named(&mut self, app: AppId, name: &str) {
        self.names.insert(app, name.to_owned());
    }

    /// What a program is or was called.
    pub(crate) fn name(&self, app: AppId) -> String {
        self.names.get(&app).cloned().unwrap_or_else(|| format!("program {}", app.0))
    }

    /// How often programs came or went in blocks; every domain hears of each.
    pub(crate) fn others(&self) -> u32 {
        let mut most: BTreeMap<AppId, u32> = BTreeMap::new();
        for (&app, &times) in self.domains.values().flat_map(|domain| &domain.others) {
            let most = most.entry(app).or_default();
            *most = times.max(*most);
        }
        most.values().sum()
    }

    pub(super) fn objective(&mut self, id: u32, app: AppId, objective: Option<Objective>) {
        self.domain(id).objectives.extend(objective.map(|objective| (app, objective)));
    }

    fn did(&mut self, id: u32, app: AppId) -> Option<&mut Did> {
        let domain = self.domain(id);
        let programs = domain.blocks.get_mut(&domain.current?)?;
        Some(programs.entry(app).or_default())
    }

    pub(super) fn sampled(&mut self, id: u32, sample: &Sample) {
        let Some(did) = self.did(id, sample.app) else { return };
        did.time += sample.window;
        did.counters = Some(match did.counters {
            None => sample.counters,
            Some(before) => sum(before, sample.counters),
        });
    }

    pub(super) fn answered(&mut self, id: u32, latencies: &Latencies) {
        let Some(did) = self.did(id, latencies.app) else { return };
        for answered in &latencies.answered {
            let nanos = u64::try_from(answered.latency.as_nanos()).unwrap_or(u64::MAX);
            *did.answered.entry(nanos).or_default() += answered.requests;
        }
    }

    /// Number of rounds that have begun in any domain.
    pub(crate) fn rounds(&self) -> usize {
        self.domains.values().filter_map(Domain::rounds).max().unwrap_or(0)
    }

    /// Whether the trial is over in every domain.
    pub(crate) fn is_over(&self) -> bool {
        !self.domains.is_empty() && self.domains.values().all(Domain::is_over)
    }
}

/// The sum of the counters of two windows; `None` for a counter that either lacks.
fn sum(one: Counters, other: Counters) -> Counters {
    let add = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
    Counters {
        instructions: add(one.instructions, other.instructions),
        cycles: add(one.cycles, other.cycles),
        llc_misses: add(one.llc_misses, other.llc_misses),
        memory_bytes: add(one.memory_bytes, other.memory_bytes),
        ..Counters::default()
    }
}

impl Domain {
    /// The programs with measurements, in the order of their numbers.
    pub(crate) fn programs(&self) -> Vec<AppId> {
        let mut apps: Vec<AppId> =
            self.blocks.values().flat_map(|programs| programs.keys().copied()).collect();
        apps.sort_unstable();
        apps.dedup();
        apps
    }

    pub(crate) fn objective(&self, app: AppId) -> Option<Objective> {
        self.objectives.get(&app).copied()
    }

    /// What a program did in a block, above nothing; `None` where it was not measured, or the block
    /// is not over.
    fn of(&self, block: (usize, Arm), app: AppId, measure: Measure) -> Option<f64> {
        if self.current == Some(block) {
            return None;
        }
        let did = self.blocks.get(&block)?.get(&app)?;
        let counters = did.counters.unwrap_or_default();
        let ratio = |of: Option<u64>, to: Option<u64>| {
            let (of, to) = (of? as f64, to? as f64);
            (of > 0.0 && to > 0.0).then(|| of / to)
        };
        match measure {
            Measure::Ipc => ratio(counters.instructions, counters.cycles),
            Measure::Llcmpki => {
                ratio(counters.llc_misses, counters.instructions).map(|misses| misses * 1000.0)
            }
            Measure::Traffic => {
                let bytes = counters.memory_bytes.filter(|bytes| *bytes > 0)? as f64;
                (!did.time.is_zero()).then(|| bytes / did.time.as_secs_f64())
            }
            Measure::Tail => tail(&did.answered, self.objective(app)?),
        }
    }

    /// Both values of the pairs of blocks in which a program was measured.
    pub(crate) fn pairs(&self, app: AppId, measure: Measure, arms: [Arm; 2]) -> Vec<(f64, f64)> {
        let rounds = self.rounds().unwrap_or(0);
        self.every_pair(app, measure, arms, rounds).flatten().collect()
    }

    /// Both values of a pair of blocks of each round; `None` where one was not measured.
    pub(crate) fn every_pair(
        &self,
        app: AppId,
        measure: Measure,
        arms: [Arm; 2],
        rounds: usize,
    ) -> impl Iterator<Item = Option<(f64, f64)>> {
        (0..rounds).map(move |round| {
            let [one, other] = arms.map(|arm| self.of((round, arm), app, measure));
            Some((one?, other?))
        })
    }

    /// Number of rounds that have begun; `None` before the first.
    fn rounds(&self) -> Option<usize> {
        self.blocks.keys().map(|(round, _)| round + 1).max()
    }

    /// Whether the policies of these blocks limited programs here.
    pub(crate) fn tries(&self, arms: [Arm; 2]) -> bool {
        arms.iter().all(|arm| match arm {
            Arm::With(policy) => {
                self.attempts.get(*policy).is_some_and(|attempt| attempt.untried.is_none())
            }
            Arm::Without => true,
        })
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }
}

/// The latency that the objective's share of requests does not exceed.
fn tail(answered: &BTreeMap<u64, u64>, objective: Objective) -> Option<f64> {
    let all: u64 = answered.values().sum();
    let rank = objective.percentile.raw() as f64 / 2f64.powi(32) / 100.0 * all as f64;
    let mut so_far = 0;
    answered.iter().find_map(|(&nanos, &requests)| {
        so_far += requests;
        (so_far as f64 >= rank).then_some(nanos as f64)
    })
}
