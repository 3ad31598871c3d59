//! The phases of a program.

use std::sync::Arc;
use std::time::Duration;

use crate::program::Program;

/// A stretch of a program.
#[derive(Clone, Debug)]
pub struct Phase {
    /// What runs; `None`: nothing does, the core is idle.
    pub program: Option<Arc<Program>>,
    /// How long; `None`: to the end of the run.
    pub length: Option<Length>,
}

/// How long a phase is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Instructions, at least 1; an idle phase runs none, and never ends.
    Instructions(u64),
    /// Time.
    Time(Duration),
}
