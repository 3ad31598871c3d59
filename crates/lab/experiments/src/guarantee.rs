//! Checks the guarantee of a baseline: compares a policy with `static` by the speed of the same
//! work beside the same neighbours.

use std::sync::Arc;
use std::time::Duration;

use fairways_chip::{Chip, ChipError, PhaseLength};
use fairways_core::{Machine, Policy, Time, Ways, Wish, run};
use fairways_model::{Model, Work};
use fairways_policy::by_name;
use fairways_profiles::{ProfileMetric, ProfileTable, ProfiledProgram};
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;

use crate::draw::pick;

/// The work of a workload by equal steps of time, from 0 on: instructions.
pub type Progress = Vec<f64>;

/// A machine that runs step by step.
pub trait SteppedMachine: Machine {
    /// Ends the events after this time, until another end is set.
    fn stop(&mut self, at: Time);

    /// The instructions that a job has run.
    fn instructions(&self, job: usize) -> f64;
}

impl SteppedMachine for Model {
    fn stop(&mut self, at: Time) {
        self.stop_at(at);
    }

    fn instructions(&self, job: usize) -> f64 {
        let Work { instructions, .. } = self.work_of(job);
        instructions
    }
}

impl SteppedMachine for Chip {
    fn stop(&mut self, at: Time) {
        self.stop_at(at);
    }

    fn instructions(&self, job: usize) -> f64 {
        self.account(job).instructions as f64
    }
}

/// The progress of `jobs` jobs on a machine under a policy.
pub fn progress(
    machine: &mut dyn SteppedMachine,
    policy: &mut dyn Policy,
    jobs: usize,
    step: Duration,
    steps: u32,
) -> Vec<Progress> {
    let mut all = vec![vec![0.0]; jobs];
    for end in 1..=steps {
        machine.stop(Time::ZERO.after(step * end));
        run(machine, policy, &mut []);
        for (job, line) in all.iter_mut().enumerate() {
            line.push(machine.instructions(job));
        }
    }
    all
}

/// How a guarantee was kept in one run of one workload, which never idles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PromiseOutcome {
    /// Rounds after the one of its start for which the duration of the work with the baseline is
    /// known.
    pub rounds: u32,
    /// Rounds among them in which the work took longer than it may.
    pub below: u32,
    /// The most of these in a row.
    pub longest_run: u32,
    /// The largest loss of a round, as a share of the speed with the baseline, 0 to 1.
    pub worst: f64,
}

/// Compares a workload's progress in steps of a round with that under its baseline, in steps `fine`
/// times as short. Each round is compared by the time of the same work, which may take longer by a
/// `loss` of speed, 0 to 1.
#[must_use]
pub fn compare_progress(ours: &[f64], baseline: &[f64], fine: u32, loss: f64) -> PromiseOutcome {
    let mut outcome = PromiseOutcome::default();
    let mut row = 0;
    for pair in ours.windows(2) {
        // The round of the start is not a whole one.
        if pair[0] == 0.0 {
            continue;
        }
        let Some((from, to)) = time_of_work(baseline, pair[0]).zip(time_of_work(baseline, pair[1]))
        else {
            break;
        };
        let speed = (to - from) / f64::from(fine);
        outcome.rounds += 1;
        outcome.worst = outcome.worst.max(1.0 - speed);
        if speed < 1.0 - loss {
            outcome.below += 1;
            row += 1;
            outcome.longest_run = outcome.longest_run.max(row);
        } else {
            row = 0;
        }
    }
    outcome
}

/// The time, in steps, at which this work was done; `None` if it was not.
fn time_of_work(progress: &[f64], work: f64) -> Option<f64> {
    let after = progress.partition_point(|&done| done <= work);
    let (from, to) = (progress.get(after.checked_sub(1)?)?, progress.get(after)?);
    Some((after - 1) as f64 + (work - from) / (to - from))
}

/// A workload and its baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    /// The baseline in ways.
    pub baseline: u32,
    /// The start, in seconds.
    pub at: f64,
    /// The phases, which repeat: a program of the table, L1 references per 1000 instructions, and
    /// the phase's seconds at its best: at least the two rounds in which a change is noticed.
    pub phases: Vec<(usize, f64, f64)>,
}

/// A mix of workloads with baselines that fit, phases, and starts, all drawn at random.
///
/// The L1 references per instruction of any two phases of a workload differ by `differ`: 0.1 is by
/// 10 % of the smaller, 0 is not at all.
#[must_use]
pub fn random_promises(table: &ProfileTable, ways: Ways, differ: f64, seed: u64) -> Vec<Promise> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    fn below(count: u32, rng: &mut Pcg64Mcg) -> u32 {
        let picked = pick(rng, count as usize).and_then(|picked| u32::try_from(picked).ok());
        picked.unwrap_or(0)
    }
    let programs = u32::try_from(table.names().len()).unwrap_or(u32::MAX);
    let count = 2 + below(7, &mut rng);
    let mut left = ways.get();
    let promise = |place| {
        let others = count - place - 1;
        let most = left.saturating_sub(others).clamp(1, ways.get() / 2);
        let baseline = 1 + below(most, &mut rng);
        left = left.saturating_sub(baseline);
        let mut levels: Vec<i32> = (0..8).collect();
        let phases = (0..=below(4, &mut rng)).map(|_| {
            let count = u32::try_from(levels.len()).unwrap_or(u32::MAX);
            let level = levels.remove(below(count, &mut rng) as usize);
            let l1rpki = 200.0 * (1.0 + differ).powi(level);
            (
                below(programs, &mut rng) as usize,
                l1rpki,
                2.0 + f64::from(below(1800, &mut rng)) / 100.0,
            )
        });
        let phases = phases.collect();
        let at =
            if below(2, &mut rng) == 0 { 0.0 } else { f64::from(below(1000, &mut rng)) / 100.0 };
        Promise { baseline, at, phases }
    };
    let mut promises: Vec<Promise> = (0..count).map(promise).collect();
    // The first start begins the rounds, so that the comparison's rounds are the policy's.
    let first = promises.iter().map(|promise| promise.at).fold(f64::INFINITY, f64::min);
    promises.iter_mut().for_each(|promise| promise.at -= first);
    promises
}

/// Steps of the run with baselines in one step of the compared run.
const FINE: u32 = 10;

/// The run with baselines lasts this many times as long, because spare ways may speed a workload
/// up.
const LONGER: u32 = 3;

const ROUND: Duration = Duration::from_secs(1);

/// Runs two equal machines, one under the policy and one under `static`; returns how each guarantee
/// was kept.
fn run_both<M: SteppedMachine>(
    machine: impl Fn() -> M,
    promises: &[Promise],
    policy: &mut dyn Policy,
    seconds: u32,
    loss: f64,
) -> Vec<PromiseOutcome> {
    let jobs = promises.len();
    let ours = progress(&mut machine(), policy, jobs, ROUND, seconds);
    let mut fixed = by_name("static").expect("a policy's name");
    let steps = LONGER * FINE * seconds;
    let baseline = progress(&mut machine(), fixed.as_mut(), jobs, ROUND / FINE, steps);
    ours.iter()
        .zip(&baseline)
        .map(|(ours, baseline)| compare_progress(ours, baseline, FINE, loss))
        .collect()
}

/// The time after this many seconds.
fn time(seconds: f64) -> Time {
    Time::ZERO.after(Duration::from_secs_f64(seconds))
}

/// How each guarantee is kept on the model within this time under a policy; the run with the
/// baselines is observed perfectly.
#[must_use]
pub fn on_model(
    table: &ProfileTable,
    settings: fairways_model::Settings,
    promises: &[Promise],
    policy: &mut dyn Policy,
    seconds: u32,
    loss: f64,
) -> Vec<PromiseOutcome> {
    let jobs = || promises.iter().map(|promise| job_of(promise, table, &settings));
    run_both(|| Model::new(settings, jobs()), promises, policy, seconds, loss)
}

/// By seed, from 0 on, and by workload, how each guarantee of that many random mixes is kept on the
/// model under a policy.
pub fn on_model_mixes<P: Policy>(
    table: &ProfileTable,
    settings: fairways_model::Settings,
    (mixes, differ): (u64, f64),
    seconds: u32,
    loss: f64,
    policy: impl Fn() -> P + Sync,
) -> Vec<(u64, usize, PromiseOutcome)> {
    let mixes = (0..mixes).into_par_iter().flat_map_iter(|seed| {
        let promises = random_promises(table, settings.llc.ways, differ, seed);
        let kept = on_model(table, settings, &promises, &mut policy(), seconds, loss);
        kept.into_iter().enumerate().map(move |(place, kept)| (seed, place, kept))
    });
    mixes.collect()
}

fn job_of(
    promise: &Promise,
    table: &ProfileTable,
    settings: &fairways_model::Settings,
) -> fairways_model::Job {
    let phases = promise.phases.iter().map(|&(index, l1rpki, seconds)| {
        let program = ProfiledProgram::new(table, index, settings.llc.ways).with_l1rpki(l1rpki);
        phase_of(program, seconds, settings.mhz)
    });
    fairways_model::Job {
        at: time(promise.at),
        wish: Wish { baseline_ways: Some(promise.baseline), ..Wish::default() },
        ..fairways_model::Job::new(phases.collect())
    }
}

/// A phase that lasts this many seconds at its best.
fn phase_of(program: ProfiledProgram, seconds: f64, mhz: f64) -> fairways_model::JobPhase {
    let instructions = Some(whole(seconds * mhz * 1e6 * program.best_ipc()));
    fairways_model::JobPhase { program: Arc::new(program), instructions }
}

/// Like [`on_model`], on a chip, where programs' L1 references are their LLC references: among
/// phases whose rates differ by less than 10 %, only the first takes part.
///
/// # Errors
/// If the chip is not possible: [`ChipError`].
pub fn on_chip(
    table: &ProfileTable,
    settings: fairways_chip::Settings,
    promises: &[Promise],
    policy: &mut dyn Policy,
    seconds: u32,
    loss: f64,
) -> Result<Vec<PromiseOutcome>, ChipError> {
    let chip = settings.chip;
    let job = |promise: &Promise| {
        let mut rates: Vec<f64> = Vec::new();
        let mut phases = Vec::new();
        for &(index, _, seconds) in &promise.phases {
            let rate = table.values(index, ProfileMetric::Llcrpki).next().unwrap_or(0.0);
            let profiled =
                fairways_chip::program::profiled(table, index, chip.llc.ways, chip.latency);
            if let (false, Ok(program)) = (
                rates.iter().any(|other| (rate - other).abs() < 0.101 * rate.min(*other)),
                profiled,
            ) {
                rates.push(rate);
                let best = table.values(index, ProfileMetric::Ipc).fold(0.0, f64::max);
                let instructions = whole(seconds * f64::from(chip.mhz) * 1e6 * best);
                let length = Some(PhaseLength::Instructions(instructions));
                phases.push(fairways_chip::Phase { program: Some(Arc::new(program)), length });
            }
        }
        fairways_chip::Job {
            phases,
            at: time(promise.at),
            wish: Wish { baseline_ways: Some(promise.baseline), ..Wish::default() },
            ..fairways_chip::Job::default()
        }
    };
    let jobs: Vec<fairways_chip::Job> = promises.iter().map(job).collect();
    Chip::new(settings, jobs.iter().cloned())?;
    Ok(run_both(
        || Chip::new(settings, jobs.iter().cloned()).expect("it could be made before"),
        promises,
        policy,
        seconds,
        loss,
    ))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are not negative; the cast saturates"
)]
fn whole(count: f64) -> u64 {
    (count as u64).max(1)
}
