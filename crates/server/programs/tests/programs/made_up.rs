//! A host made of files only.

use std::fs;
use std::path::PathBuf;

use fairways_programs::{Programs, Roots, Wanted};
use tempfile::TempDir;

/// A proc filesystem and cgroup hierarchies in a directory.
pub(crate) struct Host {
    directory: TempDir,
}

/// One process of it.
pub(crate) struct Process<'a> {
    pub(crate) pid: i32,
    pub(crate) start: u64,
    pub(crate) parent: i32,
    pub(crate) comm: &'a str,
    pub(crate) argument: &'a str,
    pub(crate) threads: &'a [i32],
    pub(crate) cgroup: &'a str,
    pub(crate) flags: u32,
}

impl Default for Process<'_> {
    fn default() -> Self {
        Self {
            pid: 1,
            start: 1,
            parent: 0,
            comm: "a",
            argument: "",
            threads: &[],
            cgroup: "/",
            flags: 0x0040_0000,
        }
    }
}

/// v2 alone, at the usual place.
pub(crate) const V2: &[(&str, &str)] = &[("", "")];
/// v1 alone.
pub(crate) const V1: &[(&str, &str)] =
    &[("systemd", "name=systemd"), ("memory", "memory"), ("perf_event", "perf_event")];
/// Both, as systemd mounts them.
pub(crate) const HYBRID: &[(&str, &str)] =
    &[("systemd", "name=systemd"), ("memory", "memory"), ("unified", "")];

impl Host {
    /// A host with these hierarchies: the place below the cgroup root, and v1's options (none: v2).
    pub(crate) fn new(hierarchies: &[(&str, &str)]) -> Self {
        let host = Self { directory: tempfile::tempdir().expect("a directory") };
        let mut mounts = String::from("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
        for (number, (place, options)) in hierarchies.iter().enumerate() {
            let kind = if options.is_empty() { "cgroup2" } else { "cgroup" };
            let at = host.roots().cgroup.join(place);
            fs::create_dir_all(&at).expect("a mount point");
            let at = at.display().to_string();
            let at = at.trim_end_matches('/');
            mounts += &format!(
                "{} 22 0:{number} / {at} rw,nosuid shared:4 - {kind} {kind} rw,{options}\n",
                30 + number
            );
        }
        fs::create_dir_all(host.roots().proc.join("self")).expect("a directory");
        fs::write(host.roots().proc.join("self/mountinfo"), mounts).expect("mountinfo");
        host
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots {
            proc: self.directory.path().join("proc"),
            cgroup: self.directory.path().join("cgroup"),
            pods: self.directory.path().join("pods"),
        }
    }

    pub(crate) fn programs(&self, wanted: Vec<Wanted>) -> Programs {
        Programs::new(self.roots(), wanted).expect("a host to look at")
    }

    fn of_cgroup(&self, path: &str) -> PathBuf {
        self.roots().cgroup.join(path)
    }

    /// Makes a cgroup of v2, or changes its tasks, and whether it or one below has any.
    pub(crate) fn v2(&self, path: &str, tasks: &[i32], populated: bool) {
        fs::create_dir_all(self.of_cgroup(path)).expect("a cgroup");
        let list: String = tasks.iter().map(|task| format!("{task}\n")).collect();
        fs::write(self.of_cgroup(path).join("cgroup.threads"), list).expect("cgroup.threads");
        let events = format!("populated {}\nfrozen 0\n", u8::from(populated));
        fs::write(self.of_cgroup(path).join("cgroup.events"), events).expect("cgroup.events");
    }

    /// Makes a cgroup with a list of tasks in that file.
    pub(crate) fn list(&self, path: &str, file: &str, tasks: &[i32]) {
        fs::create_dir_all(self.of_cgroup(path)).expect("a cgroup");
        let list: String = tasks.iter().map(|task| format!("{task}\n")).collect();
        fs::write(self.of_cgroup(path).join(file), list).expect("a list of tasks");
    }

    /// Makes a pod's folder of logs, as the kubelet does.
    pub(crate) fn pod(&self, namespace: &str, name: &str, uid: &str) {
        let folder = self.roots().pods.join(format!("{namespace}_{name}_{uid}"));
        fs::create_dir_all(folder).expect("a folder");
    }

    pub(crate) fn remove_cgroup(&self, path: &str) {
        fs::remove_dir_all(self.of_cgroup(path)).expect("a cgroup");
    }

    /// Moves a cgroup out of the tree, so that its inode is not given to another.
    pub(crate) fn move_cgroup_away(&self, path: &str) {
        let away = self.directory.path().join("away");
        fs::create_dir_all(&away).expect("a directory");
        let away = away.join(path.replace('/', "_"));
        fs::rename(self.of_cgroup(path), away).expect("a cgroup");
    }

    pub(crate) fn process(&self, process: &Process<'_>) {
        let Process { pid, start, parent, comm, argument, threads, cgroup, flags } = process;
        let at = self.roots().proc.join(pid.to_string());
        let _ = fs::remove_dir_all(&at);
        for thread in std::iter::once(pid).chain(*threads) {
            fs::create_dir_all(at.join("task").join(thread.to_string())).expect("a thread");
        }
        let count = threads.len() + 1;
        let stat = format!(
            "{pid} ({comm}) S {parent} {pid} {pid} 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 {count} 0 {start} 0 0\n"
        );
        fs::write(at.join("stat"), stat).expect("stat");
        fs::write(at.join("cmdline"), format!("{argument}\0-x\0")).expect("cmdline");
        fs::write(at.join("cgroup"), format!("0::{cgroup}\n")).expect("cgroup");
        fs::write(
            at.join("status"),
            format!("Name:\t{comm}\nCpus_allowed_list:\t{},70\n", pid % 4),
        )
        .expect("status");
    }

    pub(crate) fn end(&self, pid: i32) {
        fs::remove_dir_all(self.roots().proc.join(pid.to_string())).expect("a process");
    }
}
