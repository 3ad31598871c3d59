//! The namespaces of this process, compared with the host's (namespaces(7)).
//!
//! The host's own have fixed numbers (`PROC_PID_INIT_INO` and `PROC_CGROUP_INIT_INO` of
//! include/linux/proc_ns.h), so that a container needs nobody to ask.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::mounts;

/// What `ns/pid` and `ns/cgroup` lead to on the host itself.
const PID_OF_HOST: &str = "pid:[4026531836]";
const CGROUP_OF_HOST: &str = "cgroup:[4026531835]";

/// A namespace of this process that is not the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apart {
    /// What it is, and what is not seen from it.
    pub what: &'static str,
    /// What helps.
    pub remedy: &'static str,
    /// Whether programs of the host can't be found or managed from it.
    pub is_in_the_way: bool,
    /// Whether the numbers of processes in /proc are not those that the kernel takes from this
    /// process.
    pub misnumbers: bool,
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.remedy)
    }
}

const PID_REMEDY: &str =
    "run it in the host's (docker and podman: --pid=host; Kubernetes: hostPID: true)";

const OWN_PIDS: Apart = Apart {
    what: "Fairways runs in a PID namespace of its own: the host's other processes are not seen",
    remedy: PID_REMEDY,
    is_in_the_way: true,
    misnumbers: false,
};

const OTHERS_PIDS: Apart = Apart {
    what: "/proc shows another PID namespace than the one that Fairways runs in: the kernel takes other numbers from it",
    remedy: PID_REMEDY,
    is_in_the_way: true,
    misnumbers: true,
};

const CGROUP_REMEDY: &str = "run it in the host's (docker and podman: --cgroupns=host), or mount the host's /sys/fs/cgroup (Kubernetes: hostPath)";

const OWN_CGROUPS: Apart = Apart {
    what: "Fairways runs in a cgroup namespace of its own: the host's other cgroups are not seen",
    remedy: CGROUP_REMEDY,
    is_in_the_way: true,
    misnumbers: false,
};

const OWN_CGROUPS_OF_HOST: Apart = Apart {
    what: "Fairways runs in a cgroup namespace of its own, with the host's cgroups mounted",
    remedy: "programs are found by them; those above its own have no name here",
    is_in_the_way: false,
    misnumbers: false,
};

/// A namespace of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// The host's.
    OfHost,
    /// Another one.
    Apart(Apart),
    /// Which one is not known.
    Unknown,
}

/// The PID namespace of this process, by a proc file system.
#[must_use]
pub fn of_processes(proc: &Path) -> Namespace {
    let own = proc.join("self");
    // In a proc file system of another namespace, the link `self` leads to another number, or
    // nowhere.
    let leads_to = fs::read_link(&own).ok();
    let is_other = leads_to.is_some_and(|to| to != Path::new(&std::process::id().to_string()));
    match namespace(&own, "pid") {
        Some(of) if of == PID_OF_HOST => Namespace::OfHost,
        _ if is_other => Namespace::Apart(OTHERS_PIDS),
        Some(_) => Namespace::Apart(OWN_PIDS),
        None => Namespace::Unknown,
    }
}

/// The same of cgroups; `mounted` are the places where hierarchies are mounted.
#[must_use]
pub fn of_cgroups(proc: &Path, mounted: &[PathBuf]) -> Namespace {
    match namespace(&proc.join("self"), "cgroup") {
        None => Namespace::Unknown,
        Some(of) if of == CGROUP_OF_HOST => Namespace::OfHost,
        Some(_) if mounted.iter().any(|place| is_root_of_host(place)) => {
            Namespace::Apart(OWN_CGROUPS_OF_HOST)
        }
        Some(_) => Namespace::Apart(OWN_CGROUPS),
    }
}

/// How this process is apart from its host; nothing where that is not known.
#[must_use]
pub fn apart() -> Vec<Apart> {
    let proc = Path::new("/proc");
    let mounts = mounts::all(proc).unwrap_or_default().into_iter();
    let hierarchies = mounts.filter(|mount| matches!(mount.kind.as_str(), "cgroup" | "cgroup2"));
    let mounted: Vec<PathBuf> = hierarchies.map(|mount| mount.point).collect();
    let each = [of_processes(proc), of_cgroups(proc, &mounted)];
    let apart = each.into_iter().filter_map(|of| match of {
        Namespace::Apart(apart) => Some(apart),
        _ => None,
    });
    apart.collect()
}

/// Where a link of `ns` leads. In a copy of a host's files it may be a file with that text.
fn namespace(process: &Path, kind: &str) -> Option<String> {
    let path = process.join("ns").join(kind);
    let text = match fs::read_link(&path) {
        Ok(to) => to.to_str()?.to_owned(),
        Err(_) => fs::read_to_string(&path).ok()?,
    };
    let text = text.trim_end();
    text.starts_with(&format!("{kind}:[")).then(|| text.to_owned())
}

/// Whether a cgroup is the root of the host's hierarchy: of v2, every other one has
/// `cgroup.events`; of v1, no other one has `release_agent`.
fn is_root_of_host(cgroup: &Path) -> bool {
    let [procs, release_agent, controllers, events] =
        ["cgroup.procs", "release_agent", "cgroup.controllers", "cgroup.events"]
            .map(|file| cgroup.join(file).exists());
    procs && (release_agent || controllers && !events)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A proc file system with these namespaces of this process.
    fn proc(leads_to: Option<&str>, pid: &str, cgroup: &str) -> tempfile::TempDir {
        let proc = tempfile::tempdir().unwrap();
        let own = match leads_to {
            Some(number) => {
                symlink(number, proc.path().join("self")).unwrap();
                proc.path().join(number)
            }
            None => proc.path().join("self"),
        };
        fs::create_dir_all(own.join("ns")).unwrap();
        symlink(pid, own.join("ns/pid")).unwrap();
        fs::write(own.join("ns/cgroup"), format!("{cgroup}\n")).unwrap();
        proc
    }

    #[test]
    fn the_host_s_namespaces_are_known_by_their_numbers() {
        let own = std::process::id().to_string();
        let other = "cgroup:[4026532001]";
        let host = proc(Some(&own), PID_OF_HOST, CGROUP_OF_HOST);
        assert_eq!(of_processes(host.path()), Namespace::OfHost);
        assert_eq!(of_cgroups(host.path(), &[]), Namespace::OfHost);
        let container = proc(Some(&own), "pid:[4026532000]", other);
        assert_eq!(of_processes(container.path()), Namespace::Apart(OWN_PIDS));
        assert_eq!(of_cgroups(container.path(), &[]), Namespace::Apart(OWN_CGROUPS));
        let copy = proc(None, "pid:[4026532000]", other);
        assert_eq!(of_processes(copy.path()), Namespace::Apart(OWN_PIDS));
        let odd = proc(Some(&own), "uts:[4026531836]", "7");
        for nothing in [odd.path(), Path::new("/nowhere")] {
            assert_eq!(of_processes(nothing), Namespace::Unknown);
            assert_eq!(of_cgroups(nothing, &[]), Namespace::Unknown);
        }
    }

    #[test]
    fn a_proc_file_system_of_another_namespace_is_noticed() {
        let outer = proc(Some("1"), "pid:[4026532000]", CGROUP_OF_HOST);
        assert_eq!(of_processes(outer.path()), Namespace::Apart(OTHERS_PIDS));
        // That of a namespace in which this process has no number.
        fs::remove_dir_all(outer.path().join("1")).unwrap();
        assert_eq!(of_processes(outer.path()), Namespace::Apart(OTHERS_PIDS));
    }

    #[test]
    fn the_host_s_hierarchy_of_cgroups_is_known_by_its_files() {
        let own = std::process::id().to_string();
        let proc = proc(Some(&own), PID_OF_HOST, "cgroup:[4026532001]");
        let cgroup = tempfile::tempdir().unwrap();
        let place = [cgroup.path().to_owned()];
        assert_eq!(of_cgroups(proc.path(), &place), Namespace::Apart(OWN_CGROUPS));
        for (file, expected) in [
            ("cgroup.procs", OWN_CGROUPS),
            ("cgroup.controllers", OWN_CGROUPS_OF_HOST),
            ("cgroup.events", OWN_CGROUPS),
            ("release_agent", OWN_CGROUPS_OF_HOST),
        ] {
            fs::write(cgroup.path().join(file), "").unwrap();
            assert_eq!(of_cgroups(proc.path(), &place), Namespace::Apart(expected), "{file}");
        }
    }

    /// A line that a reader of a log can follow.
    #[test]
    fn what_helps_is_named() {
        assert!(OWN_PIDS.to_string().contains("PID namespace") && PID_REMEDY.contains("hostPID"));
        assert!(OWN_PIDS.to_string().contains("--pid=host"), "{OWN_PIDS}");
        assert!(OWN_CGROUPS.to_string().contains("--cgroupns=host"), "{OWN_CGROUPS}");
    }
}
