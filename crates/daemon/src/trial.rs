//! What a daemon, or another machine, is told of a trial of its policy.

use std::fmt;

use fairways_core::{AppId, Policy};

/// A trial of what a policy decides.
pub trait Trial {
    /// A domain's policy, on trial.
    fn of(&self, domain: u32, policy: Box<dyn Policy>) -> Box<dyn Policy>;

    /// Whether all is found out.
    fn is_over(&self) -> bool;
}

/// How a machine calls what ran on it under a policy that was tried, once that is over.
pub struct Tried {
    /// The policy's name.
    pub policy: String,
    /// What a program was called, by domain and number.
    pub names: Box<dyn Fn(u32, AppId) -> String>,
    /// Whether the user had seen enough before.
    pub interrupted: bool,
}

impl fmt::Debug for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, interrupted, .. } = self;
        f.debug_struct("Tried").field("policy", policy).field("interrupted", interrupted).finish()
    }
}
