//! Which CPUs share a last-level cache.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fairways_resctrl::language::CpuSet;

/// Room for CPUs: x86's greatest `NR_CPUS` (arch/x86/Kconfig).
const MOST_CPUS: u32 = 8192;

/// The CPUs of each L3 cache, read again when domains or CPUs come or go.
#[derive(Debug, Default)]
pub(super) struct Topology {
    /// What it was read for: the domains, and the CPUs on line as sysfs lists them.
    of: Option<(Vec<u32>, Option<String>)>,
    cpus: BTreeMap<u32, CpuSet>,
}

impl Topology {
    /// Reads what has changed, for these domains.
    pub(super) fn refresh(&mut self, sysfs: &Path, domains: Vec<u32>) {
        let cpus = sysfs.join("devices/system/cpu");
        let now = Some((domains, fs::read_to_string(cpus.join("online")).ok()));
        if self.of != now {
            self.cpus = by_l3(&cpus);
            self.of = now;
        }
    }

    /// The CPUs of the L3 cache with this id; none if sysfs does not tell.
    pub(super) fn cpus_of(&self, id: u32) -> CpuSet {
        self.cpus.get(&id).cloned().unwrap_or_default()
    }
}

/// The CPUs of each L3 cache, as sysfs tells of those on line (Documentation/ABI/testing/sysfs-devices-system-cpu,
/// `cache/index*/{level,id}`).
fn by_l3(cpus: &Path) -> BTreeMap<u32, CpuSet> {
    let mut caches: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for entry in fs::read_dir(cpus).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("cpu")?.parse::<u32>().ok());
        let Some(cpu) = number.filter(|&cpu| cpu < MOST_CPUS) else { continue };
        if let Some(id) = l3_of(&entry.path()) {
            caches.entry(id).or_default().insert(cpu);
        }
    }
    caches
}

fn l3_of(cpu: &Path) -> Option<u32> {
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u32>().ok();
    fs::read_dir(cpu.join("cache")).ok()?.flatten().find_map(|index| {
        let index = index.path();
        (number(&index.join("level")) == Some(3)).then(|| number(&index.join("id")))?
    })
}

/// A list of CPUs as resctrl's `cpus_list` has it.
pub(super) fn listed(text: &str) -> CpuSet {
    CpuSet::parse_list(text, MOST_CPUS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_level_counts_and_ids_may_skip() {
        let folder = tempfile::tempdir().unwrap();
        for (cpu, level, id) in [(0, 3, 8), (1, 3, 0), (2, 3, 8), (3, 2, 8)] {
            let index = folder.path().join(format!("devices/system/cpu/cpu{cpu}/cache/index3"));
            fs::create_dir_all(&index).unwrap();
            fs::write(index.join("level"), format!("{level}\n")).unwrap();
            fs::write(index.join("id"), format!("{id}\n")).unwrap();
        }
        fs::create_dir_all(folder.path().join("devices/system/cpu/cpufreq")).unwrap();
        let mut topology = Topology::default();
        topology.refresh(folder.path(), vec![0, 8]);
        assert_eq!(topology.cpus_of(8).to_list(), "0,2");
        assert_eq!(topology.cpus_of(0).to_list(), "1");
        assert!(topology.cpus_of(3).is_empty());
    }

    #[test]
    fn it_is_read_again_when_cpus_or_domains_come_or_go() {
        let folder = tempfile::tempdir().unwrap();
        let cpus = folder.path().join("devices/system/cpu");
        let index = cpus.join("cpu0/cache/index3");
        fs::create_dir_all(&index).unwrap();
        fs::write(index.join("level"), "3\n").unwrap();
        let put = |id: u32| fs::write(index.join("id"), format!("{id}\n")).unwrap();
        let online = |list: &str| fs::write(cpus.join("online"), list).unwrap();
        put(0);
        online("0-1\n");
        let mut topology = Topology::default();
        topology.refresh(folder.path(), vec![0]);
        assert_eq!(topology.cpus_of(0).to_list(), "0");
        put(1);
        topology.refresh(folder.path(), vec![0]);
        assert_eq!(topology.cpus_of(0).to_list(), "0", "nothing says that it differs");
        online("0\n");
        topology.refresh(folder.path(), vec![0]);
        assert_eq!(topology.cpus_of(1).to_list(), "0");
        put(2);
        topology.refresh(folder.path(), vec![0, 2]);
        assert_eq!(topology.cpus_of(2).to_list(), "0");
    }
}
