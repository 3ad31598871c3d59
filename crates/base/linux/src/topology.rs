//! CPUs, and which of them share a last-level cache.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fairways_core::CpuSet;

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

/// The NUMA nodes on line, each with its CPUs on line: none, of one that has memory alone.
#[must_use]
pub fn nodes(sysfs: &Path) -> BTreeMap<u32, CpuSet> {
    let mut nodes = BTreeMap::new();
    for entry in fs::read_dir(sysfs.join(NODES)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("node")?.parse::<u32>().ok());
        nodes.extend(number.map(|number| (number, cpus_of_node(sysfs, number))));
    }
    nodes
}

/// Whether the nodes in sysfs are of the machine whose resctrl is mounted there: an emulator's
/// machine is not the one that it runs on, whose nodes the kernel's own sysfs shows.
#[must_use]
pub fn describes(sysfs: &Path, resctrl: &Path) -> bool {
    is_of_kind(&sysfs.join(NODES), SYSFS_MAGIC) == is_of_kind(resctrl, RDTGROUP_SUPER_MAGIC)
}

/// Where sysfs lists nodes.
const NODES: &str = "devices/system/node";

/// include/uapi/linux/magic.h.
const SYSFS_MAGIC: u32 = 0x6265_6572;
const RDTGROUP_SUPER_MAGIC: u32 = 0x0765_5821;

/// Whether the file system of a path has this number.
fn is_of_kind(path: &Path, magic: u32) -> bool {
    let found = rustix::fs::statfs(path);
    found.is_ok_and(|found| u32::try_from(found.f_type) == Ok(magic))
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
    fn nodes_may_have_no_cpus_and_skip_numbers() {
        let folder = tempfile::tempdir().unwrap();
        for (node, cpus) in [("node0", "0-3,8\n"), ("node2", "\n"), ("nodex", "1\n")] {
            let path = folder.path().join(NODES).join(node);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("cpulist"), cpus).unwrap();
        }
        fs::write(folder.path().join(NODES).join("online"), "0,2\n").unwrap();
        let nodes = nodes(folder.path());
        let shown: Vec<_> = nodes.iter().map(|(node, cpus)| (*node, cpus.to_list())).collect();
        assert_eq!(shown, [(0, "0-3,8".to_owned()), (2, String::new())]);
    }

    /// A folder is neither the kernel's sysfs nor its resctrl.
    #[test]
    fn a_made_up_machine_is_described_by_made_up_files_alone() {
        let folder = tempfile::tempdir().unwrap();
        assert!(describes(folder.path(), folder.path()));
        if Path::new("/sys").join(NODES).is_dir() {
            assert!(!describes("/sys".as_ref(), folder.path()));
        }
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
