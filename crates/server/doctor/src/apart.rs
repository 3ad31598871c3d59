//! Whether this process sees the host, or a container's part of it.

use std::path::PathBuf;

use fairways_linux::namespaces::{Namespace, of_cgroups, of_processes};

use super::facts::Facts;
use super::{Finding, FindingState};

/// The ids of the findings. The first is missing where the daemon does not start.
pub(super) const IDS: [&str; 2] = ["pid-namespace", "cgroup-namespace"];

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    let proc = facts.files.path("proc");
    let cgroups = facts.mounts.iter().filter(|mount| mount.kind.starts_with("cgroup"));
    let mounted: Vec<PathBuf> = cgroups.map(|mount| facts.files.mounted(&mount.point)).collect();
    let whys = [
        "resctrl takes the numbers of processes as this process sees them",
        "services, containers and pods are found by their cgroups",
    ];
    let each = [of_processes(&proc), of_cgroups(&proc, &mounted)];
    for ((id, why), namespace) in IDS.into_iter().zip(whys).zip(each) {
        findings.push(finding(id, why, namespace, facts.files.are_of_this_process()));
    }
}

fn finding(
    id: &'static str,
    why: &'static str,
    namespace: Namespace,
    is_of_this_process: bool,
) -> Finding {
    match namespace {
        Namespace::OfHost => Finding::new(id, FindingState::Ok, "the host's", why),
        Namespace::Apart(apart) if apart.is_in_the_way => {
            let is_refused = apart.misnumbers && is_of_this_process;
            let state = if is_refused { FindingState::Missing } else { FindingState::Limited };
            Finding::new(id, state, apart.what, why).remedy(apart.remedy)
        }
        Namespace::Apart(apart) => Finding::new(id, FindingState::Ok, apart.what, why),
        Namespace::Unknown => {
            let found = "/proc/self/ns does not say whether it is the host's";
            Finding::new(id, FindingState::Unknown, found, why)
        }
    }
}
