//! What programs do at their best, which slowdowns refer to.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use fairways_chip::{Account, Job};
use fairways_core::{NoPolicy, Policy, Time, run};
use fairways_experiments::{ObservedChip, ServiceSummary, WorkCurve, one_by_one_if_live};
use rayon::prelude::*;

use super::{On, Running, SimulatedRun};
use crate::chip;

/// What each program did at its best, for as long as a run took.
pub enum Best {
    /// The machine knows.
    Known,
    /// What each did by itself.
    Alone(Vec<Alone>),
    /// The user had no patience for that.
    Unknown,
}

/// How a program ran alone.
pub struct Alone {
    end: Time,
    instructions: u64,
    served: Option<ServiceSummary>,
    /// How long it took for its instructions, if it is a stream or a real program.
    curve: Option<WorkCurve>,
    slept_long: bool,
}

/// How a program fared.
#[derive(Clone, Copy, Debug)]
pub struct Fare {
    /// How many times slower than at its best it ran; NaN where that is not known.
    pub slowdown: f64,
    /// Whether the slowdown is not of the same instructions, where those of the same time may be
    /// others, or depends on how busy this machine was.
    pub not_comparable: bool,
}

impl Fare {
    fn comparable(slowdown: f64) -> Self {
        Self { slowdown, not_comparable: false }
    }
}

impl Alone {
    /// Runs a job by itself; `None` if it was interrupted before `end`.
    ///
    /// # Errors
    /// If the program can't continue.
    fn new(
        world: &chip::World,
        job: &Job,
        end: Time,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<Self>> {
        let chip = ObservedChip::new(world.settings, [job.clone()]);
        let chip = chip.expect("a chip on which they run together");
        let mut machine = Running::Chip(Box::new(chip));
        let mut curve = WorkCurve::for_job(job, &world.settings);
        let mut note = |machine: &Running, at: Time| {
            if let Some(curve) = &mut curve {
                curve.note(at.since(Time::ZERO), &machine.account(0));
            }
        };
        let ran = run_and_look(&mut machine, &mut NoPolicy, end, stop, &mut note);
        if !ran.context("the run alone")? {
            return Ok(None);
        }
        let slept_long = slept_long(curve.as_ref(), &machine, 0, end);
        let (instructions, served) = (machine.account(0).instructions, machine.served(0));
        Ok(Some(Self { end, instructions, served, curve, slept_long }))
    }

    /// How a job fared on a chip, compared with this.
    fn fare(&self, machine: &Running, job: usize) -> Fare {
        if let (Some(alone), Some(here)) = (self.served, machine.served(job)) {
            return Fare::comparable(here.slowdown(&alone));
        }
        let here = machine.account(job);
        let span = self.end.since(Time::ZERO);
        let curve = self.curve.as_ref();
        let same_work = curve.and_then(|curve| curve.slowdown(&Account::default(), &here, span));
        let slept_long = self.slept_long || slept_long(curve, machine, job, self.end);
        // A program that runs nothing even by itself is not slowed down.
        let in_same_time = match self.instructions {
            0 => 1.0,
            alone => alone as f64 / here.instructions as f64,
        };
        Fare {
            slowdown: same_work.unwrap_or(in_same_time),
            not_comparable: curve.is_some() && (same_work.is_none() || slept_long),
        }
    }
}

fn slept_long(curve: Option<&WorkCurve>, machine: &Running, job: usize, end: Time) -> bool {
    let (from, to) = (Account::default(), machine.account(job));
    curve.is_some_and(|curve| curve.slept_long(&from, &to, end.since(Time::ZERO)))
}

impl Best {
    /// Makes it for a run that ended at `end`. On a chip, this runs every program by itself until
    /// then, or until `stop` is true.
    ///
    /// # Errors
    /// If a program can't continue.
    pub fn new(run: &SimulatedRun, end: Time, stop: &AtomicBool) -> anyhow::Result<Self> {
        match &run.on {
            On::Model { .. } => Ok(Self::Known),
            On::Chip(world) => {
                let jobs = run.chip_jobs();
                let alone = one_by_one_if_live(&jobs, || {
                    let alone = jobs.par_iter().map(|job| Alone::new(world, job, end, stop));
                    alone.collect::<anyhow::Result<Vec<Option<Alone>>>>()
                })?;
                let alone: Option<Vec<Alone>> = alone.into_iter().collect();
                Ok(alone.map_or(Self::Unknown, Self::Alone))
            }
        }
    }

    /// How each program fared.
    pub fn fares(&self, machine: &Running, jobs: usize) -> Vec<Fare> {
        let fare = |job: usize| match (machine, self) {
            (Running::Model(model), _) => {
                let (ran, best) = model.progress(job);
                Fare::comparable(ran / best)
            }
            (Running::Chip(_), Self::Alone(alone)) => alone[job].fare(machine, job),
            (Running::Chip(_), Self::Known | Self::Unknown) => Fare::comparable(f64::NAN),
        };
        (0..jobs).map(fare).collect()
    }

    /// How a service answered alone, if known.
    pub fn served(&self, job: usize) -> Option<ServiceSummary> {
        match self {
            Self::Alone(alone) => alone[job].served,
            Self::Known | Self::Unknown => None,
        }
    }
}

/// How many times in a run to check for an interruption.
const LOOKS: u32 = 50;

/// Runs a machine under a policy; false if it was interrupted before the end.
///
/// # Errors
/// If the machine could not continue.
pub fn run_until(
    machine: &mut Running,
    policy: &mut dyn Policy,
    end: Time,
    stop: &AtomicBool,
) -> anyhow::Result<bool> {
    run_and_look(machine, policy, end, stop, &mut |_, _| ())
}

/// Like [`run_until`], and calls `look_at` with the time now and then.
fn run_and_look(
    machine: &mut Running,
    policy: &mut dyn Policy,
    end: Time,
    stop: &AtomicBool,
    look_at: &mut dyn FnMut(&Running, Time),
) -> anyhow::Result<bool> {
    // The model is fast, and stopping it would cut its steps of time.
    let looks = if matches!(machine, Running::Model(_)) { 1 } else { LOOKS };
    for look in 1..=looks {
        let nanos = u128::from(end.nanos()) * u128::from(look) / u128::from(looks);
        let at = Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        machine.stop_at(at);
        run(machine, policy, &mut []);
        if let Some(why) = machine.failure(machine.now()) {
            return Err(why);
        }
        look_at(machine, at);
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
    }
    Ok(true)
}
