//! Counters of bandwidth that are assigned to groups (AMD's ABMC; resctrl.rst, `mbm_assign_mode`).
//!
//! In the mode `mbm_event` a group's event counts while it has one of a domain's counters;
//! otherwise it reads `Unassigned`. A new group gets counters as long as there are any. In the mode
//! `default` hardware gives counters out by itself. Here it then has enough for all groups; real
//! hardware has not, and some groups read `Unavailable`.
//!
//! Mode, filters and `mbm_assign_on_mkdir` outlive a mount.

use std::collections::{BTreeMap, BTreeSet};

use super::{Class, Errno, GroupId, Resctrl, World, text};
use crate::platform::{Event, Platform};
use fairways_resctrl::language::{LOCAL_TRANSACTIONS, TRANSACTIONS};

const OFF: &str = "mbm_event counter assignment mode is not enabled\n";

/// The counters' assignments (`struct mbm_cntr_cfg`), and how events count.
#[derive(Clone, Debug)]
pub(super) struct Assigned {
    /// Whether counters are assigned (`mbm_event`).
    by_group: bool,
    /// Whether new groups get counters (`mbm_assign_on_mkdir`).
    on_mkdir: bool,
    counters: BTreeSet<(GroupId, u32, Event)>,
    /// The transactions that events count (`evt_cfg`), where they are not the default.
    filters: BTreeMap<Event, u32>,
}

impl Assigned {
    /// As booted: counters are assigned where they can be.
    pub(super) fn new(platform: &Platform) -> Self {
        let assignable = platform.monitoring.as_ref().and_then(|of| of.assignable);
        Self {
            by_group: platform.kernel.assign_mode_file && assignable.is_some(),
            on_mkdir: true,
            counters: BTreeSet::new(),
            filters: BTreeMap::new(),
        }
    }

    /// A group goes, with its counters (`rdtgroup_unassign_cntrs`).
    pub(super) fn group_gone(&mut self, group: GroupId) {
        self.counters.retain(|&(of, ..)| of != group);
    }

    pub(super) fn domain_gone(&mut self, domain: u32) {
        self.counters.retain(|&(_, of, _)| of != domain);
    }

    fn used(&self, domain: u32) -> usize {
        self.counters.iter().filter(|&&(_, of, _)| of == domain).count()
    }
}

impl Resctrl {
    /// Counters of each domain, where they can be assigned.
    fn assignable(&self) -> u32 {
        self.platform.monitoring.as_ref().and_then(|of| of.assignable).unwrap_or(0)
    }

    /// Whether kernel and hardware can assign counters (`mbm_cntr_assignable`).
    pub(super) fn has_assignable_counters(&self) -> bool {
        self.platform.kernel.assign_mode_file && self.assignable() > 0
    }

    /// Whether counters are assigned now (`resctrl_arch_mbm_cntr_assign_enabled`).
    pub(super) const fn assigns_counters(&self) -> bool {
        self.assigned.by_group
    }

    pub(super) fn is_assigned(&self, group: GroupId, domain: u32, event: Event) -> bool {
        self.assigned.counters.contains(&(group, domain, event))
    }

    /// A new group's counters, as far as there are any; the last message names those that are
    /// missing (`rdtgroup_assign_cntrs`).
    pub(super) fn assign_new(&mut self, group: GroupId, class: Class, world: &mut dyn World) {
        if !self.assigned.by_group || !self.assigned.on_mkdir {
            return;
        }
        for event in self.bandwidth_events() {
            // A group is made without counters, too.
            let _ = self.assign_everywhere(group, class, event, world);
        }
    }

    /// Assigns a counter in each domain that has one left; the error of the last that has not
    /// (`rdtgroup_assign_cntr_event`).
    fn assign_everywhere(
        &mut self,
        group: GroupId,
        class: Class,
        event: Event,
        world: &mut dyn World,
    ) -> Result<(), Errno> {
        let mut done = Ok(());
        for domain in self.monitored.clone() {
            done = self.assign_counter(group, class, domain, event, world).and(done);
        }
        done
    }

    /// `rdtgroup_alloc_assign_cntr`.
    fn assign_counter(
        &mut self,
        group: GroupId,
        class: Class,
        domain: u32,
        event: Event,
        world: &mut dyn World,
    ) -> Result<(), Errno> {
        if self.is_assigned(group, domain, event) {
            return Ok(());
        }
        if self.assigned.used(domain) >= self.assignable() as usize {
            let text = format!("Failed to allocate counter for {event} in domain {domain}\n");
            self.status.print(&[text.as_bytes()]);
            return Err(Errno::Enospc);
        }
        self.assigned.counters.insert((group, domain, event));
        self.start_counter(class, domain, event, world);
        Ok(())
    }

    /// `resctrl_mbm_assign_mode_show`.
    pub(super) fn show_assign_mode(&self) -> Vec<u8> {
        let text: &[u8] = match (self.has_assignable_counters(), self.assigned.by_group) {
            (true, true) => b"[mbm_event]\ndefault\n",
            (true, false) => b"[default]\nmbm_event\n",
            (false, _) => b"[default]\n",
        };
        text.to_vec()
    }

    /// `resctrl_mbm_assign_mode_write`: another mode frees all counters and sets all filters back.
    pub(super) fn write_assign_mode(
        &mut self,
        bytes: &[u8],
        world: &mut dyn World,
    ) -> Result<(), Errno> {
        let by_group = match self.line("mbm_assign_mode", bytes)? {
            b"default" => false,
            b"mbm_event" if self.has_assignable_counters() => true,
            b"mbm_event" => return self.fail("mbm_event mode is not supported\n", Errno::Einval),
            _ => return self.fail("Unsupported assign mode\n", Errno::Einval),
        };
        if by_group == self.assigned.by_group {
            return Ok(());
        }
        let on_mkdir = by_group || self.assigned.on_mkdir;
        self.assigned = Assigned { by_group, on_mkdir, ..Assigned::new(&self.platform) };
        let used: Vec<Class> = self.groups.values().map(|group| group.class).collect();
        for class in used {
            self.start_counters(class, world);
        }
        Ok(())
    }

    /// A number for each domain: `0=32;1=32`.
    fn by_domain(&self, number: impl Fn(u32) -> usize) -> Vec<u8> {
        let domains = self.monitored.iter().map(|&domain| format!("{domain}={}", number(domain)));
        (domains.collect::<Vec<_>>().join(";") + "\n").into_bytes()
    }

    /// `resctrl_num_mbm_cntrs_show`.
    pub(super) fn show_counters(&self) -> Vec<u8> {
        self.by_domain(|_| self.assignable() as usize)
    }

    /// `resctrl_available_mbm_cntrs_show`.
    pub(super) fn show_free_counters(&mut self) -> Result<Vec<u8>, Errno> {
        self.needs_assigned()?;
        let all = self.assignable() as usize;
        Ok(self.by_domain(|domain| all.saturating_sub(self.assigned.used(domain))))
    }

    /// `resctrl_mbm_assign_on_mkdir_show`.
    pub(super) fn show_assign_on_mkdir(&mut self) -> Result<Vec<u8>, Errno> {
        self.needs_assigned()?;
        Ok(super::files::number(self.assigned.on_mkdir.into()))
    }

    /// `resctrl_mbm_assign_on_mkdir_write`.
    pub(super) fn write_assign_on_mkdir(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let on_mkdir = text::switch(text::string(bytes));
        if on_mkdir.is_none() && !self.platform.kernel.explains_bad_input {
            return Err(Errno::Einval);
        }
        self.status.clear();
        let Some(on_mkdir) = on_mkdir else {
            return self.fail("mbm_assign_on_mkdir: Invalid input\n", Errno::Einval);
        };
        self.needs_assigned()?;
        self.assigned.on_mkdir = on_mkdir;
        Ok(())
    }

    /// Clears the last message, as even readers do, and fails while counters are not assigned.
    fn needs_assigned(&mut self) -> Result<(), Errno> {
        self.status.clear();
        if self.assigned.by_group { Ok(()) } else { self.fail(OFF, Errno::Einval) }
    }

    /// The transactions that an event counts by default: all that hardware distinguishes, or those
    /// with the own node's memory (`resctrl_l3_mon_resource_init`).
    fn filter(&self, event: Event) -> u32 {
        let all = self.platform.monitoring.as_ref().and_then(|of| of.configurable).unwrap_or(0x7f);
        let local = event == Event::MbmLocalBytes;
        let usual = if local { all & LOCAL_TRANSACTIONS } else { all };
        self.assigned.filters.get(&event).copied().unwrap_or(usual)
    }

    /// `event_filter_show`.
    pub(super) fn show_filter(&mut self, event: Event) -> Result<Vec<u8>, Errno> {
        self.needs_assigned()?;
        let bits = self.filter(event);
        let counted = TRANSACTIONS.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
        let names: Vec<&str> = counted.map(|(_, name)| *name).collect();
        Ok((names.join(",") + "\n").into_bytes())
    }

    /// `event_filter_write`: counters of the event start again, if it counts other transactions.
    pub(super) fn write_filter(
        &mut self,
        event: Event,
        bytes: &[u8],
        world: &mut dyn World,
    ) -> Result<(), Errno> {
        let mut rest = Some(self.line("event_filter", bytes)?);
        self.needs_assigned()?;
        let mut bits = 0;
        while let Some(text) = rest.filter(|text| !text.is_empty()) {
            let (name, after) = text::cut(text, b',');
            let name = text::trim(name);
            rest = after;
            let Some(bit) = TRANSACTIONS.iter().position(|known| known.as_bytes() == name) else {
                self.status.print(&[b"Invalid memory transaction type ", name, b"\n"]);
                return Err(Errno::Einval);
            };
            bits |= 1 << bit;
        }
        if bits != self.filter(event) {
            self.assigned.filters.insert(event, bits);
            for (group, domain, of) in self.assigned.counters.clone() {
                if of == event {
                    self.start_counter(self.group(group).class, domain, event, world);
                }
            }
        }
        Ok(())
    }

    /// `mbm_L3_assignments_show`.
    pub(super) fn show_assignments(&mut self, group: GroupId) -> Result<Vec<u8>, Errno> {
        self.needs_assigned()?;
        let lines = self.bandwidth_events().into_iter().map(|event| {
            let states = self.monitored.iter().map(|&domain| {
                let state = if self.is_assigned(group, domain, event) { 'e' } else { '_' };
                format!("{domain}={state}")
            });
            format!("{event}:{}\n", states.collect::<Vec<_>>().join(";"))
        });
        Ok(lines.collect::<String>().into_bytes())
    }

    /// `mbm_L3_assignments_write`: line by line, each change at once, until one is wrong.
    pub(super) fn write_assignments(
        &mut self,
        group: GroupId,
        bytes: &[u8],
        world: &mut dyn World,
    ) -> Result<(), Errno> {
        let lines = self.line("mbm_L3_assignments", bytes)?;
        if !self.assigned.by_group {
            return self.fail("mbm_event mode is not enabled\n", Errno::Einval);
        }
        for line in lines.split(|&byte| byte == b'\n') {
            let (name, domains) = text::cut(line, b':');
            let mut known = self.bandwidth_events().into_iter();
            let event = known.find(|event| event.name().as_bytes() == name);
            let Some(event) = event else {
                self.status.print(&[b"Invalid event ", name, b"\n"]);
                return Err(Errno::Enoent);
            };
            self.write_assignment(group, event, domains, world)?;
        }
        Ok(())
    }

    /// `resctrl_parse_mbm_assignment`.
    fn write_assignment(
        &mut self,
        group: GroupId,
        event: Event,
        domains: Option<&[u8]>,
        world: &mut dyn World,
    ) -> Result<(), Errno> {
        let mut rest = domains;
        while let Some(text) = rest.filter(|text| !text.is_empty()) {
            let (pair, after) = text::cut(text, b';');
            rest = after;
            let (id, state) = text::cut(text::trim(pair), b'=');
            if id.first() == Some(&b'*') {
                // What follows is not read.
                return self.set_state(group, event, None, state, world);
            }
            let Ok(number) = text::number(id, 10) else {
                return self.fail("Missing domain id\n", Errno::Einval);
            };
            let mut known = self.monitored.iter().copied();
            let Some(domain) = known.find(|&of| u64::from(of) == number) else {
                // The kernel shows it with a sign.
                let text = format!("Invalid domain id {}\n", number.cast_signed());
                self.status.print(&[text.as_bytes()]);
                return Err(Errno::Einval);
            };
            self.set_state(group, event, Some(domain), state, world)?;
        }
        Ok(())
    }

    /// `rdtgroup_modify_assign_state`, in one domain or in all.
    fn set_state(
        &mut self,
        group: GroupId,
        event: Event,
        domain: Option<u32>,
        state: Option<&[u8]>,
        world: &mut dyn World,
    ) -> Result<(), Errno> {
        let class = self.group(group).class;
        let done = match (state, domain) {
            (Some(b"e"), Some(domain)) => self.assign_counter(group, class, domain, event, world),
            (Some(b"e"), None) => self.assign_everywhere(group, class, event, world),
            (Some(b"_"), _) => {
                self.assigned.counters.retain(|&(of, at, what)| {
                    (of, what) != (group, event) || domain.is_some_and(|domain| domain != at)
                });
                Ok(())
            }
            _ => Err(Errno::Einval),
        };
        if done.is_err() {
            let place = domain.map_or_else(|| "*".to_owned(), |domain| domain.to_string());
            let text = format!("Assign operation '{event}:{place}=");
            self.status.print(&[text.as_bytes(), state.unwrap_or(b"(null)"), b"' failed\n"]);
        }
        done
    }
}
