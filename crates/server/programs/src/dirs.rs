//! Which cgroups a selector means: by the names that systemd, Docker, containerd, CRI-O, Podman and
//! the kubelet give them.

use std::collections::{BTreeMap, HashMap};

use super::pods::Pods;
use super::selector::ID_DIGITS;
use super::{Selector, Wanted, glob};

/// The cgroups of one match, in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    /// The cgroup that was matched.
    pub(super) top: String,
    /// The matched cgroup, and those below it that are not another program's.
    pub(super) all: Vec<String>,
    /// Whether those are all the cgroups below it.
    pub(super) whole: bool,
}

/// By number in the list, and by the match: the id of a container, the UID of a pod, otherwise the
/// path.
pub(super) type Matches = BTreeMap<(usize, String), Match>;

/// Which entries of the list may select a cgroup: those that pods ask for by their program's name,
/// of which there are many, and all others in turn.
#[derive(Debug, Default)]
pub(super) struct WantedIndex {
    asked: BTreeMap<String, usize>,
    others: Vec<usize>,
}

impl WantedIndex {
    pub(super) fn new(wanted: &[Wanted]) -> Self {
        let mut index = Self::default();
        wanted.iter().enumerate().for_each(|(at, wanted)| index.add(at, wanted));
        index
    }

    /// Adds the last entry of the list.
    pub(super) fn add(&mut self, at: usize, wanted: &Wanted) {
        match &wanted.selector {
            Selector::Asked(program) => {
                self.asked.entry(program.clone()).or_insert(at);
            }
            _ => self.others.push(at),
        }
    }

    /// The first entry that pods ask for by this name.
    pub(super) fn asked(&self, program: &str) -> Option<usize> {
        self.asked.get(program).copied()
    }

    /// The other entries, in their order.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> {
        self.others.iter().copied()
    }

    /// The first entry before another one that selects a cgroup itself, and the match that it is.
    fn first(
        &self,
        before: usize,
        wanted: &[Wanted],
        path: &str,
        pods: &Pods,
    ) -> Option<(usize, String)> {
        let name = path.rsplit('/').next().unwrap_or_default();
        let asked = container_id(name).and_then(|id| {
            let program = pods.announced.program(id)?;
            Some((self.asked(program)?, program.to_owned()))
        });
        let asked = asked.filter(|(at, _)| *at < before);
        let before = asked.as_ref().map_or(before, |(at, _)| *at);
        let mut others = self.others().take_while(|at| *at < before);
        others.find_map(|at| Some((at, direct(&wanted[at], path, pods)?))).or(asked)
    }
}

/// Assigns `paths`, in ascending order, to the entries of the list. A cgroup below a match belongs
/// to it, unless an earlier entry matches there.
pub(super) fn matched<'a>(
    wanted: &[Wanted],
    index: &WantedIndex,
    paths: impl Iterator<Item = &'a str> + Clone,
    pods: &Pods,
) -> Matches {
    let mut matches = Matches::new();
    let mut owners: HashMap<&str, (usize, String)> = HashMap::new();
    for path in paths.clone() {
        let inherited = parent(path).and_then(|parent| owners.get(parent)).cloned();
        let before = inherited.as_ref().map_or(wanted.len(), |&(owner, _)| owner);
        let direct = index.first(before, wanted, path, pods);
        let Some(owner) = direct.or(inherited) else { continue };
        matches
            .entry(owner.clone())
            .or_insert_with(|| Match { top: path.to_owned(), all: Vec::new(), whole: true })
            .all
            .push(path.to_owned());
        owners.insert(path, owner);
    }
    let mut below: HashMap<String, usize> =
        matches.values().map(|of| (of.top.clone(), 0)).collect();
    for path in paths {
        for here in std::iter::successors(Some(path), |path| parent(path)) {
            if let Some(count) = below.get_mut(here) {
                *count += 1;
            }
        }
    }
    for of in matches.values_mut() {
        of.whole = below.get(&of.top) == Some(&of.all.len());
    }
    matches
}

fn parent(path: &str) -> Option<&str> {
    match path.rsplit_once('/')? {
        ("", "") => None,
        ("", _) => Some("/"),
        (parent, _) => Some(parent),
    }
}

fn direct(wanted: &Wanted, path: &str, pods: &Pods) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or_default();
    match &wanted.selector {
        Selector::Cgroup(pattern) => {
            let (mut parts, mut patterns) = (path.split('/'), pattern.split('/'));
            loop {
                match (parts.next(), patterns.next()) {
                    (None, None) => return Some(path.to_owned()),
                    (Some(part), Some(pattern)) if glob::matches(pattern, part) => {}
                    _ => return None,
                }
            }
        }
        Selector::Unit(pattern) | Selector::UserUnit(pattern) => {
            // systemd puts `_` before a name that could be one of the kernel's files (cg_escape in
            // its cgroup-util.c).
            let unit = name.strip_prefix('_').unwrap_or(name);
            let users = matches!(wanted.selector, Selector::UserUnit(_));
            let here = glob::matches(pattern, unit)
                && ancestors(path).all(|name| name.ends_with(".slice") || is_users_manager(name))
                && ancestors(path).any(is_users_manager) == users;
            here.then(|| path.to_owned())
        }
        Selector::Container(id) => {
            let whole = container_id(name)?;
            (id == "*" || whole.starts_with(id.as_str())).then(|| whole.to_owned())
        }
        Selector::Pod(uid) if wanted.each => {
            let id = container_id(name)?;
            ancestors(path).any(|name| is_pod(name, uid)).then(|| id.to_owned())
        }
        Selector::Pod(uid) => is_pod(name, uid).then(|| uid.clone()),
        Selector::PodsOf { namespace, name: pattern } => {
            let uid = pod_uid(name)?.replace('_', "-");
            pods.matches(&uid, namespace, pattern).then_some(uid)
        }
        // These are found by the index.
        Selector::Asked(_) | Selector::Process { .. } | Selector::Pid(_) => None,
    }
}

fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    parent(path).unwrap_or("/").split('/').filter(|name| !name.is_empty())
}

/// Whether it is the unit in which a user's systemd runs, below which the user makes cgroups with
/// any name.
fn is_users_manager(name: &str) -> bool {
    name.starts_with("user@") && name.ends_with(".service")
}

/// The id of the container whose cgroup has that name: `docker-ID.scope`,
/// `cri-containerd-ID.scope`, `crio-ID.scope`, `libpod-ID.scope` under systemd, the id itself or
/// `libpod-ID` without it. The monitors beside them are not containers.
fn container_id(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".scope").unwrap_or(name);
    let (kind, id) = stem.rsplit_once('-').unwrap_or(("", stem));
    let hex =
        id.len() == ID_DIGITS && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (hex && !kind.ends_with("conmon")).then_some(id)
}

/// Whether a cgroup's name is the pod's: `kubepods-burstable-podUID.slice` under systemd, with `_`
/// for `-`, or `podUID`.
fn is_pod(name: &str, uid: &str) -> bool {
    pod_uid(name).is_some_and(|of| of.len() == uid.len() && of.replace('_', "-") == uid)
}

/// The UID of the pod whose cgroup has that name, as written there.
fn pod_uid(name: &str) -> Option<&str> {
    match name.strip_suffix(".slice") {
        Some(stem) => {
            stem.rsplit_once("-pod").filter(|(kind, _)| kind.contains("kubepods")).map(|(_, of)| of)
        }
        None => name.strip_prefix("pod"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(selector: &str, each: bool) -> Wanted {
        Wanted { name: "a".to_owned(), selector: selector.parse().expect(selector), each }
    }

    fn tops(wanted: &[Wanted], paths: &[&str]) -> Vec<(usize, String)> {
        let mut paths = paths.to_vec();
        paths.sort_unstable();
        matched(wanted, &WantedIndex::new(wanted), paths.iter().copied(), &Pods::default())
            .into_iter()
            .map(|((at, _), of)| (at, of.top))
            .collect()
    }

    #[test]
    fn every_managers_names_are_known() {
        let id = format!("ab12{}", "0".repeat(60));
        let uid = "0a1b2c3d-0000-1111-2222-333344445555";
        let slice = format!(
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice",
            uid.replace('-', "_")
        );
        for path in [
            format!("/system.slice/docker-{id}.scope"),
            format!("/docker/{id}"),
            format!("/machine.slice/libpod-{id}.scope"),
            format!("/user.slice/user-0.slice/user@0.service/user.slice/libpod-{id}.scope"),
            format!("{slice}/cri-containerd-{id}.scope"),
            format!("{slice}/crio-{id}.scope"),
            format!("/kubepods/besteffort/pod{uid}/{id}"),
        ] {
            let of = tops(&[wanted("container:ab12", false)], &["/", &path]);
            assert_eq!(of, [(0, path.clone())]);
            if path.contains("kubepods") {
                let above = path.rsplit_once('/').expect("a parent").0;
                let pod = format!("pod:{uid}");
                assert_eq!(tops(&[wanted(&pod, false)], &[above, &path]), [(0, above.to_owned())]);
                assert_eq!(tops(&[wanted(&pod, true)], &[above, &path]), [(0, path.clone())]);
                let other = format!("pod:{}", uid.replace('5', "6"));
                assert_eq!(tops(&[wanted(&other, false)], &[above, &path]), []);
            }
        }
        let monitor = format!("/machine.slice/libpod-conmon-{id}.scope");
        assert_eq!(
            tops(&[wanted("container:*", true)], &[&monitor, "/system.slice/docker.service"]),
            []
        );
    }

    #[test]
    fn units_are_this_hosts() {
        let paths = [
            "/",
            "/system.slice",
            "/system.slice/web@1.service",
            "/system.slice/system-web.slice/web@2.service",
            "/user.slice/user-0.slice/user@0.service/app.slice/web@3.service",
            "/system.slice/docker-a.scope/system.slice/web@4.service",
            "/system.slice/_cpu.service",
        ];
        let of = tops(&[wanted("unit:web@?.service", true)], &paths);
        assert_eq!(of, [(0, paths[3].to_owned()), (0, paths[2].to_owned())]);
        let user = tops(&[wanted("user-unit:web@?", true)], &paths);
        assert_eq!(user, [(0, paths[4].to_owned())]);
        assert_eq!(tops(&[wanted("unit:cpu", false)], &paths), [(0, paths[6].to_owned())]);
        assert_eq!(tops(&[wanted("unit:system.slice", false)], &paths), [(0, paths[1].to_owned())]);
    }

    /// Jobs of Slurm, containers below a slice, and machines of libvirt, as docs/slurm.md selects
    /// them.
    #[test]
    fn jobs_and_machines_are_found() {
        let job = "/system.slice/slurmstepd.scope/job_7";
        let several = "/system.slice/node1_slurmstepd.scope/job_7";
        let first = "/slurm/uid_1000/job_7";
        let steps = format!("{job}/step_0/user/task_0");
        let paths = ["/system.slice/slurmstepd.scope/system", job, &steps, several, first];
        for (selector, expected) in [
            ("cgroup:/system.slice/*slurmstepd.scope/job_7", &[several, job][..]),
            ("cgroup:/slurm*/uid_*/job_7", &[first]),
            ("cgroup:/system.slice/slurmstepd.scope/job_*", &[job]),
        ] {
            let found = tops(&[wanted(selector, true)], &paths);
            let found: Vec<&str> = found.iter().map(|(_, top)| top.as_str()).collect();
            assert_eq!(found, expected, "{selector}");
        }

        let id = "ab12".repeat(16);
        let machine = "/machine.slice/machine-qemu\\x2d3\\x2dweb.scope";
        let virtual_cpu = format!("{machine}/libvirt/vcpu0");
        let container = format!("/batch.slice/docker-{id}.scope");
        let paths = [machine, &virtual_cpu, "/batch.slice", &container];
        for (selector, expected) in [
            ("unit:machine-qemu\\x2d*\\x2dweb.scope", Some(machine)),
            ("unit:machine-qemu*web.scope", Some(machine)),
            ("unit:machine-qemu\\x2d*\\x2ddb.scope", None),
            ("cgroup:/batch.slice/*", Some(&container)),
            ("container:ab12", Some(&container)),
        ] {
            let found = tops(&[wanted(selector, true)], &paths);
            let found: Vec<&str> = found.iter().map(|(_, top)| top.as_str()).collect();
            assert_eq!(found, Vec::from_iter(expected), "{selector}");
        }
    }

    #[test]
    fn a_user_makes_no_unit_of_the_system() {
        let manager = "/user.slice/user-1000.slice/user@1000.service";
        let real = "/system.slice/redis-server.service";
        let fakes = [
            "/app.slice/redis-server.service",
            "/redis-server.service",
            "/system.slice/redis-server.service",
            "/app.slice/user@0.service/system.slice/redis-server.service",
        ]
        .map(|below| format!("{manager}{below}"));
        let paths: Vec<&str> = fakes.iter().map(String::as_str).chain([manager, real]).collect();
        let unit = wanted("unit:redis-server", true);
        assert_eq!(tops(std::slice::from_ref(&unit), &paths), [(0, real.to_owned())]);
        let theirs = wanted("user-unit:redis-server", true);
        let of = tops(&[unit, theirs], &paths);
        assert_eq!(of.iter().filter(|(at, _)| *at == 1).count(), fakes.len());
        // A process in the manager itself belongs to a unit of the system.
        assert_eq!(tops(&[wanted("unit:user@1000", false)], &paths), [(0, manager.to_owned())]);
    }

    fn owned(paths: &[&str]) -> Vec<String> {
        paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>()
    }

    #[test]
    fn the_first_of_the_list_has_a_cgroup() {
        let list = [
            wanted("cgroup:/a/b", false),
            wanted("cgroup:/a", false),
            wanted("cgroup:/a/b/c", false),
        ];
        let paths = ["/", "/a", "/a-b", "/a/b", "/a/b/c", "/a/d"];
        let index = WantedIndex::new(&list);
        let of = matched(&list, &index, paths.into_iter(), &Pods::default());
        let all: Vec<_> = of.iter().map(|((at, _), of)| (*at, of.all.clone(), of.whole)).collect();
        assert_eq!(
            all,
            [(0, owned(&["/a/b", "/a/b/c"]), true), (1, owned(&["/a", "/a/d"]), false)]
        );
        assert_eq!(tops(&[wanted("cgroup:/", false)], &paths), [(0, "/".to_owned())]);
        assert_eq!(tops(&[wanted("cgroup:/a*", true)], &paths).len(), 2);
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_read(path in "(/[ -.0-~]{1,80}){1,4}", uid in "[0-9a-f]{32}") {
            for text in [format!("pod:{uid}"), "container:*".to_owned(), "unit:*.slice".to_owned(), "cgroup:/*".to_owned()] {
                for each in [false, true] {
                    let list = [wanted(&text, each)];
                    let (index, paths) = (WantedIndex::new(&list), [path.as_str()].into_iter());
                    for (_, of) in matched(&list, &index, paths, &Pods::default()) {
                        proptest::prop_assert_eq!(of.all, [path.clone()]);
                    }
                }
            }
        }
    }
}
