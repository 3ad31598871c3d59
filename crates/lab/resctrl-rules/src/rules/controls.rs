//! Masks and limits of each class in each domain, and when masks may overlap.

use std::collections::BTreeMap;

use super::{Errno, Options, Resctrl, Schema, Side, UNLIMITED_MBPS};
use crate::platform::{Platform, Resource};
use fairways_resctrl::language::Mode;

/// The values of one domain in hardware (`struct rdt_hw_ctrl_domain`).
#[derive(Clone, Debug)]
struct Domain {
    values: Vec<u32>,
    mbps: Vec<u32>,
}

/// All control values.
#[derive(Clone, Debug, Default)]
pub(super) struct Controls(BTreeMap<(Resource, u32), Domain>);

/// The place of a class's value: code and data take two places (`resctrl_get_config_index`).
const fn index(side: Side, closid: u32) -> usize {
    match side {
        Side::Both => closid as usize,
        Side::Data => closid as usize * 2,
        Side::Code => closid as usize * 2 + 1,
    }
}

impl Controls {
    /// A domain comes up, unlimited (`domain_setup_ctrlval`).
    pub(super) fn add(&mut self, platform: &Platform, resource: Resource, domain: u32) {
        let Some(closids) = platform.closids(resource) else { return };
        self.0.entry((resource, domain)).or_insert_with(|| Domain {
            values: vec![platform.unlimited(resource); closids as usize],
            mbps: vec![UNLIMITED_MBPS; closids as usize],
        });
    }

    pub(super) fn remove(&mut self, resource: Resource, domain: u32) {
        self.0.remove(&(resource, domain));
    }

    /// Everything unlimited (`resctrl_arch_reset_all_ctrls`).
    pub(super) fn reset(&mut self, platform: &Platform) {
        for (&(resource, _), domain) in &mut self.0 {
            domain.values.fill(platform.unlimited(resource));
            domain.mbps.fill(UNLIMITED_MBPS);
        }
    }

    /// Domains that have a CPU online, ascending.
    pub(super) fn domains(&self, resource: Resource) -> Vec<u32> {
        self.0.range((resource, 0)..=(resource, u32::MAX)).map(|(&(_, domain), _)| domain).collect()
    }

    pub(super) fn value(
        &self,
        resource: Resource,
        domain: u32,
        side: Side,
        closid: u32,
    ) -> Option<u32> {
        self.0.get(&(resource, domain))?.values.get(index(side, closid)).copied()
    }

    pub(super) fn set(
        &mut self,
        resource: Resource,
        domain: u32,
        side: Side,
        closid: u32,
        value: u32,
    ) {
        let domain = self.0.get_mut(&(resource, domain));
        if let Some(place) = domain.and_then(|domain| domain.values.get_mut(index(side, closid))) {
            *place = value;
        }
    }

    /// The limit in MBps, in a domain of MB.
    pub(super) fn mbps(&self, domain: u32, closid: u32) -> Option<u32> {
        self.0.get(&(Resource::Mb, domain))?.mbps.get(closid as usize).copied()
    }

    pub(super) fn set_mbps(&mut self, domain: u32, closid: u32, mbps: u32) {
        let domain = self.0.get_mut(&(Resource::Mb, domain));
        if let Some(place) = domain.and_then(|domain| domain.mbps.get_mut(closid as usize)) {
            *place = mbps;
        }
    }
}

/// The first run of 1-bits, and its length (`find_first_bit`, `find_next_zero_bit`).
pub(super) const fn first_run(mask: u32) -> (u32, u32) {
    if mask == 0 {
        return (32, 0);
    }
    let first = mask.trailing_zeros();
    (first, (mask >> first).trailing_ones())
}

impl Resctrl {
    /// Classes that any group may have: as many as the resource with fewest (`closid_init`).
    pub(super) fn closids_supported(&self) -> u32 {
        self.schemas.iter().map(|schema| schema.closids).min().unwrap_or(0)
    }

    /// Classes in use with the mode of their groups, in ascending order; that of devices has no
    /// group (`closid_allocated`, `rdtgroup_mode_by_closid`).
    pub(super) fn classes_in_use(&self) -> Vec<(u32, Option<Mode>)> {
        let groups = self.order.iter().map(|&id| self.group(id));
        let mut classes: Vec<_> =
            groups.map(|group| (group.class.closid, Some(group.mode))).collect();
        classes.extend(self.reserved_class().map(|closid| (closid, None)));
        classes.sort_by_key(|&(closid, _)| closid);
        classes
    }

    fn overlaps_side(
        &self,
        resource: Resource,
        domain: u32,
        side: Side,
        (mask, closid): (u32, u32),
        exclusive: bool,
    ) -> bool {
        let shareable = self.platform.cache(resource).map_or(0, |cache| cache.shareable_bits);
        if !exclusive && mask & shareable != 0 {
            return true;
        }
        self.classes_in_use().into_iter().any(|(other, mode)| {
            let theirs = self.controls.value(resource, domain, side, other).unwrap_or(0);
            other != closid
                && mode != Some(Mode::PseudoLocksetup)
                && mask & theirs != 0
                && (!exclusive || mode == Some(Mode::Exclusive))
        })
    }

    /// Whether `mask` for class `closid` overlaps that of another class, or of an exclusive one
    /// only; with code and data apart, on either side (`rdtgroup_cbm_overlaps`).
    pub(super) fn overlaps(
        &self,
        schema: Schema,
        domain: u32,
        mask: u32,
        closid: u32,
        exclusive: bool,
    ) -> bool {
        let resource = schema.id.resource;
        let side = schema.id.side;
        let wanted = (mask, closid);
        self.overlaps_side(resource, domain, side, wanted, exclusive)
            || (side != Side::Both
                && self.overlaps_side(resource, domain, side.peer(), wanted, exclusive))
    }

    /// A new group's mask: all that is shared or free, cut to the first run
    /// (`__init_one_rdt_domain`).
    pub(super) fn initial_mask(&self, schema: Schema, domain: u32, closid: u32) -> Option<u32> {
        let resource = schema.id.resource;
        let cache = self.platform.cache(resource)?;
        let mut given = cache.shareable_bits;
        let mut used = cache.shareable_bits;
        for (other, mode) in self.classes_in_use() {
            if other == closid || mode == Some(Mode::PseudoLocksetup) {
                continue;
            }
            let value = |side| self.controls.value(resource, domain, side, other).unwrap_or(0);
            let theirs = value(schema.id.side) | value(schema.id.side.peer());
            used |= theirs;
            if mode == Some(Mode::Shareable) {
                given |= theirs;
            }
        }
        given |= !used & cache.full();
        if !(cache.sparse && self.platform.kernel.sparse_defaults) {
            let (first, run) = first_run(given);
            given = if run == 0 { 0 } else { (u32::MAX >> (32 - run)) << first };
        }
        (given.count_ones() >= cache.min_cbm_bits).then_some(given)
    }

    /// Gives a new group its masks and limits (`rdtgroup_init_alloc`).
    pub(super) fn initialise(&mut self, closid: u32) -> Result<(), Errno> {
        self.other_values.retain(|&(_, of, _), _| of != closid);
        for schema in self.schemas.clone() {
            let resource = schema.id.resource;
            let domains = self.controls.domains(resource);
            if self.is_mba_sc(resource) {
                for domain in domains {
                    self.controls.set_mbps(domain, closid, UNLIMITED_MBPS);
                }
                continue;
            }
            let mut staged = Vec::new();
            for domain in domains {
                let value = if resource.is_cache() {
                    self.initial_mask(schema, domain, closid)
                } else {
                    Some(self.platform.unlimited(resource))
                };
                let Some(value) = value else {
                    let place = format!("No space on {}:{domain}\n", schema.id.name());
                    self.status.print(&[place.as_bytes()]);
                    return Err(Errno::Enospc);
                };
                staged.push((domain, value));
            }
            for (domain, value) in staged {
                self.controls.set(resource, domain, schema.id.side, closid, value);
            }
        }
        Ok(())
    }
}

impl Options {
    /// Whether that schema's values are MBps, not percent (`is_mba_sc`).
    pub(super) const fn is_mbps(self, resource: Resource) -> bool {
        matches!(resource, Resource::Mb) && self.mba_mbps
    }
}
