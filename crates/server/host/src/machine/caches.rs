//! The L3 caches and their CPUs, from sysfs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fairways_core::{CpuSet, Llc, MAX_WAYS, WayMask, Ways};
use fairways_linux::topology::{Topology, l3_folder, listed, number};

use fairways_resctrl_client::Domain;

/// The number of ways of most caches, used if sysfs does not show it.
const USUAL: u32 = 16;

/// A host's L3 caches, if resctrl is not used.
pub(super) struct Caches {
    sysfs: PathBuf,
    topology: Topology,
    domains: Vec<Domain>,
}

impl Caches {
    pub(super) fn new(sysfs: PathBuf) -> io::Result<Self> {
        let mut caches = Self { sysfs, topology: Topology::default(), domains: Vec::new() };
        caches.refresh();
        if caches.domains.is_empty() {
            let file = caches.cpus().join("online");
            let said = format!("{}: expected a list of CPUs", file.display());
            return Err(io::Error::other(said));
        }
        Ok(caches)
    }

    pub(super) fn domains(&self) -> &[Domain] {
        &self.domains
    }

    fn cpus(&self) -> PathBuf {
        self.sysfs.join("devices/system/cpu")
    }

    /// Reads the caches; returns whether they have changed. Whatever can't be read stays as it was.
    pub(super) fn refresh(&mut self) -> bool {
        self.topology.refresh(&self.sysfs);
        let mut found: Vec<Domain> = self
            .topology
            .ids()
            .filter_map(|id| domain(id, self.topology.cpus_of(id), &self.cpus()))
            .collect();
        if found.is_empty() {
            let online = fs::read_to_string(self.cpus().join("online")).unwrap_or_default();
            let online = listed(online.trim());
            if !online.is_empty() {
                found.extend(domain(0, online, &self.cpus()));
            }
        }
        let has_changed = !found.is_empty() && found != self.domains;
        if has_changed {
            self.domains = found;
        }
        has_changed
    }
}

/// A domain with these CPUs. Without resctrl it has one class of service, for all programs.
fn domain(id: u32, cpus: CpuSet, sysfs: &Path) -> Option<Domain> {
    let first = cpus.iter().next().map(|cpu| sysfs.join(format!("cpu{cpu}")));
    let folder = first.and_then(|cpu| l3_folder(&cpu));
    let shown = folder.as_ref().and_then(|of| number(&of.join("ways_of_associativity")));
    let bytes = folder.and_then(|of| bytes(&fs::read_to_string(of.join("size")).ok()?));
    let most = u32::try_from(MAX_WAYS).unwrap_or(u32::MAX);
    // A fully associative cache has none.
    let count = shown.filter(|&ways| ways > 0).unwrap_or(USUAL).min(most);
    let ways = Ways::new(count)?;
    let llc = Llc { clos: 1, ..Llc::with_ways(ways) };
    // 0 if sysfs does not show the cache's size.
    let way_bytes = bytes.unwrap_or(0) / u64::from(count);
    let cache = WayMask::full(ways);
    let ways = (0..count).collect();
    let (cache_id, node, bandwidth) = (id, None, None);
    Some(Domain { id, cache_id, node, llc, bandwidth, cache, way_bytes, ways, cpus })
}

/// The size of a cache from its text in sysfs: 2048K.
fn bytes(size: &str) -> Option<u64> {
    size.trim().strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn cpu(sysfs: &Path, cpu: u32, id: u32, ways: &str) {
        let index = sysfs.join(format!("devices/system/cpu/cpu{cpu}/cache/index3"));
        write(&index.join("level"), "3\n");
        write(&index.join("id"), &format!("{id}\n"));
        write(&index.join("ways_of_associativity"), ways);
        write(&index.join("size"), "40960K\n");
    }

    #[test]
    fn each_l3_is_a_domain_and_what_is_not_shown_is_usual() {
        let folder = tempfile::tempdir().unwrap();
        let sysfs = folder.path();
        let online = sysfs.join("devices/system/cpu/online");
        assert!(Caches::new(sysfs.to_owned()).is_err());
        write(&online, "0-3\n");
        // Sysfs shows no caches: one domain of all CPUs.
        let mut caches = Caches::new(sysfs.to_owned()).unwrap();
        let summary = |caches: &Caches| {
            let of = |of: &Domain| (of.id, of.cpus.to_list(), of.llc.ways.get(), of.llc.clos);
            caches.domains().iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(summary(&caches), [(0, "0-3".to_owned(), 16, 1)]);
        for (number, id, ways) in [(0, 1, "20\n"), (1, 1, "20\n"), (2, 7, "0\n"), (3, 7, "0\n")] {
            cpu(sysfs, number, id, ways);
        }
        assert!(caches.refresh());
        assert_eq!(summary(&caches), [(1, "0-1".to_owned(), 20, 1), (7, "2-3".to_owned(), 16, 1)]);
        let bytes: Vec<u64> = caches.domains().iter().map(|of| of.way_bytes).collect();
        assert_eq!(bytes, [2 << 20, 2560 << 10]);
        assert!(!caches.refresh());
        // A CPU goes: sysfs lists neither it nor its caches any longer.
        fs::remove_dir_all(sysfs.join("devices/system/cpu/cpu1")).unwrap();
        write(&online, "0,2-3\n");
        assert!(caches.refresh());
        assert_eq!(summary(&caches)[0].1, "0");
    }
}
