//! Perf counters on real threads, processes and cgroups, by software events, which every kernel
//! has.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use fairways_core::{AppId, Counter, Counters, CpuSet};
use fairways_perf::events::{BY_PROCESSOR, Encoding, Event, ProcessorEvents};
use fairways_perf::{Perf, Settings, Source, Target, paranoid, probe};
use fairways_testing::needs::{Need, has, withheld};

const SOFTWARE: u32 = 1;
/// Nanoseconds that a thread ran.
const TASK_CLOCK: u64 = 1;
const CONTEXT_SWITCHES: u64 = 3;
/// A kind of event that no kernel has assigned.
const NO_KIND: u32 = u32::MAX - 9;
const APP: AppId = AppId(7);

/// Two groups: instructions are time that ran, LLC references turns on a CPU, which are in the
/// second group as well.
fn events(more: &[(Counter, u32, u64)]) -> ProcessorEvents {
    let usual = [
        (Counter::Instructions, SOFTWARE, TASK_CLOCK),
        (Counter::L1References, SOFTWARE, 2),
        (Counter::LlcReferences, SOFTWARE, CONTEXT_SWITCHES),
        (Counter::LlcMisses, SOFTWARE, 4),
        (Counter::StallsL2Miss, SOFTWARE, 5),
    ];
    let mut events: Vec<Event> = usual
        .iter()
        .chain(more)
        .map(|&(field, kind, config)| Event {
            field,
            name: "test",
            encoding: Encoding { kind, config },
        })
        .collect();
    events.sort_by_key(|event| event.field);
    ProcessorEvents {
        name: "software",
        source: "perf_event_open(2)",
        events,
        lost: Vec::new(),
        // Makes two groups, whether or not the kernel's watchdog has a counter.
        alone: vec![Counter::L1References],
    }
}

/// Checks that the CPU time equals the task clock, which counts as instructions here.
fn has_cpu_time(counters: &Counters) {
    let (nanos, clock) = (counters.cpu_nanos.unwrap(), counters.instructions.unwrap());
    assert!(nanos.abs_diff(clock) <= clock / 10 && clock > 0, "{counters:?}");
}

/// Descriptors per thread: five events in two groups, and the first in both.
const COST: usize = 6;

/// Whether turns on a CPU, which are the kernel's work, may be counted.
fn may_count(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    let allowed = root || paranoid().is_some_and(|level| level < 2);
    if !allowed {
        withheld(test, "it needs root, or kernel.perf_event_paranoid below 2");
    }
    allowed && is_let_through(test)
}

/// Whether perf_event_open(2) is allowed at all: a container may refuse it even to root.
fn is_let_through(test: &str) -> bool {
    let encoding = Encoding { kind: SOFTWARE, config: TASK_CLOCK };
    let clock = Event { field: Counter::Instructions, name: "test", encoding };
    let events = ProcessorEvents { events: vec![clock], ..events(&[]) };
    let counters = BY_PROCESSOR.to_vec();
    let perf = Perf::new(Settings { events, counters, domains: vec![], descriptors: None });
    if let [(_, why)] = perf.lost() {
        withheld(test, why);
    }
    perf.lost().is_empty()
}

fn perf(descriptors: Option<usize>) -> Perf {
    let domains = vec![(0, [0].into_iter().collect::<CpuSet>())];
    let counters = BY_PROCESSOR.to_vec();
    Perf::new(Settings { events: events(&[]), counters, domains, descriptors })
}

fn target(threads: &[i32]) -> Target {
    Target { app: APP, name: "program".to_owned(), cgroup: None, threads: threads.to_vec() }
}

/// A thread of ours that sleeps as often as it is ordered to.
struct Worker {
    thread: i32,
    orders: Sender<u32>,
    done: Receiver<()>,
    handle: thread::JoinHandle<()>,
}

impl Worker {
    fn start() -> Self {
        let ((orders, ordered), (finish, done), (send_id, id)) = (channel(), channel(), channel());
        let handle = thread::spawn(move || {
            send_id.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            for times in ordered {
                (0..times).for_each(|_| thread::sleep(Duration::from_millis(1)));
                finish.send(()).unwrap();
            }
        });
        Self { thread: id.recv().unwrap(), orders, done, handle }
    }

    fn sleep(&self, times: u32) {
        self.orders.send(times).unwrap();
        self.done.recv().unwrap();
    }

    fn exit(self) {
        drop(self.orders);
        self.handle.join().unwrap();
    }
}

fn switches(counters: &Counters) -> u64 {
    counters.llc_references.unwrap()
}

#[test]
fn threads_are_counted_as_they_come_and_what_they_counted_is_kept_when_they_go() {
    if !may_count("threads_are_counted_as_they_come_and_what_they_counted_is_kept_when_they_go") {
        return;
    }
    let mut perf = perf(None);
    assert_eq!(perf.lost(), []);
    let (first, second) = (Worker::start(), Worker::start());
    perf.begin(&target(&[first.thread]));
    first.sleep(40);
    second.sleep(40);
    let one = perf.read(APP, 0);
    assert!((40..80).contains(&switches(&one)), "{one:?}");
    assert!(one.instructions.unwrap() > 0, "{one:?}");
    assert_eq!(one.cycles, None, "no event was given for it");
    perf.threads(APP, &[first.thread, second.thread]);
    second.sleep(40);
    let two = perf.read(APP, 0);
    assert!((80..120).contains(&switches(&two)), "{two:?}");
    assert_eq!(perf.descriptors().0, 2 * COST);
    let (left, second_id) = (first.thread, second.thread);
    second.sleep(40);
    second.exit();
    perf.threads(APP, &[left, second_id]);
    let three = perf.read(APP, 0);
    assert!((120..170).contains(&switches(&three)), "an exited thread's are kept: {three:?}");
    [one, two, three].iter().for_each(has_cpu_time);
    perf.threads(APP, &[]);
    assert_eq!(perf.read(APP, 0), three);
    assert_eq!(perf.descriptors().0, 0);
    first.exit();
    perf.end(APP);
    assert_eq!(perf.read(APP, 0), Counters::default());
}

#[test]
fn an_event_that_the_kernel_refuses_is_missing_with_the_reason() {
    if !may_count("an_event_that_the_kernel_refuses_is_missing_with_the_reason") {
        return;
    }
    let events = events(&[(Counter::Cycles, NO_KIND, 0)]);
    let mut perf = Perf::new(Settings {
        events,
        counters: BY_PROCESSOR.to_vec(),
        domains: vec![],
        descriptors: None,
    });
    let [(Counter::Cycles, why)] = perf.lost() else { panic!("{:?}", perf.lost()) };
    assert!(why.contains("virtual PMU") && !why.contains('\n'), "{why}");
    let worker = Worker::start();
    perf.begin(&target(&[worker.thread]));
    worker.sleep(5);
    let counters = perf.read(APP, 0);
    assert!(counters.cycles.is_none() && counters.instructions.is_some(), "{counters:?}");
    let none = ProcessorEvents { events: vec![], ..self::events(&[]) };
    let mut perf = Perf::new(Settings {
        events: none,
        counters: BY_PROCESSOR.to_vec(),
        domains: vec![],
        descriptors: None,
    });
    perf.begin(&target(&[worker.thread]));
    assert_eq!(perf.read(APP, 0), Counters::default());
    worker.exit();
}

#[test]
fn a_program_that_does_not_fit_the_budget_is_missing_until_it_does() {
    if !may_count("a_program_that_does_not_fit_the_budget_is_missing_until_it_does") {
        return;
    }
    let mut perf = perf(Some(2 * COST));
    let workers = [Worker::start(), Worker::start()];
    let threads = [workers[0].thread, workers[1].thread];
    let other = AppId(8);
    perf.begin(&Target { app: other, ..target(&threads[..1]) });
    perf.begin(&target(&threads));
    assert_eq!(perf.read(APP, 0), Counters::default());
    assert!(perf.read(other, 0).instructions.is_some());
    assert_eq!(perf.descriptors(), (COST, 2 * COST));
    perf.threads(APP, &threads);
    assert_eq!(perf.read(APP, 0), Counters::default(), "still");
    perf.end(other);
    perf.threads(APP, &threads);
    assert_eq!(perf.read(APP, 0), Counters::default(), "what it did meanwhile is not known");
    workers[0].sleep(20);
    let counted = perf.read(APP, 0);
    assert!((20..40).contains(&switches(&counted)), "{counted:?}");
    perf.threads(APP, &[threads[0], threads[1], std::process::id().try_into().unwrap()]);
    assert_eq!(perf.read(APP, 0), Counters::default(), "a third thread does not fit");
    perf.threads(APP, &threads);
    assert_eq!(perf.read(APP, 0), Counters::default());
    let after = perf.read(APP, 0);
    assert!(switches(&after) >= switches(&counted), "{after:?} after {counted:?}");
    workers.into_iter().for_each(Worker::exit);
}

#[test]
fn a_thread_that_is_gone_before_it_is_counted_does_no_harm() {
    if !may_count("a_thread_that_is_gone_before_it_is_counted_does_no_harm") {
        return;
    }
    let mut perf = perf(None);
    let (gone, stays) = (Worker::start(), Worker::start());
    let threads = [gone.thread, stays.thread];
    gone.exit();
    perf.begin(&target(&threads));
    stays.sleep(10);
    assert!((10..30).contains(&switches(&perf.read(APP, 0))));
    stays.exit();
}

#[test]
fn a_user_counts_own_threads_outside_the_kernel_and_reads_so() {
    let test = "a_user_counts_own_threads_outside_the_kernel_and_reads_so";
    if !has(test, &[Need::Root, Need::Program("setpriv")]) {
        return;
    }
    if paranoid() != Some(2) {
        return withheld(test, "kernel.perf_event_paranoid is not 2, the kernel's default");
    }
    if !is_let_through(test) {
        return;
    }
    // The test itself, as an unprivileged user.
    let inner = "the_probe_says_what_works_here_and_why_the_rest_does_not";
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("test");
    // Run in another process: a child that this one forks meanwhile would keep it open for writing.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&copy).status();
    assert!(copied.unwrap().success());
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--clear-groups"]).arg(&copy).args([
        inner,
        "--exact",
        "--nocapture",
    ]);
    let output = command.env_remove(fairways_testing::needs::REQUIRED).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.contains("user_only: true"), "{stdout}");
    assert!(
        stdout.contains("perf_event_paranoid, which is 2"),
        "why cgroups are not counted: {stdout}"
    );
}

#[test]
fn the_probe_says_what_works_here_and_why_the_rest_does_not() {
    let probe = probe(Path::new("/sys/fs/cgroup"));
    println!("{probe:#?}");
    for event in &probe.works {
        assert!(probe.lost.iter().all(|&(field, _)| field != event.field), "{}", event.name);
    }
    assert_eq!(probe.works.len() + probe.lost.len(), BY_PROCESSOR.len());
    assert!(probe.lost.iter().all(|(_, why)| !why.is_empty() && !why.contains('\n')));
    assert!(probe.cpu.is_some() && probe.paranoid.is_some());
}

/// A process that does nothing else, and ends with the test.
struct Busy(Child);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A cgroup of the test's own, removed at the end.
struct Cgroup(PathBuf);

impl Cgroup {
    fn make(test: &str) -> Option<Self> {
        for root in ["/sys/fs/cgroup/perf_event", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"] {
            let path = Path::new(root).join(format!("fairways-test-{}", std::process::id()));
            if Path::new(root).join("cgroup.procs").exists() && fs::create_dir(&path).is_ok() {
                return Some(Self(path));
            }
        }
        withheld(test, "no cgroup can be made");
        None
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn domain_of_cpu(cpu: u32) -> (u32, CpuSet) {
    (cpu + 10, [cpu].into_iter().collect::<CpuSet>())
}

#[test]
fn a_cgroup_is_counted_on_each_domains_cpus_whatever_threads_it_has() {
    let test = "a_cgroup_is_counted_on_each_domains_cpus_whatever_threads_it_has";
    if !has(test, &[Need::Root, Need::Program("taskset")]) {
        return;
    }
    if !is_let_through(test) {
        return;
    }
    let Some(cgroup) = Cgroup::make(test) else { return };
    if thread::available_parallelism().unwrap().get() < 2 {
        return withheld(test, "it needs two CPUs");
    }
    let settings = Settings {
        events: events(&[]),
        counters: BY_PROCESSOR.to_vec(),
        domains: vec![domain_of_cpu(0), domain_of_cpu(1)],
        descriptors: None,
    };
    let mut perf = Perf::new(settings);
    let run = Command::new("taskset").args(["-c", "1", "sh", "-c", "while :; do :; done"]).spawn();
    let child = Busy(run.unwrap());
    perf.begin(&Target { cgroup: Some(cgroup.0.clone()), ..target(&[]) });
    assert_eq!(perf.descriptors().0, 2 * COST, "a group set for each CPU");
    // Until taskset has bound it and has become the shell.
    let (began, comm) = (Instant::now(), format!("/proc/{}/comm", child.0.id()));
    while fs::read_to_string(&comm).unwrap() != "sh\n" {
        assert!(began.elapsed() < Duration::from_secs(300));
        thread::sleep(Duration::from_millis(5));
    }
    let since = Instant::now();
    fs::write(cgroup.0.join("cgroup.procs"), child.0.id().to_string()).unwrap();
    let ran = more_than(&mut perf, 20_000_000);
    has_cpu_time(&perf.read(APP, 11));
    assert_eq!(perf.read(APP, 10).instructions, Some(0), "elsewhere");
    // perf's clock is not the one that this test reads.
    let most = since.elapsed() + Duration::from_millis(10);
    assert!(u128::from(ran) < most.as_nanos(), "{ran} ns in {most:?}");
    assert_eq!(perf.read(APP, 12), Counters::default(), "there is no such domain");
    // The domain's last CPU goes off line, and its count stays.
    perf.set_domains(&[domain_of_cpu(0)]);
    let kept = perf.read(APP, 11).instructions.unwrap();
    assert!(kept >= ran && perf.descriptors().0 == COST);
    perf.set_domains(&[domain_of_cpu(0), domain_of_cpu(1)]);
    more_than(&mut perf, kept);
    drop(child);
}

/// Waits until more than so many nanoseconds are counted in the second domain.
fn more_than(perf: &mut Perf, nanos: u64) -> u64 {
    let since = Instant::now();
    loop {
        let ran = perf.read(APP, 11).instructions.unwrap();
        if ran > nanos {
            return ran;
        }
        assert!(since.elapsed() < Duration::from_secs(300), "{ran} ns");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Lets a process run on these CPUs.
fn bind(pid: u32, cpus: &str) {
    let pid = pid.to_string();
    let output = Command::new("taskset").args(["-pc", cpus, &pid]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Without a cgroup of its own, a program's counts are those of the domain in which each of its
/// threads has to run; where a thread may run in several, they are missing, and not counted twice.
#[test]
fn a_thread_s_counts_are_its_domain_s_or_missing() {
    let test = "a_thread_s_counts_are_its_domain_s_or_missing";
    if !may_count(test) {
        return;
    }
    if thread::available_parallelism().unwrap().get() < 2 {
        return withheld(test, "it needs two CPUs");
    }
    let mut perf = perf(None);
    perf.set_domains(&[domain_of_cpu(0), domain_of_cpu(1)]);
    let child = Busy(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap());
    let pid = child.0.id();
    perf.begin(&target(&[i32::try_from(pid).unwrap()]));
    for domain in [10, 11] {
        perf.read(APP, domain);
        thread::sleep(Duration::from_millis(20));
        assert_eq!(perf.read(APP, domain), Counters::default(), "it may run in both");
    }
    bind(pid, "1");
    for domain in [10, 11] {
        assert_eq!(perf.read(APP, domain), Counters::default(), "it may have run in both");
    }
    assert_eq!(perf.read(APP, 10).instructions, Some(0), "it did not run there");
    more_than(&mut perf, 0);
    assert_eq!(perf.read(APP, 10).instructions, Some(0));
    bind(pid, "0-1");
    assert_eq!(perf.read(APP, 11), Counters::default());
    drop(child);
}
