//! `dunn`: clusters of programs that wait alike for what misses the L2 (Selfa, Sahuquillo, Eeckhout,
//! Petit and Gomez, PACT 2017; LFOC §2.3.2).
//!
//! Programs are clustered by the share of their cycles that they stall while an L2 miss is
//! outstanding, by k-means (`kmeans.rs`); how many clusters there are is decided by an index. The
//! cluster that stalls most gets the whole cache, the others the fewer ways the less they stall
//! (`ways.rs`), from one end of the cache and the other in turn: partitions **overlap**. What
//! streams and what is sensitive may stall alike, and then shares a cluster; that is what LFOC's
//! authors hold against it (§5.1).
//!
//! What the published code leaves open, and where it differs from what it says it does, is settled in
//! docs/decisions.md.

mod kmeans;
mod ways;

#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{
    Action, AppId, Event, Llc, Partition, Policy, Q32, Sample, Time, WayMask, WindowLength,
};

use crate::parameter::{MILLISECOND, parameters};
use crate::program::Program;
use crate::running::{Change, Running, everybody};
use crate::table::{Descriptor, Knows, make};
use crate::telling::{self, Teller};
use crate::words;
use kmeans::Runs;
use ways::ways_for;

parameters! {
    /// The parameters of Dunn.
    pub struct Parameters {
        /// How often programs are clustered anew, and how long a window is.
        decision_period: Duration = Duration::from_millis(500), "", "LFOC §5.2", least MILLISECOND;

        /// Whether the number of clusters is that with the largest index, as Dunn's index is meant;
        /// the published code takes the smallest.
        textbook_index: bool = false, "", "the index; the published code";

        /// Whether programs are clustered by the stalls of their last window alone; the published
        /// manager adds up all since a program started.
        last_window: bool = false, "", "ours; the published manager adds up (decision 6)";
    }
}

/// `dunn`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    paper: "Selfa, Sahuquillo, Eeckhout, Petit and Gomez, PACT 2017",
    knows: Knows::Counters,
    ..Descriptor::new::<Parameters>(
        "dunn",
        "programs clustered by their stalls, in partitions that overlap",
        |given| make(Parameters::default(), Dunn::new, given),
    )
};

/// The `dunn` policy.
#[derive(Clone, Debug, Default)]
pub struct Dunn {
    parameters: Parameters,
    running: Running,
    readings: Vec<Reading>,
    awake: bool,
    /// Whether the last plan is not in force, or there are other programs.
    overdue: bool,
}

/// What was read of a program since it started.
#[derive(Clone, Copy, Debug)]
struct Reading {
    app: AppId,
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
        let reading = self.readings.iter_mut().find(|reading| reading.app == sample.app);
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
            Change::Machine | Change::Wished { .. } => {}
            Change::Started => {
                let Some(program) = self.running.programs().last() else { return };
                if program.profile.is_none() {
                    let app = program.app;
                    self.readings.push(Reading { app, cycles: 0, stalls: 0 });
                    let every = WindowLength::Time(self.parameters.decision_period);
                    act(Action::Watch { app, every });
                    if !self.awake {
                        self.awake = true;
                        act(Action::Wake { at: at.after(self.parameters.decision_period) });
                    }
                }
            }
            Change::Exited(app) => self.readings.retain(|reading| reading.app != app),
        }
    }

    /// Plans anew, if that gives another partition than the one in force.
    fn plan(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Some(llc) = self.running.llc() else { return };
        let mut next = Partition::default();
        let programs = self.running.programs();
        let reason = cluster(&self.parameters, &llc, programs, &self.readings, &mut next);
        if core::mem::take(&mut self.overdue) || next != *self.running.partition() {
            let readings = &self.readings;
            self.running.plan(act, |_, programs, partition, teller| {
                *partition = next;
                tell(programs, readings, partition, teller);
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
                self.awake = !self.readings.is_empty();
                if self.awake {
                    act(Action::Wake { at: at.after(self.parameters.decision_period) });
                    self.plan(act);
                }
            }
            Event::Refused { .. } => self.overdue = true,
            Event::Applied { .. }
            | Event::Cpus(_)
            | Event::Wished { .. }
            | Event::Latency(_)
            | Event::RanTogether(_)
            | Event::QuantumGiven(_) => {}
            Event::Machine(_) | Event::Started { .. } | Event::Exited { .. } => {
                let Some(change) = self.running.take(event) else { return };
                self.follow(at, change, act);
                self.overdue = true;
                self.plan(act);
            }
        }
    }
}

/// The share of its cycles that a program stalls; `None` if nothing was read of it.
fn stalls(program: &Program, readings: &[Reading]) -> Option<Q32> {
    if let Some(profile) = &program.profile {
        return Some(profile.stalls_l2_miss.at(1).min(Q32::ONE));
    }
    let reading = readings.iter().find(|reading| reading.app == program.app)?;
    let Reading { cycles, stalls, .. } = *reading;
    (cycles > 0).then(|| Q32::ratio(stalls.min(cycles), cycles))
}

/// Tells by what each program was clustered, and where it came.
fn tell(
    programs: &[Program],
    readings: &[Reading],
    partition: &Partition,
    teller: &mut Teller<'_>,
) {
    let whole = partition.clusters().len() < 2;
    for program in programs {
        let place = partition.placements().iter().find(|place| place.app == program.app);
        let (Some(place), app) = (place, program.app) else { continue };
        let Some(stalls) = stalls(program, readings) else {
            teller.class(app, "unknown", "no reading yet: it may fill every way");
            continue;
        };
        let reason = match place.cluster {
            _ if whole => "fewer than two different readings",
            0 => "in the cluster that stalls most, with every way",
            _ => "in a cluster that stalls less, with fewer ways",
        };
        teller.class(app, telling::cluster(place.cluster), reason);
        teller.numbers(app, [words::STALLS], [telling::raw(stalls)]);
    }
}

fn cluster(
    parameters: &Parameters,
    llc: &Llc,
    programs: &[Program],
    readings: &[Reading],
    partition: &mut Partition,
) -> &'static str {
    let read = |program: &Program| Some((stalls(program, readings)?, program.app));
    let mut known: Vec<(Q32, AppId)> = programs.iter().filter_map(read).collect();
    known.sort_unstable();
    let values: Vec<Q32> = known.iter().map(|(stalls, _)| *stalls).collect();
    let different = 1 + values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let most = different.min(llc.clos as usize);
    if known.len() < 2 || most < 2 {
        everybody(llc, programs, partition);
        return "fewer than two different readings: the whole cache for everybody";
    }
    let runs = best_runs(&values, most, parameters.textbook_index);
    let sum = |&(begin, end): &(usize, usize)| {
        values[begin..end].iter().map(|value| u128::from(value.raw())).sum::<u128>()
    };
    let count = |&(begin, end): &(usize, usize)| (end - begin) as u128;
    let top = runs[runs.len() - 1];
    // Whoever stalls most comes first, and has the whole cache.
    for (place, run) in runs.iter().rev().enumerate() {
        let (part, whole) = (sum(run) * count(&top), sum(&top) * count(run));
        let ways = ways_for(part, whole, llc.ways.get()).max(llc.min_ways());
        let first = if place % 2 == 0 { 0 } else { llc.ways.get() - ways };
        let cluster = partition.add_cluster(WayMask::span(first, ways));
        partition.place_all(known[run.0..run.1].iter().map(|(_, app)| *app), cluster..=cluster);
    }
    let unknown = programs.iter().filter(|program| read(program).is_none());
    partition.place_all(unknown.map(|program| program.app), 0..=0);
    "clusters by stalls, each from one end of the cache and the fewer ways the less it stalls"
}

/// Runs of numbers in order, as many as the index says and at most `most`, which is 2 or more.
fn best_runs(values: &[Q32], most: usize, textbook: bool) -> Vec<(usize, usize)> {
    let found = Runs::new(values, most);
    // Two programs are a cluster each; of more, no more clusters than one less.
    let most = if values.len() == 2 { 2 } else { most.min(values.len() - 1) };
    let mut best = None;
    for k in 2..=most {
        let runs = found.of(k);
        let raw = |index: usize| u128::from(values[index].raw());
        let apart = runs.windows(2).map(|pair| raw(pair[1].0) - raw(pair[0].1 - 1)).min();
        let across = runs.iter().map(|&(begin, end)| raw(end - 1) - raw(begin)).max();
        let index = (apart.unwrap_or(0), across.unwrap_or(0));
        // Nothing apart within clusters is an endless index.
        let less = |a: (u128, u128), b: (u128, u128)| match (a.1, b.1) {
            (0, _) => false,
            (_, 0) => true,
            _ => a.0 * b.1 < b.0 * a.1,
        };
        let better =
            best.is_none_or(
                |(known, _)| {
                    if textbook { less(known, index) } else { less(index, known) }
                },
            );
        if better {
            best = Some((index, k));
        }
    }
    found.of(best.map_or(most, |(_, k)| k))
}
