//! What several checks look at.

use std::path::{Path, PathBuf};

use fairways_linux::mounts::unescaped;
use fairways_resctrl::language::{Cache, Info, Mode, Schemata};

use super::Place;
use super::files::{Files, folders, names, text};

/// Groups of this daemon are named so.
pub(super) const OURS: &str = "fairways.";

/// Where the daemon looks, whose file system it may be, if nobody says otherwise.
const USUAL: &str = "/sys/fs/resctrl";

/// What is read once.
pub(super) struct Facts {
    pub(super) files: Files,
    /// What `/proc/cpuinfo` says.
    pub(super) cpuinfo: String,
    /// CPU flags (`flags` of x86, `Features` of ARM) of the first CPU.
    pub(super) flags: Vec<String>,
    /// Whether the kernel knows resctrl, by `/proc/filesystems`; `None` if that is unknown.
    pub(super) registered: Option<bool>,
    pub(super) mounts: Vec<Mount>,
    pub(super) resctrl: Option<Resctrl>,
    /// resctrl's `info`, if it can be read.
    pub(super) info: Option<Info>,
    /// Why it cannot.
    pub(super) unreadable: Option<String>,
    /// Groups other than the root.
    pub(super) groups: Vec<Group>,
    /// Names of the root's groups that are monitored by themselves.
    pub(super) monitored: Vec<String>,
}

/// A line of `/proc/mounts`.
pub(super) struct Mount {
    pub(super) point: String,
    pub(super) kind: String,
    pub(super) options: Vec<String>,
}

/// Where resctrl is.
pub(super) struct Resctrl {
    pub(super) root: PathBuf,
    /// The type of the file system and its options, if it is a mount.
    pub(super) mounted: Option<(String, Vec<String>)>,
    /// The root group's schemata, if they can be read.
    pub(super) schemata: Option<Schemata>,
}

/// A group with a class of service.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) mode: Option<Mode>,
    pub(super) schemata: Option<Schemata>,
    /// Groups below it that are monitored by themselves.
    pub(super) monitored: usize,
}

impl Group {
    pub(super) fn is_ours(&self) -> bool {
        self.name.starts_with(OURS)
    }
}

impl Facts {
    pub(super) fn gather(place: &Place) -> Self {
        let files = Files::new(&place.sysroot);
        let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
        let flags = field(&cpuinfo, "flags").or_else(|| field(&cpuinfo, "Features"));
        let flags = flags.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let kinds = files.text("proc/filesystems");
        let named = |line: &str| line.split_whitespace().last() == Some("resctrl");
        let registered = kinds.map(|text| text.lines().any(named));
        let mounts = files.text("proc/mounts").unwrap_or_default();
        let mounts: Vec<Mount> = mounts.lines().filter_map(mount).collect();
        let resctrl = resctrl(place, &files, &mounts);
        let (info, unreadable) = match resctrl.as_ref().map(|resctrl| info(&resctrl.root)) {
            None => (None, None),
            Some(Ok(info)) => (Some(info), None),
            Some(Err(why)) => (None, Some(why)),
        };
        let groups = resctrl.as_ref().map(|resctrl| groups(&resctrl.root)).unwrap_or_default();
        let below = |resctrl: &Resctrl| folders(&resctrl.root.join("mon_groups"));
        let monitored = resctrl.as_ref().map(below).unwrap_or_default();
        Self {
            files,
            cpuinfo,
            flags,
            registered,
            mounts,
            resctrl,
            info,
            unreadable,
            groups,
            monitored,
        }
    }

    pub(super) fn has_flag(&self, flag: &str) -> bool {
        self.flags.iter().any(|known| known == flag)
    }

    /// Whether the host is an x86 one; `None` if it is neither that nor ARM, or unknown.
    pub(super) fn is_x86(&self) -> Option<bool> {
        if self.cpuinfo.contains("vendor_id") {
            Some(true)
        } else if self.cpuinfo.contains("CPU implementer") {
            Some(false)
        } else {
            None
        }
    }

    /// The L3 cache whose ways are given out: for data, where code has ways of its own.
    pub(super) fn l3(&self) -> Option<&Cache> {
        let caches = &self.info.as_ref()?.caches;
        let named = |name: &str| caches.iter().find(|cache| cache.resource == name);
        named("L3").or_else(|| named("L3DATA"))
    }

    /// A number of a folder `cpuN`, for each CPU that the host has.
    pub(super) fn cpus(&self) -> Vec<u32> {
        let names = self.files.names("sys/devices/system/cpu");
        let mut cpus: Vec<u32> = names
            .iter()
            .filter_map(|name| name.strip_prefix("cpu").and_then(|digits| digits.parse().ok()))
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

/// proc(5), mounts: blanks of a path are written in octal.
fn mount(line: &str) -> Option<Mount> {
    let mut words = line.split(' ').skip(1);
    let (point, kind, options) = (words.next()?, words.next()?, words.next()?);
    let point = unescaped(point.as_bytes());
    Some(Mount {
        point: String::from_utf8_lossy(&point).into_owned(),
        kind: kind.to_owned(),
        options: options.split(',').map(str::to_owned).collect(),
    })
}

fn resctrl(place: &Place, files: &Files, mounts: &[Mount]) -> Option<Resctrl> {
    let of = |mount: &Mount| (mount.kind.clone(), mount.options.clone());
    let (root, mounted) = match &place.resctrl {
        Some(root) => {
            let real = std::fs::canonicalize(root).unwrap_or_else(|_| root.clone());
            let mount = mounts.iter().rfind(|mount| Path::new(&mount.point) == real);
            (root.clone(), mount.map(of))
        }
        None => {
            let kernels = mounts.iter().rfind(|mount| mount.kind == "resctrl");
            let usual = |mount: &&Mount| mount.kind == "fuse.resctrl" && mount.point == USUAL;
            let mount = kernels.or_else(|| mounts.iter().rfind(usual))?;
            (files.mounted(&mount.point), Some(of(mount)))
        }
    };
    let schemata = text(&root.join("schemata")).and_then(|text| Schemata::parse(&text).ok());
    (schemata.is_some() || root.join("info").is_dir()).then_some(Resctrl {
        root,
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

fn groups(root: &Path) -> Vec<Group> {
    let of_resctrl = |name: &String| matches!(name.as_str(), "info" | "mon_data" | "mon_groups");
    let names = folders(root).into_iter().filter(|name| !of_resctrl(name));
    let group = |name: String| {
        let folder = root.join(&name);
        Group {
            mode: text(&folder.join("mode")).and_then(|text| text.parse().ok()),
            schemata: text(&folder.join("schemata")).and_then(|text| Schemata::parse(&text).ok()),
            monitored: folders(&folder.join("mon_groups")).len(),
            name,
        }
    };
    names.map(group).collect()
}
