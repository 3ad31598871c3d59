//! The outcome of plans.

use std::collections::BTreeMap;

use fairways_core::{AppId, BandwidthLevel, Partition, Resources, WayMask};

use super::refine::Plan;

/// The outcome of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The classes now, ascending by group.
    pub placed: Vec<Placed>,
    /// How often two classes were joined because there are too few; their programs may fill more
    /// ways than planned.
    pub merged: usize,
}

/// One class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its group; in a dry run, which makes none, its number.
    pub group: String,
    /// The offered ways that it may fill, by domain.
    pub masks: BTreeMap<u32, WayMask>,
    /// The levels of memory bandwidth in force, by domain, where one was planned.
    pub levels: BTreeMap<u32, BandwidthLevel>,
    /// Its programs, ascending.
    pub programs: Vec<AppId>,
}

impl Applied {
    /// The partition in force in a domain, in offered ways.
    #[must_use]
    pub fn partition(&self, domain: u32) -> Partition {
        let mut partition = Partition::default();
        for placed in &self.placed {
            let Some(&mask) = placed.masks.get(&domain) else { continue };
            let bandwidth = placed.levels.get(&domain).copied();
            let cluster = partition.add(Resources { mask, bandwidth });
            placed.programs.iter().for_each(|&app| partition.place(app, cluster));
        }
        partition
    }
}

/// The plans in force.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    pub(crate) by_domain: BTreeMap<u32, Plan>,
    /// The outcome of the last plans.
    pub(crate) applied: Applied,
}

impl Plans {
    /// Removes a program that ends from all plans.
    pub(crate) fn forget(&mut self, app: AppId) {
        self.by_domain.values_mut().for_each(|plan| plan.retain(|of, _| *of != app));
    }
}
