//! From programs of profiles to programs that run.

use std::sync::Arc;

use fairways_core::Ways;
use fairways_model::{Job, Phase};
use fairways_profiles::{Program, Programs};

/// A program as a job on a cache of `ways` ways that starts at once, runs on, and of which nothing
/// is told. `scale` makes its phases longer or shorter; none is shorter than an instruction.
#[must_use]
pub fn job(programs: &Programs, index: usize, ways: Ways, scale: f64) -> Job {
    let phase = |phase: &fairways_profiles::Phase| Phase {
        program: Arc::new(Program::new(programs.table(), phase.program, ways)),
        instructions: phase.instructions.map(|count| scaled(count, scale)),
    };
    Job::new(programs.phases(index).iter().map(phase).collect())
}

/// So many instructions on another scale of time, at least 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of instructions is far below 2^53, and a scale is above 0"
)]
pub(crate) fn scaled(instructions: u64, scale: f64) -> u64 {
    ((instructions as f64 * scale) as u64).max(1)
}

/// Whether a policy decides by profiles that were measured before.
#[must_use]
pub fn needs_profiles(policy: &str) -> bool {
    matches!(policy, "ucp" | "ucp-slowdown" | "yu-petrov")
}

/// Whether a policy heeds what was promised to programs ([`fairways_core::Wish::baseline_ways`]).
#[must_use]
pub fn heeds_promises(policy: &str) -> bool {
    matches!(policy, "static" | "dcat")
}

/// Whether a policy heeds how soon services are to answer ([`fairways_core::Wish::objective`]).
#[must_use]
pub fn heeds_objectives(policy: &str) -> bool {
    policy == "locpart"
}

/// Whether a policy decides who runs where and when, for which a machine must let programs take turns.
#[must_use]
pub fn schedules(policy: &str) -> bool {
    matches!(policy, "casc" | "cache-fair")
}

/// Whether a policy finds out about programs by giving them other ways, so that where no plan is carried out it finds out nothing.
#[must_use]
pub fn samples_by_ways(policy: &str) -> bool {
    matches!(policy, "dcat" | "kpart" | "lfoc" | "lfoc-plus")
}

/// Whether a policy finds out for itself what it must know of a program.
///
/// The others rest on profiles measured before, and are told them.
#[must_use]
pub fn learns(policy: &str) -> bool {
    matches!(policy, "dcat" | "dunn" | "kpart" | "lfoc" | "lfoc-plus")
}
