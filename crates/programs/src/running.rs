//! Names of what runs, for whoever named something that does not.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use super::Roots;
use super::pods::Pods;

/// No more processes are looked at.
const MOST: usize = 65_536;

/// What runs on a host. Anybody names processes, and any user units of theirs, as they like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// Units of the system's systemd (`nginx.service`), by the cgroups that processes are in.
    pub units: BTreeSet<String>,
    /// Units of users' systemd, likewise.
    pub user_units: BTreeSet<String>,
    /// The paths of those cgroups.
    pub cgroups: BTreeSet<String>,
    /// Pods, by namespace and name (`web/api-1`), of which the kubelet keeps logs.
    pub pods: BTreeSet<String>,
    /// Commands (`comm`).
    pub commands: BTreeSet<String>,
}

impl Running {
    /// Looks through all processes. One that ends meanwhile is passed over.
    ///
    /// # Errors
    /// If processes can't be listed.
    pub fn look(roots: &Roots) -> io::Result<Self> {
        let (proc, mut pods) = (&roots.proc, Pods::new(roots.pods.clone()));
        pods.refresh_quietly();
        let mut running = Self { pods: pods.names().collect(), ..Self::default() };
        let is_process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
        let entries = fs::read_dir(proc)?.flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        for name in names.filter(|name| is_process(name)).take(MOST) {
            let read = |file: &str| fs::read_to_string(proc.join(&name).join(file)).ok();
            running.commands.extend(read("comm").map(|comm| comm.trim_end().to_owned()));
            // proc_pid_cgroup(5): number, controllers, path.
            for path in read("cgroup").iter().flat_map(|text| text.lines()) {
                let Some(path) = path.splitn(3, ':').nth(2) else { continue };
                // What is below a user's manager is the user's.
                let (system, user) = path.split_once("/user@").unwrap_or((path, ""));
                let units = |path: &str| -> Vec<String> {
                    let parts = path.split('/').filter(|part| part.contains('.'));
                    parts.map(str::to_owned).collect()
                };
                running.units.extend(units(system));
                running.user_units.extend(units(user));
                running.cgroups.insert(path.to_owned());
            }
        }
        Ok(running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_is_found_by_its_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let roots = Roots {
            proc: folder.path().join("proc"),
            cgroup: folder.path().join("cgroup"),
            pods: folder.path().join("pods"),
        };
        fs::create_dir_all(roots.pods.join("web_api-1_0a-1b")).expect("a folder");
        let process = roots.proc.join("7");
        fs::create_dir_all(&process).expect("a folder");
        fs::write(process.join("comm"), "nginx\n").expect("a file");
        fs::write(process.join("cgroup"), "0::/system.slice/nginx.service\n").expect("a file");
        let running = Running::look(&roots).expect("processes");
        let has = |names: &BTreeSet<String>, name: &str| names.contains(name);
        assert!(has(&running.units, "nginx.service") && has(&running.commands, "nginx"));
        assert!(has(&running.pods, "web/api-1"), "{running:?}");
    }
}
