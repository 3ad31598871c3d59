//! How a daemon, or another machine, runs a trial of its policy.

use fairways_core::{AppId, Counter, Policy, Time};

/// A trial of what a policy decides.
pub trait Trial {
    /// A domain's policy, on trial, with those that the trial compares it with.
    fn of(&self, domain: u32, policy: Box<dyn Policy>) -> Box<dyn Policy>;

    /// What a program is called; it may have ended when the trial is over.
    fn named(&self, app: AppId, name: &str);

    /// The counters that the policies read that it is compared with.
    fn counters(&self) -> Vec<Counter>;

    /// Shows how far the trial is at this time; returns whether it has found out everything.
    fn follow(&self, at: Time) -> bool;
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
