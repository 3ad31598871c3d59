//! A daemon that answers Prometheus, with a machine whose time can be stopped.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::common::{Machine, eventually, printed};
use super::page::{Page, get};
use super::running::{Daemon, command};

/// A service and two others on an emulated machine, whose clock the daemon's waits move.
pub(crate) fn machine() -> Machine {
    Machine::with("silo-like,mlr:500K,mload:60M", &["--loads", "silo-like=1000"])
}

/// Writes a configuration for the machine: every program, and these keys; `counters` is the
/// emulator's or none.
pub(crate) fn configure(machine: &Machine, counters: &str, more: &str) {
    let at = |name: &str| machine.at(name).to_str().unwrap().to_owned();
    let (root, state, control) = (at("resctrl"), at("state"), at("control"));
    let mut text = format!(
        "policy = \"lfoc\"\ninterval = \"20ms\"\n{more}\n[counters]\nsource = \"{counters}\"\n\
         [clock]\nsource = \"emulator\"\n[log]\ntarget = \"stderr\"\n[metrics]\nlisten = \"127.0.0.1:0\"\n\
         [resctrl]\nroot = \"{root}\"\nstate = \"{state}\"\n[control]\nsocket = \"{control}\"\n"
    );
    for (name, of, more) in [
        ("web \\\"1\\\"", "silo-like", "objective = \"p95:2ms\"\nlatency = \"emulator\"\n"),
        ("reads", "mlr:500K", ""),
        ("streams", "mload:60M", ""),
    ] {
        let pid = machine.pids[of];
        text += &format!("[[program]]\nname = \"{name}\"\nselect = \"pid:{pid}\"\n{more}");
    }
    fs::write(machine.at("fairways.toml"), text).unwrap();
}

/// Starts a daemon with the configuration and these flags; returns it with its address.
pub(crate) fn daemon<'a>(machine: &'a Machine, flags: &[&str]) -> (Daemon<'a>, SocketAddr) {
    let mut command: Command = command(machine);
    command.args(flags);
    let daemon = Daemon::start(machine, command);
    let at = || {
        let said = daemon.said();
        let line = said.lines().find_map(|line| line.split_once("metrics listen=127.0.0.1:"));
        line.and_then(|(_, port)| port.trim().parse().ok())
    };
    eventually("it says where it answers", || at().is_some());
    let port: u16 = at().unwrap();
    (daemon, SocketAddr::from(([127, 0, 0, 1], port)))
}

/// Sends the emulator a signal.
pub(crate) fn signal(machine: &Machine, signal: Signal) {
    kill_process(Pid::from_child(&machine.child), signal).unwrap();
}

/// Makes the emulator fail in this way from now on.
pub(crate) fn fault(machine: &Machine, fault: &str) {
    printed(
        Command::new(fairways_doors::fairways_lab())
            .arg("emulated")
            .arg(&machine.root)
            .args(["fault", fault]),
    );
}

/// Waits until the page fulfils a condition, and stops the machine's time; returns what `status`
/// and the page show, which stays true until time goes on.
pub(crate) fn stop(
    machine: &Machine,
    daemon: &Daemon<'_>,
    at: SocketAddr,
    is_so: impl Fn(&Page) -> bool,
) -> (Value, Page) {
    let page = || Page::parse(&get(at, "/metrics", "").body);
    let mut stands = None;
    eventually("what is waited for", || {
        eventually("it comes", || is_so(&page()));
        signal(machine, Signal::STOP);
        let state = still(daemon, page);
        // Between the page and the stop, time may have gone on.
        let is_still_so = is_so(&state.1);
        if !is_still_so {
            signal(machine, Signal::CONT);
        }
        stands = Some(state);
        is_still_so
    });
    stands.unwrap()
}

/// What `status` and the page show once nothing happens any more.
fn still(daemon: &Daemon<'_>, page: impl Fn() -> Page) -> (Value, Page) {
    let mut stands = None;
    // The daemon may still handle earlier events: a page between two equal statuses belongs to
    // them.
    eventually("it stands still", || {
        let before = daemon.status();
        std::thread::sleep(Duration::from_millis(100));
        let page = page();
        std::thread::sleep(Duration::from_millis(100));
        let is_same = daemon.status() == before;
        stands = is_same.then_some((before, page));
        is_same
    });
    stands.unwrap()
}
