//! How a daemon, or another machine, tries out its policy.

use fairways_core::{AppId, Counter, Policy, Time};

/// A trial of what a policy decides.
pub trait Trial {
    /// A domain's policy, wrapped with the policies that the trial compares it with.
    fn of(&self, domain: u32, policy: Box<dyn Policy>) -> Box<dyn Policy>;

    /// Records a program's name; the program may have ended when the trial is over.
    fn named(&self, app: AppId, name: &str);

    /// The counters that the other policies read, with which the trial compares the one on trial.
    fn counters(&self) -> Vec<Counter>;

    /// Shows the trial's progress at this time; returns whether it is complete.
    fn follow(&self, at: Time) -> bool;
}

/// How a trial ended.
#[derive(Debug)]
pub struct Tried {
    /// The policy's name.
    pub policy: String,
    /// Whether a signal ended it early.
    pub interrupted: bool,
    /// An error if not everything was restored; the measurements count nevertheless.
    pub ended: anyhow::Result<()>,
}
