//! Records a policy's effects on a chip, step by step.

use std::borrow::Cow;
use std::time::Duration;

use fairways_chip::{Account, Chip, ChipError, Job, Settings};
use fairways_core::{Action, AppId, BandwidthLevel, Observer, Policy, Q32, Time, run};

/// A program in one step of time.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramStep {
    /// The ways that it may fill from the end of the step on.
    pub ways: u32,
    /// Its level of memory bandwidth then, by the policy; `None`: no limit.
    pub level: Option<BandwidthLevel>,
    /// Its class then, by the policy; empty if there is none.
    pub class: Cow<'static, str>,
    /// Its counts in the step.
    pub counted: Account,
    /// The requests that it answered, if it is a service.
    pub requests: u64,
    /// The tail of its latencies, at the percentile of its objective or the 99th; `None` without
    /// requests.
    pub tail: Option<Duration>,
}

impl ProgramStep {
    /// Instructions per cycle; `None` if nothing ran.
    #[must_use]
    pub fn ipc(&self) -> Option<f64> {
        (self.counted.ticks > 0).then(|| self.counted.instructions as f64 / self.counted.cycles())
    }
}

/// What the policy has decided last about each job.
struct LastDecisions {
    /// The ways of the cache.
    all: u32,
    ways: Vec<u32>,
    levels: Vec<Option<BandwidthLevel>>,
    classes: Vec<Cow<'static, str>>,
}

impl<M: ?Sized, P: ?Sized> Observer<M, P> for LastDecisions {
    fn action(&mut self, _: Time, action: &Action<'_>, _: &M) {
        match action {
            Action::Partition { partition, .. } => {
                let slots = self.ways.iter_mut().zip(&mut self.levels);
                for (app, (ways, level)) in (0..).map(AppId).zip(slots) {
                    *ways = partition.mask_of(app).map_or(self.all, |mask| mask.count());
                    *level = partition.level_of(app);
                }
            }
            Action::Classified { app, class, .. } => {
                if let Some(slot) = self.classes.get_mut(app.0 as usize) {
                    slot.clone_from(class);
                }
            }
            _ => {}
        }
    }
}

/// Runs jobs, in the order in which they start, under a policy for `steps` steps; returns each
/// job's steps. Times are the policy's.
///
/// # Errors
/// If the chip is not possible: [`ChipError`].
pub fn timeline(
    settings: Settings,
    jobs: &[Job],
    policy: &mut dyn Policy,
    step: Duration,
    steps: u32,
) -> Result<Vec<Vec<ProgramStep>>, ChipError> {
    debug_assert!(jobs.is_sorted_by_key(|job| job.at), "programs are numbered as they start");
    let mut chip = Chip::new(settings, jobs.iter().cloned())?;
    let all = settings.chip.llc.ways.get();
    let mut moments = vec![Vec::with_capacity(steps as usize); jobs.len()];
    let mut decided = LastDecisions {
        all,
        ways: vec![all; jobs.len()],
        levels: vec![None; jobs.len()],
        classes: vec![Cow::Borrowed(""); jobs.len()],
    };
    let mut before = vec![Account::default(); jobs.len()];
    fn percentile(job: &Job) -> f64 {
        let percentile =
            job.wish.objective.map_or(Q32::from_int(99), |objective| objective.percentile);
        percentile.raw() as f64 / (1_u64 << 32) as f64
    }
    let percentiles: Vec<f64> = jobs.iter().map(percentile).collect();
    for end in 1..=steps {
        chip.stop_at(Time::ZERO.after(step * end));
        run(&mut chip, policy, &mut [&mut decided]);
        for (job, moments) in moments.iter_mut().enumerate() {
            let now = chip.account(job);
            let counted = now.minus(&before[job]);
            // Only a service has latencies that are worth keeping.
            let is_service = jobs[job].requests().is_some();
            let latencies = is_service.then(|| chip.take_latencies(job));
            let latencies = latencies.filter(|latencies| !latencies.is_empty());
            let requests = latencies.as_ref().map_or(0, |latencies| latencies.len());
            let tail = latencies.map(|histogram| histogram.value_at_percentile(percentiles[job]));
            let tail = tail.map(Duration::from_nanos);
            let (ways, level) = (decided.ways[job], decided.levels[job]);
            let class = decided.classes[job].clone();
            moments.push(ProgramStep { ways, level, class, counted, requests, tail });
            before[job] = now;
        }
    }
    Ok(moments)
}
