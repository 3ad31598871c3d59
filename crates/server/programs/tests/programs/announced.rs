//! Containers that their runtime announces, on made-up hosts.

use std::time::Duration;

use fairways_programs::{AnnouncedContainer, Change, ProgramKey, Programs};

use rustix::time::{ClockId, clock_gettime};

use crate::made_up::{Host, Process, V2};
use crate::{There, wanted};

fn id(number: i32) -> String {
    format!("{number:064x}")
}

/// A container of a program that its owner asks for, with its process.
fn container(host: &Host, number: i32, program: &str) -> AnnouncedContainer {
    let (pid, start) = (1000 + number, 5);
    host.process(&Process { pid, start, threads: &[10_000 + number], ..Process::default() });
    AnnouncedContainer {
        id: id(number),
        pod_uid: format!("uid-{number}"),
        pod: ("web".to_owned(), format!("pod-{number}")),
        pid,
        started: Some(start),
        program: Some(program.to_owned()),
    }
}

/// Announces a container of a new program, which begins with it.
fn begin(programs: &mut Programs, of: AnnouncedContainer) -> ProgramKey {
    let (id, program) = (of.id.clone(), of.program.clone().expect("a program"));
    programs.add_asked(&program).expect("an entry");
    programs.announce(of).expect("an announcement");
    match programs.begin_announced(&id) {
        Some(Change::Arrived { program: key, name, .. }) => {
            assert_eq!(name, program);
            key
        }
        other => panic!("{other:?}"),
    }
}

fn tasks(programs: &mut Programs, key: ProgramKey) -> Vec<i32> {
    let mut tasks = Vec::new();
    programs.tasks(key, &mut tasks).expect("its tasks");
    tasks
}

#[test]
fn a_program_begins_with_its_first_container_before_a_look_and_looks_agree() {
    let host = Host::new(V2);
    let mut programs = host.programs(vec![wanted("db", "container:dddd")]);
    assert_eq!(programs.look().expect("a look"), []);
    let key = begin(&mut programs, container(&host, 1, "web/a/app"));
    assert_eq!(tasks(&mut programs, key), [1001, 10_001]);
    assert_eq!(programs.begin_announced(&id(1)), None, "it has begun");
    // A second container is part of it, and another program begins.
    programs.announce(container(&host, 2, "web/a/app")).expect("an announcement");
    assert_eq!(programs.program_of(&id(2)), Some(key));
    let other = begin(&mut programs, container(&host, 3, "web/b/app"));
    assert_ne!(other, key);
    assert_eq!(programs.look().expect("a look"), [], "nothing else came");
    assert_eq!(tasks(&mut programs, key), [1001, 1002, 10_001, 10_002]);
    // By its cgroup it is the same program, whatever is announced.
    host.v2(&format!("kubepods/pod1/{}", id(1)), &[1001, 10_001, 77], true);
    let cgroup = &format!("/kubepods/pod1/{}", id(1));
    host.process(&Process { pid: 1001, start: 5, cgroup, ..Process::default() });
    for _ in 0..3 {
        assert_eq!(programs.look().expect("a look"), []);
    }
    assert_eq!(tasks(&mut programs, key), [77, 1001, 1002, 10_001, 10_002]);
    programs.retract(&id(3));
    assert_eq!(programs.look().expect("a look"), [Change::Gone { program: other }]);
    // No process is there any longer, or another has its number.
    let gone = container(&host, 4, "web/c/app");
    programs.add_asked("web/c/app").expect("an entry");
    programs.announce(AnnouncedContainer { started: Some(6), ..gone }).expect("an announcement");
    assert_eq!(programs.begin_announced(&id(4)), None);
    assert_eq!(programs.look().expect("a look"), []);
}

#[test]
fn a_program_without_a_place_is_none_until_it_gets_one() {
    let host = Host::new(V2);
    let mut programs = host.programs(Vec::new());
    let key = begin(&mut programs, container(&host, 1, "web/a/app"));
    assert_eq!(programs.look().expect("a look"), []);
    programs.set_place("web/a/app", false).expect("no place");
    assert_eq!(programs.look().expect("a look"), [Change::Gone { program: key }]);
    assert_eq!((programs.program_of(&id(1)), programs.is_selected(&id(1))), (None, false));
    assert_eq!(programs.begin_announced(&id(1)), None);
    programs.set_place("web/a/app", true).expect("a place");
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), ["+web/a/app"]);
    assert_eq!(there.tasks(&mut programs, "web/a/app"), [1001, 10_001]);
}

/// The CPU time of this thread, which other programs do not lengthen.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(now).expect("a time since the thread began")
}

/// Work that grew with the programs would be a hundred times as much. Each look finds some of the
/// ends that no runtime reports.
#[test]
fn a_start_among_a_thousand_programs_is_as_much_work_as_among_ten() {
    let host = Host::new(V2);
    let mut programs = host.programs(vec![wanted("db", "container:dddd")]);
    let mut took = Vec::new();
    for number in 0..1000 {
        let of = container(&host, number, &format!("web/{number}/app"));
        let before = cpu_time();
        let key = begin(&mut programs, of);
        assert_eq!(tasks(&mut programs, key).len(), 2);
        took.push(cpu_time() - before);
        if number % 100 == 0 {
            assert_eq!(programs.look().expect("a look"), []);
        }
    }
    let [first, last] = [&took[..50], &took[950..]].map(|part| {
        let mut part = part.to_vec();
        part.sort_unstable();
        part[25]
    });
    assert!(last < 10 * first, "{last:?}, at first {first:?}");
    assert_eq!(programs.look().expect("a look"), []);
    (0..1000).for_each(|number| host.end(1000 + number));
    let mut gone = 0;
    for _ in 0..20 {
        let changes = programs.look().expect("a look");
        assert!(changes.len() <= 64, "{}", changes.len());
        gone += changes.len();
    }
    assert_eq!(gone, 1000);
}
