//! What a machine knows beyond events and actions.

use fairways_core::{AppId, WayMask};

/// A cache's ways, including those that policies may not give out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheWays {
    /// All its ways.
    pub all: WayMask,
    /// The ways that policies may give out.
    pub offered: WayMask,
    /// The bytes of one way; `None` where they are not known.
    pub way_bytes: Option<u64>,
}

/// What a machine knows beyond events and actions.
pub trait MachineView {
    /// The cache of a domain; `None` where only the number of its ways is known.
    fn cache(&self, domain: u32) -> Option<CacheWays>;

    /// A mask of the ways that are given out, as a line of schemata shows it.
    fn physical(&self, domain: u32, mask: WayMask) -> WayMask;

    /// Adds a program's threads to `to`.
    fn tasks(&self, app: AppId, to: &mut Vec<i32>);

    /// The CPUs of a domain as its policy numbers them; none where they are not known.
    fn cpus(&self, domain: u32) -> Vec<u32>;
}

/// A machine that gives out all its ways and knows nothing more: a simulated one, or a journal's.
#[derive(Clone, Copy, Debug)]
pub struct WholeMachine;

impl MachineView for WholeMachine {
    fn cache(&self, _: u32) -> Option<CacheWays> {
        None
    }

    fn physical(&self, _: u32, mask: WayMask) -> WayMask {
        mask
    }

    fn tasks(&self, _: AppId, _: &mut Vec<i32>) {}

    fn cpus(&self, _: u32) -> Vec<u32> {
        Vec::new()
    }
}
