//! One mix under several policies on the chip.

use std::sync::Arc;
use std::time::Duration;

use fairways_chip::{Account, AfterRun, Chip, ChipError, Job, Settings};
use fairways_core::{Action, Event, Machine, Policy, Profile, Time};
use fairways_exec_policy::descriptor;
use fairways_model::Work;
use fairways_policy::table::KnowledgeSource;
use fairways_profiles::FairnessMetrics;
use rayon::prelude::*;

use super::measure::{Rate, SoloRun, measure_alone, one_by_one_if_live, profile};
use super::observed::ObservedChip;
use super::served::ServiceSummary;
use crate::live::{Activity, WorkMeter, watch};

/// The durations of a mix's run, on the policy's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChipProtocol {
    /// The warm-up, before anything is counted.
    pub warm_up: Duration,
    /// The time in which programs are counted.
    pub span: Duration,
    /// The time to profile a program with one number of ways; half of it is to warm up.
    pub profile: Duration,
    /// Whether policies that learn get profiles too, so that they decide at once.
    pub profiles_known: bool,
}

impl ChipProtocol {
    /// The runs of a comparison: each program alone, and profiled if a policy needs that; stock,
    /// and each policy.
    #[must_use]
    pub fn runs(&self, programs: usize, policies: &[&str]) -> usize {
        let has_profiled = policies.iter().any(|policy| self.receives_profiles(policy));
        programs * (1 + usize::from(has_profiled)) + 1 + policies.len()
    }

    /// Whether a policy gets profiles.
    fn receives_profiles(&self, policy: &str) -> bool {
        descriptor(policy).is_some_and(|policy| {
            policy.knows == KnowledgeSource::Profiles || (self.profiles_known && policy.learns())
        })
    }
}

/// The result of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProgramOutcome {
    /// Its rates.
    pub rate: Rate,
    /// Its occupancy at the end, in ways.
    pub occupancy: f64,
    /// How it answered, if it is a service.
    pub service: Option<ServiceSummary>,
    /// How many times longer its instructions took than alone, if it is a stream or a real program
    /// that got that far alone.
    pub same_work: Option<f64>,
    /// Whether it is a real program that slept for long: for more than 5 % of the time.
    pub slept_long: bool,
}

impl ProgramOutcome {
    /// Whether its slowdown is of the same instructions, where those of the same time may be
    /// others, and does not depend on how busy this machine was.
    #[must_use]
    pub fn is_comparable(&self, alone: &SoloRun) -> bool {
        let slept_long = self.slept_long || alone.slept_long;
        alone.curve.is_none() || (self.same_work.is_some() && !slept_long)
    }

    /// How many times slower it was than alone.
    fn slowdown(&self, alone: &SoloRun) -> f64 {
        if let Some(slowdown) = self.same_work {
            return slowdown;
        }
        if let (Some(alone), Some(here)) = (&alone.service, &self.service) {
            return here.slowdown(alone);
        }
        let (alone, here) = (alone.rate.instructions_per_second, self.rate.instructions_per_second);
        // A program that runs nothing even alone is not slowed down.
        if alone == 0.0 { 1.0 } else { alone / here }
    }
}

/// The result of one policy.
#[derive(Clone, Debug)]
pub struct ChipOutcome {
    /// The policy's name.
    pub policy: &'static str,
    /// The slowdown of each program, in order: the instructions that it ran alone with the whole
    /// cache over those that it ran here in the same time; for a service,
    /// [`ServiceSummary::slowdown`]; for a stream or a real program,
    /// [`ProgramOutcome::same_work`].
    pub slowdowns: Vec<f64>,
    /// The metrics of the slowdowns.
    pub metrics: FairnessMetrics,
    /// The results of the programs.
    pub programs: Vec<ProgramOutcome>,
    /// The policy's activity, from the beginning of the warm-up on.
    pub activity: Activity,
}

/// The results of several policies on one mix.
#[derive(Clone, Debug)]
pub struct ChipComparison {
    /// Each program alone, with the whole cache.
    pub alone: Vec<SoloRun>,
    /// Without partitioning: what the others are compared with.
    pub stock: FairnessMetrics,
    /// Each policy, in the order requested.
    pub outcomes: Vec<ChipOutcome>,
}

/// A chip whose programs' rates alone are known, and their accounts after the warm-up.
struct MeasuredChip<'a> {
    machine: ObservedChip,
    alone: &'a [SoloRun],
    end: Time,
    warm: Option<Vec<Account>>,
}

impl MeasuredChip<'_> {
    fn accounts(&self) -> Vec<Account> {
        (0..self.alone.len()).map(|job| self.machine.chip.account(job)).collect()
    }
}

impl Machine for MeasuredChip<'_> {
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

impl WorkMeter for MeasuredChip<'_> {
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

/// Makes the policy of a name.
pub type PolicyMaker<'a> = &'a (dyn Fn(&str) -> Option<Box<dyn Policy>> + Sync);

/// Runs programs alone, then together under each of these policies, which `make` makes by name.
/// Programs that end start again. `done` is called after each of [`ChipProtocol::runs`] runs.
///
/// # Errors
/// If the chip is not possible, it has too few cores, or a real program fails: [`ChipError`].
pub fn compare_on_chip(
    settings: Settings,
    jobs: &[Job],
    protocol: &ChipProtocol,
    policies: &[&'static str],
    make: PolicyMaker<'_>,
    done: &(dyn Fn() + Sync),
) -> Result<ChipComparison, ChipError> {
    one_by_one_if_live(jobs, || compare(settings, jobs, protocol, policies, make, done))
}

fn compare(
    settings: Settings,
    jobs: &[Job],
    protocol: &ChipProtocol,
    policies: &[&'static str],
    make: PolicyMaker<'_>,
    done: &(dyn Fn() + Sync),
) -> Result<ChipComparison, ChipError> {
    let ChipProtocol { warm_up, span, .. } = *protocol;
    let ways = settings.chip.llc.ways.get();
    let alone = |job: &Job| {
        let alone = measure_alone(settings, job, ways, warm_up, span);
        done();
        alone
    };
    // Checks first that they can run together.
    Chip::new(settings, jobs.iter().cloned())?;
    let alone: Vec<SoloRun> = jobs.par_iter().map(alone).collect::<Result<_, ChipError>>()?;
    let profiles: Vec<Option<Arc<Profile>>> =
        if policies.iter().any(|policy| protocol.receives_profiles(policy)) {
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
        let with_profiles = protocol.receives_profiles(name);
        let mut policy = make(name).expect("a policy's name");
        let jobs = jobs.iter().zip(&profiles).map(|(job, profile)| Job {
            then: AfterRun::Restart,
            profile: profile.clone().filter(|_| with_profiles),
            ..job.clone()
        });
        let outcome = run_together(settings, jobs, protocol, &alone, policy.as_mut());
        done();
        outcome
    };
    let all: Vec<&str> = std::iter::once("stock").chain(policies.iter().copied()).collect();
    let mut outcomes: Vec<ChipOutcome> =
        all.into_par_iter().map(run).collect::<Result<_, ChipError>>()?;
    let stock = outcomes.remove(0).metrics;
    Ok(ChipComparison { alone, stock, outcomes })
}

/// Runs programs together under a policy, whose rates `alone` are known.
pub(crate) fn run_together(
    settings: Settings,
    jobs: impl Iterator<Item = Job>,
    protocol: &ChipProtocol,
    alone: &[SoloRun],
    policy: &mut dyn Policy,
) -> Result<ChipOutcome, ChipError> {
    let warm = Time::ZERO.after(protocol.warm_up);
    let mut machine = ObservedChip::new(settings, jobs)?;
    machine.stop_at(warm);
    let mut worked = MeasuredChip { machine, alone, end: warm.after(protocol.span), warm: None };
    let activity = watch(&mut worked, policy);
    worked.machine.chip.failure().map_or(Ok(()), Err)?;
    let after = worked.accounts();
    let before = worked.warm.take().unwrap_or_default();
    let seconds = protocol.span.as_secs_f64() / f64::from(settings.time_scale);
    let program = |(job, (before, after)): (usize, (&Account, &Account))| {
        let occupancy = worked.machine.chip.occupancy_of(job).raw() as f64 / (1u64 << 32) as f64;
        let service = worked.machine.service_summary(job);
        let same_work = match (&alone[job].curve, &service) {
            (Some(curve), None) => curve.slowdown(before, after, protocol.span),
            _ => None,
        };
        let curve = alone[job].curve.as_ref();
        let slept_long = curve.is_some_and(|curve| curve.slept_long(before, after, protocol.span));
        let rate = Rate::between(before, after, seconds);
        ProgramOutcome { rate, occupancy, service, same_work, slept_long }
    };
    let programs: Vec<ProgramOutcome> =
        before.iter().zip(&after).enumerate().map(program).collect();
    let slowdowns: Vec<f64> =
        alone.iter().zip(&programs).map(|(alone, program)| program.slowdown(alone)).collect();
    let metrics = FairnessMetrics::from_slowdowns(&slowdowns);
    Ok(ChipOutcome { policy: policy.name(), slowdowns, metrics, programs, activity })
}
