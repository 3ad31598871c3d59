//! Names of what runs, to suggest when a name matches no program.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use super::Roots;
use super::pods::Pods;

/// The most processes that are looked at.
const MOST: usize = 65_536;

/// The programs that run on a host. Every user names processes and user units at will.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// Units of the system's systemd (`nginx.service`), by the cgroups that processes are in.
    pub units: BTreeSet<String>,
    /// Units of users' systemd, likewise.
    pub user_units: BTreeSet<String>,
    /// The paths of those cgroups.
    pub cgroups: BTreeSet<String>,
    /// Pods, by namespace and name (`web/api-1`), whose logs the kubelet keeps.
    pub pods: BTreeSet<String>,
    /// Commands (`comm`).
    pub commands: BTreeSet<String>,
}

impl Running {
    /// Looks through all processes, or through those that can be read `within` a time. One that
    /// ends meanwhile is passed over.
    ///
    /// # Errors
    /// If processes can't be listed.
    pub fn look(roots: &Roots, within: Duration) -> io::Result<Self> {
        let began = Instant::now();
        let (proc, mut pods) = (&roots.proc, Pods::new(roots.pods.clone()));
        pods.refresh_quietly();
        let mut running = Self { pods: pods.names().collect(), ..Self::default() };
        let entries = fs::read_dir(proc)?.flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let processes = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        for name in processes.take(MOST) {
            if began.elapsed() > within {
                break;
            }
            let process = proc.join(name);
            let comm = fs::read_to_string(process.join("comm"));
            running.commands.extend(comm.map(|comm| comm.trim_end().to_owned()));
            // proc_pid_cgroup(5): number, controllers, path.
            for path in fs::read_to_string(process.join("cgroup")).unwrap_or_default().lines() {
                let Some(path) = path.splitn(3, ':').nth(2) else { continue };
                // A name below a user's manager is chosen by that user.
                let (system, user) = path.split_once("/user@").unwrap_or((path, ""));
                running.units.extend(units(system));
                running.user_units.extend(units(user));
                running.cgroups.insert(path.to_owned());
            }
        }
        Ok(running)
    }
}

/// The parts of a cgroup's path that may be units: those with a suffix.
fn units(path: &str) -> impl Iterator<Item = String> {
    path.split('/').filter(|part| part.contains('.')).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(names: &BTreeSet<String>, name: &str) -> bool {
        names.contains(name)
    }

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
        let running = Running::look(&roots, Duration::MAX).expect("processes");
        assert!(has(&running.units, "nginx.service") && has(&running.commands, "nginx"));
        assert!(has(&running.pods, "web/api-1"), "{running:?}");
    }
}
