//! The clients that watch, and their cost.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fairways_core::AppId;
use fairways_perf::Source;
use fairways_resctrl::language::Reading;
use fairways_resctrl_client::{Actuator, Settings};

use crate::calls::{calls, nanos, record, rss_kib};
use crate::counters;
use crate::plain::{Host, RESCTRL};
use crate::sleepers::{NAME, Sleepers};

/// Much longer than any client needs to begin.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long CPU time, and then system calls, of a client with a clock are counted.
const SPAN: Duration = Duration::from_secs(3);
/// How long a client has settled before it is measured.
const SETTLED: Duration = Duration::from_millis(2500);
/// Ticks that are measured of clients without a clock.
const TICKS: u32 = 2000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// `fairways run --observe` with this policy.
    Daemon(&'static str),
    /// The same with `lfoc` in normal operation: no warm-up ever ends, so that no program is
    /// sampled.
    Unsampled,
    /// The daemon with this policy, once somebody has asked it for `fairways blame`.
    Blamed(&'static str),
    /// `Actuator` alone: each program's occupancy and memory traffic.
    Resctrl,
    /// `Perf` alone, an event group a thread.
    PerfThreads,
    /// `Perf` alone, an event group a CPU.
    PerfCgroup,
    /// `pqos -I -p`.
    Pqos,
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) client: Client,
    pub(crate) workloads: u32,
    pub(crate) tick_ms: u32,
    /// Other managers' groups.
    pub(crate) groups: u32,
    pub(crate) cpus: u32,
    /// Threads of each workload.
    pub(crate) threads: u32,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, workloads, tick_ms, groups, cpus, threads } = self;
        match client {
            Client::Daemon(policy) => write!(f, "fairways {policy}"),
            Client::Unsampled => f.write_str("fairways lfoc without sampling"),
            Client::Blamed(policy) => write!(f, "fairways {policy} and blame"),
            Client::Resctrl => f.write_str("resctrl part"),
            Client::PerfThreads => f.write_str("perf part by threads"),
            Client::PerfCgroup => f.write_str("perf part by cgroup"),
            Client::Pqos => f.write_str("pqos"),
        }?;
        write!(f, ",{workloads},{tick_ms},{groups},{cpus},{threads}")
    }
}

/// The cost, per workload and tick, and in all.
pub(crate) struct Cost {
    micros: f64,
    /// How many of each kind, per workload and tick. Counted in the first round only: it is always
    /// the same.
    pub(crate) calls: Option<Vec<(String, f64)>>,
    percent: f64,
    rss_kib: u64,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = String::new();
        if let Some(calls) = &self.calls {
            all = format!("{:.2}", calls.iter().map(|(_, count)| count).sum::<f64>());
        }
        write!(f, "{:.2},{all},{:.3},{}", self.micros, self.percent, self.rss_kib)
    }
}

impl Row {
    /// Measures it with this build of `fairways`.
    pub(crate) fn measure(&self, build: &Path, host: &mut Host, counts: bool) -> Cost {
        let sleepers = Sleepers::start(self.workloads, self.threads);
        host.begin(self.cpus, self.groups, &sleepers.threads().concat());
        if self.client != Client::Pqos {
            host.fill();
        }
        match self.client {
            Client::Daemon(policy) | Client::Blamed(policy) => {
                self.follow(self.daemon(build, host, policy), build, host, counts)
            }
            Client::Unsampled => self.follow(self.daemon(build, host, "lfoc"), build, host, counts),
            Client::Pqos => self.follow(self.pqos(&sleepers, host), build, host, counts),
            Client::Resctrl => {
                let mut actuator = self.actuator(host);
                let tick = || {
                    for app in (0..self.workloads).map(AppId) {
                        for read in [Actuator::occupancy, Actuator::memory_bytes] {
                            assert_eq!(read(&mut actuator, app, 0), Reading::Value(123_456_789));
                        }
                    }
                };
                self.repeat(tick, host, counts)
            }
            Client::PerfThreads => {
                let mut perf = counters::start(&sleepers.threads(), None);
                let read = || {
                    for app in (0..self.workloads).map(AppId) {
                        assert!(perf.read(app, 0).instructions.is_some());
                    }
                };
                self.repeat(read, host, counts)
            }
            Client::PerfCgroup => {
                let cgroups = Cgroups::new(&sleepers.ids());
                let mut perf = counters::start(&sleepers.threads(), Some(&cgroups.0));
                let read = || {
                    for app in (0..self.workloads).map(AppId) {
                        assert!(perf.read(app, 0).instructions.is_some());
                    }
                };
                self.repeat(read, host, counts)
            }
        }
    }

    /// Measures something that this process does.
    fn repeat(&self, mut tick: impl FnMut(), host: &Host, counts: bool) -> Cost {
        tick();
        let own = std::process::id();
        let before = nanos(own);
        (0..TICKS).for_each(|_| tick());
        let spent = nanos(own) - before;
        let rss_kib = rss_kib(own);
        let (ticks, workloads) = (f64::from(TICKS), f64::from(self.workloads));
        let calls = counts.then(|| {
            const FEW: u32 = 20;
            let each = f64::from(FEW) * workloads;
            per(each, calls(own, &host.at(""), || (0..FEW).for_each(|_| tick())))
        });
        #[expect(clippy::cast_precision_loss, reason = "seconds")]
        let micros = spent as f64 / 1e3 / ticks / workloads;
        let percent = micros * workloads / f64::from(self.tick_ms) / 10.0;
        Cost { micros, calls, percent, rss_kib }
    }

    /// Measures a process that has a clock of its own.
    fn follow(&self, mut client: Process, build: &Path, host: &Host, counts: bool) -> Cost {
        let pid = client.0.id();
        let ready = Instant::now();
        let watched = || groups_with("tasks");
        while watched() < self.workloads as usize {
            assert!(client.0.try_wait().unwrap().is_none(), "it ended");
            assert!(ready.elapsed() < PATIENCE, "{} of {} watched", watched(), self.workloads);
            sleep(Duration::from_millis(50));
        }
        if matches!(self.client, Client::Blamed(_)) {
            let mut blame = Command::new(build);
            blame.arg("blame").arg("--control").arg(host.at("control"));
            let done = blame.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
            assert!(done.success(), "blame: {done}");
        }
        // What comes with the first ticks is over.
        sleep(SETTLED);
        let (before, began) = (nanos(pid), Instant::now());
        sleep(SPAN);
        let (spent, span) = (nanos(pid) - before, began.elapsed().as_secs_f64());
        let rss_kib = rss_kib(pid);
        let each = 1000.0 / f64::from(self.tick_ms) * f64::from(self.workloads);
        let in_all = SPAN.as_secs_f64() * each;
        let calls = counts.then(|| per(in_all, calls(pid, &host.at(""), || sleep(SPAN))));
        if let Some(folder) = std::env::var_os("FAIRWAYS_BENCH_PERF").filter(|_| counts) {
            let file = Path::new(&folder).join(format!("{self}.data"));
            record(pid, &file, || sleep(3 * SPAN));
        }
        #[expect(clippy::cast_precision_loss, reason = "seconds")]
        let micros = spent as f64 / 1e3 / span / each;
        #[expect(clippy::cast_precision_loss, reason = "seconds")]
        let percent = spent as f64 / 1e7 / span;
        Cost { micros, calls, percent, rss_kib }
    }

    /// The embedded profile of this name stands in for the hardware's counters.
    fn daemon(&self, build: &Path, host: &Host, policy: &str) -> Process {
        let state = host.at("state");
        let _ = fs::remove_dir_all(&state);
        let mut command = Command::new(build);
        command.args(["run", "--observe", "--counters", "profiles", "--log-level", "error"]);
        command.args(["--log", "stderr", "--policy", policy]);
        command.args(["--program", &format!("hash-join.*=process:{NAME}")]);
        if policy == "dunn" {
            command.args(["--set", &format!("decision_period={}ms", self.tick_ms)]);
        }
        if self.client == Client::Unsampled {
            command.args(["--set", &format!("warm_up_intervals={}", u32::MAX)]);
        }
        command.arg("--state").arg(state).arg("--control").arg(host.at("control"));
        Process::start(&mut command)
    }

    /// Starts pqos. It uses no group that lacks its files at first, and names groups by its process
    /// and a number.
    fn pqos(&self, sleepers: &Sleepers, host: &Host) -> Process {
        let ids: Vec<String> = sleepers.ids().iter().map(u32::to_string).collect();
        let script = r#"
            for group in $(seq 0 $(($1 - 1))); do cp -r "$2" "$3/mon_groups/pqos-$$-$group"; done
            shift 3
            exec pqos "$@"
        "#;
        let mut command = Command::new("sh");
        command.args(["-ec", script, "sh", &self.workloads.to_string()]);
        command.arg(host.at("monitor")).arg(RESCTRL).args([
            "-I",
            "--disable-mon-ipc",
            "--disable-mon-llc_miss",
            "-u",
            "csv",
        ]);
        command.args(["-i", &(self.tick_ms / 100).to_string()]);
        command.args(["-p", &format!("all:{}", ids.join(","))]);
        Process::start(&mut command)
    }

    fn actuator(&self, host: &Host) -> Actuator {
        let state = host.at("state");
        let _ = fs::remove_dir_all(&state);
        let mut actuator = Actuator::open(Settings { state, ..Settings::default() }).unwrap();
        for app in (0..self.workloads).map(AppId) {
            // The group's files may come after it.
            let _ = actuator.add(app, "sleeper", &[]);
        }
        let begun = Instant::now();
        let watched = || groups_with("mon_data/mon_L3_00/mbm_total_bytes");
        while watched() < self.workloads as usize {
            assert!(begun.elapsed() < PATIENCE, "{} of {} watched", watched(), self.workloads);
            sleep(Duration::from_millis(10));
        }
        actuator
    }
}

/// The calls of each kind, for each of these.
fn per(each: f64, mut calls: Vec<(String, f64)>) -> Vec<(String, f64)> {
    calls.iter_mut().for_each(|(_, count)| *count /= each);
    calls
}

/// Monitoring groups with something in this file.
fn groups_with(file: &str) -> usize {
    let groups = fs::read_dir(Path::new(RESCTRL).join("mon_groups")).unwrap();
    let has =
        |group: &fs::DirEntry| fs::metadata(group.path().join(file)).is_ok_and(|of| of.len() > 0);
    groups.filter(|group| has(group.as_ref().unwrap())).count()
}

/// A client, until it is dropped.
struct Process(Child);

impl Process {
    fn start(command: &mut Command) -> Self {
        // A group's files come after it, of which clients may complain.
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A cgroup for each process, until it is dropped.
struct Cgroups(Vec<PathBuf>);

impl Cgroups {
    fn new(ids: &[u32]) -> Self {
        let roots = ["/sys/fs/cgroup/perf_event", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
        let root = roots.map(Path::new).into_iter().find(|root| root.join("cgroup.procs").exists());
        let root = root.expect("a cgroup hierarchy that perf counts by");
        let of = |id: &u32| {
            let path = root.join(format!("fairways-bench-{id}"));
            fs::create_dir(&path).unwrap();
            fs::write(path.join("cgroup.procs"), id.to_string()).unwrap();
            path
        };
        Self(ids.iter().map(of).collect())
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        for path in &self.0 {
            let root = path.parent().unwrap();
            for process in fs::read_to_string(path.join("cgroup.procs")).unwrap().lines() {
                fs::write(root.join("cgroup.procs"), process).unwrap();
            }
            fs::remove_dir(path).unwrap();
        }
    }
}
