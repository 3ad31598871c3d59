//! What was measured in a trial's blocks.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::{AppId, Counters, Latencies, Objective, Partition, Sample};

/// What is in force in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arm {
    /// The policy's plan.
    With,
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

/// A block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) arm: Arm,
    pub(crate) programs: BTreeMap<AppId, Did>,
}

/// A domain's blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Domain {
    pub(crate) blocks: Vec<Block>,
    objectives: BTreeMap<AppId, Objective>,
    /// Whether the trial is over.
    is_over: bool,
    /// Why it ended early.
    pub(crate) broken: Option<&'static str>,
    /// The policy's plan, which is switched on and off.
    pub(crate) decided: Option<Partition>,
    /// How often programs came or went in blocks.
    others: BTreeMap<AppId, u32>,
}

/// The measurements of all domains.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) domains: BTreeMap<u32, Domain>,
    names: BTreeMap<AppId, String>,
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

    pub(super) fn begins(&mut self, id: u32) {
        self.domain(id);
    }

    pub(super) fn decided(&mut self, id: u32, partition: Option<&Partition>) {
        self.domain(id).decided = partition.cloned();
    }

    pub(super) fn block(&mut self, id: u32, arm: Arm) {
        self.domain(id).blocks.push(Block { arm, programs: BTreeMap::new() });
    }

    pub(super) fn ends(&mut self, id: u32, why: Option<&'static str>) {
        let domain = self.domain(id);
        (domain.is_over, domain.broken) = (true, why);
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
        let block = self.domain(id).blocks.last_mut()?;
        Some(block.programs.entry(app).or_default())
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

    /// Whether the trial is over in every domain.
    pub(crate) fn is_over(&self) -> bool {
        !self.domains.is_empty() && self.domains.values().all(|domain| domain.is_over)
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
            self.blocks.iter().flat_map(|block| block.programs.keys().copied()).collect();
        apps.sort_unstable();
        apps.dedup();
        apps
    }

    pub(crate) fn objective(&self, app: AppId) -> Option<Objective> {
        self.objectives.get(&app).copied()
    }

    /// What a program did in a block, above nothing; `None` where it was not measured.
    fn of(&self, block: usize, app: AppId, measure: Measure) -> Option<f64> {
        let did = self.blocks.get(block)?.programs.get(&app)?;
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

    /// Both values of the pairs of blocks in which a program was measured, with and without.
    pub(crate) fn pairs(&self, app: AppId, measure: Measure) -> Vec<(f64, f64)> {
        self.every_pair(app, measure).flatten().collect()
    }

    /// Both values of each pair of blocks; `None` where one was not measured.
    pub(crate) fn every_pair(
        &self,
        app: AppId,
        measure: Measure,
    ) -> impl Iterator<Item = Option<(f64, f64)>> {
        let pair = move |first: usize| {
            let (one, other) = (self.of(first, app, measure)?, self.of(first + 1, app, measure)?);
            match self.blocks[first].arm {
                Arm::With => Some((one, other)),
                Arm::Without => Some((other, one)),
            }
        };
        (0..self.whole()).step_by(2).map(pair)
    }

    /// How many blocks make whole pairs: the last one may not be over.
    fn whole(&self) -> usize {
        let over = if self.is_over && self.broken.is_none() {
            self.blocks.len()
        } else {
            self.blocks.len().saturating_sub(1)
        };
        over / 2 * 2
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
