//! What `status` shows of this host beside events and actions.

use fairways_core::{AppId, WayMask};
use fairways_host::machine::Host;
use fairways_record::status::{CacheWays, MachineRecord, MachineView, UncountedCounter};
use parking_lot::Mutex;

/// Shows which counters are not counted, and why.
pub(super) fn show_uncounted(host: &Host, watched: &Mutex<MachineRecord>) {
    let mut uncounted = Vec::new();
    for (counter, why) in host.uncounted() {
        uncounted.push(UncountedCounter { counter: counter.name().to_owned(), why });
    }
    watched.lock().status.uncounted = uncounted;
}

/// This host, read when a status is made.
pub(super) struct OfHost<'a>(pub(super) &'a Host);

impl MachineView for OfHost<'_> {
    fn cache(&self, domain: u32) -> Option<CacheWays> {
        let domain = self.0.actuator()?.domains().iter().find(|other| other.id == domain)?;
        let bits = domain.ways.iter().fold(0, |bits, way| bits | 1 << way);
        let way_bytes = Some(domain.way_bytes).filter(|&bytes| bytes > 0);
        Some(CacheWays { all: domain.cache, offered: WayMask::from_bits(bits), way_bytes })
    }

    fn physical(&self, domain: u32, mask: WayMask) -> WayMask {
        let domains = self.0.actuator().map_or(&[][..], |actuator| actuator.domains());
        let domain = domains.iter().find(|other| other.id == domain);
        domain.map_or(mask, |domain| domain.physical(mask))
    }

    fn tasks(&self, app: AppId, to: &mut Vec<i32>) {
        to.extend(self.0.tasks(app));
    }

    fn cpus(&self, domain: u32) -> Vec<u32> {
        self.0.cpus(domain).to_vec()
    }
}
