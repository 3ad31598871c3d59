//! How a daemon, or another machine, runs a trial of its policy.

use fairways_core::{AppId, Policy};

/// A trial of what a policy decides.
pub trait Trial {
    /// A domain's policy, on trial.
    fn of(&self, domain: u32, policy: Box<dyn Policy>) -> Box<dyn Policy>;

    /// What a program is called; it may have ended when the trial is over.
    fn named(&self, app: AppId, name: &str);

    /// Whether the trial has found out everything.
    fn is_over(&self) -> bool;
}

/// How a trial ended.
#[derive(Debug)]
pub struct Tried {
    /// The policy's name.
    pub policy: String,
    /// Whether a signal ended it early.
    pub interrupted: bool,
    /// An error if not everything was restored; what was measured counts nevertheless.
    pub ended: anyhow::Result<()>,
}
