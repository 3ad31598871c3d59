//! Jobs: the programs that the machine is to run.

use std::sync::Arc;

use fairways_core::{Profile, Time, Wish};
use fairways_profiles::ProfiledProgram;

/// A phase of a program: a stretch in which it behaves like one profile.
#[derive(Clone, Debug)]
pub struct JobPhase {
    /// The behaviour.
    pub program: Arc<ProfiledProgram>,
    /// How long the phase is, at least 1; `None`: to the end of the run.
    pub instructions: Option<u64>,
}

/// What happens when a program has run its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterRun {
    /// It is gone.
    Exit,
    /// It starts again at once, as another program (another id).
    Restart,
}

/// A program that the machine is to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its phases in order, at least one; after the last comes the first again.
    pub phases: Vec<JobPhase>,
    /// How many instructions a run is, at least 1; `None`: it runs on.
    pub instructions: Option<u64>,
    /// What happens after a run.
    pub then: AfterRun,
    /// When it starts.
    pub at: Time,
    /// What its owner asks for.
    pub wish: Wish,
    /// The profile that the policy gets at the start.
    pub profile: Option<Arc<Profile>>,
}

impl Job {
    /// A program that starts at once, runs without end, and has no profile.
    #[must_use]
    pub fn new(phases: Vec<JobPhase>) -> Self {
        assert!(!phases.is_empty(), "a program has a phase");
        Self {
            phases,
            instructions: None,
            then: AfterRun::Exit,
            at: Time::ZERO,
            wish: Wish::default(),
            profile: None,
        }
    }

    /// The seconds that a run takes at `mhz` if every phase runs at its best (slowdown 1).
    ///
    /// `None` if a run has no end.
    #[must_use]
    pub fn best_seconds(&self, mhz: f64) -> Option<f64> {
        let mut left = self.instructions?;
        let seconds = |phase: &JobPhase, instructions: u64| {
            instructions as f64 / (phase.program.best_ipc() * mhz * 1e6)
        };
        let cycle: Option<u64> = self.phases.iter().map(|phase| phase.instructions).sum();
        let mut total = 0.0;
        if let Some(cycle @ 1..) = cycle {
            let whole = |phase: &JobPhase| seconds(phase, phase.instructions.unwrap_or(0));
            total += (left / cycle) as f64 * self.phases.iter().map(whole).sum::<f64>();
            left %= cycle;
        }
        for phase in &self.phases {
            let here = phase.instructions.map_or(left, |most| most.min(left));
            total += seconds(phase, here);
            left -= here;
        }
        Some(total)
    }
}
