//! A mix on the machine over time, under one policy.

use fairways_core::{Action, AppId, Event, Machine, Observer, PlanId, Policy, Time, run};
use fairways_model::{Model, Work};
use fairways_policy::{kpart, lfoc};

/// A policy's activity on a machine over time, apart from the results of the programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// Events reported.
    pub events: u64,
    /// Plans made, including those that the machine refused.
    pub plans: u64,
    /// Plans that the machine refused.
    pub refused: u64,
    /// How often a program was sampled.
    pub samplings: u64,
    /// Nanoseconds in sampling mode, by the policy's plans.
    pub sampling_nanos: u64,
    /// The work of all programs in sampling mode.
    pub sampling_work: Work,
    /// The work of all programs.
    pub work: Work,
    /// When the machine stopped.
    pub end: Time,
}

impl Activity {
    /// The share of time in sampling mode, 0 to 1.
    #[must_use]
    pub fn sampling_share(&self) -> f64 {
        if self.end == Time::ZERO {
            return 0.0;
        }
        self.sampling_nanos as f64 / self.end.nanos() as f64
    }

    fn sampled(&mut self, since: Time, before: Work, until: Time, after: Work) {
        self.sampling_nanos += until.nanos() - since.nanos();
        self.sampling_work.instructions += after.instructions - before.instructions;
        self.sampling_work.at_best += after.at_best - before.at_best;
    }

    /// The share of all instructions that ran in sampling mode, 0 to 1.
    #[must_use]
    pub fn sampling_instructions_share(&self) -> f64 {
        if self.work.instructions > 0.0 {
            self.sampling_work.instructions / self.work.instructions
        } else {
            0.0
        }
    }

    /// The share of programs' possible work that sampling mode cost: how much more they would have
    /// done, had they been as fast in it as outside (as fast: STP, LFOC equation 4). `None` if they
    /// were never outside of it.
    #[must_use]
    pub fn sampling_loss(&self) -> Option<f64> {
        let share = self.sampling_share();
        let outside = self.work.at_best - self.sampling_work.at_best;
        (share < 1.0 && outside > 0.0).then(|| {
            let all = outside / (1.0 - share);
            1.0 - self.work.at_best / all
        })
    }
}

/// A machine that knows the work of its programs.
pub trait WorkMeter: Machine {
    /// The work of all programs so far.
    fn work(&self) -> Work;

    /// The machine's time.
    fn now(&self) -> Time;
}

impl WorkMeter for Model {
    fn work(&self) -> Work {
        Self::work(self)
    }

    fn now(&self) -> Time {
        Self::now(self)
    }
}

/// Counts a policy's activity.
#[derive(Debug, Default)]
struct ActivityMeter {
    activity: Activity,
    /// The start of sampling, the sampled program, and the work by then. The first program of a
    /// plan of sampling mode is the sampled one.
    sampling: Option<(Time, Option<AppId>, Work)>,
    /// The sampled program before the last plan, which may be refused, and whether that plan began
    /// a sampling.
    before_last: (Option<Option<AppId>>, bool),
    last: Option<PlanId>,
}

impl ActivityMeter {
    /// Takes back the last plan, which was refused at the very instant at which it was made: what
    /// it ended goes on, and what it began is void.
    fn take_back(&mut self, at: Time, work: Work) {
        let (app, began) = self.before_last;
        self.sampling = app.map(|app| match self.sampling {
            Some((since, _, work)) => (since, app, work),
            None => (at, app, work),
        });
        self.activity.samplings -= u64::from(began);
        self.last = None;
    }
}

impl<M: WorkMeter + ?Sized, P: ?Sized> Observer<M, P> for ActivityMeter {
    fn event(&mut self, at: Time, event: &Event, machine: &M) {
        // Answers to plans count with the plans.
        self.activity.events += u64::from(!matches!(event, Event::Applied { .. }));
        if let Event::Refused { plan, .. } = event {
            self.activity.refused += 1;
            if self.last == Some(*plan) {
                self.take_back(at, machine.work());
            }
        }
    }

    fn action(&mut self, at: Time, action: &Action<'_>, machine: &M) {
        let Action::Partition { plan, reason, partition } = action else { return };
        self.activity.plans += 1;
        let app = partition.placements().first().map(|place| place.app);
        let before = self.sampling.take();
        self.before_last = (before.map(|(_, app, _)| app), false);
        self.last = Some(*plan);
        if [lfoc::SAMPLING, kpart::SAMPLING].contains(&&**reason) {
            let (since, previous, work) = before.unwrap_or_else(|| (at, None, machine.work()));
            self.activity.samplings += u64::from(previous != app);
            self.before_last.1 = previous != app;
            self.sampling = Some((since, app, work));
        } else if let Some((since, _, work)) = before {
            self.activity.sampled(since, work, at, machine.work());
        }
    }
}

/// Runs a machine under a policy until its events end.
pub fn watch<M: WorkMeter + ?Sized, P: Policy + ?Sized>(
    machine: &mut M,
    policy: &mut P,
) -> Activity {
    let mut meter = ActivityMeter::default();
    run(machine, policy, &mut [&mut meter]);
    let ActivityMeter { mut activity, sampling, .. } = meter;
    activity.end = machine.now();
    activity.work = machine.work();
    if let Some((since, _, work)) = sampling {
        activity.sampled(since, work, activity.end, activity.work);
    }
    activity
}
