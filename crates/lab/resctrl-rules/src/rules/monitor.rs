//! The readings of `mon_data`.

use std::collections::{BTreeMap, BTreeSet};

use super::{Class, Errno, GroupId, Resctrl, World};
use crate::platform::Event;
use fairways_resctrl::language::Reading;

/// Bandwidth counters: where each starts to count, and how events are configured.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    /// The hardware's count when the id was last given out (`arch_mbm_state`).
    start: BTreeMap<(Class, u32, Event), u64>,
    /// Kinds of transactions that an event counts in a domain, where that can be chosen.
    config: BTreeMap<(Event, u32), u32>,
    /// Where the next reading is `Unavailable`.
    restarted: BTreeSet<(Class, u32, Event)>,
    /// Bytes at the last second, and MBps in it (`mbm_state`).
    pub(super) rates: BTreeMap<(Class, u32, Event), (u64, u64)>,
}

impl Counters {
    pub(super) fn domain_gone(&mut self, domain: u32) {
        self.start.retain(|&(_, of, _), _| of != domain);
        self.rates.retain(|&(_, of, _), _| of != domain);
        self.restarted.retain(|&(_, of, _)| of != domain);
    }

    /// How `event` is configured in `domain` (AMD's defaults: `MAX_EVT_CONFIG_BITS`, and everything
    /// local, 0x15).
    pub(super) fn config(&self, event: Event, domain: u32, all: u32) -> u32 {
        let default = if event == Event::MbmLocalBytes { 0x15 } else { 0x7f };
        self.config.get(&(event, domain)).copied().unwrap_or(default & all)
    }

    pub(super) fn configure(&mut self, event: Event, domain: u32, bits: u32) {
        self.config.insert((event, domain), bits);
    }
}

impl Resctrl {
    /// A reading in hardware's units (`mon_scale`).
    pub(super) fn hardware(&self, reading: Reading) -> Reading {
        let scale = self.platform.scale_bytes();
        match reading {
            Reading::Value(bytes) => Reading::Value(bytes - bytes % u64::from(scale)),
            missing => missing,
        }
    }

    /// The name under which an id is kept (`resctrl_arch_rmid_idx_encode`).
    pub(super) fn key(&self, class: Class) -> Class {
        let per_class = self.platform.monitoring.as_ref().is_some_and(|of| of.rmids_per_class);
        if per_class { class } else { Class { closid: 0, rmid: class.rmid } }
    }

    pub(super) fn bandwidth_events(&self) -> Vec<Event> {
        let events = self.platform.monitoring.as_ref().map(|of| of.events.as_slice());
        events.unwrap_or_default().iter().copied().filter(|event| event.is_bandwidth()).collect()
    }

    /// Bandwidth of a new group counts from here (`resctrl_arch_reset_rmid`).
    pub(super) fn start_counters(&mut self, class: Class, world: &mut dyn World) {
        for domain in self.monitored.clone() {
            self.start_counters_of(class, domain, world);
        }
    }

    pub(super) fn start_counters_of(&mut self, class: Class, domain: u32, world: &mut dyn World) {
        for event in self.bandwidth_events() {
            self.start_counter(class, domain, event, world);
        }
    }

    /// One counter starts at 0.
    pub(super) fn start_counter(
        &mut self,
        class: Class,
        domain: u32,
        event: Event,
        world: &mut dyn World,
    ) {
        let now = self.hardware(world.counter(class, domain, event)).value().unwrap_or(0);
        let key = (self.key(class), domain, event);
        self.counters.start.insert(key, now);
        self.counters.rates.remove(&key);
    }

    /// Every counter of a domain starts again, and reports so once (`mbm_config_write_domain`).
    pub(super) fn restart_domain(&mut self, domain: u32, world: &mut dyn World) {
        let unused: Vec<Class> = self.rmids.unused().collect();
        let used = self.groups.values().map(|group| group.class);
        for class in used.chain(unused).collect::<Vec<_>>() {
            self.start_counters_of(class, domain, world);
            for event in self.platform.monitoring.iter().flat_map(|of| of.events.clone()) {
                self.counters.restarted.insert((self.key(class), domain, event));
            }
        }
    }

    /// One id in one domain (`resctrl_arch_rmid_read`).
    pub(super) fn read_counter(
        &mut self,
        class: Class,
        domain: u32,
        event: Event,
        world: &mut dyn World,
    ) -> Reading {
        let key = (self.key(class), domain, event);
        if self.counters.restarted.remove(&key) {
            return Reading::Unavailable;
        }
        let now = self.hardware(world.counter(class, domain, event));
        match now {
            Reading::Value(bytes) if event.is_bandwidth() => {
                let start = self.counters.start.get(&key).copied().unwrap_or(0);
                Reading::Value(bytes.saturating_sub(start))
            }
            other => other,
        }
    }

    /// The same for a group, whose bandwidth is not counted without a counter
    /// (`__l3_mon_event_count`).
    pub(super) fn read_group(
        &mut self,
        group: GroupId,
        domain: u32,
        event: Event,
        world: &mut dyn World,
    ) -> Reading {
        if event.is_bandwidth()
            && self.assigns_counters()
            && !self.is_assigned(group, domain, event)
        {
            return Reading::Unassigned;
        }
        self.read_counter(self.group(group).class, domain, event, world)
    }

    /// The monitored domains that are a cache, or part of it.
    pub(super) fn monitored_in(&self, cache: u32) -> Vec<u32> {
        let all = self.monitored.iter().copied();
        all.filter(|&domain| self.platform.cache_of_monitored(domain) == Some(cache)).collect()
    }

    /// A file of `mon_data`, over these domains: a CTRL_MON group's is the sum with its MON
    /// groups', and one good reading hides those that failed (`mon_event_count`,
    /// `rdtgroup_mondata_show`).
    pub(super) fn show_event(
        &mut self,
        group: GroupId,
        domains: &[u32],
        event: Event,
        world: &mut dyn World,
    ) -> Result<Vec<u8>, Errno> {
        if domains.is_empty() || !domains.iter().all(|domain| self.monitored.contains(domain)) {
            return Err(Errno::Enodev);
        }
        let mut members = vec![group];
        members.extend(&self.group(group).children);
        let mut sum = None;
        let mut failure = Reading::Unavailable;
        let places = members.iter().flat_map(|&member| domains.iter().map(move |&of| (member, of)));
        for (member, domain) in places {
            match self.read_group(member, domain, event, world) {
                Reading::Value(bytes) => sum = Some(bytes.saturating_add(sum.unwrap_or(0))),
                missing => failure = missing,
            }
        }
        let shown = sum.map_or(failure, Reading::Value);
        Ok(format!("{shown}\n").into_bytes())
    }
}
