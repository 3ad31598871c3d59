//! Others' changes since the last report.

use fairways_core::AppId;

/// The differences from the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Whether [`domains`](crate::Actuator::domains) has changed; a plan that was made before may
    /// be refused.
    pub domains: bool,
    /// Other managers' groups that came, went, or have other masks.
    pub others: Vec<String>,
    /// Our classes that were removed from outside. Their programs are in the root's group until the
    /// next plan.
    pub lost: Vec<String>,
    /// Our classes whose masks were changed from outside, or whose domain returned without them;
    /// they have been written again.
    pub rewritten: Vec<String>,
    /// Whether limits changed in the groups that our programs' threads came from, or others wrote a
    /// bandwidth to a class of ours. Our classes have followed; another plan may separate programs
    /// whose limits now differ.
    pub limits: bool,
    /// Programs that are monitored from now on.
    pub monitored: Vec<AppId>,
    /// Programs that are not monitored any longer, because their groups were removed from outside.
    pub unmonitored: Vec<AppId>,
}

/// Adds a change, unless it is noted already.
pub(crate) fn note<T: PartialEq>(list: &mut Vec<T>, what: T) {
    if !list.contains(&what) {
        list.push(what);
    }
}
