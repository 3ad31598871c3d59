//! A group's manager, by the group's name.

/// The manager that uses such names of groups: pqos (`COS1`), libvirt's virresctrl
/// (`qemu-1-vm-vcpus_0-3`), koordlet and rubik with their classes, and container runtimes, which
/// name groups after pods or containers (runc: the container's id).
#[must_use]
pub fn manager(name: &str) -> &'static str {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if name.strip_prefix("COS").is_some_and(number) {
        "pqos"
    } else if name.starts_with("qemu-") || name.starts_with("libvirt") {
        "libvirt"
    } else if matches!(name, "LSR" | "LS" | "BE") {
        "koordlet"
    } else if name.starts_with("rubik_") {
        "rubik"
    } else if name.starts_with("crio") {
        "CRI-O"
    } else if name.starts_with("kubepods") || name.starts_with("pod") || is_container(name) {
        "a container runtime"
    } else if matches!(name, "Guaranteed" | "Burstable" | "BestEffort" | "BestEfforts") {
        "containerd or CRI-O"
    } else {
        "unknown"
    }
}

/// The manager that uses such names of monitoring groups: cAdvisor (`cadvisor-ID`, its
/// resctrl/utils.go), goresctrl with its usual prefix, pqos, and agents that name them after pods
/// (NRI plugins) or containers.
#[must_use]
pub fn agent(name: &str) -> &'static str {
    if name.starts_with("cadvisor-") {
        "cAdvisor"
    } else if name.starts_with("goresctrl.") {
        "goresctrl"
    } else if name.starts_with("pqos-") {
        "pqos"
    } else if name.starts_with("pod") || name.starts_with("container-") || is_container(name) {
        "an agent that monitors pods"
    } else {
        "unknown"
    }
}

/// Whether a name is a container's id, as container runtimes make them.
fn is_container(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A group's manager by its name, that of a class or of a monitoring group.
#[must_use]
pub fn manager_of(name: &str) -> &'static str {
    match agent(name) {
        "unknown" => manager(name),
        known => known,
    }
}

#[cfg(test)]
mod tests {
    use super::{agent, manager};

    #[test]
    fn groups_are_known_by_their_names() {
        let id = "5f3a".repeat(16);
        for (name, by) in [
            ("COS1", "pqos"),
            ("COS", "unknown"),
            ("COSMOS", "unknown"),
            ("qemu-1-vm-vcpus_0-3", "libvirt"),
            ("LSR", "koordlet"),
            ("rubik_max", "rubik"),
            ("crio-1", "CRI-O"),
            (&id, "a container runtime"),
            ("pod1b2c", "a container runtime"),
            ("BestEffort", "containerd or CRI-O"),
            ("web", "unknown"),
        ] {
            assert_eq!(manager(name), by, "{name}");
        }
    }

    #[test]
    fn agents_are_known_by_the_names_of_their_groups() {
        let id = "5f3a".repeat(16);
        let by_pod = "an agent that monitors pods";
        for (name, by) in [
            ("cadvisor-docker-5f", "cAdvisor"),
            ("goresctrl.5f", "goresctrl"),
            ("pqos-1-2", "pqos"),
            ("pod_1b2c", by_pod),
            ("container-5f", by_pod),
            (&id, by_pod),
            ("mine", "unknown"),
        ] {
            assert_eq!(agent(name), by, "{name}");
        }
    }
}
