//! The host on real processes and by the real clock, over an emulator whose hardware is idle:
//! several domains, and failures.

use std::cell::RefCell;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use fairways_core::{
    Action, AppId, BandwidthLevel, Counters, Event, Partition, PartitionError, PlanId, Resources,
    Time, WayMask, WindowLength, Wish,
};
use fairways_emulator::{Emulator, Idle, Pace, Settings as Emulated};
use fairways_host::clock::RealClock;
use fairways_host::machine::{Failure, Host, Lever, Managed, Parts, Settings};
use fairways_latency::Spec;
use fairways_perf::{NoCounters, Source};
use fairways_programs::{Roots, Selector, Wanted};
use fairways_resctrl_client::{Actuator, Settings as Acting};
use fairways_resctrl_rules::platform::Platform;
use fairways_testing::needs::withheld;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use tempfile::TempDir;

use crate::common::can_mount;

pub(crate) const LOOK: Settings = Settings { observe: false, look: Duration::from_millis(20) };

/// A process that waits, on that CPU only.
pub(crate) struct Sleeper(Child);

impl Sleeper {
    pub(crate) fn start(cpu: usize) -> Self {
        let sleeper = Self(Command::new("/bin/sleep").arg("600").spawn().unwrap());
        sleeper.pin(&[cpu]);
        sleeper
    }

    pub(crate) fn id(&self) -> i32 {
        self.0.id().try_into().unwrap()
    }

    fn pin(&self, cpus: &[usize]) {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|&cpu| set.set(cpu));
        sched_setaffinity(Pid::from_raw(self.id()), &set).unwrap();
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A resctrl with an L3 domain for each of two CPUs.
pub(crate) struct Bench {
    pub(crate) emulator: Emulator,
    folder: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Option<Self> {
        Self::of(Platform::broadwell().with_domains(2, 1))
    }

    fn of(platform: Platform) -> Option<Self> {
        if !can_mount() {
            return None;
        }
        if std::thread::available_parallelism().unwrap().get() < 2 {
            let test = std::thread::current().name().unwrap_or_default().to_owned();
            withheld(&test, "it needs two CPUs");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("resctrl")).unwrap();
        fs::write(at("boot_id"), "5f7c4a32-8a0f-4d0a-9f1e-00000000000e\n").unwrap();
        for (cpu, caches) in &platform.cpus {
            let index = at(&format!("sys/devices/system/cpu/cpu{cpu}/cache/index3"));
            fs::create_dir_all(&index).unwrap();
            fs::write(index.join("level"), "3\n").unwrap();
            fs::write(index.join("id"), format!("{}\n", caches.l3)).unwrap();
        }
        let settings =
            Emulated { pace: Pace::Lockstep, ..Emulated::new(platform, Box::new(Idle::default())) };
        let emulator = Emulator::start(&at("resctrl"), settings).unwrap();
        Some(Self { emulator, folder })
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn parts(&self, source: Box<dyn Source>, proc_and_cgroup: Roots) -> Parts {
        let acting = Acting {
            root: self.at("resctrl"),
            state: self.at("state"),
            boot_id: self.at("boot_id"),
            sysfs: self.at("sys"),
            ..Acting::default()
        };
        let lever = Lever::Ways(Box::new(Actuator::open(acting).unwrap()));
        Parts { lever, proc_and_cgroup, source, clock: Box::new(RealClock::new()) }
    }

    fn host(&self, managed: Vec<Managed>, settings: Settings) -> Host {
        self.host_of(self.parts(Box::new(NoCounters), Roots::default()), managed, settings)
    }

    /// A host that ends after a time that no test takes.
    pub(crate) fn host_of(&self, parts: Parts, managed: Vec<Managed>, settings: Settings) -> Host {
        let mut host = Host::new(parts, managed, settings).unwrap();
        host.stop_at(Time::ZERO.after(Duration::from_secs(60)));
        host
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at("resctrl").join(path)).unwrap()
    }

    fn has(&self, path: &str) -> bool {
        self.at("resctrl").join(path).exists()
    }
}

pub(crate) fn managed(name: &str, selector: Selector) -> Managed {
    Managed::new(Wanted { name: name.to_owned(), selector, each: false })
}

fn next(host: &mut Host) -> (u32, Event) {
    let Some((_, domain, event)) = host.next_event() else {
        panic!("no more happens: {:?}", host.failure());
    };
    (domain, event)
}

/// What happens next that is of this kind.
pub(crate) fn await_one<T>(host: &mut Host, mut of: impl FnMut(u32, &Event) -> Option<T>) -> T {
    loop {
        let (domain, event) = next(host);
        if let Some(found) = of(domain, &event) {
            return found;
        }
    }
}

pub(crate) fn started(domain: u32, event: &Event) -> Option<(u32, AppId)> {
    match event {
        Event::Started { app, .. } => Some((domain, *app)),
        _ => None,
    }
}

pub(crate) fn all_started(host: &mut Host, programs: usize) -> Vec<(u32, AppId)> {
    (0..programs).map(|_| await_one(host, started)).collect()
}

pub(crate) fn exited(domain: u32, event: &Event) -> Option<(u32, AppId)> {
    match event {
        Event::Exited { app } => Some((domain, *app)),
        _ => None,
    }
}

/// What a plan has come to.
pub(crate) fn applied(domain: u32, event: &Event) -> Option<(u32, PlanId, Partition)> {
    match event {
        Event::Applied { plan, actual } => Some((domain, *plan, actual.clone())),
        _ => None,
    }
}

/// Goes on until this is so, without any event.
pub(crate) fn until(host: &mut Host, is_so: impl FnMut(&Host) -> bool) {
    until_showing(host, &mut |_| (), is_so);
}

/// The same, and shows the host on each turn.
pub(crate) fn until_showing(
    host: &mut Host,
    turn: &mut dyn FnMut(&Host),
    mut is_so: impl FnMut(&Host) -> bool,
) {
    let steps = (1..=120).map(|step| Time::ZERO.after(step * Duration::from_millis(500)));
    for at in steps {
        host.stop_at(at);
        let event = host.next_event_showing(turn);
        assert!(event.is_none() && host.failure().is_none(), "{event:?} {:?}", host.failure());
        if is_so(host) {
            return;
        }
    }
    panic!("not in a minute");
}

pub(crate) fn partition(clusters: &[(u32, &[AppId])]) -> Partition {
    let mut partition = Partition::default();
    for (bits, apps) in clusters {
        let cluster = partition.add_cluster(WayMask::from_bits(*bits));
        apps.iter().for_each(|app| partition.place(*app, cluster));
    }
    partition
}

pub(crate) fn plan(host: &mut Host, domain: u32, number: u32, partition: &Partition) {
    let plan = PlanId(number);
    host.carry_out(
        domain,
        Action::Partition { plan, partition: partition.into(), reason: "a test".into() },
    );
}

#[test]
fn each_domain_has_a_policy_of_its_own_and_programs_move_between_them() {
    let Some(bench) = Bench::new() else { return };
    let (near, wide) = (Sleeper::start(0), Sleeper::start(0));
    wide.pin(&[0, 1]);
    let list = [&near, &wide].map(|of| managed("a", Selector::Pid(of.id())));
    let mut host = bench.host(list.into(), LOOK);
    assert!(host.one_domain().is_none());
    let (a, b) = (AppId(0), AppId(1));
    assert_eq!(all_started(&mut host, 3), [(0, a), (0, b), (1, b)]);
    plan(&mut host, 0, 1, &partition(&[(0x3, &[a]), (0xc, &[b])]));
    plan(&mut host, 1, 1, &partition(&[(0x30, &[b])]));
    let class = |of: &Sleeper| {
        let task = format!("{}\n", of.id());
        let classes = ["fairways.0", "fairways.1", "fairways.2"];
        let class = classes.iter().find(|class| {
            bench.has(class) && bench.read(&format!("{class}/tasks")).contains(&task)
        });
        bench.read(&format!("{}/schemata", class.expect("a class")))
    };
    // Of the domain where it does not run, whatever there is.
    assert!(class(&near).contains("0=3;"), "{}", class(&near));
    assert!(class(&wide).contains("0=c;1=30"), "{}", class(&wide));
    let shown = host.programs();
    let of_wide = [(0, Some(WayMask::from_bits(0xc))), (1, Some(WayMask::from_bits(0x30)))];
    assert_eq!(shown[1].masks, of_wide);

    near.pin(&[1]);
    assert_eq!(await_one(&mut host, exited), (0, a));
    let again = AppId(2);
    assert_eq!(await_one(&mut host, started), (1, again), "under a new id");
    drop(wide);
    assert_eq!([(); 2].map(|()| await_one(&mut host, exited)), [(0, b), (1, b)]);
    plan(&mut host, 1, 2, &partition(&[(0x1, &[again])]));
    assert!(class(&near).contains("1=1\n"), "{}", class(&near));
    assert_eq!(host.close().left, []);
    assert!(!bench.has("fairways.0") && !bench.has("mon_groups/fairways.2-a"));
}

/// A task has one class in all domains. Where classes are too few, programs get more ways than
/// planned. That is reported to the policy of each domain, also when another domain's plan is the
/// cause.
#[test]
fn what_too_few_classes_make_of_plans_is_reported() {
    // The root's is one of three.
    let platform = Platform::broadwell().with_domains(2, 1).with_closids(3);
    let Some(bench) = Bench::of(platform) else { return };
    let (a, b, c) = (Sleeper::start(0), Sleeper::start(0), Sleeper::start(0));
    let all = [&a, &b, &c];
    all.iter().for_each(|of| of.pin(&[0, 1]));
    let list = [("a", &a), ("b", &b), ("c", &c)];
    let list = list.map(|(name, of)| managed(name, Selector::Pid(of.id())));
    let mut host = bench.host(list.into(), LOOK);
    all_started(&mut host, 6);
    let [a, b, c] = [0, 1, 2].map(AppId);
    let planned = partition(&[(0x3, &[a, b]), (0x4, &[c])]);
    plan(&mut host, 0, 1, &planned);
    assert_eq!(await_one(&mut host, applied), (0, PlanId(1), planned.clone()));
    // This plan needs three classes. Merging a and c costs least: both get 0x7 in domain 0.
    let other = partition(&[(0x30, &[a, c]), (0xc0, &[b])]);
    plan(&mut host, 1, 1, &other);
    let mut reports = [(); 2].map(|()| await_one(&mut host, applied));
    reports.sort_by_key(|(domain, ..)| *domain);
    let [(0, PlanId(1), here), (1, PlanId(1), there)] = reports else { panic!("{reports:?}") };
    let ways = |of: &Partition| [a, b, c].map(|app| of.mask_of(app).unwrap().bits());
    assert_eq!((ways(&here), ways(&there)), ([0x7, 0x3, 0x7], [0x30, 0xc0, 0x30]));
    assert!(there.agrees_with(&other) && !here.agrees_with(&planned));
    for (place, (in_here, in_there)) in ways(&here).into_iter().zip(ways(&there)).enumerate() {
        let shown =
            [(0, in_here), (1, in_there)].map(|(id, of)| (id, Some(WayMask::from_bits(of))));
        assert_eq!(host.programs()[place].masks, shown);
    }
}

/// One program with this level of memory bandwidth.
fn levelled(level: u32) -> Partition {
    let mut partition = Partition::default();
    let (mask, bandwidth) = (WayMask::from_bits(3), BandwidthLevel::new(level));
    partition.add(Resources { mask, bandwidth });
    partition.place(AppId(0), 0);
    partition
}

/// A level is reported as it is in force, and again when somebody else limits more, or less. A plan
/// with what is no level changes nothing.
#[test]
fn a_level_is_reported_as_it_is_in_force() {
    let mb = Platform::skylake().mb;
    let platform = Platform { mb, ..Platform::broadwell() }.with_domains(1, 2);
    let Some(bench) = Bench::of(platform) else { return };
    let sleeper = Sleeper::start(0);
    let mut host = bench.host(vec![managed("a", Selector::Pid(sleeper.id()))], LOOK);
    let (_, levers) = await_one(&mut host, |domain, event| match event {
        Event::Machine(levers) => Some((domain, *levers)),
        _ => None,
    });
    let lever = levers.bandwidth.unwrap();
    assert_eq!([lever.least, lever.step, lever.most].map(BandwidthLevel::get), [10, 10, 100]);
    all_started(&mut host, 1);
    let level = |(_, _, actual): (u32, PlanId, Partition)| actual.level_of(AppId(0)).unwrap().get();
    plan(&mut host, 0, 1, &levelled(51));
    assert_eq!(level(await_one(&mut host, applied)), 60);
    let root = bench.emulator.dir().join("schemata");
    for (limit, expected) in [(30, 30), (100, 60)] {
        fs::write(&root, format!("MB:0={limit}\n")).unwrap();
        assert_eq!(level(await_one(&mut host, applied)), expected);
    }
    plan(&mut host, 0, 2, &levelled(9));
    let why = await_one(&mut host, |_, event| match event {
        Event::Refused { plan: PlanId(2), why } => Some(*why),
        _ => None,
    });
    assert!(matches!(why, PartitionError::Level { cluster: 0, .. }), "{why}");
}

/// By these its daemon is known to be alive, and by what they show its metrics are made.
#[test]
fn turns_are_shown_though_nothing_happens() {
    let Some(bench) = Bench::new() else { return };
    let sleeper = Sleeper::start(0);
    let mut host = bench.host(vec![managed("a", Selector::Pid(sleeper.id()))], LOOK);
    all_started(&mut host, 1);
    let others = RefCell::new(Vec::new());
    let foreign = bench.emulator.dir().join("mon_groups/theirs");
    let mut turn = |host: &Host| {
        let mut seen = others.borrow_mut();
        if seen.len() == 5 {
            fs::create_dir(&foreign).unwrap();
        }
        seen.push(host.actuator().unwrap().rmids().unwrap().others);
    };
    // What is nobody's is seen once a second.
    until_showing(&mut host, &mut turn, |_| {
        let others = others.borrow();
        others.len() > 20 && others.last() > others.first()
    });
    let others = others.borrow();
    assert_eq!((others[0] + 1, others.is_sorted()), (*others.last().unwrap(), true), "{others:?}");
}

#[test]
fn what_is_observed_is_not_carried_out() {
    let Some(bench) = Bench::new() else { return };
    let sleeper = Sleeper::start(1);
    let before = bench.read("schemata");
    let observed = Settings { observe: true, ..LOOK };
    let mut host = bench.host(vec![managed("a", Selector::Pid(sleeper.id()))], observed);
    let [(1, app)] = all_started(&mut host, 1)[..] else { panic!("it is in domain 1") };
    plan(&mut host, 1, 1, &partition(&[(0x7, &[app])]));
    let mask = Some(WayMask::from_bits(0x7));
    assert_eq!(host.programs()[0].masks, [(1, mask)], "what it would be let fill");
    assert!(!bench.has("fairways.0") && bench.read("schemata") == before);
    // A plan that breaks a rule is refused all the same.
    plan(&mut host, 1, 2, &partition(&[(0, &[app])]));
    let refused = |_: u32, event: &Event| match event {
        Event::Refused { plan, .. } => Some(*plan),
        _ => None,
    };
    assert_eq!(await_one(&mut host, refused), PlanId(2));
    // A window shows the plan as if it were in force, and is as long as requested.
    let every = Duration::from_millis(50);
    host.carry_out(1, Action::Watch { app, every: WindowLength::Time(every) });
    let sample = await_one(&mut host, |domain, event| match event {
        Event::Sampled(sample) if domain == 1 => Some(*sample),
        _ => None,
    });
    // Only resctrl counts anything.
    let counted = Counters { memory_bytes: Some(0), ..Counters::default() };
    assert_eq!((sample.plan, sample.counters), (Some(PlanId(1)), counted));
    assert!(sample.window >= every && sample.window < every * 100, "{:?}", sample.window);
}

#[test]
fn a_plan_that_the_kernel_refuses_is_reported_as_failed_and_the_one_before_stays() {
    let Some(bench) = Bench::new() else { return };
    let sleeper = Sleeper::start(0);
    let mut host = bench.host(vec![managed("a", Selector::Pid(sleeper.id()))], LOOK);
    let [(0, app)] = all_started(&mut host, 1)[..] else { panic!("it is in domain 0") };
    plan(&mut host, 0, 1, &partition(&[(0x3, &[app])]));
    await_one(&mut host, applied);
    bench.emulator.arm("write:*/schemata=EBUSY@1".parse().unwrap());
    plan(&mut host, 0, 2, &partition(&[(0x30, &[app])]));
    let (domain, event) = next(&mut host);
    let Event::Refused { plan: of, why } = event else { panic!("{event:?}") };
    assert_eq!((domain, of, why), (0, PlanId(2), PartitionError::Failed));
    assert!(bench.read("fairways.0/schemata").contains("0=3;"));
    assert_eq!(host.programs()[0].masks, [(0, Some(WayMask::from_bits(0x3)))]);
    plan(&mut host, 0, 3, &partition(&[(0x30, &[app])]));
    assert_eq!(host.programs()[0].masks, [(0, Some(WayMask::from_bits(0x30)))]);
}

#[test]
fn a_look_that_fails_is_counted_as_often() {
    let Some(bench) = Bench::new() else { return };
    let sleeper = Sleeper::start(0);
    let mut host = bench.host(vec![managed("a", Selector::Pid(sleeper.id()))], LOOK);
    all_started(&mut host, 1);
    assert_eq!(host.errors().iter().count(), 0);
    // What others did is looked at once a second.
    bench.emulator.arm("read:schemata=EIO".parse().unwrap());
    let began = Instant::now();
    until(&mut host, |host| host.errors().iter().any(|(_, times)| times >= 2));
    let errors: Vec<_> = host.errors().iter().collect();
    let [("EIO", times)] = errors[..] else { panic!("{errors:?}") };
    assert!(times <= began.elapsed().as_secs() + 1, "{errors:?}");
}

#[test]
fn a_host_whose_resctrl_is_unmounted_has_no_more_to_report() {
    let Some(bench) = Bench::new() else { return };
    let sleeper = Sleeper::start(0);
    let mut host = bench.host(vec![managed("a", Selector::Pid(sleeper.id()))], LOOK);
    all_started(&mut host, 1);
    assert!(bench.emulator.remount("nonsense").is_err(), "no such option");
    let began = Instant::now();
    assert!(host.next_event().is_none());
    assert!(matches!(host.failure(), Some(Failure::Unmounted(_))), "{:?}", host.failure());
    assert!(began.elapsed() < Duration::from_secs(30), "it did not wait for its end");
}

#[test]
fn another_wish_is_reported_and_another_name_is_another_program() {
    let Some(bench) = Bench::new() else { return };
    let sleeper = Sleeper::start(1);
    let socket = bench.at("latencies");
    let asked = |name: &str, ways| {
        let spec: Spec = format!("socket:{}", socket.display()).parse().unwrap();
        let wish = Wish { baseline_ways: ways, ..Wish::default() };
        Managed {
            wish,
            latency: Some(Box::new(move |_| spec.open().map_err(std::io::Error::other))),
            ..managed(name, Selector::Pid(sleeper.id()))
        }
    };
    let mut host = bench.host(vec![asked("a", None)], LOOK);
    let answers = |host: &mut Host, domain, app| {
        host.carry_out(
            domain,
            Action::Watch { app, every: WindowLength::Time(Duration::from_millis(20)) },
        );
        let sender = UnixDatagram::unbound().unwrap();
        await_one(host, |of, event| {
            sender.send_to(b"3ms", &socket).unwrap();
            match event {
                Event::Latency(report) if of == domain && report.app == app => {
                    report.answered.first().map(|answered| answered.requests > 0)
                }
                _ => None,
            }
        })
    };
    assert_eq!(all_started(&mut host, 1), [(1, AppId(0))]);
    assert!(answers(&mut host, 1, AppId(0)));
    host.reconfigure(vec![asked("a", Some(3))]).unwrap();
    let wished = await_one(&mut host, |domain, event| match event {
        Event::Wished { app, wish } => Some((domain, *app, wish.baseline_ways)),
        _ => None,
    });
    assert_eq!(wished, (1, AppId(0), Some(3)));
    // It moves, and its socket with it.
    sleeper.pin(&[0]);
    assert_eq!(await_one(&mut host, started), (0, AppId(1)));
    assert!(answers(&mut host, 0, AppId(1)));
    // It ends and another begins in the same look, at the same socket.
    host.reconfigure(vec![asked("b", None)]).unwrap();
    assert_eq!(await_one(&mut host, started), (0, AppId(2)));
    assert!(answers(&mut host, 0, AppId(2)));
}
