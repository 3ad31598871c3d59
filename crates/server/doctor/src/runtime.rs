//! Whether a container runtime can announce containers before they start.

use super::facts::Facts;
use super::{Finding, FindingState};

/// Processes of the runtimes that have NRI (proc(5), `comm`).
const RUNTIMES: [&str; 2] = ["containerd", "crio"];

/// The runtime's socket for plugins (`DefaultSocketPath` of NRI). /var/run is a link to /run.
const SOCKETS: [&str; 2] = ["run/nri/nri.sock", "var/run/nri/nri.sock"];

/// Finds nothing where no container runtime runs.
pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    if !facts.files.processes().iter().any(|pid| is_runtime(facts, pid)) {
        return;
    }
    let (id, why) =
        ("containers", "without it, a container runs in every way until a look finds it");
    let finding = match SOCKETS.iter().find(|socket| facts.files.exists(socket)) {
        Some(socket) => {
            let found = format!(
                "the container runtime can announce containers before they start (NRI): /{socket}"
            );
            Finding::new(id, FindingState::Ok, found, why)
        }
        None => {
            let found = "the container runtime has no socket for plugins (NRI): /run/nri/nri.sock";
            Finding::new(id, FindingState::Limited, found, why).remedy(
                "enable NRI in the runtime's configuration (containerd 2.0 has it by default), and set kubernetes.nri",
            )
        }
    };
    findings.push(finding);
}

fn is_runtime(facts: &Facts, pid: &str) -> bool {
    let comm = facts.files.line(&format!("proc/{pid}/comm"));
    comm.is_some_and(|comm| RUNTIMES.contains(&comm.as_str()))
}
