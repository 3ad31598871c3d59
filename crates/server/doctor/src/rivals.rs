//! Other programs that set the cache's controls: daemons, and programs that write the registers
//! themselves.

use super::facts::Facts;
use super::{Finding, FindingState};

/// Managers by the names of their processes, cut to 15 bytes as the kernel does (proc(5), `comm`).
const MANAGERS: [&str; 8] =
    ["pqos", "libvirtd", "virtqemud", "koordlet", "rubik", "rmd", "collectd", "telegraf"];

/// Those that set them only where configured to: the process, and the files that configure it.
const RUNTIMES: [(&str, &str, &str); 2] = [
    ("containerd", "etc/containerd/config.toml", "etc/containerd/conf.d"),
    ("crio", "etc/crio/crio.conf", "etc/crio/crio.conf.d"),
];

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    let processes = facts.files.processes();
    findings.push(daemons(facts, &processes));
    findings.push(registers(facts, &processes));
}

fn daemons(facts: &Facts, processes: &[String]) -> Finding {
    let (id, why) = ("other-managers", "they may change or remove groups at any time");
    if processes.is_empty() {
        return Finding::new(id, FindingState::Unknown, "/proc lists no process", why);
    }
    let running: Vec<(String, &String)> = processes
        .iter()
        .filter_map(|pid| Some((facts.files.line(&format!("proc/{pid}/comm"))?, pid)))
        .collect();
    let mut managers: Vec<String> = MANAGERS
        .iter()
        .filter_map(|name| running.iter().find(|(comm, _)| comm == name))
        .map(|(comm, pid)| format!("{comm} (process {pid})"))
        .collect();
    for (name, file, folder) in RUNTIMES {
        let pid = running.iter().find(|(comm, _)| comm == name).map(|(_, pid)| pid);
        let parts = facts.files.names(folder);
        let files = parts.iter().map(|part| format!("{folder}/{part}"));
        let set =
            std::iter::once(file.to_owned()).chain(files).any(|file| configures(facts, &file));
        if let (Some(pid), true) = (pid, set) {
            managers.push(format!("{name} with an rdt_config_file (process {pid})"));
        }
    }
    if managers.is_empty() {
        return Finding::new(id, FindingState::Ok, "none of the known managers runs", why);
    }
    Finding::new(id, FindingState::Limited, managers.join(", "), why)
        .remedy("let one of them manage the cache: stop the others, or turn it off in them")
}

/// Whether a runtime's configuration has classes: `rdt_config_file = "/etc/..."`.
fn configures(facts: &Facts, file: &str) -> bool {
    let text = facts.files.text(file).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("rdt_config_file"));
    lines
        .map(|rest| rest.trim_start_matches([' ', '=']).trim())
        .any(|value| !value.trim_matches('"').is_empty())
}

/// Finds processes that have a CPU's registers open, as pqos with `--iface msr`, pcm and turbostat
/// do.
fn registers(facts: &Facts, processes: &[String]) -> Finding {
    let why = "writes to registers behind resctrl's back make its files wrong";
    let (mut users, mut hidden) = (Vec::new(), processes.is_empty());
    for pid in processes {
        let folder = facts.files.path(&format!("proc/{pid}/fd"));
        let Ok(entries) = std::fs::read_dir(&folder) else {
            hidden |= folder.exists();
            continue;
        };
        let opened = entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
        let mut names = opened.map(|file| file.to_string_lossy().into_owned());
        if names.any(|name| name.starts_with("/dev/cpu/") && name.ends_with("/msr")) {
            let comm = facts.files.line(&format!("proc/{pid}/comm")).unwrap_or_default();
            users.push(format!("{comm} (process {pid})"));
        }
    }
    if !users.is_empty() {
        let found = format!("/dev/cpu/*/msr is open in {}", users.join(", "));
        return Finding::new("registers", FindingState::Limited, found, why)
            .remedy("use resctrl only: pqos -I, and no tool that programs RDT's registers");
    }
    if hidden {
        let found = "files that other users' processes have open cannot be seen";
        return Finding::new("registers", FindingState::Unknown, found, why)
            .remedy("run it as root");
    }
    Finding::new("registers", FindingState::Ok, "no process has /dev/cpu/*/msr open", why)
}
