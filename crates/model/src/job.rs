//! What runs on the machine.

use std::sync::Arc;

use fairways_core::{Profile, Time, Wish};
use fairways_profiles::Program;

/// A stretch of a program in which it behaves as one profile says.
#[derive(Clone, Debug)]
pub struct Phase {
    /// The behaviour.
    pub program: Arc<Program>,
    /// How long the phase is, at least 1; `None`: to the end of the run.
    pub instructions: Option<u64>,
}

/// What happens when a program has run its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It is gone.
    Exit,
    /// It starts again at once, as another program (another id).
    Restart,
}

/// A program that is to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its phases in order; after the last comes the first again. There is at least one.
    pub phases: Vec<Phase>,
    /// How many instructions a run is, at least 1; `None`: it runs on.
    pub instructions: Option<u64>,
    /// What happens after a run.
    pub then: Then,
    /// When it starts.
    pub at: Time,
    /// What its owner asks for.
    pub wish: Wish,
    /// What the policy is told of it.
    pub profile: Option<Arc<Profile>>,
}

impl Job {
    /// A program that starts at once and runs on, of which nothing is known.
    #[must_use]
    pub fn new(phases: Vec<Phase>) -> Self {
        assert!(!phases.is_empty(), "a program has a phase");
        Self {
            phases,
            instructions: None,
            then: Then::Exit,
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
        let seconds = |phase: &Phase, instructions: u64| {
            instructions as f64 / (phase.program.best_ipc() * mhz * 1e6)
        };
        let cycle: Option<u64> = self.phases.iter().map(|phase| phase.instructions).sum();
        let mut total = 0.0;
        if let Some(cycle @ 1..) = cycle {
            let whole = |phase: &Phase| seconds(phase, phase.instructions.unwrap_or(0));
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
