//! Monitoring groups of others that come along, and go back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use fairways_core::AppId;
use fairways_resctrl::language::Reading;
use fairways_resctrl_client::{Actuator, restore};
use fairways_resctrl_rules::platform::{Kernel, Platform};

use crate::common::{Host, Sleeper, can_mount, plan};

/// A host with two agents' groups, of one process each, and a process in none.
struct Pods {
    host: Host,
    processes: [Sleeper; 3],
    before: BTreeMap<String, String>,
    inodes: [u64; 2],
}

fn inode(host: &Host, group: &str) -> u64 {
    fs::metadata(host.path(group)).unwrap().ino()
}

impl Pods {
    fn new(kernel: Kernel) -> Self {
        let mut host = Host::new(Platform::broadwell().with_domains(1, 4).with_kernel(kernel));
        host.settings.adopt_monitors = true;
        let processes = [(); 3].map(|()| Sleeper::start());
        for (name, process) in ["pod-a", "pod-b"].iter().zip(&processes) {
            fs::create_dir(host.path(&format!("mon_groups/{name}"))).unwrap();
            let tasks = format!("mon_groups/{name}/tasks");
            host.write(&tasks, &process.id().to_string()).unwrap();
        }
        let before = host.snapshot();
        let inodes = ["a", "b"].map(|name| inode(&host, &format!("mon_groups/pod-{name}")));
        Self { host, processes, before, inodes }
    }

    /// A program of the first group's process and the one in none, and one of the second's.
    fn client(&self) -> Actuator {
        let [a, b, free] = [0, 1, 2].map(|at: usize| self.processes[at].id());
        let mut client = self.host.open();
        assert_eq!(client.add(AppId(1), "a", &[a, free]).unwrap().tasks.others, []);
        assert_eq!(client.add(AppId(2), "b", &[b]).unwrap().tasks.others, []);
        client
    }

    fn threads(&self, group: &str) -> Vec<i32> {
        self.host.threads(group)
    }
}

fn bytes(reading: Reading) -> u64 {
    match reading {
        Reading::Value(bytes) => bytes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn groups_come_along_through_every_plan_and_go_back() {
    if !can_mount() {
        return;
    }
    let pods = Pods::new(Kernel::v7_2());
    let [a, b, free] = [0, 1, 2].map(|at: usize| pods.processes[at].id());
    for ends in [true, false] {
        let mut client = pods.client();
        let first = bytes(client.memory_bytes(AppId(1), 0));
        for (one, other) in [(0x1, 0x6), (0x3, 0x4), (0x3, 0x3)] {
            client.apply(&[(0, &plan(&[(one, &[1]), (other, &[2])]))], "a test").unwrap();
            client.look().unwrap();
            for (app, name, thread) in [(1_u32, "a", a), (2, "b", b)] {
                let group = client.apply(&[], "again").unwrap();
                let class = group.placed.iter().find(|of| of.programs.contains(&AppId(app)));
                let class = &class.unwrap().group;
                let place = format!("{class}/mon_groups/fairways.{app}+pod-{name}");
                assert_eq!(pods.threads(&place), [thread]);
                let is = inode(&pods.host, &place);
                assert_eq!(is, pods.inodes[app as usize - 1], "the same group, with its id");
            }
            let own = client.apply(&[], "again").unwrap().placed;
            let class = &own.iter().find(|of| of.programs.contains(&AppId(1))).unwrap().group;
            assert_eq!(pods.threads(&format!("{class}/mon_groups/fairways.1-a")), [free]);
            assert!(bytes(client.memory_bytes(AppId(1), 0)) >= first);
            assert!(matches!(client.occupancy(AppId(2), 0), Reading::Value(_)));
        }
        assert!(!pods.host.has("mon_groups/pod-a"));
        if ends {
            let restored = client.close();
            assert_eq!((&restored.left[..], &restored.failed[..]), (&[][..], &[][..]));
            assert!(
                restored.to_string().contains("restored group mon_groups/pod-a\n"),
                "{restored}"
            );
        } else {
            drop(client);
            assert_eq!(restore(&pods.host.settings).unwrap().left, []);
        }
        assert_eq!(pods.host.snapshot(), pods.before);
        let now = ["a", "b"].map(|name| inode(&pods.host, &format!("mon_groups/pod-{name}")));
        assert_eq!(now, pods.inodes);
    }
}

/// A program that goes leaves its groups behind; a thread that goes, the group that it is in.
#[test]
fn what_is_let_go_goes_back() {
    if !can_mount() {
        return;
    }
    let pods = Pods::new(Kernel::v7_2());
    let [a, b, free] = [0, 1, 2].map(|at: usize| pods.processes[at].id());
    let mut client = pods.client();
    client.apply(&[(0, &plan(&[(0x1, &[1]), (0x6, &[2])]))], "a test").unwrap();
    client.remove(AppId(2)).unwrap();
    assert_eq!(pods.threads("mon_groups/pod-b"), [b]);
    client.tasks(AppId(1), &mut |list| list.push(free)).unwrap();
    assert_eq!(pods.threads("mon_groups/pod-a"), [a]);
    assert_eq!(client.close().left, []);
    assert_eq!(pods.host.snapshot(), pods.before);
}

/// Threads of others that come into an adopted group would get its class: it goes back, and so do
/// the program's own threads in it.
#[test]
fn a_group_that_others_come_into_goes_back() {
    if !can_mount() {
        return;
    }
    let pods = Pods::new(Kernel::v7_2());
    let [a, _, free] = [0, 1, 2].map(|at: usize| pods.processes[at].id());
    let mut client = pods.client();
    client.apply(&[(0, &plan(&[(0x1, &[1]), (0x6, &[2])]))], "a test").unwrap();
    let class = client.apply(&[], "again").unwrap().placed[0].group.clone();
    let stranger = Sleeper::start();
    let place = format!("{class}/mon_groups/fairways.1+pod-a/tasks");
    pods.host.write(&format!("{class}/tasks"), &stranger.id().to_string()).unwrap();
    pods.host.write(&place, &stranger.id().to_string()).unwrap();
    // One that was just made by a thread in it is not known yet.
    client.look().unwrap();
    assert!(!pods.host.has("mon_groups/pod-a"));
    client.look().unwrap();
    let mut inside = pods.threads("mon_groups/pod-a");
    inside.sort_unstable();
    let mut both = [a, stranger.id()];
    both.sort_unstable();
    assert_eq!(inside, both);
    let moved = client.tasks(AppId(1), &mut |list| list.extend([a, free])).unwrap();
    assert_eq!(moved.others, [(a, "mon_groups/pod-a".to_owned())], "it is left there");
    pods.host.write("tasks", &stranger.id().to_string()).unwrap();
    assert_eq!(client.close().left, []);
    assert_eq!(pods.host.snapshot(), pods.before);
}

/// A group with others in it, one in another manager's class, and any at all on a kernel that moves
/// none: they stay.
#[test]
fn what_cant_come_along_stays() {
    if !can_mount() {
        return;
    }
    for (kernel, shared) in [(Kernel::v7_2(), true), (Kernel::v6_1(), false)] {
        let pods = Pods::new(kernel);
        let a = pods.processes[0].id();
        let stranger = Sleeper::start();
        if shared {
            pods.host.write("mon_groups/pod-a/tasks", &stranger.id().to_string()).unwrap();
        }
        let before = pods.host.snapshot();
        let mut client = pods.host.open();
        for _ in 0..2 {
            let mut added = client.add(AppId(1), "a", &[a]).unwrap().tasks;
            added.others.extend(client.tasks(AppId(1), &mut |list| list.push(a)).unwrap().others);
            assert_eq!(added.others, [(a, "mon_groups/pod-a".to_owned())]);
            client.apply(&[(0, &plan(&[(0x1, &[1])]))], "a test").unwrap();
            client.look().unwrap();
            assert_eq!(pods.threads("mon_groups/pod-a").first(), Some(&a));
            client.remove(AppId(1)).unwrap();
        }
        assert_eq!(client.close().left, []);
        assert_eq!(pods.host.snapshot(), before);
    }
}

/// Its maker has made another of that name meanwhile: that one keeps the name, and the adopted one
/// gets one like it.
#[test]
fn a_group_whose_name_is_taken_gets_one_like_it() {
    if !can_mount() {
        return;
    }
    let pods = Pods::new(Kernel::v7_2());
    let a = pods.processes[0].id();
    let client = pods.client();
    pods.host.advance(Duration::from_secs(2));
    fs::create_dir(pods.host.path("mon_groups/pod-a")).unwrap();
    let restored = client.close();
    let expected =
        "left group mon_groups/pod-a: another has its name now: it is mon_groups/pod-a~2\n";
    assert!(restored.to_string().contains(expected), "{restored}");
    assert_eq!(restored.failed, []);
    assert_eq!(pods.threads("mon_groups/pod-a~2"), [a]);
    assert!(pods.threads("mon_groups/pod-a").is_empty());
}

/// A thread that its agent moves into a group after it was placed is the agent's from the next look
/// on.
#[test]
fn threads_that_are_put_into_a_group_later_are_noticed() {
    if !can_mount() {
        return;
    }
    for adopts in [false, true] {
        let mut pods = Pods::new(Kernel::v7_2());
        pods.host.settings.adopt_monitors = adopts;
        let free = pods.processes[2].id();
        let mut client = pods.host.open();
        client.add(AppId(1), "x", &[free]).unwrap();
        client.apply(&[(0, &plan(&[(0x1, &[1])]))], "a test").unwrap();
        fs::create_dir(pods.host.path("mon_groups/later")).unwrap();
        pods.host.write("tasks", &free.to_string()).unwrap();
        pods.host.write("mon_groups/later/tasks", &free.to_string()).unwrap();
        client.look().unwrap();
        let others = client.tasks(AppId(1), &mut |list| list.push(free)).unwrap().others;
        let left = [(free, "mon_groups/later".to_owned())];
        assert_eq!(others, if adopts { &[][..] } else { &left[..] });
        assert_eq!(pods.host.has("fairways.0/mon_groups/fairways.1+later"), adopts);
        assert_eq!(client.close().left, []);
        assert_eq!(pods.threads("mon_groups/later"), [free]);
    }
}
