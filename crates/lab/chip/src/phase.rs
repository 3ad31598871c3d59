//! The phases of a program.

use std::sync::Arc;

use crate::program::{PhaseLength, SimulatedProgram};

/// A stretch of a program.
#[derive(Clone, Debug)]
pub struct Phase {
    /// The program that runs; `None`: the core is idle.
    pub program: Option<Arc<SimulatedProgram>>,
    /// Its length; `None`: to the end of the run.
    pub length: Option<PhaseLength>,
}
