//! The bandwidth controller of `mba_MBps`: asked in MBps, it turns the percentage until what is measured is below.

use super::{Errno, GroupId, Resctrl};
use crate::platform::Event;

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
}
