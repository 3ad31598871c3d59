//! A daemon in real time, with a configuration that can be changed.

use std::fs;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::common::{Machine, end, eventually, printed, this};

/// A running daemon.
pub(crate) struct Daemon<'a> {
    machine: &'a Machine,
    child: Child,
}

/// Writes the configuration: these keys, and these programs by their selectors.
pub(crate) fn configure(machine: &Machine, keys: &str, programs: &[(&str, &str)]) {
    let at = |name: &str| machine.at(name).to_str().unwrap().to_owned();
    let (root, state, control) = (at("resctrl"), at("state"), at("control"));
    let mut text = format!(
        "{keys}\ninterval = \"20ms\"\n[counters]\nsource = \"none\"\n[log]\ntarget = \"stderr\"\n\
         [resctrl]\nroot = \"{root}\"\nstate = \"{state}\"\n[control]\nsocket = \"{control}\"\n"
    );
    for (name, more) in programs {
        text += &format!("[[program]]\nname = \"{name}\"\n{more}\n");
    }
    fs::write(machine.at("fairways.toml"), text).unwrap();
}

/// The command `fairways run` with the configuration.
pub(crate) fn command(machine: &Machine) -> Command {
    let mut command = Command::new(this());
    command.args(["run", "--config"]).arg(machine.at("fairways.toml"));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

impl<'a> Daemon<'a> {
    /// Starts it, and waits until it answers.
    pub(crate) fn start(machine: &'a Machine, mut command: Command) -> Self {
        let said = fs::File::create(machine.at("said")).unwrap();
        let child = command.stderr(said).spawn().unwrap();
        let mut daemon = Self { machine, child };
        // It answers before it has read the machine.
        eventually("the daemon shows its domains", || {
            let ended = daemon.child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {}", daemon.said());
            let status = daemon.ask(&["--json"]).output().unwrap().stdout;
            serde_json::from_slice(&status)
                .is_ok_and(|status: Value| status["domains"][0].is_object())
        });
        daemon
    }

    /// The command `fairways status`.
    pub(crate) fn ask(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(this());
        command.args(["status", "--control"]).arg(self.machine.at("control")).args(flags);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&printed(&mut self.ask(&["--json"]))).unwrap()
    }

    /// The names of the programs that it manages.
    pub(crate) fn programs(&self) -> Vec<String> {
        let status = self.status();
        let programs = status["programs"].as_array().unwrap().iter();
        let mut names: Vec<String> =
            programs.map(|of| of["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }

    /// Its log.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.machine.at("said")).unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its resident memory, in bytes.
    pub(crate) fn resident(&self) -> u64 {
        let pages = fs::read_to_string(format!("/proc/{}/statm", self.pid())).unwrap();
        4096 * pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends it by this signal; returns its exit code.
    pub(crate) fn end(mut self, signal: Signal) -> Option<i32> {
        self.signal(signal);
        end(&mut self.child).code()
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
