//! Killed at any system call, it leaves what the next start puts right.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use fairways_core::AppId;
use fairways_emulated::Client;
use fairways_resctrl_client::{Actuator, Settings, restore};
use fairways_resctrl_rules::platform::{BandwidthAllocation, Kernel, Platform};
use fairways_testing::needs::{Need, has};

use crate::common::{Host, Sleeper, can_mount, levelled, plan};
use crate::limits::{is_no_looser, of_thread};
use crate::sealed::{opened, sealed};

/// Where the process that is killed finds its host, and the processes to manage.
const FOLDER: &str = "FAIRWAYS_CRASH_FOLDER";
const PROCESSES: &str = "FAIRWAYS_CRASH_PROCESSES";

/// Set where others keep their threads and groups.
const LEAVES: &str = "FAIRWAYS_CRASH_LEAVES";

/// System calls that change anything; between two of them, all is as after the first. Not every
/// architecture has all.
const CHANGES: [&str; 7] =
    ["write", "mkdirat", "unlinkat", "?unlink", "?rename", "?renameat", "renameat2"];

/// More than it makes of any of them.
const MOST: u32 = 200;

/// Everything that a daemon does, from its start to its end.
fn everything(settings: Settings, processes: &[i32]) {
    let mut client = Actuator::open(settings).unwrap();
    for (app, &process) in (1..).zip(processes) {
        client.add(AppId(app), "x", &[process]).unwrap();
    }
    let level = |level| if client.domains()[0].bandwidth.is_some() { level } else { 0 };
    let [low, high] = [10, 50].map(level);
    let first = levelled(&[(0x1, high, &[1, 2]), (0x1e, low, &[3])]);
    client.apply(&[(0, &first)], "a test").unwrap();
    let second = levelled(&[(0x3, low, &[1]), (0x1c, 0, &[2]), (0x20, high, &[3])]);
    client.apply(&[(0, &second)], "a test").unwrap();
    client.remove(AppId(3)).unwrap();
    client.look().unwrap();
    client.apply(&[(0, &plan(&[(0x1f, &[1, 2])]))], "a test").unwrap();
    assert_eq!(client.close().left, []);
}

/// What is killed: this test, in a process of its own, which gets the folder in its environment. It
/// tests nothing by itself.
#[test]
#[ignore = "the tests that kill it run it"]
fn scenario() {
    let (Ok(folder), Ok(processes)) = (std::env::var(FOLDER), std::env::var(PROCESSES)) else {
        return;
    };
    let at = |name: &str| std::path::Path::new(&folder).join(name);
    let settings = Settings {
        root: at("resctrl"),
        state: at("state"),
        boot_id: at("boot_id"),
        sysfs: at("sys"),
        take_over: std::env::var_os(LEAVES).is_none(),
        confine_others: Some(2),
        adopt_monitors: std::env::var_os(LEAVES).is_none(),
        ..Settings::default()
    };
    let processes: Vec<i32> = processes.split(',').map(|id| id.parse().unwrap()).collect();
    everything(settings, &processes);
}

/// A host with another manager, that has two of the processes.
fn host(kernel: Kernel) -> (Host, [Sleeper; 3]) {
    let platform = Platform::broadwell().with_domains(2, 2).with_kernel(kernel);
    host_of(platform, "L3:0=f;1=f\n")
}

fn host_of(platform: Platform, lines: &str) -> (Host, [Sleeper; 3]) {
    let mut host = Host::new(platform);
    host.settings.take_over = true;
    host.settings.confine_others = Some(2);
    let processes = [(); 3].map(|()| Sleeper::start());
    host.group("COS1", lines);
    fs::create_dir(host.path("COS1/mon_groups/m")).unwrap();
    for process in &processes[..2] {
        host.write("COS1/tasks", &process.id().to_string()).unwrap();
    }
    host.write("COS1/mon_groups/m/tasks", &processes[1].id().to_string()).unwrap();
    (host, processes)
}

fn theirs(snapshot: &BTreeMap<String, String>) -> Vec<(&String, &String)> {
    let theirs = |path: &str| path.starts_with("COS") && !path.ends_with("tasks");
    snapshot.iter().filter(|(path, _)| theirs(path)).collect()
}

/// Runs the scenario, killed before a system call.
fn run_killed(host: &Host, ids: &[String], (call, at): (&str, u32), leaves: bool) -> ExitStatus {
    let mut command = Command::new("strace");
    command
        .args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")])
        .args(["-e", &format!("inject={call}:signal=KILL:when={at}")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "crash::scenario", "--ignored", "--test-threads", "1"])
        .env(FOLDER, host.at(""))
        .env(PROCESSES, ids.join(","))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if leaves {
        command.env(LEAVES, "1");
    }
    command.status().unwrap()
}

/// The client's levels and others' are of `mb`'s unit.
fn killed_everywhere(kernel: Kernel, mb: Option<BandwidthAllocation>) {
    let (l2, smba) = (Platform::ice_lake().l2, Platform::zen().smba);
    // Slow memory's bandwidth is limited from Linux 6.3 on; with it there are ten classes, each
    // with other lines.
    let is_slow_limited = kernel.slow_memory_bandwidth;
    let slow = |value: u32| {
        if is_slow_limited { format!("SMBA:0={value};1={}\n", value / 2) } else { String::new() }
    };
    let platform = Platform { mb, l2, smba, ..Platform::broadwell() }.with_closids(16);
    let lines = "L3:0=f;1=f\nMB:0=30;1=50\nL2:0=c;1=30\n".to_owned() + &slow(64);
    let platform = platform.with_domains(2, 2).with_kernel(kernel);
    let (host, processes) = host_of(platform, &lines);
    for number in 2..=if is_slow_limited { 10_u32 } else { 1 } {
        let (mb, l2) = (10 * number, 3 << (number % 8));
        let lines = format!("L3:0=f;1=f\nMB:0={mb};1={}\nL2:0={l2:x};1=3\n", 110 - mb);
        host.group(&format!("COS{number}"), &(lines + &slow(100 * number)));
    }
    // An agent's, which comes along where it can.
    fs::create_dir(host.path("mon_groups/pod")).unwrap();
    host.write("mon_groups/pod/tasks", &processes[2].id().to_string()).unwrap();
    let ids: Vec<String> = processes.iter().map(|process| process.id().to_string()).collect();
    let before = host.snapshot();
    let (_, origin) = of_thread(&host, processes[0].id());
    let (mut killed, mut limited) = (0, 0);
    let mut points =
        CHANGES.iter().flat_map(|call| (1..=MOST).map(move |at| (call, at))).peekable();
    while let Some((call, at)) = points.next() {
        // So that monitoring ids leave limbo.
        host.advance(Duration::from_secs(2));
        let done = run_killed(&host, &ids, (call, at), false);
        let left = host.snapshot();
        assert_eq!(theirs(&left), theirs(&before), "killed before {call} {at}");
        for process in &processes[..2] {
            let (class, now) = of_thread(&host, process.id());
            assert!(is_no_looser(&now, &origin), "killed before {call} {at}: {class}: {now}");
        }
        if at % 2 == 0 {
            assert_eq!(restore(&host.settings).unwrap().left, [], "killed before {call} {at}");
        } else {
            drop(host.open());
        }
        assert_eq!(host.snapshot(), before, "killed before {call} {at}");
        let kept = ["resctrl.json", "resctrl.json.before"].map(|name| host.at("state").join(name));
        assert!(kept.iter().all(|path| !path.exists()), "killed before {call} {at}");
        killed += usize::from(left != before);
        limited += usize::from(left.iter().any(|(path, text)| {
            path.starts_with("fairways.") && text.replace(' ', "").contains("MB:0=10;")
        }));
        assert!(at < MOST || done.success(), "it never comes to its end");
        if done.success() {
            while points.next_if(|&(next, _)| next == call).is_some() {}
        }
    }
    assert!(killed > 40, "{killed} times in the middle");
    assert!(limited > 10, "{limited} times while a planned level was in force");
}

#[test]
fn killed_at_every_system_call_it_is_put_right() {
    if can_mount() && has("killed at every system call", &[Need::Program("strace")]) {
        killed_everywhere(Kernel::v7_2(), Platform::ice_lake().mb);
    }
}

/// Levels are AMD's, in 1/8 GB/s.
#[test]
fn killed_at_every_system_call_on_amd_it_is_put_right() {
    if can_mount() && has("killed at every system call", &[Need::Program("strace")]) {
        killed_everywhere(Kernel::v7_2(), Platform::zen().mb);
    }
}

/// Where MON groups can't be renamed, there are two for a moment.
#[test]
fn killed_at_every_system_call_on_an_old_kernel_it_is_put_right() {
    if can_mount() && has("killed at every system call", &[Need::Program("strace")]) {
        killed_everywhere(Kernel::v6_1(), Platform::ice_lake().mb);
    }
}

/// What is not ours, but the root's masks, which are confined.
fn of_others(snapshot: &BTreeMap<String, String>) -> Vec<(&String, &String)> {
    let paths = snapshot.iter();
    paths.filter(|(path, _)| !path.contains("fairways.") && *path != "/schemata").collect()
}

/// Where others keep their threads, our groups below their classes go, and nothing of theirs has
/// changed at any moment. Every third time another manager has removed its class meanwhile.
#[test]
fn killed_at_every_system_call_what_is_below_others_classes_goes() {
    if !(can_mount() && has("killed at every system call", &[Need::Program("strace")])) {
        return;
    }
    let mut below = 0;
    for call in CHANGES {
        // Every other write: there are many, each of one thread or mask.
        let step = if call == "write" { 2 } else { 1 };
        for at in (1..=MOST).step_by(step) {
            let (host, processes) = host(Kernel::v7_2());
            let ids: Vec<String> =
                processes.iter().map(|process| process.id().to_string()).collect();
            let before = host.snapshot();
            let done = run_killed(&host, &ids, (call, at), true);
            let left = host.snapshot();
            assert_eq!(of_others(&left), of_others(&before), "killed before {call} {at}");
            below +=
                u32::from(left.keys().any(|path| path.starts_with("COS1/mon_groups/fairways.")));
            let mut expected = before;
            if at % 3 == 0 {
                fs::remove_dir(host.path("COS1")).unwrap();
                expected.retain(|path, _| !path.starts_with("COS1"));
            }
            let restored = restore(&host.settings).unwrap();
            assert_eq!((restored.left, restored.failed), (vec![], vec![]), "{call} {at}");
            assert_eq!(host.snapshot(), expected, "killed before {call} {at}");
            assert!(at < MOST - 1 || done.success(), "it never comes to its end");
            if done.success() {
                break;
            }
        }
    }
    assert!(below > 10, "{below} times with a group below another's class");
}

#[test]
fn a_ledger_of_another_boot_or_mount_is_put_aside() {
    if !can_mount() {
        return;
    }
    let (host, processes) = host(Kernel::v7_2());
    let ids: Vec<i32> = processes.iter().map(Sleeper::id).collect();
    let abandon = || {
        let mut client = host.open();
        client.add(AppId(1), "x", &ids).unwrap();
        client.apply(&[(0, &plan(&[(0x1, &[1])]))], "a test").unwrap();
    };
    abandon();
    let left = host.snapshot();
    let boot = fs::read_to_string(&host.settings.boot_id).unwrap();
    fs::write(&host.settings.boot_id, "another boot\n").unwrap();
    let expected = "left group fairways.0: it is not in the ledger\n";
    assert_eq!(restore(&host.settings).unwrap().to_string(), expected);
    assert_eq!(host.snapshot(), left, "nothing is touched");
    let aside = host.at("state/resctrl.json.stale");
    // Also on a machine that has no resctrl now.
    fs::rename(&aside, host.at("state/resctrl.json")).unwrap();
    let without = Settings { root: "/nonexistent".into(), ..host.settings.clone() };
    assert_eq!(restore(&without).unwrap().to_string(), "");
    assert!(fs::read_to_string(&aside).unwrap().contains("fairways.0"));
    // What is there is another's now, and planned around.
    fs::write(&host.settings.boot_id, boot).unwrap();
    let client = host.open();
    assert_eq!(client.domains()[0].llc.clos, 16 - 1 - 2);
    drop(client);
    // The ledger is of a mount that is no more.
    let text = fs::read_to_string(&aside).unwrap();
    let ledger = opened(&text);
    let device = ledger.lines().find(|line| line.contains("device")).unwrap();
    let of_another = sealed(&ledger.replace(device, "  \"device\": 1,"));
    fs::write(host.at("state/resctrl.json"), of_another).unwrap();
    assert_eq!(restore(&host.settings).unwrap().to_string(), expected);
    assert_eq!(host.snapshot(), left);
    // It is the right one.
    fs::write(host.at("state/resctrl.json"), &text).unwrap();
    let restored = restore(&host.settings).unwrap();
    assert_eq!(restored.left, []);
    assert!(restored.to_string().contains("restored group fairways.0\n"), "{restored}");
    assert_eq!(host.snapshot().keys().filter(|path| path.contains("fairways")).count(), 0);
}

#[test]
fn a_group_that_is_not_in_the_ledger_is_left_and_reported() {
    if !can_mount() {
        return;
    }
    let (host, _processes) = host(Kernel::v7_2());
    let mut client = host.open();
    client.add(AppId(1), "x", &[]).unwrap();
    client.add(AppId(2), "y", &[]).unwrap();
    client.apply(&[(0, &plan(&[(0x1, &[1])]))], "a test").unwrap();
    client.look().unwrap();
    drop(client);
    // Somebody makes groups of such names, one in place of ours.
    fs::remove_dir(host.path("fairways.0")).unwrap();
    host.group("fairways.0", "");
    host.group("fairways.7", "");
    let restored = restore(&host.settings).unwrap();
    let left: Vec<String> =
        restored.left.iter().map(|(thing, why)| format!("{thing}: {why}")).collect();
    assert_eq!(
        left,
        [
            "group fairways.0: another group of that name is there",
            "group fairways.7: it is not in the ledger",
        ]
    );
    assert!(host.has("fairways.0") && host.has("fairways.7"));
}

/// Another mount may have the numbers of the one before: then nothing that the ledger records is
/// there.
#[test]
fn a_ledger_of_which_nothing_is_there_is_put_aside() {
    if !can_mount() {
        return;
    }
    let (mut host, processes) = host(Kernel::v7_2());
    host.settings.confine_others = None;
    let mut client = host.open();
    client.add(AppId(1), "x", &[processes[0].id()]).unwrap();
    client.apply(&[(0, &plan(&[(0x1, &[1])]))], "a test").unwrap();
    client.look().unwrap();
    drop(client);
    fs::remove_dir(host.path("fairways.0")).unwrap();
    let left = host.snapshot();
    assert_eq!(restore(&host.settings).unwrap().to_string(), "");
    assert_eq!(host.snapshot(), left, "the task stays in the root's group");
    assert!(host.at("state/resctrl.json.stale").exists());
    // One that was just made is known by its name.
    host.advance(Duration::from_secs(2));
    let mut client = host.open();
    client.add(AppId(1), "x", &[]).unwrap();
    client.add(AppId(2), "y", &[]).unwrap();
    client.remove(AppId(1)).unwrap();
    drop(client);
    assert!(host.has("mon_groups/fairways.2-y"));
    let expected = "restored group mon_groups/fairways.2-y\n";
    assert_eq!(restore(&host.settings).unwrap().to_string(), expected);
}

/// What others have put into a class of ours does not go with it; no thread is confined by it any
/// longer.
#[test]
fn a_class_in_which_others_monitor_is_left_and_reported() {
    if !can_mount() {
        return;
    }
    let (host, processes) = host(Kernel::v7_2());
    let [taken, _, free] = &processes;
    let watched = Sleeper::start();
    let mut client = host.open();
    client.add(AppId(1), "x", &[free.id(), watched.id()]).unwrap();
    client.add(AppId(2), "y", &[taken.id()]).unwrap();
    client.apply(&[(0, &plan(&[(0x1, &[1, 2])]))], "a test").unwrap();
    fs::create_dir(host.path("fairways.0/mon_groups/pqos-1-2")).unwrap();
    host.write("fairways.0/mon_groups/pqos-1-2/tasks", &watched.id().to_string()).unwrap();
    let restored = client.close();
    assert_eq!(restored.left.len(), 1, "{restored}");
    assert_eq!(restored.left[0].1, "others monitor in it: pqos-1-2");
    assert_eq!(restored.failed, []);
    assert_eq!(host.threads("fairways.0/mon_groups/pqos-1-2"), [watched.id()]);
    assert_eq!(host.threads("fairways.0"), [watched.id()], "nobody else is in it");
    assert!(host.threads("").contains(&free.id()));
    assert!(host.threads("COS1").contains(&taken.id()));
    let line = |text: String| text.lines().find(|line| line.contains("L3:")).map(str::to_owned);
    assert_eq!(line(host.read("fairways.0/schemata")), line(host.read("schemata")));
    // It is not forgotten.
    fs::remove_dir(host.path("fairways.0/mon_groups/pqos-1-2")).unwrap();
    let restored = restore(&host.settings).unwrap();
    assert_eq!(restored.to_string(), "restored group fairways.0\n");
    assert!(!host.has("fairways.0"));
}

/// What can't be read or put back keeps nothing else from being.
#[test]
fn each_thing_that_fails_is_reported_and_the_rest_is_restored() {
    if !can_mount() {
        return;
    }
    for fault in ["read:/COS1/tasks=EIO", "write:/COS1/tasks=EIO", "list:/COS1/mon_groups=EIO"] {
        let (host, processes) = host(Kernel::v7_2());
        let before = host.snapshot();
        let mut client = host.open();
        client.add(AppId(1), "x", &[processes[0].id()]).unwrap();
        client.apply(&[(0, &plan(&[(0x1, &[1])]))], "a test").unwrap();
        assert_ne!(host.read("schemata"), before["/schemata"]);
        host.fault(fault);
        let restored = client.close();
        assert_eq!(restored.left, [], "{fault}");
        let failed = usize::from(fault.starts_with("write"));
        assert_eq!(restored.failed.len(), failed, "{fault}: {restored}");
        assert_eq!(host.read("schemata"), before["/schemata"], "{fault}");
        assert!(!host.has("fairways.0"), "{fault}");
        Client::connect(host.socket()).unwrap().clear(None).unwrap();
        assert_eq!(restore(&host.settings).unwrap().failed, []);
        assert_eq!(host.snapshot(), before, "{fault}");
    }
}
