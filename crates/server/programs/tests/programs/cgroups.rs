//! Programs by cgroup, on made-up hosts.

use std::fs;
use std::os::fd::AsFd as _;

use fairways_programs::Programs;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::made_up::{HYBRID, Host, Process, V1, V2};
use crate::{There, each, wanted};

fn is_readable(programs: &Programs) -> bool {
    let attention = programs.attention();
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    attention.iter().any(|fd| {
        poll(&mut [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)], Some(&now)).expect("poll")
            > 0
    })
}

fn id(of: char) -> String {
    std::iter::repeat_n(of, 64).collect()
}

#[test]
fn a_container_is_found_on_every_kind_of_host() {
    let docker = format!("docker/{}", id('a'));
    for (hierarchies, place) in
        [(V2, ""), (V1, "systemd/"), (V1, "memory/"), (HYBRID, "memory/"), (HYBRID, "unified/")]
    {
        let host = Host::new(hierarchies);
        let mut programs = host.programs(vec![wanted("web", "container:aaa")]);
        let mut there = There::default();
        assert_eq!(there.look(&mut programs), [""; 0]);
        let v2 = place.is_empty() || place == "unified/";
        let path = format!("{place}{docker}");
        let fill = |tasks: &[i32]| {
            if v2 {
                host.v2(&path, tasks, !tasks.is_empty())
            } else {
                host.list(&path, "tasks", tasks)
            }
        };
        fill(&[]);
        assert_eq!(there.look(&mut programs), [""; 0], "no task is in it yet: {path}");
        fill(&[7, 9, 8]);
        assert_eq!(there.look(&mut programs), ["+web"], "{path}");
        assert_eq!(there.tasks(&mut programs, "web"), [7, 8, 9]);
        host.list(&format!("{path}/inside"), if v2 { "cgroup.threads" } else { "tasks" }, &[5]);
        assert_eq!(there.tasks(&mut programs, "web"), [5, 7, 8, 9], "those below belong to it");
        host.remove_cgroup(&path);
        assert_eq!(there.look(&mut programs), ["-web"]);
        fill(&[7]);
        assert_eq!(there.look(&mut programs), ["+web"], "another, by its key");
    }
}

#[test]
fn a_change_makes_the_attention_readable_until_it_is_looked_at() {
    let host = Host::new(V2);
    host.v2("system.slice/a.service", &[7], true);
    let mut programs = host.programs(vec![wanted("a", "unit:a"), wanted("b", "unit:b")]);
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), ["+a"]);
    assert!(!is_readable(&programs));
    host.v2("system.slice/b.service", &[8], true);
    assert!(is_readable(&programs));
    // Another call that took it in must not hide it.
    assert_eq!(there.tasks(&mut programs, "a"), [7]);
    assert!(is_readable(&programs));
    assert_eq!(there.look(&mut programs), ["+b"]);
    assert!(!is_readable(&programs));
    host.v2("system.slice/b.service", &[], false);
    assert!(is_readable(&programs), "cgroup.events changed");
    assert_eq!(there.look(&mut programs), ["-b"]);
}

#[test]
fn a_cgroup_that_is_made_again_under_its_path_is_another_program() {
    for (hierarchies, place) in [(V2, ""), (V1, "memory/"), (HYBRID, "unified/")] {
        let host = Host::new(hierarchies);
        let path = format!("{place}system.slice/a.service");
        let make = |task: i32| match place {
            "memory/" => host.list(&path, "tasks", &[task]),
            _ => host.v2(&path, &[task], true),
        };
        make(7);
        let list = vec![wanted("a", "unit:a"), wanted("all", "cgroup:/system.slice")];
        let mut programs = host.programs(list);
        let mut there = There::default();
        assert_eq!(there.look(&mut programs), ["+a"]);
        // Both within a look, as `systemctl restart` does.
        host.move_cgroup_away(&path);
        make(8);
        assert_eq!(there.look(&mut programs), ["-a", "+a"], "{place}");
        assert_eq!(there.tasks(&mut programs, "a"), [8]);
        assert_eq!(there.look(&mut programs), [""; 0]);
        make(9);
        assert_eq!(there.look(&mut programs), [""; 0], "its tasks are no identity");
    }
}

#[test]
fn every_container_of_a_pod_can_be_a_program() {
    let host = Host::new(V2);
    let pod = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b2c3d_0000_1111_2222_333344445555.slice";
    for (kind, of, task) in [("cri-containerd", 'b', 11), ("crio", 'a', 12)] {
        host.v2(&format!("{pod}/{kind}-{}.scope", id(of)), &[task], true);
    }
    host.v2(pod, &[], true);
    let mut programs = host.programs(vec![each("pod", "pod:0a1b2c3d-0000-1111-2222-333344445555")]);
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), ["+pod.1", "+pod.2"]);
    assert_eq!(
        there.tasks(&mut programs, "pod.1"),
        [12],
        "those that come together are numbered by id"
    );
    let cgroup = host.roots().cgroup.join(pod).join(format!("crio-{}.scope", id('a')));
    assert_eq!(programs.cgroup(there.0["pod.1"]), Some(cgroup.as_path()));
    host.remove_cgroup(&format!("{pod}/crio-{}.scope", id('a')));
    assert_eq!(there.look(&mut programs), ["-pod.1"]);
    host.v2(&format!("{pod}/crio-{}.scope", id('a')), &[12], true);
    assert_eq!(there.look(&mut programs), ["+pod.3"], "a number is not given twice");
    programs
        .set_wanted(vec![wanted("pod", "pod:0a1b2c3d-0000-1111-2222-333344445555")])
        .expect("another list");
    let changes = there.look(&mut programs);
    assert_eq!(changes, ["-pod.2", "-pod.3", "+pod"], "another `each` makes others of them");
    assert_eq!(there.tasks(&mut programs, "pod"), [11, 12]);
}

fn slice(uid: &str) -> String {
    format!(
        "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice",
        uid.replace('-', "_")
    )
}

fn plain(uid: &str) -> String {
    format!("memory/kubepods/besteffort/pod{uid}")
}

#[test]
fn pods_are_found_by_namespace_and_name() {
    let uids = ["0a-1b", "0a-2c", "0a-3d"];
    for of_systemd in [true, false] {
        let host = Host::new(if of_systemd { V2 } else { V1 });
        let make = |uid: &str, container: char, task: i32| {
            if of_systemd {
                host.v2(&slice(uid), &[], true);
                host.v2(
                    &format!("{}/cri-containerd-{}.scope", slice(uid), id(container)),
                    &[task],
                    true,
                );
            } else {
                host.list(&format!("{}/{}", plain(uid), id(container)), "tasks", &[task]);
            }
        };
        host.pod("web", "api-1", uids[0]);
        make(uids[0], 'a', 11);
        let list = vec![wanted("api", "pod:web/api-*"), each("rest", "pod:w*/*")];
        let mut programs = host.programs(list);
        let mut there = There::default();
        assert_eq!(there.look(&mut programs), ["+api"], "the second finds nothing that is left");
        assert_eq!(there.tasks(&mut programs, "api"), [11]);
        // The cgroup of a pod exists before its folder.
        make(uids[1], 'b', 12);
        assert_eq!(there.look(&mut programs), [""; 0]);
        host.pod("web", "api-2", uids[1]);
        assert_eq!(there.look(&mut programs), [""; 0], "it belongs to one that is there");
        assert_eq!(there.tasks(&mut programs, "api"), [11, 12]);
        for (namespace, uid) in [("web", uids[2]), ("wild", "0a-4e"), ("other", "0a-5f")] {
            host.pod(namespace, "db", uid);
            make(uid, 'c', 13);
        }
        assert_eq!(there.look(&mut programs), ["+rest.1", "+rest.2"], "each pod is one");
        assert_eq!(there.tasks(&mut programs, "rest.1"), [13]);
    }
}

/// The kubelet's folder is one of many things to look at.
#[test]
fn pods_whose_folder_cannot_be_read_stay_and_others_are_found() {
    let host = Host::new(V2);
    let uid = "0a1b2c3d-0000-1111-2222-333344445555";
    host.pod("web", "api", uid);
    host.v2(&format!("kubepods/pod{uid}"), &[11], true);
    let mut programs = host.programs(vec![wanted("api", "pod:web/api"), wanted("a", "cgroup:/a")]);
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), ["+api"]);
    let (pods, away) = (host.roots().pods, host.roots().pods.with_extension("away"));
    fs::rename(&pods, &away).expect("moved");
    // ELOOP, which root gets, too.
    std::os::unix::fs::symlink(&pods, &pods).expect("a link to itself");
    host.v2("a", &[7], true);
    assert_eq!(there.look(&mut programs), ["+a"]);
    assert_eq!(there.tasks(&mut programs, "api"), [11]);
    let list = vec![wanted("pods", "pod:web/*"), wanted("a", "cgroup:/a")];
    programs.set_wanted(list).expect("another list");
    assert_eq!(there.look(&mut programs), ["-api", "+pods"]);
    fs::remove_file(&pods).expect("removed");
    fs::rename(&away, &pods).expect("moved back");
    host.remove_cgroup(&format!("kubepods/pod{uid}"));
    assert_eq!(there.look(&mut programs), ["-pods"]);
}

#[test]
fn a_list_that_cannot_be_served_leaves_the_one_before() {
    let host = Host::new(&[]);
    host.process(&Process { pid: 7, comm: "seven", ..Process::default() });
    let mut programs = host.programs(vec![wanted("sevens", "process:seven")]);
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), ["+sevens"]);
    let wrong = vec![wanted("a", "cgroup:/a"), wanted("eights", "process:eight")];
    programs.set_wanted(wrong).expect_err("no hierarchy is mounted");
    assert_eq!(there.look(&mut programs), [""; 0]);
    assert_eq!(there.tasks(&mut programs, "sevens"), [7]);
}

#[test]
fn the_first_of_the_list_has_the_task() {
    let host = Host::new(V2);
    host.v2("a", &[7, 71], true);
    host.v2("a/b", &[8], true);
    for (pid, comm, cgroup, threads) in
        [(7, "seven", "/a", &[71][..]), (8, "eight", "/a/b", &[]), (9, "eight", "/", &[])]
    {
        host.process(&Process { pid, comm, cgroup, threads, ..Process::default() });
    }
    let list = vec![
        wanted("eights", "process:eight"),
        wanted("a", "cgroup:/a"),
        wanted("sevens", "process:seven"),
    ];
    let mut programs = host.programs(list.clone());
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), ["+eights", "+a"], "nothing is left to the last");
    assert_eq!(there.tasks(&mut programs, "eights"), [8, 9]);
    assert_eq!(there.tasks(&mut programs, "a"), [7, 71]);
    assert_eq!(programs.cgroup(there.0["a"]), None, "one task of the cgroup is another's");

    let (eights, a) = (there.0["eights"], there.0["a"]);
    programs
        .set_wanted(list.iter().rev().cloned().collect())
        .expect("the list the other way round");
    assert_eq!(there.look(&mut programs), ["+sevens"]);
    assert_eq!(
        (there.0["eights"], there.0["a"]),
        (eights, a),
        "a program that stays keeps its key"
    );
    assert_eq!(there.tasks(&mut programs, "sevens"), [7, 71]);
    assert_eq!(there.tasks(&mut programs, "a"), [8]);
    assert_eq!(there.tasks(&mut programs, "eights"), [9]);

    programs.set_wanted(vec![wanted("a", "cgroup:/a")]).expect("one of them");
    let mut changes = there.look(&mut programs);
    changes.sort();
    assert_eq!(changes, ["-eights", "-sevens"]);
    assert_eq!(there.tasks(&mut programs, "a"), [7, 8, 71]);
    assert_eq!(programs.cgroup(there.0["a"]), Some(host.roots().cgroup.join("a").as_path()));
}

#[test]
fn v1s_perf_hierarchy_counts_only_if_it_has_the_same_tasks() {
    let host = Host::new(V1);
    for place in ["memory/x", "perf_event/x", "memory/y"] {
        host.list(place, "tasks", &[if place.ends_with('x') { 7 } else { 8 }]);
    }
    let mut programs = host.programs(vec![each("a", "cgroup:/?")]);
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), ["+a.1", "+a.2"]);
    assert_eq!(
        programs.cgroup(there.0["a.1"]),
        Some(host.roots().cgroup.join("perf_event/x").as_path())
    );
    assert_eq!(programs.cgroup(there.0["a.2"]), None);
}

#[test]
fn before_cgroup_threads_processes_are_asked_and_kernel_threads_never_listed() {
    let host = Host::new(V2);
    host.list("a", "cgroup.procs", &[7, 0, 2]);
    host.process(&Process { pid: 7, threads: &[71, 72], ..Process::default() });
    host.process(&Process { pid: 2, flags: 0x0020_8040, ..Process::default() });
    let mut programs = host.programs(vec![wanted("a", "cgroup:/a")]);
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), ["+a"]);
    assert_eq!(there.tasks(&mut programs, "a"), [7, 71, 72], "nor what another namespace has");
}

#[test]
fn a_host_without_cgroups_is_an_error_where_they_are_wanted() {
    let host = Host::new(&[]);
    let error = Programs::new(host.roots(), vec![wanted("a", "unit:a")])
        .expect_err("none is mounted")
        .to_string();
    assert!(
        error.ends_with("cgroup: expected a cgroup filesystem mounted here or below"),
        "{error}"
    );
    Programs::new(host.roots(), vec![wanted("a", "process:a")]).expect("they are not needed");
}
