//! What node-feature-discovery reads of the daemon.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;

use super::common::{Machine, can, eventually};
use super::running::{Daemon, command, configure};

/// The file says what the node can promise, follows the programs of the configuration, is replaced
/// as a whole by a daemon in its sandbox, and goes with the daemon.
#[test]
fn node_features_are_those_of_the_running_daemon() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K,mload:60M");
    let folder = machine.at("features.d");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("fairways");
    let write = |policy: &str, baseline: u32| {
        let [reads, streams] =
            ["mlr:500K", "mload:60M"].map(|of| format!("select = \"pid:{}\"", machine.pids[of]));
        let reads = format!("{reads}\nbaseline_ways = {baseline}");
        let keys = format!("policy = \"{policy}\"");
        configure(&machine, &keys, &[("reads", &reads), ("streams", &streams)]);
        let config = fs::read_to_string(machine.at("fairways.toml")).unwrap();
        let config = format!("{config}[node_features]\nfile = \"{}\"\n", file.display());
        fs::write(machine.at("fairways.toml"), config).unwrap();
    };
    let has = |line: &str| {
        let text = fs::read_to_string(&file).unwrap_or_default();
        text.lines().any(|of| of == line)
    };
    write("static", 4);
    let daemon = Daemon::start(&machine, command(&machine));
    let ways = daemon.status()["domains"][0]["ways"].as_u64().unwrap();
    eventually("it is described", || has(&format!("fairways.dev/spare-ways={}", ways - 4)));
    assert!(has(&format!("fairways.dev/ways={ways}")) && has("fairways.dev/policy=static"));
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644, "nfd-worker is not root");
    write("static", 6);
    daemon.signal(Signal::HUP);
    eventually("more is promised", || has(&format!("fairways.dev/spare-ways={}", ways - 6)));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left");
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert!(!file.exists(), "no daemon, no promise");

    // A policy that keeps no baselines withdraws what a killed daemon left.
    fs::write(&file, "fairways.dev/ways=11\n").unwrap();
    write("equal", 4);
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("it is withdrawn", || !file.exists());
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}
