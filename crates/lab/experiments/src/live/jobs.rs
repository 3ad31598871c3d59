//! Makes running programs from profiled ones.

use std::sync::Arc;

use fairways_core::Ways;
use fairways_model::{Job, JobPhase};
use fairways_profiles::{ProfiledProgram, ProgramCatalog};

/// A program as a job on a cache of `ways` ways, which starts at once, runs on, and reports no
/// profile. `scale` makes its phases longer or shorter; none is shorter than an instruction.
#[must_use]
pub fn job(programs: &ProgramCatalog, index: usize, ways: Ways, scale: f64) -> Job {
    Job::new(
        programs
            .phases(index)
            .iter()
            .map(|phase| JobPhase {
                program: Arc::new(ProfiledProgram::new(programs.table(), phase.program, ways)),
                instructions: phase.instructions.map(|count| scaled(count, scale)),
            })
            .collect(),
    )
}

/// A number of instructions on another scale of time, at least 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of instructions is far below 2^53, and a scale is above 0"
)]
pub(crate) fn scaled(instructions: u64, scale: f64) -> u64 {
    ((instructions as f64 * scale) as u64).max(1)
}
