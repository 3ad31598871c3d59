//! Which CPUs share a last-level cache.

use std::fs;
use std::path::Path;

use fairways_resctrl::language::CpuSet;

/// Room for CPUs: x86's greatest `NR_CPUS` (arch/x86/Kconfig).
const MOST_CPUS: u32 = 8192;

/// The CPUs of the L3 cache with this id, as sysfs tells of those on line (Documentation/ABI/testing/sysfs-devices-system-cpu,
/// `cache/index*/{level,id}`); none if it does not tell.
pub(super) fn cpus_of(sysfs: &Path, id: u32) -> CpuSet {
    let mut cpus = CpuSet::new();
    let entries = fs::read_dir(sysfs.join("devices/system/cpu"));
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("cpu")?.parse::<u32>().ok());
        let Some(cpu) = number.filter(|&cpu| cpu < MOST_CPUS) else { continue };
        if l3_of(&entry.path()) == Some(id) {
            cpus.insert(cpu);
        }
    }
    cpus
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
        assert_eq!(cpus_of(folder.path(), 8).to_list(), "0,2");
        assert_eq!(cpus_of(folder.path(), 0).to_list(), "1");
        assert!(cpus_of(folder.path(), 3).is_empty());
    }
}
