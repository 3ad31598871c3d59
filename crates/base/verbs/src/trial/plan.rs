//! The plan of a policy on trial, and why it was not tried.

use fairways_core::{LevelInUnit, Levers, Partition, WayMask};

/// A trial that is ended early has not tried every plan.
pub(crate) const ENDED: &str = "the trial ended before";
/// The policy's own decision.
pub(crate) const NO_LIMIT: &str = "it lets every program fill every way";
pub(crate) const NOT_CARRIED_OUT: &str =
    "this machine lets every program fill every way under its plan, too";

/// What became of a policy's plan in a domain.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// The plan: as in force once it was tried, otherwise as requested. Without programs if there
    /// is none.
    pub(crate) plan: Partition,
    /// The policy's reason for it.
    pub(crate) reason: String,
    /// Why it was not tried; `None` once it was.
    pub(crate) untried: Option<&'static str>,
    pub(crate) levers: Option<Levers>,
}

impl Default for Attempt {
    fn default() -> Self {
        let (plan, reason) = (Partition::default(), String::new());
        Self { plan, reason, untried: Some(ENDED), levers: None }
    }
}

impl Attempt {
    /// A block with the plan began, and this is in force.
    pub(crate) fn begins(&mut self, actual: &Partition) {
        let Some(levers) = &self.levers else { return };
        if !limits(actual, levers) {
            self.untried = self.untried.map(|_| NOT_CARRIED_OUT);
            return;
        }
        // Programs that have ended since were on trial, too.
        if self.untried.take().is_some()
            || actual.placements().len() >= self.plan.placements().len()
        {
            self.plan.clone_from(actual);
        }
    }

    /// The limit of memory bandwidth of a cluster, with its unit.
    pub(crate) fn level(&self, cluster: usize) -> Option<String> {
        let unit = self.levers.as_ref()?.bandwidth?.unit;
        let level = self.plan.clusters().get(cluster)?.bandwidth?;
        Some(LevelInUnit(level, unit).to_string())
    }
}

/// Whether a plan limits any program.
pub(crate) fn limits(plan: &Partition, levers: &Levers) -> bool {
    let full = WayMask::full(levers.llc.ways);
    let mut each = plan.placements().iter().filter_map(|place| plan.resources_of(place.app));
    each.any(|of| of.mask != full || of.bandwidth.is_some())
}
