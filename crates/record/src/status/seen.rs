//! What of a machine is not told by events and actions.

use fairways_core::{AppId, WayMask};
use fairways_host::machine::Host;

/// A cache as it is, with what is not given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cache {
    /// All its ways, and those that policies may give out.
    pub(crate) all: WayMask,
    pub(crate) offered: WayMask,
    /// The bytes of one way; `None` where they are not known.
    pub(crate) way_bytes: Option<u64>,
}

/// What of a machine is not told by events and actions.
pub(crate) trait Seen {
    /// The cache of a domain; `None` where nothing but its ways is known.
    fn cache(&self, domain: u32) -> Option<Cache>;

    /// A mask of the ways that are given out, as a line of schemata has it.
    fn physical(&self, domain: u32, mask: WayMask) -> WayMask;

    /// Adds a program's threads to these.
    fn tasks(&self, app: AppId, to: &mut Vec<i32>);

    /// The CPUs of a domain as its policy numbers them; none where they are not told.
    fn cpus(&self, domain: u32) -> Vec<u32>;
}

impl Seen for Host {
    fn cache(&self, domain: u32) -> Option<Cache> {
        let of = self.actuator()?.domains().iter().find(|of| of.id == domain)?;
        let bits = of.ways.iter().fold(0, |bits, way| bits | 1 << way);
        let way_bytes = Some(of.way_bytes).filter(|&bytes| bytes > 0);
        Some(Cache { all: of.cache, offered: WayMask::from_bits(bits), way_bytes })
    }

    fn physical(&self, domain: u32, mask: WayMask) -> WayMask {
        let domains = self.actuator().map_or(&[][..], |of| of.domains());
        let domain = domains.iter().find(|of| of.id == domain);
        domain.map_or(mask, |of| of.physical(mask))
    }

    fn tasks(&self, app: AppId, to: &mut Vec<i32>) {
        to.extend(self.tasks(app));
    }

    fn cpus(&self, domain: u32) -> Vec<u32> {
        self.cpus(domain).to_vec()
    }
}

/// A machine that gives out all it has, and of which nothing more is known: a simulated one, or a journal's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

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
