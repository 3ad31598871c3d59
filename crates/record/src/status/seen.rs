//! What of a machine is not told by events and actions.

use fairways_core::{AppId, WayMask};

/// A cache as it is, with what is not given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// All its ways.
    pub all: WayMask,
    /// Those that policies may give out.
    pub offered: WayMask,
    /// The bytes of one way; `None` where they are not known.
    pub way_bytes: Option<u64>,
}

/// What of a machine is not told by events and actions.
pub trait Seen {
    /// The cache of a domain; `None` where nothing but its ways is known.
    fn cache(&self, domain: u32) -> Option<Cache>;

    /// A mask of the ways that are given out, as a line of schemata has it.
    fn physical(&self, domain: u32, mask: WayMask) -> WayMask;

    /// Adds a program's threads to these.
    fn tasks(&self, app: AppId, to: &mut Vec<i32>);

    /// The CPUs of a domain as its policy numbers them; none where they are not told.
    fn cpus(&self, domain: u32) -> Vec<u32>;
}

/// A machine that gives out all it has, and of which nothing more is known: a simulated one, or a journal's.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Seen for Plain {
    fn cache(&self, _: u32) -> Option<Cache> {
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
