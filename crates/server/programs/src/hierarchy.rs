//! Where cgroup hierarchies are mounted, and which tasks are in a cgroup: v2, v1, or both beside
//! each other.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fairways_linux::cgroup::Membership;
use fairways_linux::is_gone;
use fairways_linux::mounts::Mount;

use super::process::{Proc, in_file};

/// The hierarchies to search, in order, after v2: systemd's own of v1, then those that every
/// container manager uses.
const SEARCHED: [&str; 3] = ["name=systemd", "memory", "cpu"];

/// Cgroups whose names are not known are looked for so many levels down: a pod's container is four
/// levels below the root.
const MOST_LEVELS: usize = 4;

/// One hierarchy of cgroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    mount: PathBuf,
    /// Which of its cgroups is mounted there: `/`, except for bind mounts and namespaces.
    root: String,
    /// Whether it is v2's only one.
    pub(super) unified: bool,
    controllers: Vec<String>,
}

impl Hierarchy {
    /// The hierarchies of `mounts` at `below` or under it, each once; v2's first.
    pub(super) fn mounted(mounts: Vec<Mount>, below: &Path) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for hierarchy in mounts.into_iter().filter_map(Self::from_mount) {
            if hierarchy.mount.starts_with(below)
                && !found.iter().any(|known| {
                    known.unified == hierarchy.unified && known.controllers == hierarchy.controllers
                })
            {
                found.push(hierarchy);
            }
        }
        found.sort_by_key(|hierarchy| !hierarchy.unified);
        found
    }

    fn from_mount(mount: Mount) -> Option<Self> {
        let unified = match mount.kind.as_str() {
            "cgroup2" => true,
            "cgroup" => false,
            _ => return None,
        };
        let options = mount.options.split(',');
        let controllers = if unified {
            Vec::new()
        } else {
            options
                .filter(|option| {
                    !matches!(*option, "rw" | "ro" | "xattr" | "noprefix" | "clone_children")
                })
                .filter(|option| !option.starts_with("release_agent="))
                .map(str::to_owned)
                .collect()
        };
        let root = mount.root.to_string_lossy().into_owned();
        Some(Self { mount: mount.point, root, unified, controllers })
    }

    /// Those of `mounted` that are searched for programs.
    pub(super) fn searched(mounted: &[Self]) -> Vec<Self> {
        let mut searched: Vec<Self> = mounted.iter().filter(|one| one.unified).cloned().collect();
        for wanted in SEARCHED {
            if let Some(found) =
                mounted.iter().find(|one| one.has(wanted) && !searched.contains(one))
            {
                searched.push(found.clone());
            }
        }
        if searched.is_empty() {
            searched.extend(mounted.first().cloned());
        }
        searched
    }

    pub(super) fn has(&self, controller: &str) -> bool {
        self.controllers.iter().any(|one| one == controller)
    }

    /// The directory of a cgroup, whose path begins with `/`, the hierarchy's mount point.
    pub(super) fn directory(&self, path: &str) -> PathBuf {
        self.mount.join(path.trim_start_matches('/'))
    }

    /// The mounted cgroup that a process is in, by its `/proc/PID/cgroup`.
    ///
    /// In a cgroup namespace of its own, as containers have, this process sees paths relative to
    /// its own cgroup: `/../../kubepods-besteffort.slice/...`, and the mount's root as `/../../..`.
    pub(super) fn path_of<'text>(&self, text: &'text str) -> Option<Cow<'text, str>> {
        let path = text
            .lines()
            .filter_map(Membership::parse)
            .find(|of| match self.unified {
                true => of.is_unified(),
                false => of.controllers().any(|one| self.has(one)),
            })?
            .path;
        if let (above, "") = levels_above(&self.root)
            && above > 0
        {
            let (levels, path) = levels_above(path);
            let levels = above.checked_sub(levels)?;
            return self.below(levels, path.trim_end_matches('/')).map(Cow::Owned);
        }
        match path.strip_prefix(self.root.trim_end_matches('/'))? {
            "" => Some("/".into()),
            path => path.starts_with('/').then_some(path.into()),
        }
    }

    /// The cgroup of this path, so many levels below the mounted one, whose names are not known.
    fn below(&self, levels: usize, path: &str) -> Option<String> {
        // Its own cgroup, and those above it, have no name here to be known by.
        if levels > MOST_LEVELS || (levels > 0 && path.is_empty()) {
            return None;
        }
        let mut above = vec![String::new()];
        for _ in 0..levels {
            let directories = above.iter().flat_map(|of| {
                let names = fs::read_dir(self.directory(of)).into_iter().flatten().flatten();
                let names = names.filter(|one| one.file_type().is_ok_and(|kind| kind.is_dir()));
                names.filter_map(move |one| Some(format!("{of}/{}", one.file_name().to_str()?)))
            });
            above = directories.collect();
        }
        let mut found = above.into_iter().map(|of| of + path);
        found.find(|path| self.directory(path).is_dir()).map(|path| match path.is_empty() {
            true => "/".to_owned(),
            false => path,
        })
    }

    /// Adds the threads that are in a cgroup itself, not below it; none if it is gone.
    pub(super) fn threads(
        &self,
        path: &str,
        proc: &Proc,
        threads: &mut Vec<i32>,
    ) -> io::Result<()> {
        let directory = self.directory(path);
        // v2's cgroup.procs can't be read in a threaded cgroup (cgroup-v2.rst, "Threads"); its
        // cgroup.threads, since Linux 4.14.
        let by_thread = if self.unified { "cgroup.threads" } else { "tasks" };
        if let Some(found) = read_tasks(&directory.join(by_thread))? {
            threads.extend(found);
            return Ok(());
        }
        for pid in read_tasks(&directory.join("cgroup.procs"))?.unwrap_or_default() {
            proc.threads(pid, threads)?;
        }
        Ok(())
    }

    /// Whether a cgroup of v2 or one below it has a task; `None` where its `cgroup.events` does not
    /// state it.
    pub(super) fn is_populated(&self, path: &str) -> Option<bool> {
        let text = fs::read_to_string(self.directory(path).join("cgroup.events")).ok()?;
        text.lines().find_map(|line| match line.strip_prefix("populated ")? {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        })
    }
}

/// The numbers in a list of tasks; `None` if the file does not exist. Tasks of other namespaces are
/// listed as 0, and left out.
fn read_tasks(path: &Path) -> io::Result<Option<Vec<i32>>> {
    match fs::read_to_string(path) {
        Ok(text) => {
            let numbers = text.lines().filter_map(|line| line.trim().parse().ok());
            Ok(Some(numbers.filter(|&number| number > 0).collect()))
        }
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(in_file(path, &error)),
    }
}

/// How many levels above this process's own cgroup a path begins, and what follows: `/a` of
/// `/../../a`.
fn levels_above(path: &str) -> (usize, &str) {
    let mut rest = path;
    let mut levels = 0;
    while let Some(after) =
        rest.strip_prefix("/..").filter(|of| of.is_empty() || of.starts_with('/'))
    {
        rest = after;
        levels += 1;
    }
    (levels, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounted(table: &str, below: &str) -> Vec<Hierarchy> {
        let mounts = table.lines().filter_map(|line| Mount::parse(line.as_bytes()));
        Hierarchy::mounted(mounts.collect(), Path::new(below))
    }

    const HYBRID: &str = "\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
34 31 0:31 / /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,release_agent=/usr/lib/a,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate
42 31 0:38 / /mnt/elsewhere rw - cgroup2 cgroup2 rw,nsdelegate
";

    #[test]
    fn a_hybrid_host_is_searched_in_order() {
        let mounted = mounted(HYBRID, "/sys/fs/cgroup");
        assert_eq!(mounted.len(), 5, "what is mounted elsewhere is left out");
        let searched = Hierarchy::searched(&mounted);
        let mounts: Vec<_> = searched.iter().map(|one| one.directory("/a/b")).collect();
        let names = ["unified", "systemd", "memory", "cpu,cpuacct"];
        let expected: Vec<_> =
            names.iter().map(|name| Path::new("/sys/fs/cgroup").join(name).join("a/b")).collect();
        assert_eq!(mounts, expected);
        let text = "3:cpu,cpuacct:/x\n2:memory:/docker/a:b\n1:name=systemd:/\n0::/system.slice/a\n";
        let of: Vec<_> = searched.iter().filter_map(|one| one.path_of(text)).collect();
        assert_eq!(of, ["/system.slice/a", "/", "/docker/a:b", "/x"]);
    }

    #[test]
    fn what_is_mounted_of_a_hierarchy_is_its_root() {
        let line = "36 35 0:1 /lxc/a\\040b /sys/fs/cgroup rw - cgroup2 none rw";
        let of = mounted(line, "/sys/fs/cgroup").remove(0);
        assert_eq!(of.path_of("0::/lxc/a b/c").as_deref(), Some("/c"));
        assert_eq!(of.path_of("0::/lxc/a b").as_deref(), Some("/"));
        assert_eq!(of.path_of("0::/lxc/a bc"), None);
        assert_eq!(of.path_of("1:cpu:/lxc/a b"), None);
    }

    /// This process is in /kubepods.slice/burstable/pod/this.
    #[test]
    fn in_a_namespace_of_its_own_paths_begin_above_its_own_cgroup() {
        let folder = tempfile::tempdir().unwrap();
        for made in ["kubepods.slice/burstable/pod/this", "kubepods.slice/besteffort/x", "init"] {
            fs::create_dir_all(folder.path().join(made)).unwrap();
        }
        let at = folder.path().display();
        let line = format!("36 35 0:1 /../../../.. {at} rw - cgroup2 none rw");
        let of = mounted(&line, folder.path().to_str().unwrap()).remove(0);
        for (seen, path) in [
            ("/", None),
            ("/..", None),
            ("/../../pod/this", Some("/kubepods.slice/burstable/pod/this")),
            ("/../../../besteffort/x", Some("/kubepods.slice/besteffort/x")),
            ("/../../../../init", Some("/init")),
            ("/../../../..", Some("/")),
            ("/../../../besteffort/gone", None),
            ("/../../../../../init", None),
        ] {
            assert_eq!(of.path_of(&format!("0::{seen}")).as_deref(), path, "{seen}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "((1 0 0:2 /?)?[ -~]{0,40}( - cgroup2? )?[ -~]{0,40}\n){0,4}", of in "([0-9]:)?[ -~:/]{0,30}") {
            for hierarchy in mounted(&text, "/") {
                if let Some(path) = hierarchy.path_of(&of) {
                    proptest::prop_assert!(path.starts_with('/'));
                }
            }
        }
    }
}
