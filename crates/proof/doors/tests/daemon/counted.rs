//! What newer processors count of programs: traffic by counters that are assigned, energy by
//! package.

use std::fs;
use std::path::Path;

use rustix::process::Signal;

use super::common::{Machine, can, eventually, printed};
use super::running::{Daemon, command, configure};

fn select(machine: &Machine, name: &str) -> String {
    format!("select = \"pid:{}\"", machine.pids[name])
}

fn free(machine: &Machine) -> String {
    fs::read_to_string(machine.root.join("info/L3_MON/available_mbm_cntrs")).unwrap()
}

/// The joules of all programs; `None` if those of one are missing.
fn energy(daemon: &Daemon<'_>) -> Option<Vec<f64>> {
    let status = daemon.status();
    let programs = status["programs"].as_array().unwrap().iter();
    programs.map(|of| of["core_energy_joules"].as_f64()).collect()
}

fn machine(platform: &str) -> Machine {
    let machine = Machine::by_clock("paced", "mlr:8M,mload:60M", &["--platform", platform]);
    let (reader, stream) = (select(&machine, "mlr:8M"), select(&machine, "mload:60M"));
    configure(&machine, "policy = \"equal\"", &[("reader", &reader), ("stream", &stream)]);
    machine
}

/// The assignments of each group in a folder, by name.
fn assignments(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if let Ok(text) = fs::read_to_string(entry.path().join("mbm_L3_assignments")) {
            found.push((name, text));
        }
        found.extend(assignments(&entry.path().join("mon_groups")));
    }
    found
}

/// Counters go to programs, none to classes, and all are back when the daemon was killed and
/// another one ended.
#[test]
fn counters_of_traffic_go_to_programs_and_come_back() {
    if !can(&[]) {
        return;
    }
    let machine = machine("zen5-abmc");
    let before = (free(&machine), machine.snapshot(&[]));
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("both programs are in a class", || {
        let found = assignments(&machine.root);
        let counted = found.iter().filter(|(name, _)| name.contains('-'));
        counted.count() == 2 && found.iter().any(|(name, _)| name == "fairways.1")
    });
    for (name, text) in assignments(&machine.root) {
        let is_program = name.contains('-');
        let total = if is_program { "e" } else { "_" };
        assert_eq!(text, format!("mbm_total_bytes:0={total}\nmbm_local_bytes:0=_\n"), "{name}");
    }
    assert_eq!(daemon.status()["degraded"].as_array().unwrap().len(), 0);
    assert_eq!(daemon.end(Signal::KILL), None);
    assert_ne!(free(&machine), before.0, "groups are left");
    let daemon = Daemon::start(&machine, command(&machine));
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert_eq!((free(&machine), machine.snapshot(&[])), before);
}

/// Joules are those since the program was first monitored, and grow.
#[test]
fn energy_of_programs_is_shown() {
    if !can(&[]) {
        return;
    }
    let machine = machine("clearwater-aet");
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("both programs have used some", || {
        energy(&daemon).is_some_and(|of| of.len() == 2 && of.iter().all(|joules| *joules > 0.0))
    });
    let first = energy(&daemon).unwrap();
    eventually("they use more", || {
        energy(&daemon).unwrap().iter().zip(&first).all(|(now, then)| now > then)
    });
    let said = printed(&mut daemon.ask(&[]));
    assert!(said.contains(" J for reader\n") && said.contains("cores used "), "{said}");
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}

/// What devices fill under a class of their own is shown.
#[test]
fn what_devices_fill_is_shown() {
    if !can(&[]) {
        return;
    }
    let machine = machine("zen-ioalloc");
    fs::write(machine.root.join("info/L3/io_alloc"), "1\n").unwrap();
    fs::write(machine.root.join("info/L3/io_alloc_cbm"), "0=3\n").unwrap();
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("the ways are shown", || daemon.status()["domains"][0]["io_mask"] == "0x3");
    let said = printed(&mut daemon.ask(&[]));
    assert!(said.contains("devices fill 0x3 of domain 0 (io_alloc)\n"), "{said}");
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}
