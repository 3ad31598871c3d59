//! What programs do at their best, which slowdowns refer to.

use std::sync::atomic::{AtomicBool, Ordering};

use fairways_core::{Action, Event, Policy, Time, run};
use fairways_lab::{ObservedChip, ServiceSummary};
use rayon::prelude::*;

use super::machine::Running;
use super::simulated::{On, SimulatedRun};

/// What each program did at its best, for as long as a run took.
pub(super) enum Best {
    /// The machine knows.
    Known,
    /// What each did by itself.
    Alone(Vec<Alone>),
    /// The user had no patience for that.
    Unknown,
}

/// How a program ran alone.
pub(super) struct Alone {
    instructions: u64,
    served: Option<ServiceSummary>,
}

impl Best {
    /// Makes it for a run that ended at `end`. On a chip, this runs every program by itself until
    /// then, or until `stop` is true.
    pub(super) fn new(run: &SimulatedRun, end: Time, stop: &AtomicBool) -> Self {
        match &run.on {
            On::Model { .. } => Self::Known,
            On::Chip(world) => {
                let alone = |job: &fairways_chip::Job| {
                    let chip = ObservedChip::new(world.settings, [job.clone()]);
                    let chip = chip.expect("a chip on which they run together");
                    let mut machine = Running::Chip(Box::new(chip));
                    run_until(&mut machine, &mut Nothing, end, stop).then(|| Alone {
                        instructions: machine.instructions(0),
                        served: machine.served(0),
                    })
                };
                let jobs = run.chip_jobs();
                let alone = jobs.par_iter().map(alone).collect::<Option<Vec<Alone>>>();
                alone.map_or(Self::Unknown, Self::Alone)
            }
        }
    }

    /// How many times slower than at its best each program ran; NaN where that is not known.
    pub(super) fn slowdowns(&self, machine: &Running, jobs: usize) -> Vec<f64> {
        let slowdown = |job: usize| match (machine, self) {
            (Running::Model(model), _) => {
                let (ran, best) = model.progress(job);
                ran / best
            }
            (Running::Chip(_), Self::Alone(alone)) => {
                if let (Some(alone), Some(here)) = (alone[job].served, machine.served(job)) {
                    return here.slowdown(&alone);
                }
                // One that runs nothing even by itself is not slowed down.
                let (alone, here) = (alone[job].instructions, machine.instructions(job));
                if alone == 0 { 1.0 } else { alone as f64 / here as f64 }
            }
            (Running::Chip(_), Self::Known | Self::Unknown) => f64::NAN,
        };
        (0..jobs).map(slowdown).collect()
    }

    /// How a service answered alone, if known.
    pub(super) fn served(&self, job: usize) -> Option<ServiceSummary> {
        match self {
            Self::Alone(alone) => alone[job].served,
            Self::Known | Self::Unknown => None,
        }
    }
}

/// How many times in a run to check for an interruption.
const LOOKS: u32 = 50;

/// Runs a machine under a policy; false if it was interrupted before the end.
pub(super) fn run_until(
    machine: &mut Running,
    policy: &mut dyn Policy,
    end: Time,
    stop: &AtomicBool,
) -> bool {
    // The model is fast, and stopping it would cut its steps of time.
    let looks = if matches!(machine, Running::Model(_)) { 1 } else { LOOKS };
    for look in 1..=looks {
        let nanos = u128::from(end.nanos()) * u128::from(look) / u128::from(looks);
        machine.stop_at(Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)));
        run(machine, policy);
        if stop.load(Ordering::Relaxed) {
            return false;
        }
    }
    true
}

/// A policy that does nothing.
struct Nothing;

impl Policy for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }

    fn handle(&mut self, _: Time, _: &Event, _: &mut dyn FnMut(Action<'_>)) {}
}
