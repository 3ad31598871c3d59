//! Jobs: the programs that the chip is to run.

use std::sync::Arc;

use fairways_core::{Profile, Time, Wish};

use crate::phase::Phase;
use crate::program::{Accesses, LiveProgram, SimulatedProgram, StreamReplay};
use crate::service::{Requests, Stage};

/// The action after a program has run its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterRun {
    /// It is gone.
    Exit,
    /// It starts again at once, as another program (another id).
    Restart,
}

/// A program that the chip is to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its phases in order, at least one; after the last comes the first again.
    pub phases: Vec<Phase>,
    /// The instructions of a run, at least 1; `None`: the run has no end.
    pub instructions: Option<u64>,
    /// The action after a run.
    pub then: AfterRun,
    /// When it starts.
    pub at: Time,
    /// The wish of its owner.
    pub wish: Wish,
    /// Later wishes of its owner, by time on the policy's clock.
    pub wishes: Vec<(Time, Wish)>,
    /// The load of requests, if it is a service: the programs of its phases have
    /// [the same requests](SimulatedProgram::requests). After the last stage comes the first again;
    /// no stage: [`Stage::SATURATED`].
    pub loads: Vec<Stage>,
    /// The profile that the policy gets at the start.
    pub profile: Option<Arc<Profile>>,
    /// Whether it belongs to the operating system: it runs before all other programs; it is not
    /// reported to policies, and they can't control it.
    pub system: bool,
    /// Determines where its pages are, together with the seed; `None`: its index among the jobs
    /// does.
    pub key: Option<u64>,
}

impl Default for Job {
    /// An idle job that starts at once and does not end.
    fn default() -> Self {
        Self {
            phases: vec![Phase { program: None, length: None }],
            instructions: None,
            then: AfterRun::Exit,
            at: Time::ZERO,
            wish: Wish::default(),
            wishes: Vec::new(),
            loads: Vec::new(),
            profile: None,
            system: false,
            key: None,
        }
    }
}

impl Job {
    /// A program that starts at once, runs without end, and has no profile.
    #[must_use]
    pub fn new(program: SimulatedProgram) -> Self {
        let phase = Phase { program: Some(Arc::new(program)), length: None };
        Self { phases: vec![phase], ..Self::default() }
    }

    /// The size of its requests; `None` if it is not a service.
    #[must_use]
    pub fn requests(&self) -> Option<&Requests> {
        self.phases.iter().find_map(|phase| phase.program.as_ref()?.requests.as_ref())
    }

    /// The real programs that it runs.
    pub fn live(&self) -> impl Iterator<Item = &LiveProgram> {
        self.phases.iter().filter_map(|phase| phase.program.as_ref()?.as_live())
    }

    /// The streams that it replays.
    pub fn streams(&self) -> impl Iterator<Item = &StreamReplay> {
        self.phases.iter().filter_map(|phase| match &phase.program.as_ref()?.accesses {
            Accesses::Stream(stream) => Some(stream),
            _ => None,
        })
    }
}
