//! A daemon that schedules, in a folder of its own.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fairways_testing::needs::{Need, has};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Whether this system lets threads be scheduled; prints the reason where it does not. Where it
/// does, no other test of this file spins meanwhile.
pub(crate) fn can() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let can = has(&test, &[Need::Root, Need::Program("sh")]);
    can.then(|| ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The environment variable that chooses the mechanism by which threads take turns.
pub(crate) const SCHEDULER: &str = "FAIRWAYS_TEST_SCHEDULER";

/// The mechanism by which threads take turns in these tests: affinity by default.
pub(crate) fn scheduler() -> String {
    std::env::var(SCHEDULER).unwrap_or_else(|_| "affinity".to_owned())
}

/// How long to wait before asking again: an answer takes a while on an emulated machine.
fn patience() -> Duration {
    Duration::from_millis(if scheduler() == "sched_ext" { 200 } else { 20 })
}

/// How long an answer may take: a daemon that loads a scheduler does not answer meanwhile.
const ANSWER: Duration = Duration::from_secs(5);

/// The folder with a daemon's files.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        fairways_testing::needs::keep_to_owner();
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    /// Writes a configuration: the policy, the profiles of the file `profiles`, and these programs,
    /// each with its name, its process, and whether it is background work.
    pub(crate) fn configure(&self, policy: &str, programs: &[(String, i32, bool)]) {
        let at = |name: &str| self.at(name).to_str().unwrap().to_owned();
        let (state, control, journal, profiles) =
            (at("state"), at("control"), at("journal"), at("profiles"));
        let kind = scheduler();
        let mut text = format!(
            "policy = \"{policy}\"\ninterval = \"20ms\"\n[scheduler]\nkind = \"{kind}\"\n\
             [counters]\nsource = \"profiles:{profiles}\"\n[log]\ntarget = \"stderr\"\n\
             [resctrl]\nstate = \"{state}\"\n[control]\nsocket = \"{control}\"\n\
             [journal]\nfile = \"{journal}\"\n"
        );
        for (name, pid, best_effort) in programs {
            text += &format!(
                "[[program]]\nname = \"{name}\"\nselect = \"pid:{pid}\"\nbest_effort = {best_effort}\n"
            );
        }
        fs::write(self.at("fairways.toml"), text).unwrap();
    }

    /// A `fairways` command with this verb and the flags for this folder.
    pub(crate) fn fairways(&self, verb: &str, flags: &[&str]) -> Command {
        let mut command = Command::new(match flags.contains(&"--machine") {
            true => fairways_doors::fairways_lab(),
            false => fairways_doors::fairways(),
        });
        command.arg(verb).stdin(Stdio::null());
        match verb {
            "run" if !flags.contains(&"--machine") => {
                command.arg("--config").arg(self.at("fairways.toml"))
            }
            "status" => command.arg("--control").arg(self.at("control")),
            "restore" => command.arg("--state").arg(self.at("state")),
            _ => &mut command,
        };
        command.args(flags);
        command
    }

    /// The output of a command that has to succeed.
    pub(crate) fn printed(&self, verb: &str, flags: &[&str]) -> String {
        let output = self.fairways(verb, flags).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{verb} {flags:?}: {}: {said}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }
}

/// A running daemon.
pub(crate) struct Daemon<'a> {
    place: &'a Place,
    child: Child,
}

impl<'a> Daemon<'a> {
    /// Starts it, and waits until it answers.
    pub(crate) fn start(place: &'a Place, flags: &[&str]) -> Self {
        let said = fs::File::create(place.at("said")).unwrap();
        let mut command = place.fairways("run", flags);
        let child = command.stdout(Stdio::null()).stderr(said).spawn().unwrap();
        let mut daemon = Self { place, child };
        daemon.eventually("it answers", |daemon| daemon.ask().is_some());
        daemon
    }

    /// Its status; `None` while it does not answer: loading a scheduler takes long in emulation.
    /// Asks the socket itself: starting `fairways status` takes half a second there.
    pub(crate) fn ask(&self) -> Option<Value> {
        let mut stream = UnixStream::connect(self.place.at("control")).ok()?;
        stream.set_read_timeout(Some(ANSWER)).unwrap();
        stream.write_all(b"{\"do\":\"status\"}\n").ok()?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).ok()?;
        let mut answer: Value = serde_json::from_str(&line).ok()?;
        Some(answer["status"].take())
    }

    /// Its status, as `fairways status` prints it.
    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.place.printed("status", &["--json"])).unwrap()
    }

    /// Its programs; none while it does not answer.
    pub(crate) fn programs(&self) -> Vec<Value> {
        let status = self.ask().unwrap_or_default();
        status["programs"].as_array().cloned().unwrap_or_default()
    }

    /// Checks the mechanism: the kernel may have thrown the scheduler out.
    pub(crate) fn schedules_as_asked(&self) {
        assert_eq!(self.status()["scheduler"], *scheduler());
    }

    /// Waits until the condition is true: this machine may be busy with other things.
    pub(crate) fn eventually(&mut self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            let ended = self.child.try_wait().unwrap();
            let is_late = began.elapsed() > Duration::from_secs(240);
            if ended.is_some() || is_late {
                let status = self.ask();
                panic!("not so: {what}: {ended:?} {status:?}: {}", self.place.text("said"));
            }
            std::thread::sleep(patience());
        }
    }

    /// Ends it by this signal.
    pub(crate) fn end(mut self, signal: Signal) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let status = self.child.wait().unwrap();
        let is_as_asked = status.success() || status.signal() == Some(signal.as_raw());
        assert!(is_as_asked, "{status}: {}", self.place.text("said"));
        status
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the daemon said: {}", self.place.text("said"));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
