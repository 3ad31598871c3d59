//! Files of /proc and /sys that describe the simulated machine.
//!
//! Clients look at more than resctrl's files: whether the CPU supports it, which CPUs share which
//! cache. These files are meant to be mounted over the real ones (`mount --bind`, in a mount
//! namespace of the client's own) where a client has no flag for them. Sources: proc(5),
//! Documentation/ABI/testing/sysfs-devices-system-cpu and Documentation/filesystems/resctrl.rst,
//! "resctrl: flags".

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use fairways_core::CpuSet;
use fairways_resctrl_rules::platform::{Event, Platform, Resource};

use crate::hardware::{CacheSize, ProcessorShape};

/// Bytes of a line.
const LINE: u32 = 64;

/// Writes `proc/cpuinfo`, `proc/filesystems`, `proc/mounts`, `sys/devices/system/cpu` and
/// `sys/devices/system/node` to a folder, which is made if it does not exist. `mount` and `options`
/// are where and how resctrl will be mounted. Files from an earlier call are replaced; any others
/// stay, and are an error. They cover all CPUs, whichever are taken off line later.
///
/// # Errors
/// If they can't be written; if other files are in the folder; if it is in the directory of the
/// mount, which would hide it.
pub fn write(
    folder: &Path,
    platform: &Platform,
    processor: ProcessorShape,
    mount: &Path,
    options: &str,
) -> io::Result<()> {
    let mount = fs::canonicalize(mount)?;
    fs::create_dir_all(folder)?;
    if fs::canonicalize(folder)?.starts_with(&mount) {
        // It was made, or is empty; otherwise nothing can be mounted there.
        let _ = fs::remove_dir(folder);
        return Err(io::Error::other("expected a folder outside the directory, which hides it"));
    }
    remove(folder)?;
    if fs::read_dir(folder)?.next().is_some() {
        return Err(io::Error::other("expected an empty folder, or one from an earlier start"));
    }
    put(folder, "proc/cpuinfo", &cpuinfo(platform, &processor))?;
    let kinds = "nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\nnodev\tresctrl\n\text4\nnodev\tfuse\n";
    put(folder, "proc/filesystems", kinds)?;
    let shown = in_order(options);
    let mounted =
        [b"resctrl ", &*escaped(&mount), b" resctrl rw,relatime", shown.as_bytes(), b" 0 0\n"];
    fs::write(folder.join("proc/mounts"), mounted.concat())?;
    let all: CpuSet = platform.all_cpus();
    let cpus = "sys/devices/system/cpu";
    for name in ["possible", "present", "online"] {
        put(folder, &format!("{cpus}/{name}"), &format!("{}\n", all.to_list()))?;
    }
    let node = "sys/devices/system/node";
    let nodes = nodes(platform);
    let numbers: CpuSet = nodes.keys().copied().collect();
    for name in ["possible", "online", "has_cpu", "has_memory"] {
        put(folder, &format!("{node}/{name}"), &format!("{}\n", numbers.to_list()))?;
    }
    for (number, cpus) in &nodes {
        let of = format!("{node}/node{number}");
        put(folder, &format!("{of}/cpulist"), &format!("{}\n", cpus.to_list()))?;
        put(folder, &format!("{of}/cpumap"), &format!("{}\n", cpus.to_mask(platform.cpu_limit())))?;
    }
    for cpu in all.iter() {
        let of = format!("{cpus}/cpu{cpu}");
        put(folder, &format!("{of}/online"), "1\n")?;
        let core = cpu / processor.threads;
        let siblings = cpus_of(core, &processor);
        for (name, value) in [
            ("physical_package_id", "0".to_owned()),
            ("die_id", "0".to_owned()),
            ("core_id", core.to_string()),
            ("core_cpus_list", siblings.to_list()),
            ("thread_siblings_list", siblings.to_list()),
            ("core_siblings_list", all.to_list()),
            ("package_cpus_list", all.to_list()),
        ] {
            put(folder, &format!("{of}/topology/{name}"), &format!("{value}\n"))?;
        }
        for (number, _) in nodes.iter().filter(|(_, cpus)| cpus.contains(cpu)) {
            fs::create_dir_all(folder.join(format!("{of}/node{number}")))?;
        }
        let last = last_level(platform);
        for (index, cache) in caches(core, &processor, last).into_iter().enumerate() {
            let shared = if cache.level == last { &all } else { &siblings };
            for (name, value) in cache.files(shared, platform.cpu_limit()) {
                put(folder, &format!("{of}/cache/index{index}/{name}"), &format!("{value}\n"))?;
            }
        }
    }
    Ok(())
}

/// The CPUs of each NUMA node: all of node 0, unless nodes share a cache.
fn nodes(platform: &Platform) -> BTreeMap<u32, CpuSet> {
    let mut nodes: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for cpu in platform.all_cpus().iter() {
        let shared = platform.nodes_per_cache > 1;
        let node = platform.monitored_domain_of(cpu).filter(|_| shared).unwrap_or(0);
        nodes.entry(node).or_default().insert(cpu);
    }
    nodes
}

/// Writes a file below `folder`, and makes the folders on the way.
fn put(folder: &Path, path: &str, text: &str) -> io::Result<()> {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    fs::write(path, text)
}

/// Removes the files that [`write()`] wrote; a folder with other files in it stays as it is.
///
/// # Errors
/// If it can't be removed.
pub fn remove(folder: &Path) -> io::Result<()> {
    let written = fs::read(folder.join("proc/cpuinfo")).unwrap_or_default();
    if String::from_utf8_lossy(&written).starts_with(MARK) {
        fs::remove_dir_all(folder.join("proc"))?;
        fs::remove_dir_all(folder.join("sys"))?;
    }
    Ok(())
}

/// Options in the order in which the kernel shows them, each after a comma
/// (`rdtgroup_show_options`).
fn in_order(options: &str) -> String {
    let given: Vec<&str> = options.split(',').collect();
    let shown = ["cdp", "cdpl2", "mba_MBps", "debug"].into_iter();
    shown.filter(|option| given.contains(option)).map(|option| format!(",{option}")).collect()
}

/// A path as in /proc/mounts: blanks, tabs, newlines and backslashes in octal (`mangle`).
fn escaped(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    for &byte in path.as_os_str().as_bytes() {
        if b" \t\n\\#".contains(&byte) {
            text.extend(format!("\\{byte:03o}").bytes());
        } else {
            text.push(byte);
        }
    }
    text
}

/// The CPUs of a core.
fn cpus_of(core: u32, processor: &ProcessorShape) -> CpuSet {
    let (threads, mut cpus) = (processor.threads, CpuSet::new());
    (core * threads..(core + 1) * threads).for_each(|cpu| cpus.insert(cpu));
    cpus
}

/// A cache, as sysfs describes it.
struct SysfsCache {
    level: u32,
    id: u32,
    kind: &'static str,
    sets: u32,
    ways: u32,
}

impl SysfsCache {
    fn files(&self, shared: &CpuSet, cpus: u32) -> [(&'static str, String); 9] {
        let kilobytes = u64::from(self.sets) * u64::from(self.ways) * u64::from(LINE) / 1024;
        [
            ("level", self.level.to_string()),
            ("id", self.id.to_string()),
            ("type", self.kind.to_owned()),
            ("size", format!("{kilobytes}K")),
            ("shared_cpu_list", shared.to_list()),
            ("shared_cpu_map", shared.to_mask(cpus)),
            ("ways_of_associativity", self.ways.to_string()),
            ("number_of_sets", self.sets.to_string()),
            ("coherency_line_size", LINE.to_string()),
        ]
    }
}

/// The level of the cache that all cores share.
fn last_level(platform: &Platform) -> u32 {
    if platform.last_shared_cache() == Resource::L2 { 2 } else { 3 }
}

fn caches(core: u32, processor: &ProcessorShape, last: u32) -> Vec<SysfsCache> {
    let mut private = vec![(1, "Data", processor.l1), (1, "Instruction", processor.l1i)];
    private.extend(processor.l2.filter(|_| last > 2).map(|l2| (2, "Unified", l2)));
    let mut caches: Vec<SysfsCache> = private
        .into_iter()
        .map(|(level, kind, CacheSize { sets, ways })| SysfsCache {
            level,
            id: core,
            kind,
            sets,
            ways,
        })
        .collect();
    let CacheSize { sets, ways } = processor.llc;
    caches.push(SysfsCache { level: last, id: 0, kind: "Unified", sets, ways });
    caches
}

/// The flags by which the kernel lists the platform's features (resctrl.rst, the table of flags).
fn flags(platform: &Platform) -> String {
    let mut flags = vec!["fpu", "tsc", "msr", "apic", "sse", "sse2", "ht", "rdt_a"];
    let caches = [(&platform.l3, "cat_l3", "cdp_l3"), (&platform.l2, "cat_l2", "cdp_l2")];
    for (cache, cat, cdp) in caches {
        let Some(cache) = cache else { continue };
        flags.push(cat);
        flags.extend(cache.cdp.then_some(cdp));
    }
    if platform.mb.is_some() {
        flags.push("mba");
    }
    if let Some(monitoring) = &platform.monitoring {
        flags.extend(["cqm", "cqm_llc"]);
        for event in &monitoring.events {
            flags.push(match event {
                Event::LlcOccupancy => "cqm_occup_llc",
                Event::MbmTotalBytes => "cqm_mbm_total",
                Event::MbmLocalBytes => "cqm_mbm_local",
            });
        }
    }
    flags.join(" ")
}

/// The beginning of every `proc/cpuinfo` that is written here, by which it is recognised later: its
/// first CPU's lines, and its name.
const MARK: &str = "processor\t: 0\nmodel name\t: Fairways chip as ";

fn cpuinfo(platform: &Platform, processor: &ProcessorShape) -> String {
    let kilobytes = platform.llc_bytes / 1024;
    let flags = flags(platform);
    let mut text = String::new();
    for cpu in platform.all_cpus().iter() {
        let ProcessorShape { cores, threads, mhz, .. } = *processor;
        let (core, siblings) = (cpu / threads, processor.cpus());
        let name = platform.name;
        // Writing to a String does not fail.
        let _ = write!(text, "processor\t: {cpu}\nmodel name\t: Fairways chip as {name}\n");
        if name.ends_with("mpam") {
            // arch/arm64/kernel/cpuinfo.c; MPAM has no flag there.
            text.push_str(
                "Features\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\n\
                 CPU variant\t: 0x0\nCPU part\t: 0xd4f\nCPU revision\t: 0\n\n",
            );
            continue;
        }
        let vendor = if name.starts_with("zen") { "AuthenticAMD" } else { "GenuineIntel" };
        let _ = write!(
            text,
            "vendor_id\t: {vendor}\n\
             cpu MHz\t\t: {mhz}.000\n\
             cache size\t: {kilobytes} KB\n\
             physical id\t: 0\n\
             siblings\t: {siblings}\n\
             core id\t\t: {core}\n\
             cpu cores\t: {cores}\n\
             apicid\t\t: {cpu}\n\
             flags\t\t: {flags}\n\n",
        );
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use fairways_resctrl_rules::platform::Caches;

    use super::*;

    #[test]
    fn a_mount_is_listed_as_the_kernel_lists_it() {
        assert_eq!(in_order("debug,cdp"), ",cdp,debug");
        assert_eq!(escaped(Path::new("/a b\\c")), br"/a\040b\134c");
    }

    #[test]
    fn only_what_was_written_before_is_replaced() {
        let place = tempfile::tempdir().unwrap();
        let (mount, folder) = (place.path().join("resctrl"), place.path().join("host"));
        fs::create_dir(&mount).unwrap();
        let l1 = CacheSize { sets: 64, ways: 8 };
        let (l2, llc) = (CacheSize { sets: 512, ways: 8 }, CacheSize { sets: 1024, ways: 12 });
        let processor =
            ProcessorShape { cores: 4, threads: 1, mhz: 2000, l1, l1i: l1, l2: Some(l2), llc };
        let put = |folder: &Path, platform: Platform| {
            let cpus = (0..processor.cpus()).map(|cpu| (cpu, Caches { l3: 0, l2: cpu }));
            write(folder, &platform.with_cpus(cpus), processor, &mount, "")
        };
        let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
        put(&folder, Platform::mpam()).unwrap();
        assert!(
            read("proc/cpuinfo").contains("implementer") && !read("proc/cpuinfo").contains("Intel")
        );
        fs::write(folder.join("sys/old"), "").unwrap();
        put(&folder, Platform::zen()).unwrap();
        assert!(read("proc/cpuinfo").contains("AuthenticAMD"));
        assert!(!folder.join("sys/old").exists());
        fs::write(folder.join("theirs"), "").unwrap();
        assert!(put(&folder, Platform::zen()).unwrap_err().to_string().contains("empty folder"));
        assert!(folder.join("theirs").exists());
        assert!(put(&mount.join("host"), Platform::zen()).is_err());
        assert_eq!(fs::read_dir(&mount).unwrap().count(), 0);
    }
}
