//! Who uses the processor: all processes, grouped as an administrator would select them.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use super::pods::Pods;
use super::process::Proc;
use super::selector::ID_DIGITS;
use super::{Roots, Selector};

/// Processes that one selector selects. Their names are up to the users that started them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuUser {
    /// The selector.
    pub selector: Selector,
    /// By their numbers, the CPU time of each since it started.
    pub processes: BTreeMap<i32, Duration>,
}

impl CpuUser {
    /// All programs on this host except kernel threads and this process: pods, containers, units,
    /// other cgroups, and, where a cgroup reveals nothing, processes by their command. In the order
    /// of their selectors.
    ///
    /// # Errors
    /// If processes can't be listed. One that ends meanwhile is passed over.
    pub fn all(roots: &Roots) -> io::Result<Vec<Self>> {
        let proc = Proc::new(roots.proc.clone());
        let mut pods = Pods::new(roots.pods.clone());
        pods.refresh_quietly();
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        let mut users: BTreeMap<String, Self> = BTreeMap::new();
        for pid in proc.pids()? {
            let Ok(Some(stat)) = proc.stat(pid) else { continue };
            if stat.is_kernel_thread() || stat.has_ended() || pid == own {
                continue;
            }
            let cgroups = proc.cgroups(pid).ok().flatten().unwrap_or_default();
            let selector = selector(path(&cgroups), &stat.comm, pid, &pods);
            let user = users
                .entry(selector.to_string())
                .or_insert_with(|| Self { selector: selector.clone(), processes: BTreeMap::new() });
            let cpu_time = Duration::from_millis(stat.ticks.saturating_mul(1000) / ticks);
            user.processes.insert(pid, cpu_time);
        }
        Ok(users.into_values().collect())
    }
}

/// The path in the hierarchy that systemd and container managers use (`proc_pid_cgroup(5)`): the
/// unified one, or systemd's own beside those of version 1. `/` if none exists.
fn path(cgroups: &str) -> &str {
    let mut paths = cgroups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        (matches!(controllers, "" | "name=systemd") && path != "/").then_some(path)
    });
    paths.next().unwrap_or("/")
}

/// The selector that an administrator would use for a process in this cgroup.
fn selector(path: &str, comm: &str, pid: i32, pods: &Pods) -> Selector {
    if path.contains('*') || path.contains('?') || path.chars().any(char::is_control) {
        return by_command(comm, pid);
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if let Some(uid) = parts.iter().find_map(|part| uid(part)) {
        return pods.name(&uid).map_or(Selector::Pod(uid), |(namespace, name)| Selector::PodsOf {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        });
    }
    if let Some(id) = parts.iter().find_map(|part| container(part)) {
        return Selector::Container(id[..12].to_owned());
    }
    let (system, user) = path.split_once("/user@").unwrap_or((path, ""));
    // A name below the first belongs to the unit itself.
    if let Some(unit) = user.split('/').skip(1).find(is_unit) {
        return Selector::UserUnit(unit.to_owned());
    }
    if let Some(unit) = system.split('/').find(is_unit) {
        return Selector::Unit(unit.to_owned());
    }
    let is_generic = parts.iter().all(|part| part.ends_with(".slice") || part.ends_with(".scope"));
    match is_generic || !user.is_empty() {
        true => by_command(comm, pid),
        false => Selector::Cgroup(path.to_owned()),
    }
}

/// Selects a process by its command, or by its number if the command is no plain name.
fn by_command(comm: &str, pid: i32) -> Selector {
    let is_plain = !comm.contains(|letter: char| letter.is_control() || "*?,".contains(letter));
    match is_plain && !comm.is_empty() {
        true => Selector::Process { pattern: comm.to_owned(), user: None },
        false => Selector::Pid(pid),
    }
}

/// Whether a cgroup's name is that of a unit with programs of its own.
fn is_unit(part: &&str) -> bool {
    let is_service = part.ends_with(".service") && !part.starts_with("user@");
    // The processes of a session have nothing in common but the user that logged in.
    let is_scope = part.ends_with(".scope") && !part.starts_with("session-");
    is_service || is_scope && *part != "init.scope"
}

/// The UID of the pod whose cgroup it is, as the kubelet names them: `podUID`, or
/// `kubepods-burstable-podUID.slice` with `_` for `-`.
fn uid(part: &str) -> Option<String> {
    let is_kubelets = part.starts_with("kubepods") || part.starts_with("pod");
    let (_, uid) = part.rsplit_once("pod").filter(|_| is_kubelets)?;
    let uid = uid.strip_suffix(".slice").unwrap_or(uid).replace('_', "-");
    super::selector::is_uid(&uid).then_some(uid)
}

/// The id of the container whose cgroup it is: `docker-ID.scope`, or the id alone.
fn container(part: &str) -> Option<&str> {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let id = part.rsplit_once('-').map_or(part, |(_, id)| id);
    let is_id = id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_selected_as_an_administrator_would() {
        let id = "ab12".repeat(16);
        let uid = "0f0e0d0c-1111-2222-3333-444455556666";
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(format!("web_api-1_{uid}"))).expect("a folder");
        let mut pods = Pods::new(folder.path().to_owned());
        pods.refresh_quietly();
        let unknown = uid.replace("0f0e", "0000");
        for (path, expected) in [
            ("/", "process:comm"),
            ("/user.slice/user-0.slice/session-3.scope", "process:comm"),
            ("/init.scope", "process:comm"),
            ("/system.slice/nginx.service", "unit:nginx.service"),
            ("/system.slice/nginx.service/worker", "unit:nginx.service"),
            ("/machine.slice/machine-qemu.scope", "unit:machine-qemu.scope"),
            (
                "/user.slice/user-7.slice/user@7.service/app.slice/web.service",
                "user-unit:web.service",
            ),
            ("/user.slice/user-7.slice/user@7.service/init.scope", "process:comm"),
            ("/batch/night", "cgroup:/batch/night"),
            (&format!("/system.slice/docker-{id}.scope"), "container:ab12ab12ab12"),
            (&format!("/docker/{id}"), "container:ab12ab12ab12"),
            (
                &format!(
                    "/kubepods.slice/kubepods-pod{}.slice/cri-{id}.scope",
                    uid.replace('-', "_")
                ),
                "pod:web/api-1",
            ),
            (&format!("/kubepods/burstable/pod{unknown}/{id}"), &format!("pod:{unknown}")),
            ("/podium/x", "cgroup:/podium/x"),
            ("/a*", "process:comm"),
        ] {
            let found = selector(path, "comm", 7, &pods);
            assert_eq!(found.to_string(), expected, "{path}");
            assert_eq!(expected.parse(), Ok(found), "{path}");
        }
        // Names that would be patterns.
        for comm in ["a*", "a,user=root", "a\u{1b}[2J", ""] {
            assert_eq!(selector("/", comm, 7, &pods), Selector::Pid(7), "{comm:?}");
        }
    }

    #[test]
    fn the_path_is_that_of_systemd() {
        assert_eq!(path("0::/system.slice/a.service\n"), "/system.slice/a.service");
        let hybrid = "4:memory:/x\n1:name=systemd:/system.slice/a.service\n0::/\n";
        assert_eq!(path(hybrid), "/system.slice/a.service");
        assert_eq!(path(""), "/");
    }

    #[test]
    fn who_runs_is_found_with_its_cpu_time() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .expect("sh runs");
        let pid = i32::try_from(child.id()).expect("a process number");
        let began = std::time::Instant::now();
        let found = loop {
            let users = CpuUser::all(&Roots::default()).expect("processes");
            let own = users.iter().find(|user| user.processes.contains_key(&pid)).cloned();
            let busy = own.filter(|user| user.processes[&pid] > Duration::ZERO);
            if busy.is_some() || began.elapsed() > Duration::from_secs(60) {
                break (busy, users);
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        assert!(found.0.is_some(), "it is busy");
        let own = i32::try_from(std::process::id()).expect("a process number");
        assert!(found.1.iter().all(|user| !user.processes.contains_key(&own)));
        let has_kernels = found.1.iter().any(|user| user.processes.contains_key(&2));
        assert!(!has_kernels, "kernel threads are left out");
    }
}
