//! Levels of memory bandwidth that a plan sets.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Duration;

use fairways_core::{AppId, BandwidthLevel, Partition, PartitionError};
use fairways_resctrl_client::{Actuator, Refused};
use fairways_resctrl_rules::platform::{Kernel, Platform};

use crate::common::{Host, Sleeper, can_mount, levelled, plan};
use crate::limits::of_thread;

/// Intel's, with a domain or more.
fn intel(domains: u32) -> Platform {
    Platform { mb: Platform::skylake().mb, ..Platform::broadwell() }.with_domains(domains, 2)
}

/// A client with this many programs, each of a process.
pub(crate) fn managed(host: &Host, count: u32) -> (Actuator, Vec<Sleeper>) {
    let mut client = host.open();
    let processes: Vec<Sleeper> = (0..count).map(|_| Sleeper::start()).collect();
    for (app, process) in (0..).zip(&processes) {
        client.add(AppId(app), "x", &[process.id()]).unwrap();
    }
    (client, processes)
}

/// A group's line of `MB`.
pub(crate) fn mb(host: &Host, group: &str) -> String {
    let path = if group.is_empty() { "schemata".to_owned() } else { format!("{group}/schemata") };
    let text = host.read(&path);
    let line = text.lines().map(str::trim).find(|line| line.starts_with("MB:"));
    line.unwrap_or("no MB").replace(' ', "")
}

/// The levels in force in a domain, by cluster.
pub(crate) fn in_force(client: &Actuator, domain: u32) -> Vec<Option<u32>> {
    let partition = client.in_force(domain).unwrap_or_default();
    partition.clusters().iter().map(|of| of.bandwidth.map(BandwidthLevel::get)).collect()
}

#[track_caller]
fn apply(client: &mut Actuator, plan: &Partition) {
    client.apply(&[(0, plan)], "a test").unwrap();
}

/// No file shows what memory can move: it is known where it was configured.
#[test]
fn a_lever_has_the_capacity_that_was_configured() {
    if !can_mount() {
        return;
    }
    for memory_mbps in [None, Some(102_000)] {
        let mut host = Host::with_options(intel(1), "");
        host.settings.memory_mbps = memory_mbps;
        let lever = host.open().domains()[0].bandwidth;
        assert_eq!(lever.map(|lever| lever.capacity_mbps), Some(memory_mbps));
    }
}

/// Each platform's value is written as it is, and what the kernel makes of it is the answer.
#[test]
fn a_level_is_written_in_the_platforms_unit_and_read_back() {
    if !can_mount() {
        return;
    }
    for (platform, options, level, after) in [
        (intel(1), "", 11, 20),
        (intel(1), "", 100, 100),
        (intel(1).with_kernel(Kernel::v6_1()), "", 31, 40),
        (Platform::zen().with_domains(1, 2), "", 17, 17),
        (Platform::mpam().with_domains(1, 2), "", 7, 7),
        (intel(1), "mba_MBps", 1234, 1234),
        (intel(1).with_kernel(Kernel::v6_1()), "mba_MBps", 50, 50),
    ] {
        let host = Host::with_options(platform, options);
        let before = host.snapshot();
        let (mut client, _processes) = managed(&host, 2);
        apply(&mut client, &levelled(&[(0x3, level, &[0]), (0xc, 0, &[1])]));
        assert_eq!(in_force(&client, 0), [Some(after), None], "{level} {options}");
        assert_eq!(mb(&host, "fairways.0"), format!("MB:0={after}"));
        assert_eq!(mb(&host, "fairways.1"), mb(&host, ""));
        // Writing the same again would change nothing, and is not tried.
        host.fault("write:*/schemata=EIO");
        apply(&mut client, &levelled(&[(0x3, level, &[0]), (0xc, 0, &[1])]));
        fairways_emulated::Client::connect(host.socket()).unwrap().clear(None).unwrap();
        assert_eq!(client.close().left, []);
        assert_eq!(host.snapshot(), before);
    }
}

/// Only domains with a level in the plan are limited, and only lines that differ are written.
#[test]
fn a_level_is_of_a_domain() {
    if !can_mount() {
        return;
    }
    let host = Host::new(intel(2));
    let (mut client, _processes) = managed(&host, 1);
    for (first, second) in [(50, 0), (50, 20), (0, 20), (0, 0)] {
        let [one, other] = [first, second].map(|level| levelled(&[(0x3, level, &[0])]));
        client.apply(&[(0, &one), (1, &other)], "a test").unwrap();
        let [shown, others] = [first, second].map(|level| if level == 0 { 100 } else { level });
        assert_eq!(mb(&host, "fairways.0"), format!("MB:0={shown};1={others}"));
        for (domain, level) in [(0, first), (1, second)] {
            assert_eq!(in_force(&client, domain), [Some(level).filter(|&level| level > 0)]);
        }
    }
}

/// A limit that somebody set stays: the lower of it and the plan's level holds, also while it
/// changes, and it is what is left without a plan.
#[test]
fn the_lower_of_a_level_and_somebodys_limit_holds() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(intel(1));
    host.settings.take_over = true;
    host.group("COS1", "MB:0=40\n");
    host.write("schemata", "MB:0=60\n").unwrap();
    let taken = Sleeper::start();
    host.write("COS1/tasks", &taken.id().to_string()).unwrap();
    let before = host.snapshot();
    let (mut client, _processes) = managed(&host, 1);
    client.add(AppId(1), "y", &[taken.id()]).unwrap();
    for (planned, root, theirs) in [(80, 60, 40), (50, 50, 40), (30, 30, 30), (0, 60, 40)] {
        apply(&mut client, &levelled(&[(0x3, planned, &[0]), (0xc, planned, &[1])]));
        let mut lines = [0, 1, 2].map(|class| format!("fairways.{class}"));
        lines.iter_mut().for_each(|group| {
            *group = if host.has(group) { mb(&host, group) } else { String::new() };
        });
        lines.sort();
        let mut expected = [String::new(), format!("MB:0={root}"), format!("MB:0={theirs}")];
        expected.sort();
        assert_eq!(lines, expected, "planned {planned}");
    }
    // Their limits change while a level is planned.
    apply(&mut client, &levelled(&[(0x3, 50, &[0]), (0xc, 50, &[1])]));
    for (root, theirs, expected) in [(20, 10, [20, 10]), (100, 100, [50, 50])] {
        host.write("schemata", &format!("MB:0={root}\n")).unwrap();
        host.write("COS1/schemata", &format!("MB:0={theirs}\n")).unwrap();
        assert!(client.look().unwrap().limits);
        let mut levels = in_force(&client, 0);
        levels.sort_by_key(|level| std::cmp::Reverse(*level));
        assert_eq!(levels, expected.map(Some));
    }
    host.write("schemata", "MB:0=60\n").unwrap();
    host.write("COS1/schemata", "MB:0=40\n").unwrap();
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

/// What somebody writes to a class of ours is a limit from then on, until they lift it.
#[test]
fn a_value_that_somebody_writes_to_our_class_is_a_limit() {
    if !can_mount() {
        return;
    }
    let host = Host::new(intel(1));
    let before = host.snapshot();
    let (mut client, _processes) = managed(&host, 1);
    apply(&mut client, &levelled(&[(0x3, 50, &[0])]));
    assert!(!client.look().unwrap().limits, "what we wrote is nobody else's");
    host.write("fairways.0/schemata", "MB:0=30\n").unwrap();
    assert!(client.look().unwrap().limits);
    for planned in [50, 80, 0] {
        apply(&mut client, &levelled(&[(0x3, planned, &[0])]));
        assert_eq!(mb(&host, "fairways.0"), "MB:0=30", "planned {planned}");
    }
    assert_eq!(client.degraded(), ["somebody else limits fairways.0 to MB:0=30: that stays"]);
    apply(&mut client, &levelled(&[(0x3, 20, &[0])]));
    assert_eq!(in_force(&client, 0), [Some(20)]);
    // Between two looks, and above the plan's level.
    host.write("fairways.0/schemata", "MB:0=70\n").unwrap();
    apply(&mut client, &levelled(&[(0x3, 20, &[0])]));
    assert_eq!(mb(&host, "fairways.0"), "MB:0=20");
    apply(&mut client, &levelled(&[(0x3, 90, &[0])]));
    assert_eq!(mb(&host, "fairways.0"), "MB:0=70");
    host.write("fairways.0/schemata", "MB:0=100\n").unwrap();
    client.look().unwrap();
    apply(&mut client, &levelled(&[(0x3, 90, &[0])]));
    assert_eq!(mb(&host, "fairways.0"), "MB:0=90");
    assert!(client.degraded().is_empty());
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

/// What somebody writes without the lock just after we have written is neither taken for what the
/// kernel made of our value, nor lost: the lower of the two holds, and theirs is a limit from then
/// on.
#[test]
fn a_value_that_somebody_writes_as_we_write_is_a_limit() {
    if !can_mount() {
        return;
    }
    for (theirs, at_once, later) in [(30, 30, 30), (60, 50, 60), (70, 50, 70), (100, 50, 90)] {
        let host = Host::new(intel(1));
        let before = host.snapshot();
        let (mut client, _processes) = managed(&host, 1);
        apply(&mut client, &levelled(&[(0x3, 80, &[0])]));
        // The fourth time that it is opened is for reading what was written.
        host.fault("open:/fairways.0/schemata=slow:600ms@4");
        let schemata = host.path("fairways.0/schemata");
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(300));
                let mut file = OpenOptions::new().write(true).open(schemata).unwrap();
                file.write_all(format!("MB:0={theirs}\n").as_bytes()).unwrap();
            });
            apply(&mut client, &levelled(&[(0x3, 50, &[0])]));
        });
        assert_eq!(mb(&host, "fairways.0"), format!("MB:0={at_once}"), "{theirs}");
        fairways_emulated::Client::connect(host.socket()).unwrap().clear(None).unwrap();
        client.look().unwrap();
        assert_eq!(mb(&host, "fairways.0"), format!("MB:0={at_once}"), "{theirs}");
        apply(&mut client, &levelled(&[(0x3, 90, &[0])]));
        assert_eq!(mb(&host, "fairways.0"), format!("MB:0={later}"), "{theirs}");
        assert_eq!(client.close().left, []);
        assert_eq!(host.snapshot(), before);
    }
}

/// A program at a planned 50 % on two domains, of which others have a thread in COS1, limited to
/// 20 % on the first.
fn joined() -> (Host, Actuator, Vec<Sleeper>, Sleeper) {
    let mut host = Host::new(intel(2));
    host.settings.take_over = true;
    host.group("COS1", "MB:0=20\n");
    let joining = Sleeper::start();
    host.write("COS1/tasks", &joining.id().to_string()).unwrap();
    let (mut client, processes) = managed(&host, 1);
    apply(&mut client, &levelled(&[(0x3, 50, &[0])]));
    assert_eq!(mb(&host, "fairways.0"), "MB:0=50;1=100");
    (host, client, processes, joining)
}

/// Somebody's limit is noticed even if a thread with a stricter one comes before the next look.
#[test]
fn a_limit_that_ours_replaces_is_still_somebodys() {
    if !can_mount() {
        return;
    }
    let (host, mut client, processes, joining) = joined();
    host.write("fairways.0/schemata", "MB:0=30;1=60\n").unwrap();
    let ids = [processes[0].id(), joining.id()];
    client.tasks(AppId(0), &mut |list| list.extend(ids)).unwrap();
    assert_eq!(mb(&host, "fairways.0"), "MB:0=20;1=60");
    assert!(client.look().unwrap().limits);
    assert_eq!(mb(&host, "fairways.0"), "MB:0=20;1=60");
    client.tasks(AppId(0), &mut |list| list.push(ids[0])).unwrap();
    client.look().unwrap();
    assert_eq!(mb(&host, "fairways.0"), "MB:0=30;1=60");
    assert_eq!(client.close().left, []);
}

/// Where limits could not be read back, they are read before the next thread enters.
#[test]
fn no_thread_enters_a_class_of_unknown_limits() {
    if !can_mount() {
        return;
    }
    let (host, mut client, processes, joining) = joined();
    // The third read is that of what was written; neither that nor undoing it succeeds.
    (3..30).for_each(|nth| host.fault(&format!("read:/fairways.0/schemata=EIO@{nth}")));
    client.apply(&[(0, &levelled(&[(0x3, 40, &[0])]))], "a test").unwrap_err();
    assert_eq!(in_force(&client, 0), [None], "not known");
    let ids = [processes[0].id(), joining.id()];
    client.tasks(AppId(0), &mut |list| list.extend(ids)).unwrap_err();
    assert!(host.threads("COS1").contains(&joining.id()));
    fairways_emulated::Client::connect(host.socket()).unwrap().clear(None).unwrap();
    host.write("fairways.0/schemata", "MB:0=100\n").unwrap();
    client.tasks(AppId(0), &mut |list| list.extend(ids)).unwrap();
    assert_eq!(mb(&host, "fairways.0"), "MB:0=20;1=100");
    assert_eq!(client.close().left, []);
}

/// Why a plan with this level is refused; nothing changes.
fn refused(platform: Platform, level: u32) -> PartitionError {
    let host = Host::new(platform);
    let (mut client, _processes) = managed(&host, 1);
    apply(&mut client, &plan(&[(0x3, &[0])]));
    let before = host.snapshot();
    let done = client.apply(&[(0, &levelled(&[(0xc, level, &[0])]))], "a test");
    assert_eq!(host.snapshot(), before);
    match done.unwrap_err() {
        Refused::Partition { domain: 0, why } => why,
        why => panic!("{why}"),
    }
}

/// A plan with a value that is no level, or for a machine without the lever, changes nothing.
#[test]
fn a_level_that_the_machine_does_not_have_is_refused() {
    if !can_mount() {
        return;
    }
    let none = PartitionError::NoBandwidthLever { cluster: 0 };
    assert_eq!(refused(Platform::broadwell().with_domains(1, 2), 50), none);
    for value in [9, 101] {
        let [least, most, level] = [10, 100, value].map(|of| BandwidthLevel::new(of).unwrap());
        let why = PartitionError::Level { cluster: 0, level, least, most };
        assert_eq!(refused(intel(1), value), why);
    }
}

/// Percents could be MiB/s then.
#[test]
fn a_host_whose_mount_options_are_unknown_is_not_managed() {
    if !can_mount() {
        return;
    }
    for platform in [intel(1), Platform::broadwell().with_domains(1, 2)] {
        let mut host = Host::new(platform.clone());
        host.settings.proc = host.at("no-proc");
        let opened = Actuator::open(host.settings.clone()).map(drop);
        match platform.mb {
            Some(_) => assert!(opened.unwrap_err().to_string().contains("self/mountinfo: No such")),
            None => opened.unwrap(),
        }
    }
}

/// AMD's limit is of a class: where one cluster is two classes, each has its part.
#[test]
fn classes_of_one_cluster_share_its_level() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::zen().with_domains(2, 2));
    let (mut client, _processes) = managed(&host, 2);
    let together = levelled(&[(0x3, 16, &[0, 1])]);
    let apart = plan(&[(0x1, &[0]), (0x2, &[1])]);
    client.apply(&[(0, &together), (1, &apart)], "a test").unwrap();
    assert_eq!(in_force(&client, 0), [Some(8), Some(8)]);
    client.apply(&[(0, &together), (1, &plan(&[(0x1, &[0, 1])]))], "a test").unwrap();
    assert_eq!(in_force(&client, 0), [Some(16)]);
}

/// The lines of `MB` of the classes that these processes are in.
fn mb_of_threads(host: &Host, processes: &[Sleeper]) -> Vec<String> {
    let classes = processes.iter().map(|process| of_thread(host, process.id()).0);
    classes.collect::<BTreeSet<String>>().iter().map(|class| mb(host, class)).collect()
}

fn mb_lines(levels: &[u32]) -> Vec<String> {
    levels.iter().map(|level| format!("MB:0={level}")).collect()
}

/// Where a limit is of a class as a whole, programs of one group that become several classes have
/// parts of it, whatever their plan: together they move no more than the group may.
#[test]
fn classes_of_one_group_share_its_limit() {
    if !can_mount() {
        return;
    }
    for (platform, options, limit, halves, whole) in [
        (Platform::zen().with_domains(1, 2), "", 17, [8, 8], 17),
        (Platform::mpam().with_domains(1, 2), "", 50, [25, 25], 50),
        (intel(1), "mba_MBps", 1000, [500, 500], 1000),
        // Each core has it.
        (intel(1), "", 50, [50, 50], 50),
        // No part is below the lowest level.
        (Platform::zen().with_domains(1, 2), "", 1, [1, 1], 1),
    ] {
        let mut host = Host::with_options(platform, options);
        host.settings.take_over = true;
        host.group("COS1", &format!("MB:0={limit}\n"));
        let taken = [Sleeper::start(), Sleeper::start()];
        for process in &taken {
            host.write("COS1/tasks", &process.id().to_string()).unwrap();
        }
        let before = host.snapshot();
        let (mut client, _processes) = managed(&host, 1);
        for (app, process) in (1..).zip(&taken) {
            client.add(AppId(app), "y", &[process.id()]).unwrap();
        }
        client.look().unwrap();
        assert_eq!(mb_of_threads(&host, &taken), mb_lines(&halves), "before a plan");
        apply(&mut client, &plan(&[(0x1, &[0]), (0x2, &[1]), (0x4, &[2])]));
        assert_eq!(mb_of_threads(&host, &taken), mb_lines(&halves), "apart");
        let in_root = host.threads("").iter().any(|id| taken.iter().any(|of| of.id() == *id));
        assert!(!in_root && !client.look().unwrap().limits, "it stays so");
        assert!(client.degraded().is_empty(), "{:?}", client.degraded());
        apply(&mut client, &plan(&[(0x1, &[0]), (0x6, &[1, 2])]));
        assert_eq!(mb_of_threads(&host, &taken), mb_lines(&[whole]), "together");
        apply(&mut client, &plan(&[(0x1, &[0]), (0x2, &[1]), (0x4, &[2])]));
        assert_eq!(mb_of_threads(&host, &taken), mb_lines(&halves), "apart again");
        // The owner lifts it: the highest level is no limit, of which there are no parts.
        let most = mb(&host, "");
        host.write("COS1/schemata", &format!("{most}\n")).unwrap();
        assert!(client.look().unwrap().limits);
        assert_eq!(mb_of_threads(&host, &taken), [most.clone(), most]);
        host.write("COS1/schemata", &format!("MB:0={limit}\n")).unwrap();
        assert_eq!(client.close().left, []);
        assert_eq!(host.snapshot(), before);
    }
}

/// The root's limit is one that its programs bring along.
#[test]
fn classes_of_the_roots_programs_share_its_limit() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::zen().with_domains(1, 2));
    host.write("schemata", "MB:0=100\n").unwrap();
    let before = host.snapshot();
    let (mut client, _processes) = managed(&host, 3);
    apply(&mut client, &levelled(&[(0x1, 80, &[0]), (0x2, 20, &[1]), (0x4, 0, &[2])]));
    let mut levels = [0, 1, 2].map(|class| mb(&host, &format!("fairways.{class}")));
    levels.sort();
    assert_eq!(levels, ["MB:0=20", "MB:0=33", "MB:0=33"]);
    assert_eq!(in_force(&client, 0).iter().flatten().max(), Some(&33));
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

/// A dry run answers as if it had been done, and writes nothing.
#[test]
fn a_dry_run_writes_no_level() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(intel(1));
    host.write("schemata", "MB:0=40\n").unwrap();
    host.settings.dry_run = true;
    let before = host.snapshot();
    let (mut client, _processes) = managed(&host, 2);
    apply(&mut client, &levelled(&[(0x3, 20, &[0]), (0xc, 80, &[1])]));
    assert_eq!(in_force(&client, 0), [Some(20), Some(40)]);
    assert_eq!(host.snapshot(), before);
}
