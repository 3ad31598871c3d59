//! A domain as policies see it.

use std::collections::BTreeMap;
use std::time::Instant;

use fairways_core::{BandwidthLever, CpuSet, Levers, Llc, WayMask, Ways};
use fairways_linux::topology::{Topology, listed};

use super::survey::Survey;
use super::ways::{Offer, Room, is_contiguous};
use crate::error::{Error, Scarce};
use crate::settings::Settings;
use crate::tree::mon_data::DividedCache;
use crate::tree::{Tree, of};

/// A cache, or a NUMA node's part of it, with what policies may assign of it. It is an L3, or an L2
/// if no ways of an L3 can be assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Resctrl's id of it; ids may skip numbers. Of a node, its number.
    pub id: u32,
    /// Resctrl's id of the cache in `schemata`.
    pub cache_id: u32,
    /// The NUMA node, where several share the cache and each is a domain (sub-NUMA clusters).
    pub node: Option<u32>,
    /// What is offered: the ways and the classes of service that no other manager uses, without the
    /// root's class.
    pub llc: Llc,
    /// How memory bandwidth can be limited, if it can.
    pub bandwidth: Option<BandwidthLever>,
    /// All ways of the cache, offered or not (`cbm_mask`).
    pub cache: WayMask,
    /// Bytes of one way, for a node its part of them; 0 if resctrl is not used.
    pub way_bytes: u64,
    /// The bit of each offered way in resctrl's masks: offered way `i` is bit `ways[i]`.
    pub ways: Vec<u32>,
    /// The CPUs on line that share the cache; empty if sysfs does not show them and there are
    /// several domains.
    pub cpus: CpuSet,
}

impl Domain {
    /// The levers that policies can set.
    #[must_use]
    pub const fn levers(&self) -> Levers {
        Levers { llc: self.llc, bandwidth: self.bandwidth }
    }

    /// A mask of offered ways as resctrl's: bit `i` becomes bit `ways[i]`.
    #[must_use]
    pub fn physical(&self, mask: WayMask) -> WayMask {
        let bits = (0_u32..).zip(&self.ways).filter(|&(way, _)| mask.contains(way));
        WayMask::from_bits(bits.fold(0, |bits, (_, &way)| bits | 1 << way))
    }

    /// The domains of the nodes that share this cache. Each bit of a mask stands for a part of each
    /// node's cache, of the same size in each (resctrl.rst, "Notes on Sub-NUMA Cluster mode"). Each
    /// node also has its part of the memory channels.
    pub(crate) fn by_node(&self, shared: &[DividedCache]) -> Vec<Self> {
        let Some(shared) = shared.iter().find(|shared| shared.cache == self.id) else {
            return vec![self.clone()];
        };
        let parts = u32::try_from(shared.nodes.len()).unwrap_or(u32::MAX).max(1);
        let mut domains = Vec::new();
        for (node, cpus) in &shared.nodes {
            let (id, cpus) = (*node, cpus.clone());
            let way_bytes = self.way_bytes / u64::from(parts);
            let bandwidth = self.bandwidth.map(|lever| BandwidthLever {
                capacity_mbps: lever.capacity_mbps.map(|mbps| (mbps / parts).max(1)),
                ..lever
            });
            domains.push(Self { id, node: Some(id), way_bytes, bandwidth, cpus, ..self.clone() });
        }
        domains
    }

    /// Resctrl's mask as a mask of offered ways; other ways are dropped.
    #[must_use]
    pub fn offered(&self, mask: WayMask) -> WayMask {
        let bits = (0_u32..).zip(&self.ways).filter(|&(_, &way)| mask.contains(way));
        WayMask::from_bits(bits.fold(0, |bits, (way, _)| bits | 1 << way))
    }
}

/// A limit on the classes that are available.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cap {
    /// The classes that plans may use, besides the root's and others': at least one.
    pub(crate) classes: u32,
    /// How many could be made.
    pub(crate) held: u32,
    /// What the next class lacked.
    pub(crate) lacks: Scarce,
    /// When this was last observed.
    pub(crate) found: Instant,
}

/// What is offered in all domains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offers {
    /// By domain.
    pub(crate) of: BTreeMap<u32, Offer>,
    /// Classes of service besides the root's and others'; 0 only if nothing is to be assigned.
    pub(crate) classes: u32,
    /// The same, by resctrl's own count.
    pub(crate) counted: u32,
    /// The same, as shown to policies.
    shown: u32,
    /// Why no ways can be assigned in some domains, if so.
    pub(crate) lack: Option<String>,
    contiguous: bool,
    min_bits: u32,
    /// How memory bandwidth can be limited, by domain.
    bandwidth: BTreeMap<u32, BandwidthLever>,
}

impl Offers {
    /// What the survey leaves. If that is nothing, an error names the other managers, unless
    /// nothing is to be assigned. At most `most` classes are offered.
    pub(crate) fn find(
        survey: &Survey,
        settings: &Settings,
        most: Option<Cap>,
    ) -> Result<Self, Error> {
        let claims = survey.claims();
        let only_watches = settings.only_watch || settings.dry_run;
        let lack = claims.lack(settings);
        let of: BTreeMap<u32, Offer> = claims
            .domains
            .iter()
            .filter_map(|&domain| {
                let free = claims.free(settings, domain);
                let shown = only_watches.then(|| claims.shown(settings, domain));
                Some((domain, free.or(shown)?))
            })
            .collect();
        if of.is_empty() {
            let (lack, remedy) = (lack.unwrap_or_default(), claims.remedy(settings));
            return Err(Error::Busy(format!("{lack}; to give any out: {remedy}")));
        }
        let counted = claims.classes();
        let classes = most.map_or(counted, |most| most.classes.min(counted));
        let shown = if classes > 0 { classes } else { claims.classes_of_all().max(1) };
        let capacity_mbps = settings.memory_mbps;
        let levers = of.keys().filter_map(|&id| {
            Some((id, BandwidthLever { capacity_mbps, ..survey.bandwidth(id)? }))
        });
        let bandwidth = levers.collect();
        let (contiguous, min_bits) = (is_contiguous(&survey.cache), survey.cache.min_bits.max(1));
        Ok(Self { of, classes, counted, shown, lack, contiguous, min_bits, bandwidth })
    }

    /// Whether ways of a domain can be assigned. Otherwise its programs are only watched.
    pub(crate) fn are_free(&self, domain: u32) -> bool {
        self.of.get(&domain).is_some_and(|offer| offer.is_free)
    }

    /// The domains of which ways can be assigned, in the form that classes need.
    pub(crate) fn rooms(&self) -> BTreeMap<u32, Room> {
        let Self { contiguous, min_bits, .. } = *self;
        let rooms = self.of.iter().filter(|(_, offer)| offer.is_free).map(|(&id, offer)| {
            let bandwidth = self.bandwidth.get(&id).copied();
            (id, Room { ways: offer.ways, contiguous, min_bits, bandwidth })
        });
        rooms.collect()
    }

    /// The domains as policies see them.
    pub(crate) fn domains(&self, survey: &Survey, tree: &Tree, topology: &Topology) -> Vec<Domain> {
        let found = survey.domains.iter().filter_map(|found| {
            let offer = self.of.get(&found.id)?;
            let mut cpus = topology.cpus_of(found.id);
            if cpus.is_empty() && survey.domains.len() == 1 {
                cpus = all_cpus(survey, tree);
            }
            Some(Domain {
                id: found.id,
                cache_id: found.id,
                node: None,
                llc: Llc {
                    ways: Ways::new(offer.ways.count())?,
                    min_bits: self.min_bits,
                    contiguous: self.contiguous,
                    clos: self.shown,
                },
                bandwidth: self.bandwidth.get(&found.id).copied(),
                cache: survey.cache.mask,
                way_bytes: found.way_bytes,
                ways: (0..32).filter(|&way| offer.ways.contains(way)).collect(),
                cpus,
            })
        });
        found.collect()
    }
}

/// Every CPU that resctrl knows: each is in one group.
fn all_cpus(survey: &Survey, tree: &Tree) -> CpuSet {
    let groups = survey.foreign.iter().map(|group| group.name.as_str());
    let lists = std::iter::once("")
        .chain(groups)
        .filter_map(|group| tree.read(&of(group, "cpus_list")).ok());
    lists.fold(CpuSet::new(), |all, text| all.union(&listed(&text)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ways_are_renamed_and_back(bits: u32, ways: u32) {
            let ways: Vec<u32> = (0..32).filter(|way| ways >> way & 1 == 1).collect();
            let mask = WayMask::from_bits(bits & u32::try_from((1_u64 << ways.len()) - 1).unwrap());
            let domain = Domain {
                id: 0,
                cache_id: 0,
                node: None,
                llc: Llc::with_ways(Ways::new(1).unwrap()),
                bandwidth: None,
                cache: WayMask::default(),
                way_bytes: 0,
                ways,
                cpus: CpuSet::new(),
            };
            prop_assert_eq!(domain.offered(domain.physical(mask)), mask);
        }
    }
}
