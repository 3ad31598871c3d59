//! What a daemon leaves behind of threads when it ends, however it ends.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::daemon::{Daemon, Place, can, scheduler};
use super::profiles::{Row, table};
use super::threads::{Facts, SCHED_EXT, Spinning, cpus, facts, is_under_ext};

/// Programs of several threads, one of which is greedy.
struct Programs {
    place: Place,
    spinning: Vec<Spinning>,
    before: Vec<BTreeMap<i32, Facts>>,
}

impl Programs {
    fn new() -> Self {
        let place = Place::new();
        let row = |references, misses| vec![Row { ipc: 1.0, references, misses, stalls: 0.1 }; 2];
        let profiles = table([("greedy", row(50.0, 30.0)), ("frugal", row(20.0, 0.4))]);
        fs::write(place.at("profiles"), profiles).unwrap();
        let count = cpus().len();
        let spinning = vec![Spinning::several(2), Spinning::several(count + 1)];
        // Waits until all of their threads exist.
        for (of, threads) in spinning.iter().zip([2, count + 1]) {
            while facts(of.id()).len() < threads + 2 {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        let before = spinning.iter().map(|of| facts(of.id())).collect();
        let programs = Self { place, spinning, before };
        let listed = ["greedy", "frugal"].into_iter().zip(&programs.spinning);
        let listed = listed.map(|(name, of)| (name.to_owned(), of.id(), false));
        programs.place.configure("casc", &listed.collect::<Vec<_>>());
        programs
    }

    fn now(&self) -> Vec<BTreeMap<i32, Facts>> {
        self.spinning.iter().map(|of| facts(of.id())).collect()
    }

    /// Starts a daemon and waits until it has changed something. Threads that wait must not delay
    /// it for long.
    fn daemon(&self, flags: &[&str]) -> Daemon<'_> {
        let limit = ["--set", "initial_limit=1s"];
        let mut daemon = Daemon::start(&self.place, &[&limit, flags].concat());
        daemon.eventually("a thread is confined or runs before others", |daemon| {
            daemon.programs().iter().any(|of: &Value| !of["cpus"].is_null() || of["raised"] == true)
        });
        daemon
    }

    /// Kills a daemon that has changed something: within a second the kernel schedules the threads
    /// again.
    fn kill(&self, daemon: Daemon<'_>) {
        let is_in_kernel = || self.spinning.iter().any(|of| is_under_ext(of.id()));
        assert_eq!(is_in_kernel(), scheduler() == "sched_ext");
        let since = Instant::now();
        daemon.end(Signal::KILL);
        while is_in_kernel() {
            assert!(since.elapsed() < Duration::from_secs(1), "threads are still under it");
            std::thread::sleep(Duration::from_millis(5));
        }
        eprintln!("the kernel's {} ms after SIGKILL", since.elapsed().as_millis());
    }

    /// Each daemon has its own journal.
    fn again(&self) {
        fs::remove_file(self.place.at("journal")).unwrap();
    }
}

#[test]
fn every_thread_is_as_before_once_the_daemon_has_ended() {
    let Some(_alone) = can() else { return };
    let programs = Programs::new();
    let mut daemon = programs.daemon(&[]);
    let status = daemon.status();
    let names: Vec<&str> = status["programs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["name"].as_str().unwrap())
        .collect();
    let named = |name: &str| names.iter().filter(|known| **known == name).count();
    let numbered = |of: &i32| named(&format!("frugal/{of}")) == 1;
    assert_eq!((named("greedy"), named("frugal")), (1, 1), "{names:?}");
    let first = programs.before[1].keys().filter(|of| !numbered(of)).count();
    assert_eq!(first, 1, "every thread but the first is called by its number: {names:?}");
    daemon.eventually("the kernel has the settings", |_| programs.now() != programs.before);
    if scheduler() == "sched_ext" {
        let all = || programs.now().into_iter().flatten();
        daemon.eventually("all threads are under it", |_| all().all(|of| of.1.policy == SCHED_EXT));
    }
    assert!(daemon.end(Signal::TERM).success());
    assert_eq!(programs.now(), programs.before);

    // A killed daemon leaves them for `restore`,
    programs.again();
    let mut daemon = programs.daemon(&[]);
    daemon.eventually("the kernel has the settings", |_| programs.now() != programs.before);
    programs.kill(daemon);
    assert_ne!(programs.now(), programs.before);
    let report: Value =
        serde_json::from_str(&programs.place.printed("restore", &["--json"])).unwrap();
    assert!(!report["restored"].as_array().unwrap().is_empty(), "{report}");
    assert_eq!(report["failed"], Value::Array(Vec::new()));
    assert_eq!(programs.now(), programs.before);
    assert_eq!(programs.place.printed("restore", &[]), "nothing to restore\n");

    // or for the next start, whatever its policy.
    programs.again();
    let mut daemon = programs.daemon(&[]);
    daemon.eventually("the kernel has the settings", |_| programs.now() != programs.before);
    programs.kill(daemon);
    programs.again();
    programs.place.printed("run", &["--duration", "1ms", "--policy", "cache-fair"]);
    assert_eq!(programs.now(), programs.before);
}

/// The administrator throws the scheduler out of the kernel (SysRq-S): the daemon says so, goes on
/// by affinity, and has it back after a pause.
#[cfg(feature = "sched-ext")]
#[test]
fn a_scheduler_that_the_kernel_has_ended_returns() {
    let Some(_alone) = can() else { return };
    if scheduler() != "sched_ext" {
        return;
    }
    let programs = Programs::new();
    let mut daemon = programs.daemon(&[]);
    let first = programs.spinning[0].id();
    daemon.eventually("a thread is under it", |_| is_under_ext(first));
    fs::write("/proc/sysrq-trigger", "S").unwrap();
    for line in ["affinity takes its place", "sched_ext schedules again"] {
        daemon.eventually(line, |_| programs.place.text("said").contains(line));
    }
    daemon.eventually("a thread is under it again", |_| is_under_ext(first));
    // It does not answer while it loads, which takes long in emulation.
    daemon.eventually("nothing is degraded", |daemon| {
        let status = daemon.ask().unwrap_or_default();
        status["scheduler"] == "sched_ext" && status["degraded"] == serde_json::json!([])
    });
    assert!(daemon.end(Signal::TERM).success());
    assert_eq!(programs.now(), programs.before);
}

#[test]
fn nothing_is_moved_where_it_is_only_observed() {
    let Some(_alone) = can() else { return };
    for flag in ["--observe", "--dry-run"] {
        let programs = Programs::new();
        let limit = ["--set", "initial_limit=1s", "--duration", "8s", "--json", flag];
        let output = programs.place.fairways("run", &limit).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        let status: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(status["mode"], flag.trim_start_matches('-'));
        assert_eq!(status["scheduler"], "affinity");
        let asked = |of: &Value| {
            !of["cpus"].is_null()
                || of["raised"] == true
                || !of["estimates"].as_object().unwrap().is_empty()
        };
        assert!(status["programs"].as_array().unwrap().iter().any(asked), "{status}");
        assert_eq!(programs.now(), programs.before, "{flag}");
        let wrote = programs.place.at("state/schedule.json").exists();
        assert!(!wrote, "{flag}: {said}");
    }
}

#[test]
fn an_emulators_programs_take_no_turns() {
    let place = Place::new();
    for flags in [["--counters", "emulator"], ["--clock", "emulator"]] {
        let policy = ["--policy", "casc", "--program", "a=pid:1"];
        fs::write(place.at("fairways.toml"), "").unwrap();
        let output = place.fairways("run", &[&policy[..], &flags].concat()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("policy casc: expected the real clock") && said.lines().count() == 1);
    }
}
