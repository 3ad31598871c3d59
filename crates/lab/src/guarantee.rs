//! Whether a policy keeps the promise of a baseline: how fast workloads do the same work under it and
//! under `static`, beside the same neighbours.

use std::sync::Arc;
use std::time::Duration;

use fairways_core::{Llc, Machine, Policy, Time, Wish};
use fairways_model::{Job, Model, Phase, Settings, Work};
use fairways_policy::by_name;
use fairways_profiles::{Program, Table};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The work that a workload has done by so many equal steps of time, from none on: instructions.
pub type Progress = Vec<f64>;

/// A machine that is run step by step.
pub trait Stepped: Machine {
    /// Nothing more is told after this time, until it is set anew.
    fn stop(&mut self, at: Time);

    /// The instructions that a job has run.
    fn instructions(&self, job: usize) -> f64;
}

impl Stepped for Model {
    fn stop(&mut self, at: Time) {
        self.stop_at(at);
    }

    fn instructions(&self, job: usize) -> f64 {
        let Work { instructions, .. } = self.work_of(job);
        instructions
    }
}

/// The progress of each of `jobs` jobs on a machine under a policy.
pub fn progress(
    machine: &mut dyn Stepped,
    policy: &mut dyn Policy,
    jobs: usize,
    step: Duration,
    steps: u32,
) -> Vec<Progress> {
    let mut all = vec![vec![0.0]; jobs];
    for end in 1..=steps {
        machine.stop(Time::ZERO.after(step * end));
        while let Some((at, event)) = machine.next_event() {
            policy.handle(at, &event, &mut |action| machine.carry_out(action));
        }
        for (job, line) in all.iter_mut().enumerate() {
            line.push(machine.instructions(job));
        }
    }
    all
}

/// What became of a promise in one run of one workload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kept {
    /// Rounds in which it worked, and of which it is known how long the work takes with the baseline.
    pub rounds: u32,
    /// Those among them in which the work took longer than it may.
    pub below: u32,
    /// The most of these in a row.
    pub row: u32,
    /// The most that a round lost, as a share of the speed with the baseline, 0 to 1.
    pub worst: f64,
}

/// Compares what a workload did, in steps of a round, with what it does with its baseline, in steps
/// `fine` times as short: round by round, the time in which the same work would have been done. It may
/// take longer by a `loss` of speed, 0 to 1.
#[must_use]
pub fn kept(ours: &[f64], baseline: &[f64], fine: u32, loss: f64) -> Kept {
    let mut kept = Kept::default();
    let mut row = 0;
    for pair in ours.windows(2) {
        // The round in which it starts is not a whole one.
        if pair[0] == 0.0 || pair[0] == pair[1] {
            continue;
        }
        let Some((from, to)) = when(baseline, pair[0]).zip(when(baseline, pair[1])) else { break };
        let speed = (to - from) / f64::from(fine);
        kept.rounds += 1;
        kept.worst = kept.worst.max(1.0 - speed);
        if speed < 1.0 - loss {
            kept.below += 1;
            row += 1;
            kept.row = kept.row.max(row);
        } else {
            row = 0;
        }
    }
    kept
}

/// The time, in steps, at which so much work was done; `None` if it was not.
fn when(progress: &[f64], work: f64) -> Option<f64> {
    let after = progress.partition_point(|&done| done <= work);
    let (from, to) = (progress.get(after.checked_sub(1)?)?, progress.get(after)?);
    Some((after - 1) as f64 + (work - from) / (to - from))
}

/// A mix of workloads with promises that fit, phases, and times of arrival, all drawn at random.
///
/// The L1 references per instruction of any two phases of a workload differ by `differ`: 0.1 is by
/// 10 % of the smaller, 0 is not at all.
#[must_use]
pub fn random_promises(table: &Table, llc: Llc, differ: f64, seed: u64) -> Vec<Job> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut draw = |from: f64, to: f64| {
        from + (to - from) * f64::from(rng.next_u32()) / (f64::from(u32::MAX) + 1.0)
    };
    let ways = llc.ways.get();
    let mut left = ways;
    let count = draw(2.0, 9.0) as usize;
    let mut jobs = Vec::new();
    for place in 0..count {
        let others = u32::try_from(count - place - 1).unwrap_or(u32::MAX);
        let most = left.saturating_sub(others).min(ways / 2);
        let baseline = draw(1.0, f64::from(most) + 1.0) as u32;
        left -= baseline;
        let phases = draw(1.0, 5.0) as usize;
        let mut levels: Vec<i32> = (0..8).collect();
        let phase = |_| {
            let index = draw(0.0, table.names().len() as f64) as usize;
            let level = levels.remove(draw(0.0, levels.len() as f64) as usize);
            let l1rpki = 200.0 * (1.0 + differ).powi(level);
            let program = Program::new(table, index, llc.ways).with_l1rpki(l1rpki);
            let seconds = draw(0.5, 20.0);
            let instructions = Some((seconds * 2e9 * program.best_ipc()) as u64);
            Phase { program: Arc::new(program), instructions }
        };
        let phases: Vec<Phase> = (0..phases).map(phase).collect();
        let at = if draw(0.0, 2.0) < 1.0 { 0.0 } else { draw(0.0, 10.0) };
        jobs.push(Job {
            at: Time::ZERO.after(Duration::from_secs_f64(at)),
            wish: Wish { baseline_ways: Some(baseline) },
            ..Job::new(phases)
        });
    }
    jobs
}

/// What becomes of each promise when such jobs run on the model for so many seconds under a policy.
#[must_use]
pub fn on_model(
    jobs: &[Job],
    llc: Llc,
    policy: &mut dyn Policy,
    seconds: u32,
    loss: f64,
) -> Vec<Kept> {
    const FINE: u32 = 10;
    let machine = || Model::new(Settings::new(llc), jobs.iter().cloned());
    let round = Duration::from_secs(1);
    let ours = progress(&mut machine(), policy, jobs.len(), round, seconds);
    // The same work takes longer there: a workload may gain so much from spare ways.
    let mut fixed = by_name("static").expect("a policy's name");
    let baseline =
        progress(&mut machine(), fixed.as_mut(), jobs.len(), round / FINE, 3 * FINE * seconds);
    ours.iter().zip(&baseline).map(|(ours, baseline)| kept(ours, baseline, FINE, loss)).collect()
}
