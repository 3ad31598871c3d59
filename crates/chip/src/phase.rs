//! The phases of a program.

use std::sync::Arc;
use std::time::Duration;

use crate::program::SimulatedProgram;

/// A stretch of a program.
#[derive(Clone, Debug)]
pub struct Phase {
    /// The program that runs; `None`: the core is idle.
    pub program: Option<Arc<SimulatedProgram>>,
    /// Its length; `None`: to the end of the run.
    pub length: Option<PhaseLength>,
}

/// How long a phase is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseLength {
    /// Instructions, at least 1; an idle phase runs none, and never ends.
    Instructions(u64),
    /// Time.
    Time(Duration),
}
