//! Threads that stay in groups of others: they are counted below their class, or where others count
//! them; and what is not counted is missing, never 0.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use fairways_core::AppId;
use fairways_resctrl::language::Reading;
use fairways_resctrl_client::{Actuator, restore};
use fairways_resctrl_rules::platform::{Kernel, Platform};

use crate::common::{Host, Sleeper, can_mount, plan};

const APP: AppId = AppId(1);

/// A host with another manager's class, and an agent's monitoring group.
fn host() -> Host {
    let host = Host::new(Platform::broadwell().with_domains(1, 4));
    host.group("COS1", "L3:0=f\n");
    fs::create_dir(host.path("mon_groups/agent")).unwrap();
    host
}

fn put(host: &Host, group: &str, process: &Sleeper) {
    let path = if group.is_empty() { "tasks".to_owned() } else { format!("{group}/tasks") };
    host.write(&path, &process.id().to_string()).unwrap();
}

/// Occupancy and traffic, each as far as it is known.
fn read(client: &mut Actuator) -> [Option<u64>; 2] {
    [client.occupancy(APP, 0), client.memory_bytes(APP, 0)].map(|reading| match reading {
        Reading::Value(bytes) => Some(bytes),
        Reading::Unassigned => None,
        other => panic!("{other:?}"),
    })
}

const KNOWN: [Option<u64>; 2] = [Some(0), Some(0)];
const MISSING: [Option<u64>; 2] = [None, None];

/// A look, and a list of the program's threads, as the host does both once in a while. The first
/// reading after a gap is missing, too.
fn look(client: &mut Actuator, processes: &[&Sleeper]) {
    client.look().unwrap();
    list(client, processes);
    read(client);
}

fn list(client: &mut Actuator, processes: &[&Sleeper]) {
    client.tasks(APP, &mut |list| list.extend(processes.iter().map(|of| of.id()))).unwrap();
}

/// The groups of ours below classes of others, with their threads.
fn below(host: &Host) -> BTreeMap<String, Vec<i32>> {
    let all = host.snapshot();
    let groups = all.keys().filter_map(|path| path.strip_suffix("/tasks"));
    let groups = groups.filter(|path| path.starts_with("COS") && path.contains("/fairways."));
    groups.map(|group| (group.to_owned(), host.threads(group))).collect()
}

/// What others have, whatever is below it.
fn theirs(host: &Host) -> BTreeMap<String, String> {
    let mut all = host.snapshot();
    all.retain(|path, _| !path.contains("fairways."));
    all
}

#[test]
fn threads_in_a_class_of_others_are_counted_below_it() {
    if !can_mount() {
        return;
    }
    for kernel in [Kernel::v7_2(), Kernel::v6_1()] {
        let host = Host::new(Platform::broadwell().with_domains(1, 4).with_kernel(kernel));
        for (name, mask) in [("COS1", "f"), ("COS2", "f0")] {
            host.group(name, &format!("L3:0={mask}\n"));
        }
        let [one, two, free, other] = [(); 4].map(|()| Sleeper::start());
        put(&host, "COS1", &one);
        put(&host, "COS1", &other);
        put(&host, "COS2", &two);
        let before = host.snapshot();
        for ends in [true, false] {
            // Monitoring ids leave limbo.
            host.advance(Duration::from_secs(2));
            let mut client = host.open();
            let all = [&one, &two, &free];
            let added = client.add(APP, "a", &all.map(Sleeper::id)).unwrap().tasks;
            assert_eq!((added.moved, added.others.len()), (vec![free.id()], 2));
            assert_eq!((read(&mut client), client.uncounted(APP)), (KNOWN, 0));
            client.apply(&[(0, &plan(&[(0x1, &[1])]))], "a test").unwrap();
            let made = below(&host);
            assert_eq!(made.values().collect::<Vec<_>>(), [&[one.id()], &[two.id()]]);
            for _ in 0..3 {
                look(&mut client, &all);
                assert_eq!(below(&host), made);
                assert_eq!(read(&mut client), KNOWN);
            }
            let left = theirs(&host);
            assert!(before.iter().all(|(path, text)| left[path] == *text), "{left:?}");
            let restored = if ends {
                client.close()
            } else {
                drop(client);
                restore(&host.settings).unwrap()
            };
            assert_eq!((restored.left, restored.failed), (vec![], vec![]));
            assert_eq!(host.snapshot(), before);
        }
    }
}

/// A thread that leaves the program stays in its class, a program that ends leaves nothing there.
#[test]
fn what_leaves_the_program_is_in_the_class_again() {
    if !can_mount() {
        return;
    }
    let host = host();
    let [one, two, free] = [(); 3].map(|()| Sleeper::start());
    put(&host, "COS1", &one);
    put(&host, "COS1", &two);
    let before = host.snapshot();
    let mut client = host.open();
    client.add(APP, "a", &[one.id(), two.id(), free.id()]).unwrap();
    for _ in 0..3 {
        look(&mut client, &[&one, &free]);
    }
    assert_eq!(below(&host).into_values().collect::<Vec<_>>(), [[one.id()]]);
    assert_eq!(read(&mut client), KNOWN);
    // Its manager lets the other go: it is ours from then on, and nothing is below.
    put(&host, "", &one);
    look(&mut client, &[&one, &free]);
    assert_eq!((below(&host), read(&mut client)), (BTreeMap::new(), KNOWN));
    put(&host, "COS1", &one);
    look(&mut client, &[&one, &free]);
    assert_eq!(below(&host).len(), 1);
    client.remove(APP).unwrap();
    assert_eq!(host.snapshot(), before);
    assert_eq!(client.close().left, []);
}

/// The class goes with all that is below it, or our group alone, or our group becomes another's.
#[test]
fn a_class_that_its_manager_removes_takes_our_group_along() {
    if !can_mount() {
        return;
    }
    for what in ["COS1", "ours", "replaced"] {
        let host = host();
        let one = Sleeper::start();
        put(&host, "COS1", &one);
        let mut client = host.open();
        client.add(APP, "a", &[one.id()]).unwrap();
        assert_eq!(read(&mut client), KNOWN);
        let (group, _) = below(&host).into_iter().next().unwrap();
        let gone = if what == "COS1" { what } else { &*group };
        fs::remove_dir(host.path(gone)).unwrap();
        if what == "replaced" {
            host.advance(Duration::from_secs(2));
            fs::create_dir(host.path(&group)).unwrap();
        }
        client.look().unwrap();
        assert_eq!((read(&mut client), client.uncounted(APP)), (MISSING, 1), "{what}");
        list(&mut client, &[&one]);
        read(&mut client);
        assert_eq!((read(&mut client), client.uncounted(APP)), (KNOWN, 0), "{what}");
        let now = below(&host).into_keys().collect::<Vec<_>>();
        match what {
            "COS1" => assert_eq!(now.len(), 0),
            "ours" => assert_eq!(host.threads(&now[0]), [one.id()]),
            _ => assert_eq!((now.len(), host.threads(&group)), (2, vec![])),
        }
        let restored = client.close();
        assert_eq!((restored.left, restored.failed), (vec![], vec![]), "{what}");
        assert_eq!(below(&host).len(), usize::from(what == "replaced"), "another's is left");
        let ledger = fs::read_to_string(host.at("state/resctrl.json")).unwrap_or_default();
        assert!(!ledger.contains("fairways.1"), "{ledger}");
    }
}

/// An agent's group is read as long as the program alone is in it, in the root's group or in a
/// class of others.
#[test]
fn a_group_of_others_is_read_while_it_holds_the_program_alone() {
    if !can_mount() {
        return;
    }
    for group in ["mon_groups/agent", "COS1/mon_groups/agent"] {
        let host = host();
        let [one, two, stranger] = [(); 3].map(|()| Sleeper::start());
        let class = group.split_once("mon_groups").unwrap().0.trim_end_matches('/');
        if class == "COS1" {
            fs::create_dir(host.path(group)).unwrap();
        }
        for process in [&one, &two, &stranger] {
            put(&host, class, process);
        }
        put(&host, group, &one);
        put(&host, group, &two);
        let before = theirs(&host);
        let mut client = host.open();
        client.add(APP, "a", &[one.id(), two.id()]).unwrap();
        assert_eq!((read(&mut client), client.uncounted(APP)), (KNOWN, 0), "{group}");
        look(&mut client, &[&one, &two]);
        assert_eq!(read(&mut client), KNOWN, "{group}");
        put(&host, group, &stranger);
        for _ in 0..2 {
            look(&mut client, &[&one, &two]);
        }
        assert_eq!((read(&mut client), client.uncounted(APP)), (MISSING, 2), "{group}");
        put(&host, class, &stranger);
        look(&mut client, &[&one, &two]);
        assert_eq!((read(&mut client), client.uncounted(APP)), (KNOWN, 0), "{group}");
        assert_eq!(theirs(&host), before, "{group}");
        assert_eq!(client.close().left, []);
        assert_eq!(host.snapshot(), before);
    }
}

/// One thread of several that nothing counts, and nothing is known of the whole: it shares an
/// agent's group, its group monitors CPUs, or it has a class by its CPUs.
#[test]
fn a_part_does_not_pass_for_the_whole() {
    if !can_mount() {
        return;
    }
    for why in ["shared", "monitors CPUs", "by its CPUs"] {
        let mut host = host();
        let [one, free, stranger] = [(); 3].map(|()| Sleeper::start());
        match why {
            "shared" => {
                put(&host, "mon_groups/agent", &one);
                put(&host, "mon_groups/agent", &stranger);
            }
            "monitors CPUs" => {
                put(&host, "mon_groups/agent", &one);
                host.write("mon_groups/agent/cpus_list", "2\n").unwrap();
            }
            _ => {
                host.write("COS1/cpus_list", "0-1\n").unwrap();
                host.settings.proc = host.at("proc");
                for (process, cpus) in [(&one, "1"), (&free, "0-3")] {
                    let dir = host.at(&format!("proc/{}", process.id()));
                    fs::create_dir_all(&dir).unwrap();
                    let stat = format!("{} (sleep) S {}100 0\n", process.id(), "0 ".repeat(18));
                    fs::write(dir.join("stat"), stat).unwrap();
                    let status = format!("PPid:\t1\nCpus_allowed_list:\t{cpus}\n");
                    fs::write(dir.join("status"), status).unwrap();
                }
            }
        }
        let before = host.snapshot();
        let mut client = host.open();
        client.add(APP, "a", &[one.id(), free.id()]).unwrap();
        client.apply(&[(0, &plan(&[(0x1, &[1])]))], "a test").unwrap();
        for _ in 0..3 {
            assert_eq!((read(&mut client), client.uncounted(APP)), (MISSING, 1), "{why}");
            look(&mut client, &[&one, &free]);
        }
        assert_eq!(below(&host).len(), 0, "{why}");
        // Without that thread all are counted.
        look(&mut client, &[&free]);
        assert_eq!((read(&mut client), client.uncounted(APP)), (KNOWN, 0), "{why}");
        assert_eq!(client.close().failed, []);
        assert_eq!(host.snapshot(), before, "{why}");
    }
}

/// What another manager does after the program was placed: from the next look on, nothing is known
/// until the threads are found again.
#[test]
fn threads_that_others_move_later_are_missing_until_they_are_found() {
    if !can_mount() {
        return;
    }
    for to in ["COS1", "mon_groups/agent", "COS1/mon_groups/late"] {
        let host = host();
        fs::create_dir(host.path("COS1/mon_groups/late")).unwrap();
        let [one, free] = [(); 2].map(|()| Sleeper::start());
        let mut client = host.open();
        client.add(APP, "a", &[one.id(), free.id()]).unwrap();
        client.apply(&[(0, &plan(&[(0x1, &[1])]))], "a test").unwrap();
        assert_eq!(read(&mut client), KNOWN);
        let class = to.split_once("mon_groups").map_or(to, |(class, _)| class);
        put(&host, class.trim_end_matches('/'), &one);
        put(&host, to, &one);
        client.look().unwrap();
        assert_eq!((read(&mut client), client.uncounted(APP)), (MISSING, 1), "{to}");
        list(&mut client, &[&one, &free]);
        // A window that began before has no whole count.
        assert_eq!((read(&mut client)[1], client.uncounted(APP)), (None, 0), "{to}");
        assert_eq!(read(&mut client), KNOWN, "{to}");
        assert_eq!(client.close().failed, []);
    }
}

/// What is in the root's group, or in another program's, is in no group of the program's.
#[test]
fn threads_that_leave_our_group_are_missing() {
    if !can_mount() {
        return;
    }
    for (takes_over, why) in [(false, "root"), (true, "root"), (true, "COS1"), (false, "shared")] {
        let mut host = host();
        host.settings.take_over = takes_over;
        let [one, free] = [(); 2].map(|()| Sleeper::start());
        let mut client = host.open();
        client.add(APP, "a", &[one.id(), free.id()]).unwrap();
        client.apply(&[(0, &plan(&[(0x1, &[1])]))], "a test").unwrap();
        look(&mut client, &[&one, &free]);
        assert_eq!(read(&mut client), KNOWN);
        let group = client.apply(&[], "again").unwrap().placed[0].group.clone();
        match why {
            "root" => put(&host, "", &one),
            "shared" => _ = client.add(AppId(2), "b", &[one.id()]).unwrap(),
            class => put(&host, class, &one),
        }
        for _ in 0..2 {
            client.look().unwrap();
            assert_eq!((read(&mut client), client.uncounted(APP)), (MISSING, 1), "{why}");
        }
        // It comes back.
        if why == "root" {
            put(&host, &group, &one);
            put(&host, &format!("{group}/mon_groups/fairways.1-a"), &one);
            client.look().unwrap();
            read(&mut client);
            assert_eq!((read(&mut client), client.uncounted(APP)), (KNOWN, 0), "{why}");
        }
        assert_eq!(client.close().failed, []);
    }
}

/// Without a monitoring id, or where the kernel refuses, nothing is made below the class, and no
/// attempt follows at once.
#[test]
fn where_nothing_can_count_them_they_are_missing() {
    if !can_mount() {
        return;
    }
    for refused in ["ids", "mkdir:/COS1/mon_groups/*=ENOSPC", "mkdir:/COS1/mon_groups/*=EACCES"] {
        let mut host = host();
        let [one, free] = [(); 2].map(|()| Sleeper::start());
        put(&host, "COS1", &one);
        if refused == "ids" {
            host.settings.rmids = Some(1);
        } else {
            host.fault(refused);
        }
        let before = host.snapshot();
        let mut client = host.open();
        client.add(APP, "a", &[one.id(), free.id()]).unwrap();
        let failed = client.errors().iter().map(|(_, count)| count).sum::<u64>();
        for _ in 0..3 {
            assert_eq!((read(&mut client), client.uncounted(APP)), (MISSING, 1), "{refused}");
            look(&mut client, &[&one, &free]);
        }
        let again = client.errors().iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!(again, failed, "{refused}: {:?}", client.errors());
        assert_eq!(client.close().failed, []);
        assert_eq!(host.snapshot(), before, "{refused}");
    }
}

/// Threads that could not be moved are not counted either.
#[test]
fn threads_that_cant_be_moved_are_missing() {
    if !can_mount() {
        return;
    }
    let host = host();
    let [one, two] = [(); 2].map(|()| Sleeper::start());
    let mut client = host.open();
    client.add(APP, "a", &[one.id()]).unwrap();
    assert_eq!(read(&mut client), KNOWN);
    host.fault("write:/mon_groups/fairways*/tasks=EIO");
    let all = [one.id(), two.id()];
    client.tasks(APP, &mut |list| list.extend(all)).unwrap_err();
    assert_eq!((read(&mut client), client.uncounted(APP)), (MISSING, 1));
    fairways_emulated::Client::connect(host.socket()).unwrap().clear(None).unwrap();
    list(&mut client, &[&one, &two]);
    read(&mut client);
    assert_eq!((read(&mut client), client.uncounted(APP)), (KNOWN, 0));
}
