//! CPUs, and which of them share a last-level cache.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fairways_resctrl::language::CpuSet;

/// As many CPUs as any kernel is built for: x86's greatest `NR_CPUS` (arch/x86/Kconfig).
pub const MOST_CPUS: u32 = 8192;

/// The CPUs of each cache of one level: of each L3, unless another level is asked for.
#[derive(Debug)]
pub struct Topology {
    level: u32,
    /// The list of CPUs on line at the last reading.
    online: Option<String>,
    caches: BTreeMap<u32, CpuSet>,
}

impl Default for Topology {
    fn default() -> Self {
        Self::of_level(3)
    }
}

impl Topology {
    /// That of the caches of this level; nothing is read yet.
    #[must_use]
    pub const fn of_level(level: u32) -> Self {
        Self { level, online: None, caches: BTreeMap::new() }
    }

    /// Reads the cache of every CPU, if other CPUs are on line than before
    /// (Documentation/ABI/testing/sysfs-devices-system-cpu, `online` and
    /// `cache/index*/{level,id}`).
    pub fn refresh(&mut self, sysfs: &Path) {
        let cpus = sysfs.join("devices/system/cpu");
        let online = fs::read_to_string(cpus.join("online")).ok();
        if online.is_some() && online == self.online {
            return;
        }
        self.caches.clear();
        for entry in fs::read_dir(cpus).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let number =
                name.to_str().and_then(|name| name.strip_prefix("cpu")?.parse::<u32>().ok());
            let Some(cpu) = number.filter(|&cpu| cpu < MOST_CPUS) else { continue };
            if let Some(id) = cache_of(&entry.path(), self.level) {
                self.caches.entry(id).or_default().insert(cpu);
            }
        }
        // A CPU that comes is on line before its caches are listed, and one that goes is still on
        // line when they no longer are.
        let known = self.caches.values().fold(CpuSet::new(), |all, cpus| all.union(cpus));
        self.online = online.filter(|online| listed(online) == known);
    }

    /// The ids of the caches of the CPUs on line, ascending.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.caches.keys().copied()
    }

    /// The CPUs on line of the cache with this id; none if sysfs does not list any.
    #[must_use]
    pub fn cpus_of(&self, id: u32) -> CpuSet {
        self.caches.get(&id).cloned().unwrap_or_default()
    }
}

fn cache_of(cpu: &Path, level: u32) -> Option<u32> {
    number(&cache_folder(cpu, level)?.join("id"))
}

/// The directory of a CPU's L3 cache in sysfs, below the CPU's own (`devices/system/cpu/cpuN`).
#[must_use]
pub fn l3_folder(cpu: &Path) -> Option<PathBuf> {
    cache_folder(cpu, 3)
}

/// The directory of a CPU's cache of that level. Of level 2 or 3 there is one, of code and data.
fn cache_folder(cpu: &Path, level: u32) -> Option<PathBuf> {
    let mut folders = fs::read_dir(cpu.join("cache")).ok()?.flatten().map(|index| index.path());
    folders.find(|index| number(&index.join("level")) == Some(level))
}

/// The CPUs on line of a NUMA node (Documentation/ABI/stable/sysfs-devices-node, `cpulist`); none
/// if sysfs does not list any.
#[must_use]
pub fn cpus_of_node(sysfs: &Path, node: u32) -> CpuSet {
    let file = sysfs.join(format!("devices/system/node/node{node}/cpulist"));
    fs::read_to_string(file).map(|text| listed(text.trim())).unwrap_or_default()
}

/// The number in a file of sysfs; `None` if it contains none, or can't be read.
#[must_use]
pub fn number(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// A list of CPUs in the form of resctrl's `cpus_list`; none if it has another form.
#[must_use]
pub fn listed(text: &str) -> CpuSet {
    CpuSet::parse_list(text, MOST_CPUS).unwrap_or_default()
}

/// The host's CPUs of that kind: `online`, `possible`.
#[must_use]
pub fn cpus(sysfs: &Path, kind: &str) -> Option<CpuSet> {
    let text = fs::read_to_string(sysfs.join("devices/system/cpu").join(kind)).ok()?;
    CpuSet::parse_list(text.trim(), MOST_CPUS).ok()
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
        topology.refresh(folder.path());
        assert_eq!(topology.cpus_of(8).to_list(), "0,2");
        assert_eq!(topology.cpus_of(0).to_list(), "1");
        assert!(topology.cpus_of(3).is_empty());
    }

    #[test]
    fn it_is_read_again_once_others_are_on_line() {
        let folder = tempfile::tempdir().unwrap();
        let cpus = folder.path().join("devices/system/cpu");
        let index = |cpu: u32| cpus.join(format!("cpu{cpu}/cache/index3"));
        for cpu in [0, 1] {
            fs::create_dir_all(index(cpu)).unwrap();
            fs::write(index(cpu).join("level"), "3\n").unwrap();
            fs::write(index(cpu).join("id"), "0\n").unwrap();
        }
        let mut topology = Topology::default();
        let mut read = |online: &str| {
            fs::write(cpus.join("online"), online).unwrap();
            topology.refresh(folder.path());
            topology.cpus_of(0).to_list()
        };
        assert_eq!(read("0-2\n"), "0-1", "the third is not known yet");
        fs::create_dir_all(index(2)).unwrap();
        fs::write(index(2).join("level"), "3\n").unwrap();
        fs::write(index(2).join("id"), "0\n").unwrap();
        assert_eq!(read("0-2\n"), "0-2");
        fs::remove_dir_all(index(2)).unwrap();
        assert_eq!(read("0-2\n"), "0-2", "not read again");
        assert_eq!(read("0-1\n"), "0-1");
    }
}
