//! Containers start and stop at random, and the daemon is killed and started again meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::common::{Machine, can, eventually};
use crate::lab::Containerd;
use crate::place::{configure_at, group, groups};
use crate::running::{Daemon, command};

const CONTAINERS: u64 = 200;
const KILLS: u64 = 50;

/// As many run at a time.
const MOST: usize = 8;

/// What a container runs: it forks at once, and waits.
const PROGRAM: [&str; 3] = ["/bin/sh", "-c", "sleep 3600 & sleep 3600 & exec sleep 3600"];

/// What the thread that kills and the one that starts containers share.
#[derive(Default)]
struct Storm {
    /// Odd while a daemon is connected; a start during which this changes is not judged.
    state: AtomicU64,
    kills: AtomicU64,
    over: AtomicBool,
}

impl Storm {
    /// Starts daemons and kills them, until it is over; returns their logs, and the last.
    fn kill<'a>(&self, machine: &'a Machine) -> (String, Daemon<'a>) {
        let mut logs = String::new();
        loop {
            let daemon = Daemon::start(machine, command(machine));
            // Each writing of `tasks` has the emulator read all of /proc, so this takes a while.
            eventually("containers that run are in their classes", || {
                let before = daemon.said();
                std::thread::sleep(Duration::from_millis(300));
                before.contains("containers are known") && before == daemon.said()
            });
            self.state.fetch_add(1, Ordering::SeqCst);
            let kills = self.kills.load(Ordering::SeqCst);
            let until = Instant::now() + Duration::from_millis(700 + 37 * (kills % 20));
            while !self.over.load(Ordering::SeqCst) && (Instant::now() < until || kills >= KILLS) {
                std::thread::sleep(Duration::from_millis(5));
            }
            if self.over.load(Ordering::SeqCst) {
                return (logs, daemon);
            }
            self.state.fetch_add(1, Ordering::SeqCst);
            logs += &daemon.said();
            daemon.end(Signal::KILL);
            self.kills.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Ends the storm when it is dropped.
struct EndsStorm<'a>(&'a Storm);

impl Drop for EndsStorm<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
    }
}

/// Numbers at random, the same each time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % most
    }
}

/// One container.
struct StormContainer {
    pod: String,
    id: String,
    program: &'static str,
}

impl StormContainer {
    fn make(containerd: &Containerd, number: u64, is_api: bool) -> Self {
        let (namespace, program) = if is_api { ("web", "api") } else { ("jobs", "batch") };
        let pod = containerd.cri(&["pod", &format!("{namespace}/pod-{number}")]);
        let words = ["create", &pod, "app", "--"].into_iter().chain(PROGRAM);
        let id = containerd.cri(&words.collect::<Vec<_>>());
        Self { pod, id, program }
    }

    fn remove(self, containerd: &Containerd) {
        containerd.cri(&["stop", &self.id]);
        containerd.cri(&["rm", &self.id]);
        containerd.cri(&["rmpod", &self.pod]);
    }

    /// Its process was in its class and monitoring group before it executed its program.
    fn assert_was_placed(&self, machine: &Machine) {
        let (exe, groups) = noted(machine, &self.id);
        assert!(!exe.contains("busybox"), "{exe}: it has executed its program");
        let name = groups.last().map(String::as_str).unwrap_or_default();
        let said = fs::read_to_string(machine.at("said")).unwrap_or_default();
        assert!(name.ends_with(&format!("-{}", self.program)), "{}: {groups:?}: {said}", self.id);
        assert!(groups[0].starts_with("fairways."), "{}: {groups:?}", self.id);
    }

    /// Whether it has its three processes, all where they belong.
    fn is_placed(&self, places: &BTreeMap<i32, String>) -> bool {
        let processes = processes(&self.id);
        processes.len() == 3
            && processes.iter().all(|pid| places.get(pid).is_some_and(|of| of == self.program))
    }
}

/// The groups that were noted before a container's program was executed, and what its process
/// executed then.
fn noted(machine: &Machine, id: &str) -> (String, Vec<String>) {
    let text = fs::read_to_string(machine.at("notes").join(id)).unwrap();
    let (exe, groups) = text.split_once('\n').unwrap();
    (exe.to_owned(), groups.lines().map(|line| group(&machine.root, line)).collect())
}

/// The threads of a container's cgroup, of version 1 or 2.
fn processes(id: &str) -> Vec<i32> {
    let found = std::process::Command::new("find")
        .args(["/sys/fs/cgroup", "-path", &format!("*nri-lab/*{id}*/cgroup.procs")])
        .output()
        .unwrap();
    let files = String::from_utf8(found.stdout).unwrap();
    let file = files.lines().next().unwrap_or_default();
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Which program's group each task is in.
fn places(machine: &Machine) -> BTreeMap<i32, String> {
    let mut places = BTreeMap::new();
    for (program, group) in groups(machine) {
        let tasks = fs::read_to_string(machine.root.join(&group).join("tasks")).unwrap_or_default();
        places.extend(tasks.lines().filter_map(|line| Some((line.parse().ok()?, program.clone()))));
    }
    places
}

#[test]
fn each_of_200_containers_is_in_its_class_before_it_executes_anything() {
    if !can(&["go", "gcc"]) {
        return;
    }
    // Monitoring ids of killed daemons become free with time, and slowly: enough of them.
    let machine = Machine::by_clock("paced", "lookbusy", &["--platform", "ice-lake"]);
    let Some(containerd) = Containerd::start(&machine) else { return };
    let programs = [("api", "select = \"pod:web/*\""), ("batch", "select = \"pod:jobs/*\"")];
    configure_at(&machine, &containerd.socket(), "", &programs);
    let file = machine.at("fairways.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("target = \"stderr\"", "target = \"stderr\"\nlevel = \"debug\""))
        .unwrap();
    let storm = Storm::default();
    let (mut judged, mut others) = (0, 0);
    let mut waits = Vec::new();
    std::thread::scope(|scope| {
        let killer = scope.spawn(|| storm.kill(&machine));
        // Also where an assertion fails.
        let _ends = EndsStorm(&storm);
        let mut draw = Draw(1);
        let mut running: Vec<StormContainer> = Vec::new();
        let mut number = 0;
        while number < CONTAINERS || storm.kills.load(Ordering::SeqCst) < KILLS {
            assert!(!killer.is_finished(), "the daemon's thread has failed");
            if running.len() >= MOST || (!running.is_empty() && draw.below(3) == 0) {
                let at = usize::try_from(draw.below(running.len() as u64)).unwrap();
                running.swap_remove(at).remove(&containerd);
            }
            let container = StormContainer::make(&containerd, number, draw.below(2) == 0);
            let before = storm.state.load(Ordering::SeqCst);
            containerd.cri(&["start", &container.id]);
            if before % 2 == 1 && storm.state.load(Ordering::SeqCst) == before {
                container.assert_was_placed(&machine);
                judged += 1;
            } else {
                others += 1;
            }
            running.push(container);
            number += 1;
        }
        storm.over.store(true, Ordering::SeqCst);
        let (logs, daemon) = killer.join().unwrap();
        // All that run are where they belong, with what they forked.
        eventually("every process is in its class", || {
            let places = places(&machine);
            running.iter().all(|container| container.is_placed(&places))
        });
        let logs = logs + &daemon.said();
        println!("{} starts were late", logs.matches("the loop is late").count());
        waits.extend(logs.lines().filter_map(|line| took(line.split_once("took=")?.1)));
        running.into_iter().for_each(|container| container.remove(&containerd));
        eventually("none is left", || daemon.programs().is_empty());
        assert_eq!(daemon.end(Signal::TERM), Some(0));
    });
    println!("{judged} judged, {others} while the daemon was away");
    assert!(judged >= CONTAINERS / 3, "{judged} judged, {others} not");
    waits.sort_unstable();
    let p99 = waits[waits.len() * 99 / 100];
    println!("{} starts waited: median {:?}, p99 {p99:?}", waits.len(), waits[waits.len() / 2]);
}

/// A time as the log has it.
fn took(text: &str) -> Option<Duration> {
    let text = text.split_whitespace().next()?;
    let (number, unit) =
        text.split_at(text.find(|letter: char| letter.is_alphabetic() || letter == 'µ')?);
    let seconds = match unit {
        "ns" => 1e-9,
        "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    Some(Duration::from_secs_f64(number.parse::<f64>().ok()? * seconds))
}
