//! Facts that several checks use.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fairways_core::WayMask;
use fairways_linux::mounts::unescaped;
use fairways_resctrl::language::{Cache, Info, Mode, Schemata, Value};
use fairways_resctrl_client::{Claims, Foreign};

use super::ExaminedHost;
use super::files::{Files, folders, names, text};

/// Groups of this daemon have names that begin with this.
pub(super) const OURS: &str = "fairways.";

/// Where the daemon looks by default, whichever file system is mounted there.
const USUAL: &str = "/sys/fs/resctrl";

/// The facts, each read once.
pub(super) struct Facts {
    pub(super) files: Files,
    /// The text of `/proc/cpuinfo`.
    pub(super) cpuinfo: String,
    /// CPU flags (`flags` of x86, `Features` of ARM) of the first CPU.
    pub(super) flags: Vec<String>,
    /// The first two numbers of the kernel's version, if they are known.
    pub(super) kernel: Option<(u32, u32)>,
    /// Whether the kernel has resctrl, by `/proc/filesystems`; `None` if that is unknown.
    pub(super) registered: Option<bool>,
    pub(super) mounts: Vec<MountLine>,
    pub(super) resctrl: Option<ResctrlMount>,
    /// resctrl's `info`, if it can be read.
    pub(super) info: Option<Info>,
    /// Why it can't be read.
    pub(super) unreadable: Option<String>,
    /// Groups other than the root.
    pub(super) groups: Vec<ControlGroup>,
    /// Those of other managers.
    others: Vec<Foreign>,
    /// What devices fill of the shared cache, by domain, where they have a class of their own.
    io: Option<BTreeMap<u32, WayMask>>,
    /// Names of the monitoring groups in the root group.
    pub(super) monitored: Vec<String>,
}

/// The resources whose ways are given out: the first of them that exists.
pub(super) const SHARED_CACHES: [&str; 4] = ["L3", "L3DATA", "L2", "L2DATA"];

/// A line of `/proc/mounts`.
pub(super) struct MountLine {
    pub(super) point: String,
    pub(super) kind: String,
    pub(super) options: Vec<String>,
}

/// Where resctrl is.
pub(super) struct ResctrlMount {
    pub(super) root: PathBuf,
    /// The same on the host, for texts.
    pub(super) shown: PathBuf,
    /// The type of the file system and its options, if it is a mount.
    pub(super) mounted: Option<(String, Vec<String>)>,
    /// The root group's schemata, if they can be read.
    pub(super) schemata: Option<Schemata>,
}

/// A group with a class of service.
pub(super) struct ControlGroup {
    pub(super) name: String,
    pub(super) mode: Option<Mode>,
    pub(super) schemata: Option<Schemata>,
    /// Monitoring groups in it.
    pub(super) monitored: usize,
}

impl ControlGroup {
    pub(super) fn is_ours(&self) -> bool {
        self.name.starts_with(OURS)
    }

    fn foreign(&self) -> Foreign {
        let schemata = self.schemata.clone().unwrap_or_default();
        Foreign::new(&self.name, &schemata, self.mode)
    }
}

impl Facts {
    pub(super) fn gather(place: &ExaminedHost) -> Self {
        let files = Files::new(&place.sysroot);
        let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
        let flags = field(&cpuinfo, "flags").or_else(|| field(&cpuinfo, "Features"));
        let flags = flags.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let kernel = files.line("proc/sys/kernel/osrelease").as_deref().and_then(version);
        let kinds = files.text("proc/filesystems");
        let registered = kinds
            .map(|text| text.lines().any(|line| line.split_whitespace().last() == Some("resctrl")));
        let mounts = files.text("proc/mounts").unwrap_or_default();
        let mounts: Vec<MountLine> = mounts.lines().filter_map(mount).collect();
        let resctrl = resctrl(place, &files, &mounts);
        let (info, unreadable) = match resctrl.as_ref().map(|resctrl| info(&resctrl.root)) {
            None => (None, None),
            Some(Ok(info)) => (Some(info), None),
            Some(Err(why)) => (None, Some(why)),
        };
        let groups = resctrl.as_ref().map(|resctrl| groups(&resctrl.root)).unwrap_or_default();
        let monitored = resctrl
            .as_ref()
            .map(|resctrl| folders(&resctrl.root.join("mon_groups")))
            .unwrap_or_default();
        let theirs = groups.iter().filter(|group| !group.is_ours());
        let others = theirs.map(ControlGroup::foreign).collect();
        let mut facts = Self {
            files,
            cpuinfo,
            flags,
            kernel,
            registered,
            mounts,
            resctrl,
            info,
            unreadable,
            groups,
            others,
            io: None,
            monitored,
        };
        facts.io = facts.shared_cache().and_then(|cache| io_masks(&facts, cache));
        facts
    }

    pub(super) fn has_flag(&self, flag: &str) -> bool {
        self.flags.iter().any(|known| known == flag)
    }

    /// Whether resctrl's `info` has this file.
    pub(super) fn has_info_file(&self, path: &str) -> bool {
        self.resctrl.as_ref().is_some_and(|of| of.root.join("info").join(path).exists())
    }

    /// Whether the host is an x86 one; `None` if it is neither x86 nor ARM, or unknown.
    pub(super) fn is_x86(&self) -> Option<bool> {
        if self.cpuinfo.contains("vendor_id") {
            Some(true)
        } else if self.cpuinfo.contains("CPU implementer") {
            Some(false)
        } else {
            None
        }
    }

    /// The cache whose ways are given out: the L3, or an L2 where no L3's can be; the one for data,
    /// where code has ways of its own.
    pub(super) fn shared_cache(&self) -> Option<&Cache> {
        let caches = &self.info.as_ref()?.caches;
        SHARED_CACHES.iter().find_map(|name| caches.iter().find(|of| of.resource == *name))
    }

    /// What other managers have of the shared cache; of no domain where the root's `schemata` is
    /// not known.
    pub(super) fn claims_of<'a>(&'a self, cache: &'a Cache) -> Claims<'a> {
        let schemata = self.resctrl.as_ref().and_then(|resctrl| resctrl.schemata.as_ref());
        let line = schemata.and_then(|schemata| schemata.line(&cache.resource));
        let mut domains = line.map(|line| line.domains.clone()).unwrap_or_default();
        domains.retain(|(_, value)| matches!(value, Value::Mask(mask) if !mask.is_empty()));
        // A group has one id in all resources: the least of their numbers applies (resctrl.rst,
        // "num_closids").
        let info = self.info.iter();
        let caches = info.clone().flat_map(|info| info.caches.iter().map(|cache| cache.closids));
        let all = caches.chain(info.flat_map(|info| info.bandwidths.iter().map(|mb| mb.closids)));
        Claims {
            cache,
            domains: domains.into_iter().map(|(id, _)| id).collect(),
            closids: all.fold(cache.closids, u32::min),
            io: self.io.as_ref(),
            groups: &self.others,
        }
    }

    /// The numbers of the folders `cpuN`, one for each CPU of the host, as far as Linux has such
    /// numbers (`CONFIG_NR_CPUS` is at most 8192).
    pub(super) fn cpus(&self) -> Vec<u32> {
        let names = self.files.names("sys/devices/system/cpu");
        let mut cpus: Vec<u32> = names
            .iter()
            .filter_map(|name| name.strip_prefix("cpu").and_then(|digits| digits.parse().ok()))
            .filter(|cpu| *cpu < 8192)
            .collect();
        cpus.sort_unstable();
        cpus
    }
}

/// The first line `name : value` of `/proc/cpuinfo`.
pub(super) fn field(cpuinfo: &str, name: &str) -> Option<String> {
    let line = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    line.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned()).next()
}

/// The first two numbers of a kernel's release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// proc(5), mounts: blanks in a path are written in octal.
fn mount(line: &str) -> Option<MountLine> {
    let mut words = line.split(' ').skip(1);
    let (point, kind, options) = (words.next()?, words.next()?, words.next()?);
    let point = unescaped(point.as_bytes());
    Some(MountLine {
        point: String::from_utf8_lossy(&point).into_owned(),
        kind: kind.to_owned(),
        options: options.split(',').map(str::to_owned).collect(),
    })
}

fn resctrl(place: &ExaminedHost, files: &Files, mounts: &[MountLine]) -> Option<ResctrlMount> {
    let (root, mount) = match &place.resctrl {
        Some(root) => {
            let real = std::fs::canonicalize(root).unwrap_or_else(|_| root.clone());
            (root.clone(), mounts.iter().rfind(|mount| Path::new(&mount.point) == real))
        }
        None => {
            let kernels = mounts.iter().rfind(|mount| mount.kind == "resctrl");
            let mount = kernels.or_else(|| {
                mounts.iter().rfind(|mount| mount.kind == "fuse.resctrl" && mount.point == USUAL)
            })?;
            (files.mounted(&mount.point), Some(mount))
        }
    };
    let mounted = mount.map(|mount| (mount.kind.clone(), mount.options.clone()));
    let schemata = text(&root.join("schemata")).and_then(|text| Schemata::parse(&text).ok());
    let shown = if place.is_copy { USUAL.into() } else { root.clone() };
    (schemata.is_some() || root.join("info").is_dir()).then_some(ResctrlMount {
        root,
        shown,
        mounted,
        schemata,
    })
}

fn info(root: &Path) -> Result<Info, String> {
    let folder = root.join("info");
    let entries = names(&folder);
    Info::read(entries.iter().map(String::as_str), |file| text(&folder.join(file)))
        .map_err(|error| error.to_string())
}

/// The word in `io_alloc`, where the kernel has the file.
pub(super) fn io_alloc_state(facts: &Facts, cache: &Cache) -> Option<String> {
    let info = facts.resctrl.as_ref()?.root.join("info");
    let state = text(&info.join(&cache.resource).join("io_alloc"))?;
    Some(state.trim_end().to_owned())
}

/// The ways that devices fill under a class of their own; `None` where they have none. What can't
/// be read is no way.
fn io_masks(facts: &Facts, cache: &Cache) -> Option<BTreeMap<u32, WayMask>> {
    io_alloc_state(facts, cache).filter(|state| state == "enabled")?;
    let line = &cache.resource;
    let root = &facts.resctrl.as_ref()?.root;
    let masks = text(&root.join("info").join(line).join("io_alloc_cbm")).unwrap_or_default();
    let masks = Schemata::parse(&format!("{line}:{masks}")).unwrap_or_default();
    let mut found = BTreeMap::new();
    for &(id, value) in masks.lines.iter().flat_map(|line| &line.domains) {
        if let Value::Mask(mask) = value {
            found.insert(id, mask);
        }
    }
    Some(found)
}

fn groups(root: &Path) -> Vec<ControlGroup> {
    let mut names = folders(root);
    names.retain(|name| !matches!(name.as_str(), "info" | "mon_data" | "mon_groups"));
    names
        .into_iter()
        .map(|name| {
            let folder = root.join(&name);
            ControlGroup {
                mode: text(&folder.join("mode")).and_then(|text| text.parse().ok()),
                schemata: text(&folder.join("schemata"))
                    .and_then(|text| Schemata::parse(&text).ok()),
                monitored: folders(&folder.join("mon_groups")).len(),
                name,
            }
        })
        .collect()
}
