//! One mix under several policies on the chip.

use std::sync::Arc;
use std::time::Duration;

use fairways_chip::{Account, AfterRun, Chip, ChipError, Job, Settings};
use fairways_core::{Action, Event, Machine, Policy, Profile, Time};
use fairways_model::Work;
use fairways_policy::table::KnowledgeSource;
use fairways_policy::{by_name, descriptor};
use fairways_profiles::FairnessMetrics;
use rayon::prelude::*;

use super::measure::{Alone, Rate, measure_alone, profile, with_room_for};
use super::observed::Observed;
use super::served::Served;
use crate::live::{Activity, Working, watch};

/// How long a mix runs, on the policy's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChipProtocol {
    /// Before anything is counted.
    pub warm_up: Duration,
    /// While it is.
    pub span: Duration,
    /// For each number of ways, where a program is profiled: half of it is to warm up.
    pub profile: Duration,
    /// Whether policies that learn are told profiles too: then they decide at once.
    pub known: bool,
}

impl ChipProtocol {
    /// How many runs a comparison takes: each program by itself, and profiled where a policy is to be told;
    /// stock, and each policy.
    #[must_use]
    pub fn runs(&self, programs: usize, policies: &[&str]) -> usize {
        let told = policies.iter().any(|policy| self.tells(policy));
        programs * (1 + usize::from(told)) + 1 + policies.len()
    }

    /// Whether a policy is told profiles.
    fn tells(&self, policy: &str) -> bool {
        descriptor(policy).is_some_and(|policy| {
            policy.knows == KnowledgeSource::Profiles || (self.known && policy.learns())
        })
    }
}

/// How a program fared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fare {
    /// What it did.
    pub rate: Rate,
    /// The ways' worth of lines that it held in the end.
    pub occupancy: f64,
    /// How it answered, if it is a service.
    pub served: Option<Served>,
}

impl Fare {
    /// How many times slower than by itself.
    fn slowdown(&self, alone: &Alone) -> f64 {
        if let (Some(alone), Some(here)) = (&alone.served, &self.served) {
            return here.slowdown(alone);
        }
        let (alone, here) = (alone.rate.instructions_per_second, self.rate.instructions_per_second);
        // One that runs nothing even by itself is not slowed down.
        if alone == 0.0 { 1.0 } else { alone / here }
    }
}

/// How one policy did.
#[derive(Clone, Debug)]
pub struct ChipOutcome {
    /// The policy's name.
    pub policy: &'static str,
    /// The slowdown of each program, in order: the instructions that it ran by itself with the whole
    /// cache in the same time, over those that it ran here; of a service, [`Served::slowdown`].
    pub slowdowns: Vec<f64>,
    /// What they sum up to.
    pub metrics: FairnessMetrics,
    /// What each program did.
    pub fares: Vec<Fare>,
    /// What the policy did, from the beginning of the warm-up on.
    pub activity: Activity,
}

/// How several policies did on one mix.
#[derive(Clone, Debug)]
pub struct ChipComparison {
    /// Each program by itself, with the whole cache.
    pub alone: Vec<Alone>,
    /// Without partitioning: what the others are compared against.
    pub stock: FairnessMetrics,
    /// Each policy, in the order asked for.
    pub outcomes: Vec<ChipOutcome>,
}

/// A chip whose programs' work is known, and what they had counted after the warm-up.
struct Worked<'a> {
    machine: Observed,
    alone: &'a [Alone],
    end: Time,
    warm: Option<Vec<Account>>,
}

impl Worked<'_> {
    fn accounts(&self) -> Vec<Account> {
        (0..self.alone.len()).map(|job| self.machine.chip.account(job)).collect()
    }
}

impl Machine for Worked<'_> {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        let event = self.machine.next_event();
        if event.is_some() || self.warm.is_some() {
            return event;
        }
        self.warm = Some(self.accounts());
        self.machine.forget();
        self.machine.stop_at(self.end);
        self.machine.next_event()
    }

    fn carry_out(&mut self, action: Action<'_>) {
        self.machine.carry_out(action);
    }
}

impl Working for Worked<'_> {
    fn work(&self) -> Work {
        let each = self.alone.iter().enumerate().map(|(job, alone)| {
            let instructions = self.machine.chip.account(job).instructions as f64;
            let at_best = instructions / alone.rate.instructions_per_second;
            Work { instructions, at_best: if at_best.is_finite() { at_best } else { 0.0 } }
        });
        each.fold(Work::default(), |sum, one| Work {
            instructions: sum.instructions + one.instructions,
            at_best: sum.at_best + one.at_best,
        })
    }

    fn now(&self) -> Time {
        self.machine.chip.now()
    }
}

/// Runs programs by themselves, then together under each of these policies, by name. Programs that end start
/// again. `done` hears of each run that has ended: of [`ChipProtocol::runs`].
///
/// # Errors
/// If there can't be such a chip, it has too few cores, or a real program fails: [`ChipError`].
pub fn compare_on_chip(
    settings: Settings,
    jobs: &[Job],
    protocol: &ChipProtocol,
    policies: &[&'static str],
    done: &(dyn Fn() + Sync),
) -> Result<ChipComparison, ChipError> {
    with_room_for(jobs, || compare(settings, jobs, protocol, policies, done))
}

fn compare(
    settings: Settings,
    jobs: &[Job],
    protocol: &ChipProtocol,
    policies: &[&'static str],
    done: &(dyn Fn() + Sync),
) -> Result<ChipComparison, ChipError> {
    let ChipProtocol { warm_up, span, .. } = *protocol;
    let ways = settings.chip.llc.ways.get();
    let alone = |job: &Job| {
        let alone = measure_alone(settings, job, ways, warm_up, span);
        done();
        alone
    };
    // First whether they can run together at all.
    Chip::new(settings, jobs.iter().cloned())?;
    let alone: Vec<Alone> = jobs.par_iter().map(alone).collect::<Result<_, ChipError>>()?;
    let told = |policy: &str| protocol.tells(policy);
    let profiles: Vec<Option<Arc<Profile>>> = if policies.iter().any(|policy| told(policy)) {
        let half = protocol.profile / 2;
        let profiled = jobs.par_iter().map(|job| {
            let profile = profile(settings, job, half, half)?;
            done();
            Ok(Some(Arc::new(profile)))
        });
        profiled.collect::<Result<_, ChipError>>()?
    } else {
        vec![None; jobs.len()]
    };
    let run = |name: &str| {
        let told = told(name);
        let mut policy = by_name(name).expect("a policy's name");
        let jobs = jobs.iter().zip(&profiles).map(|(job, profile)| Job {
            then: AfterRun::Restart,
            profile: profile.clone().filter(|_| told),
            ..job.clone()
        });
        let outcome = together(settings, jobs, protocol, &alone, policy.as_mut());
        done();
        outcome
    };
    let all: Vec<&str> = std::iter::once("stock").chain(policies.iter().copied()).collect();
    let mut outcomes: Vec<ChipOutcome> =
        all.into_par_iter().map(run).collect::<Result<_, ChipError>>()?;
    let stock = outcomes.remove(0).metrics;
    Ok(ChipComparison { alone, stock, outcomes })
}

fn together(
    settings: Settings,
    jobs: impl Iterator<Item = Job>,
    protocol: &ChipProtocol,
    alone: &[Alone],
    policy: &mut dyn Policy,
) -> Result<ChipOutcome, ChipError> {
    let warm = Time::ZERO.after(protocol.warm_up);
    let mut machine = Observed::new(settings, jobs)?;
    machine.stop_at(warm);
    let mut worked = Worked { machine, alone, end: warm.after(protocol.span), warm: None };
    let activity = watch(&mut worked, policy, |_, _, _, _| ());
    worked.machine.chip.failure().map_or(Ok(()), Err)?;
    let after = worked.accounts();
    let before = worked.warm.take().unwrap_or_default();
    let seconds = protocol.span.as_secs_f64() / f64::from(settings.time_scale);
    let fare = |(job, (before, after)): (usize, (&Account, &Account))| {
        let occupancy = worked.machine.chip.occupancy_of(job).raw() as f64 / (1u64 << 32) as f64;
        let served = worked.machine.served(job);
        Fare { rate: Rate::between(before, after, seconds), occupancy, served }
    };
    let fares: Vec<Fare> = before.iter().zip(&after).enumerate().map(fare).collect();
    let slowdown = |(alone, fare): (&Alone, &Fare)| fare.slowdown(alone);
    let slowdowns: Vec<f64> = alone.iter().zip(&fares).map(slowdown).collect();
    let metrics = FairnessMetrics::from_slowdowns(&slowdowns);
    Ok(ChipOutcome { policy: policy.name(), slowdowns, metrics, fares, activity })
}
