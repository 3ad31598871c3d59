//! How a daemon, or another machine, runs a trial of its policy.

use std::fmt;

use fairways_core::{AppId, Policy};

/// A trial of what a policy decides.
pub trait Trial {
    /// A domain's policy, on trial.
    fn of(&self, domain: u32, policy: Box<dyn Policy>) -> Box<dyn Policy>;

    /// Whether the trial has found out everything.
    fn is_over(&self) -> bool;
}

/// The names of the programs that a trial ran with, once it is over.
pub struct Tried {
    /// The policy's name.
    pub policy: String,
    /// What a program was called, by domain and number.
    pub names: Box<dyn Fn(u32, AppId) -> String>,
    /// Whether the user ended it early (SIGINT).
    pub interrupted: bool,
}

impl fmt::Debug for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, interrupted, .. } = self;
        f.debug_struct("Tried").field("policy", policy).field("interrupted", interrupted).finish()
    }
}
