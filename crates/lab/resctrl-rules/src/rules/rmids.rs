//! Monitoring ids: which are free, and which wait until the cache has forgotten them.
//!
//! A freed id may still own lines, so it is in limbo until every domain has less of it than
//! `max_threshold_occupancy` (fs/resctrl/monitor.c; resctrl.rst, "max_threshold_occupancy - generic
//! concepts").

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Class, Errno, Resctrl, World};
use crate::platform::{Event, Platform};
use fairways_resctrl::language::Reading;

/// The ids (`rmid_free_lru`, `rmid_busy_llc`).
#[derive(Clone, Debug)]
pub(super) struct Rmids {
    /// Whether ids belong to a class, so that the class counts.
    per_class: bool,
    free: VecDeque<Class>,
    /// Domains that still have lines, or may.
    limbo: BTreeMap<Class, BTreeSet<u32>>,
    /// Bytes below which an id is forgotten.
    pub(super) threshold: u32,
}

impl Rmids {
    pub(super) fn new(platform: &Platform) -> Self {
        let Some(monitoring) = &platform.monitoring else {
            return Self {
                per_class: false,
                free: VecDeque::new(),
                limbo: BTreeMap::new(),
                threshold: 0,
            };
        };
        let own = monitoring.rmids / platform.nodes_per_known_cache();
        let most = platform.telemetry().map_or(own, |most| most.min(own));
        let all = (0..platform.classes_with_rmids())
            .flat_map(|closid| (0..most).map(move |rmid| Class { closid, rmid }));
        let scale = platform.scale_bytes();
        let ids = platform.l3_rmids().max(1);
        Self {
            per_class: monitoring.rmids_per_class,
            free: all.filter(|&class| class != Class::default()).collect(),
            limbo: BTreeMap::new(),
            threshold: platform.llc_bytes / ids / scale * scale,
        }
    }

    /// The name under which an id is kept: without its class where ids belong to none.
    const fn key(&self, class: Class) -> Class {
        Class { closid: if self.per_class { class.closid } else { 0 }, rmid: class.rmid }
    }

    /// An id for class `closid` (`alloc_rmid`).
    pub(super) fn take(&mut self, closid: u32) -> Result<u32, Errno> {
        if self.free.is_empty() {
            return Err(if self.limbo.is_empty() { Errno::Enospc } else { Errno::Ebusy });
        }
        let at = self
            .free
            .iter()
            .position(|class| !self.per_class || class.closid == closid)
            .ok_or(Errno::Enospc)?;
        self.free.remove(at).map(|class| class.rmid).ok_or(Errno::Enospc)
    }

    /// Gives an id back: to limbo in `domains`, or, where occupancy is not reported (`None`), at
    /// once (`free_rmid`).
    pub(super) fn give_back(&mut self, class: Class, domains: Option<&BTreeSet<u32>>) {
        let key = self.key(class);
        if key == Class::default() {
            return;
        }
        match domains {
            Some(domains) => drop(self.limbo.insert(key, domains.clone())),
            None => self.free.push_back(key),
        }
    }

    /// The free class with the fewest ids in limbo (`resctrl_find_cleanest_closid`).
    pub(super) fn cleanest(&self, free: impl Iterator<Item = u32>) -> Option<u32> {
        free.min_by_key(|&closid| {
            (self.limbo.keys().filter(|key| key.closid == closid).count(), closid)
        })
    }

    /// Ids that are waited for in `domain`.
    fn waiting(&self, domain: u32) -> Vec<Class> {
        let waiting = self.limbo.iter().filter(|(_, domains)| domains.contains(&domain));
        waiting.map(|(&class, _)| class).collect()
    }

    fn forget(&mut self, class: Class, domain: u32) {
        let Some(domains) = self.limbo.get_mut(&class) else { return };
        domains.remove(&domain);
        if domains.is_empty() {
            self.limbo.remove(&class);
            self.free.push_back(class);
        }
    }

    /// A domain goes: nothing is waited for in it any more (`resctrl_offline_mon_domain`).
    pub(super) fn domain_gone(&mut self, domain: u32) {
        for class in self.waiting(domain) {
            self.forget(class, domain);
        }
    }

    /// How many ids are in limbo.
    pub(super) fn in_limbo(&self) -> usize {
        self.limbo.len()
    }

    /// Ids that are free or in limbo.
    pub(super) fn unused(&self) -> impl Iterator<Item = Class> + '_ {
        self.free.iter().chain(self.limbo.keys()).copied()
    }
}

impl Resctrl {
    /// Frees ids of which the caches have little enough, as the kernel does each second
    /// (`__check_limbo`).
    pub fn check_limbo(&mut self, world: &mut dyn World) {
        for domain in self.monitored.clone() {
            for class in self.rmids.waiting(domain) {
                let held = self.hardware(world.counter(class, domain, Event::LlcOccupancy));
                if let Reading::Value(bytes) = held
                    && bytes < u64::from(self.rmids.threshold)
                {
                    self.rmids.forget(class, domain);
                }
            }
        }
    }

    /// How many monitoring ids wait in limbo.
    #[must_use]
    pub fn in_limbo(&self) -> usize {
        self.rmids.in_limbo()
    }

    pub(super) fn free_rmid(&mut self, class: Class) {
        let Some(monitoring) = &self.platform.monitoring else { return };
        let domains = monitoring.reports_occupancy().then_some(&self.monitored);
        let domains = domains.filter(|domains| !domains.is_empty());
        self.rmids.give_back(class, domains);
    }
}
