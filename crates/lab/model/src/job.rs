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

/// The action after a program has run its instructions.
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
    /// The instructions of a run, at least 1; `None`: the run has no end.
    pub instructions: Option<u64>,
    /// The action after a run.
    pub then: AfterRun,
    /// When it starts.
    pub at: Time,
    /// The wish of its owner.
    pub wish: Wish,
    /// The profile that the policy gets at the start.
    pub profile: Option<Arc<Profile>>,
}

impl JobPhase {
    /// The seconds that these instructions of the phase take at `mhz` at its best (slowdown 1).
    fn best_seconds(&self, instructions: u64, mhz: f64) -> f64 {
        instructions as f64 / (self.program.best_ipc() * mhz * 1e6)
    }
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
        let cycle: Option<u64> = self.phases.iter().map(|phase| phase.instructions).sum();
        let mut total = 0.0;
        if let Some(cycle @ 1..) = cycle {
            let whole = self
                .phases
                .iter()
                .map(|phase| phase.best_seconds(phase.instructions.unwrap_or(0), mhz));
            total += (left / cycle) as f64 * whole.sum::<f64>();
            left %= cycle;
        }
        for phase in &self.phases {
            let here = phase.instructions.map_or(left, |most| most.min(left));
            total += phase.best_seconds(here, mhz);
            left -= here;
        }
        Some(total)
    }
}
