//! `dunn`: clusters of programs that stall equally much, in partitions that overlap (Selfa,
//! Sahuquillo, Eeckhout, Petit and Gomez, PACT 2017; LFOC §2.3.2).
//!
//! The aim is fairness. A program that stalls much for memory is harmed most by a lack of cache, so
//! it should get more of it. The measure of a program is the share of its cycles that it stalls
//! while an L2 miss is outstanding, which a single counter shows.
//!
//! 1. Every half second, programs are clustered by that share with k-means (`kmeans.rs`). The
//!    number of clusters is the one with the best index: how far the clusters are apart, over how
//!    wide they are.
//! 2. The cluster that stalls most gets the whole cache. The others get fewer ways the less they
//!    stall, by an exponential model (`ways.rs`).
//! 3. Partitions **overlap**: they are laid from one end of the cache and the other in turn. So
//!    clusters that stall less share their ways with the first one, which has some ways to itself.
//!
//! A streaming program and a sensitive one may stall equally much, and then share a cluster; LFOC's
//! authors criticise that (§5.1).
//!
//! docs/decisions.md settles what the published code leaves open, and where it differs from its
//! description.

mod kmeans;
mod ways;

#[cfg(test)]
mod tests;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{
    Action, AppId, Counter, Event, Llc, Partition, Policy, Q32, Sample, Time, WayMask, WindowLength,
};

use crate::announce::{self, Announcer};
use crate::parameter::{MILLISECOND, parameters};
use crate::program::RunningProgram;
use crate::running::{Change, RunningPrograms, leave_unpartitioned};
use crate::table::{Descriptor, KnowledgeSource, PolicyNeed, make};
use crate::words;
use kmeans::Runs;
use ways::ways_for;

parameters! {
    /// The parameters of Dunn.
    pub struct Parameters {
        /// How often programs are clustered, and the length of a window.
        decision_period: Duration = Duration::from_millis(500), "", "LFOC §5.2", least MILLISECOND;

        /// Whether the number of clusters is the one with the largest index, which is what Dunn's
        /// index means; the published code takes the smallest.
        textbook_index: bool = false, "", "the index; the published code";

        /// Whether programs are clustered by the stalls of their last window alone; the published
        /// manager adds up all windows since a program started.
        last_window: bool = false, "", "ours; the published manager adds up (decision 6)";
    }
}

/// `dunn`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    paper: "Selfa, Sahuquillo, Eeckhout, Petit and Gomez, PACT 2017",
    knows: KnowledgeSource::Counters,
    counters: &[Counter::Cycles, Counter::StallsL2Miss],
    needs: &[PolicyNeed::Counter(Counter::Cycles), PolicyNeed::Counter(Counter::StallsL2Miss)],
    ..Descriptor::new::<Parameters>(
        "dunn",
        "programs clustered by their stalls, in partitions that overlap",
        &|settings| make(Parameters::default(), Dunn::new, settings),
    )
};

/// The `dunn` policy.
#[derive(Clone, Debug, Default)]
pub struct Dunn {
    parameters: Parameters,
    running: RunningPrograms,
    readings: BTreeMap<AppId, StallReading>,
    has_alarm: bool,
    /// Whether the last plan is not in force, or the programs have changed.
    is_overdue: bool,
}

/// The counters of a program since it started.
#[derive(Clone, Copy, Debug, Default)]
struct StallReading {
    cycles: u64,
    stalls: u64,
}

impl Dunn {
    /// The policy with these parameters; [`Parameters::default`] is what was published.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, ..Self::default() }
    }

    fn sampled(&mut self, sample: &Sample) {
        let reading = self.readings.get_mut(&sample.app);
        let counters = &sample.counters;
        let (Some(reading), Some(cycles), Some(stalls)) =
            (reading, counters.cycles, counters.stalls_l2_miss)
        else {
            return;
        };
        if self.parameters.last_window {
            (reading.cycles, reading.stalls) = (0, 0);
        }
        reading.cycles = reading.cycles.saturating_add(cycles);
        reading.stalls = reading.stalls.saturating_add(stalls);
    }

    fn follow(&mut self, at: Time, change: Change, act: &mut dyn FnMut(Action<'_>)) {
        match change {
            Change::Machine | Change::Wish { .. } => {}
            Change::Started => {
                let Some(program) = self.running.programs().last() else { return };
                if program.profile.is_none() {
                    let app = program.app;
                    self.readings.insert(app, StallReading::default());
                    let every = WindowLength::Time(self.parameters.decision_period);
                    act(Action::Watch { app, every });
                    if !self.has_alarm {
                        self.has_alarm = true;
                        act(Action::Wake { at: at.after(self.parameters.decision_period) });
                    }
                }
            }
            Change::Exited(app) => _ = self.readings.remove(&app),
        }
    }

    /// Makes a plan, if its partition differs from the one in force.
    fn plan(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Some(llc) = self.running.llc() else { return };
        let mut next = Partition::default();
        let programs = self.running.programs();
        let reason = cluster(&self.parameters, &llc, programs, &self.readings, &mut next);
        if core::mem::take(&mut self.is_overdue) || next != *self.running.partition() {
            let readings = &self.readings;
            self.running.plan(act, |_, programs, partition, announcer| {
                *partition = next;
                announce(programs, readings, partition, announcer);
                reason
            });
        }
    }
}

impl Policy for Dunn {
    fn name(&self) -> &'static str {
        "dunn"
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        match event {
            Event::Sampled(sample) => self.sampled(sample),
            Event::Woke => {
                self.has_alarm = !self.readings.is_empty();
                if self.has_alarm {
                    act(Action::Wake { at: at.after(self.parameters.decision_period) });
                    self.plan(act);
                }
            }
            Event::Refused { .. } => self.is_overdue = true,
            Event::Applied { .. }
            | Event::Cpus(_)
            | Event::Wished { .. }
            | Event::Latency(_)
            | Event::RanTogether(_)
            | Event::QuantumGiven(_) => {}
            Event::Machine(_) | Event::Started { .. } | Event::Exited { .. } => {
                let Some(change) = self.running.update(event) else { return };
                self.follow(at, change, act);
                self.is_overdue = true;
                self.plan(act);
            }
        }
    }
}

/// The share of its cycles that a program stalls; `None` if nothing was read.
fn stalls(program: &RunningProgram, readings: &BTreeMap<AppId, StallReading>) -> Option<Q32> {
    if let Some(profile) = &program.profile {
        return Some(profile.stalls_l2_miss.at(1).min(Q32::ONE));
    }
    let StallReading { cycles, stalls } = *readings.get(&program.app)?;
    (cycles > 0).then(|| Q32::ratio(stalls.min(cycles), cycles))
}

/// Announces each program's cluster, and the stalls that decided it.
fn announce(
    programs: &[RunningProgram],
    readings: &BTreeMap<AppId, StallReading>,
    partition: &Partition,
    announcer: &mut Announcer<'_>,
) {
    let is_whole = partition.clusters().len() < 2;
    let placements = partition.placements().iter();
    let clusters: BTreeMap<AppId, u32> = placements.map(|of| (of.app, of.cluster)).collect();
    for program in programs {
        let app = program.app;
        let Some(&cluster) = clusters.get(&app) else { continue };
        let Some(stalls) = stalls(program, readings) else {
            announcer.announce_class(app, "unknown", "no reading yet: it may fill every way");
            continue;
        };
        let reason = match cluster {
            _ if is_whole => "fewer than two different readings",
            0 => "in the cluster that stalls most, with every way",
            _ => "in a cluster that stalls less, with fewer ways",
        };
        announcer.announce_class(app, announce::cluster_name(cluster), reason);
        announcer.announce_numbers(app, [words::STALLS], [announce::raw(stalls)]);
    }
}

fn cluster(
    parameters: &Parameters,
    llc: &Llc,
    programs: &[RunningProgram],
    readings: &BTreeMap<AppId, StallReading>,
    partition: &mut Partition,
) -> &'static str {
    let (mut known, mut unknown) = (Vec::<(Q32, AppId)>::new(), Vec::new());
    for program in programs {
        match stalls(program, readings) {
            Some(stalls) => known.push((stalls, program.app)),
            None => unknown.push(program.app),
        }
    }
    known.sort_unstable();
    let values: Vec<Q32> = known.iter().map(|(stalls, _)| *stalls).collect();
    let different = 1 + values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let most = different.min(llc.clos as usize);
    if known.len() < 2 || most < 2 {
        leave_unpartitioned(llc, programs, partition);
        return "fewer than two different readings: one cluster with every way";
    }
    let runs = best_runs(&values, most, parameters.textbook_index);
    let top = &values[runs[runs.len() - 1].0..];
    // The cluster that stalls most comes first, and has the whole cache.
    for (place, run) in runs.iter().rev().enumerate() {
        let members = &values[run.0..run.1];
        // The ratio of their means, as a fraction.
        let part = sum(members) * top.len() as u128;
        let whole = sum(top) * members.len() as u128;
        let ways = ways_for(part, whole, llc.ways.get()).max(llc.min_ways());
        let first = if place % 2 == 0 { 0 } else { llc.ways.get() - ways };
        let cluster = partition.add_cluster(WayMask::span(first, ways));
        partition.place_all(known[run.0..run.1].iter().map(|(_, app)| *app), cluster..=cluster);
    }
    partition.place_all(unknown, 0..=0);
    "clusters by stalls, each from one end of the cache and the fewer ways the less it stalls"
}

/// Cuts sorted numbers into runs, as many as the index decides and at most `most`, which is 2 or
/// more.
fn best_runs(values: &[Q32], most: usize, textbook: bool) -> Vec<(usize, usize)> {
    let all = Runs::new(values, most);
    // Two programs are a cluster each; more programs have at least one cluster less than programs.
    let most = if values.len() == 2 { 2 } else { most.min(values.len() - 1) };
    let mut best = None;
    for k in 2..=most {
        let runs = all.cut(k);
        let apart = runs.windows(2).map(|pair| distance(values, pair[0].1 - 1, pair[1].0)).min();
        let across = runs.iter().map(|&(begin, end)| distance(values, begin, end - 1)).max();
        let index = Index { apart: apart.unwrap_or(0), across: across.unwrap_or(0) };
        let is_better =
            best.is_none_or(
                |(known, _): (Index, usize)| {
                    if textbook { known.is_less(index) } else { index.is_less(known) }
                },
            );
        if is_better {
            best = Some((index, k));
        }
    }
    all.cut(best.map_or(most, |(_, k)| k))
}

/// Dunn's index as a fraction: the least distance between runs, over the greatest within a run.
#[derive(Clone, Copy)]
struct Index {
    apart: u128,
    across: u128,
}

impl Index {
    /// Whether it is smaller. A distance of 0 within runs makes an index infinite.
    fn is_less(self, other: Self) -> bool {
        match (self.across, other.across) {
            (0, _) => false,
            (_, 0) => true,
            _ => self.apart * other.across < other.apart * self.across,
        }
    }
}

/// The distance between two of these sorted numbers, the lower one first.
fn distance(values: &[Q32], low: usize, high: usize) -> u128 {
    u128::from(values[high].raw()) - u128::from(values[low].raw())
}

fn sum(values: &[Q32]) -> u128 {
    values.iter().map(|value| u128::from(value.raw())).sum()
}
