//! The bandwidth controller of `mba_MBps`: for a limit in MBps, it turns the percentage until the
//! measured rate is below.

use super::{Errno, GroupId, Resctrl, Side, World};
use crate::platform::{Event, Resource};
use fairways_resctrl::language::Reading;

/// What MBps are counted in (`SZ_1M`).
const MIB: u64 = 1 << 20;

impl Resctrl {
    /// `rdtgroup_mba_mbps_event_show`.
    pub(super) fn show_mbps_event(&self, group: GroupId) -> Result<Vec<u8>, Errno> {
        let event = self.group(group).mbps_event.ok_or(Errno::Einval)?;
        Ok(format!("{event}\n").into_bytes())
    }

    /// `rdtgroup_mba_mbps_event_write`.
    pub(super) fn write_mbps_event(&mut self, group: GroupId, bytes: &[u8]) -> Result<(), Errno> {
        let word = self.line("mba_MBps_event", bytes)?;
        let events = self.platform.monitoring.as_ref().map(|monitoring| &monitoring.events);
        let known = [Event::MbmLocalBytes, Event::MbmTotalBytes].into_iter();
        let event = known
            .filter(|event| events.is_some_and(|events| events.contains(event)))
            .find(|event| event.name().as_bytes() == word);
        let Some(event) = event else {
            self.status.print(&[b"Unsupported event id '", word, b"'\n"]);
            return Err(Errno::Einval);
        };
        self.group_mut(group).mbps_event = Some(event);
        Ok(())
    }

    /// One step of the controller, which the kernel takes each second: a group that moves more than
    /// it may is throttled by a step, and released by a step once it would still be below
    /// (`mbm_handle_overflow`, `update_mba_bw`).
    ///
    /// Does nothing without `mba_MBps`.
    pub fn check_bandwidth(&mut self, world: &mut dyn World) {
        if !self.options().mba_mbps {
            return;
        }
        for domain in self.monitored.clone() {
            for group in self.order.clone() {
                let mut moved = self.rate_of(group, group, domain, world);
                for child in self.group(group).children.clone() {
                    moved += self.rate_of(child, group, domain, world);
                }
                self.throttle(group, domain, moved);
            }
        }
    }

    /// MBps since the last step under the id of `member`, by the event of `group` (`mbm_bw_count`).
    fn rate_of(
        &mut self,
        member: GroupId,
        group: GroupId,
        domain: u32,
        world: &mut dyn World,
    ) -> u64 {
        let Some(event) = self.group(group).mbps_event else { return 0 };
        let class = self.group(member).class;
        let reading = self.read_group(member, domain, event, world);
        let key = (self.key(class), domain, event);
        let (before, rate) = self.counters.rates.get(&key).copied().unwrap_or_default();
        let Reading::Value(bytes) = reading else { return rate };
        let rate = bytes.saturating_sub(before) / MIB;
        self.counters.rates.insert(key, (bytes, rate));
        rate
    }

    fn throttle(&mut self, group: GroupId, domain: u32, moved: u64) {
        let closid = self.group(group).class.closid;
        let Some(mb) = self.platform.bandwidth(Resource::Mb) else { return };
        let (Some(now), Some(limit)) = (
            self.controls.value(Resource::Mb, domain, Side::Both, closid),
            self.controls.mbps(domain, closid),
        ) else {
            return;
        };
        let limit = u64::from(limit);
        let next = moved * u64::from(now + mb.min) / u64::from(now.max(1));
        let value = if now > mb.min && limit < moved {
            now.saturating_sub(mb.gran).max(mb.min)
        } else if now < mb.max && limit > next {
            now + mb.gran
        } else {
            return;
        };
        self.controls.set(Resource::Mb, domain, Side::Both, closid, value);
        self.changed();
    }
}
