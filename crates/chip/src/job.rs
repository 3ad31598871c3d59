//! What is to run on the chip.

use std::sync::Arc;

use fairways_core::{Profile, Time, Wish};

use crate::phase::Phase;
use crate::program::{Live, Program};
use crate::service::{Requests, Stage};

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
    /// What its owner asks for instead from then on, on the policy's clock.
    pub wishes: Vec<(Time, Wish)>,
    /// When requests come, if it is a service: the programs of its phases have [the same](Program::requests). After the
    /// last stage comes the first again; none: [`Stage::SATURATED`].
    pub loads: Vec<Stage>,
    /// What the policy is told of it.
    pub profile: Option<Arc<Profile>>,
    /// Whether it is the operating system's: it runs before all others, and policies are not told of it, nor
    /// have a say in it.
    pub system: bool,
    /// Where its pages are, together with the seed: the same wherever it runs; `None`: by its place among
    /// the jobs.
    pub key: Option<u64>,
}

impl Default for Job {
    /// Nothing, at once, without end.
    fn default() -> Self {
        Self {
            phases: vec![Phase { program: None, length: None }],
            instructions: None,
            then: Then::Exit,
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
    /// A program that starts at once and runs on, of which nothing is known.
    #[must_use]
    pub fn new(program: Program) -> Self {
        let phase = Phase { program: Some(Arc::new(program)), length: None };
        Self { phases: vec![phase], ..Self::default() }
    }

    /// What its requests take; `None` if it is no service.
    #[must_use]
    pub fn requests(&self) -> Option<&Requests> {
        self.phases.iter().find_map(|phase| phase.program.as_ref()?.requests.as_ref())
    }

    /// The real programs that it runs.
    pub fn live(&self) -> impl Iterator<Item = &Live> {
        self.phases.iter().filter_map(|phase| phase.program.as_ref()?.as_live())
    }
}
