//! Programs by process, on made-up hosts.

use crate::made_up::{Host, Process, V2};
use crate::{There, each, wanted};

fn process(pid: i32, start: u64, parent: i32, comm: &str) -> Process<'_> {
    Process { pid, start, parent, comm, ..Process::default() }
}

#[test]
fn descendants_belong_to_it_and_stay_without_their_parent() {
    let host = Host::new(&[]);
    host.process(&process(1, 1, 0, "init"));
    host.process(&process(20, 5, 1, "web"));
    host.process(&Process { threads: &[22, 23], ..process(21, 6, 20, "worker) S 1") });
    let mut programs = host.programs(vec![wanted("web", "process:web")]);
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), ["+web"]);
    assert_eq!(there.tasks(&mut programs, "web"), [20, 21, 22, 23]);
    // Later ones are found without a look, so that a caller that moves tasks can go on until there
    // is none.
    host.process(&process(30, 9, 21, "sleep"));
    assert_eq!(there.tasks(&mut programs, "web"), [20, 21, 22, 23, 30]);
    host.end(21);
    host.process(&process(30, 9, 1, "sleep"));
    assert_eq!(there.look(&mut programs), [""; 0]);
    assert_eq!(there.tasks(&mut programs, "web"), [20, 30]);
    host.end(20);
    assert_eq!(there.look(&mut programs), [""; 0]);
    host.end(30);
    assert_eq!(there.look(&mut programs), ["-web"]);
    assert_eq!(programs.cgroup(fairways_programs::ProgramKey(0)), None);
}

#[test]
fn a_number_used_again_is_another_process() {
    let host = Host::new(&[]);
    host.process(&process(20, 5, 1, "web"));
    let mut programs = host.programs(vec![
        wanted("one", "pid:20"),
        each("web", "process:web*"),
        wanted("none", "pid:99"),
    ]);
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), ["+one"]);
    host.process(&process(20, 6, 1, "web"));
    host.process(&process(99, 6, 1, "late"));
    // The list is requested before any look.
    assert_eq!(there.tasks(&mut programs, "one"), [0; 0]);
    assert_eq!(there.look(&mut programs), ["-one", "+web.1"], "the number meant the first");
    host.process(&process(20, 7, 1, "web"));
    assert_eq!(there.look(&mut programs), ["-web.1", "+web.2"]);
    host.process(&process(20, 8, 1, "other"));
    assert_eq!(there.look(&mut programs), ["-web.2"]);
}

#[test]
fn the_uppermost_match_is_a_program_of_its_own() {
    let host = Host::new(&[]);
    host.process(&process(40, 5, 1, "web"));
    host.process(&process(41, 6, 40, "web"));
    host.process(&process(30, 7, 1, "sh"));
    host.process(&process(31, 8, 30, "web"));
    // A child whose number is lower than its parent's: numbers wrap.
    host.process(&process(3, 9, 31, "web"));
    let mut programs = host.programs(vec![each("web", "process:web")]);
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), ["+web.1", "+web.2"]);
    assert_eq!(there.tasks(&mut programs, "web.1"), [40, 41], "the older comes first");
    assert_eq!(there.tasks(&mut programs, "web.2"), [3, 31]);
}

#[test]
fn names_are_the_command_or_the_first_argument_and_not_the_kernels() {
    let host = Host::new(&[]);
    host.process(&Process {
        argument: "/usr/sbin/a-very-long-name-indeed",
        ..process(20, 5, 1, "a-very-long-nam")
    });
    host.process(&Process { flags: 0x0020_8040, ..process(21, 5, 2, "a-kernel-thread") });
    host.process(&process(22, 5, 1, "b"));
    let mut programs = host.programs(vec![
        wanted("long", "process:*-indeed"),
        wanted("a", "process:a*"),
        wanted("c", "process:c"),
    ]);
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), ["+long"], "a kernel thread belongs to no program");
    host.process(&process(22, 5, 1, "c"));
    assert_eq!(there.look(&mut programs), ["+c"], "it executes another program");
    host.process(&process(22, 5, 1, "d"));
    assert_eq!(there.look(&mut programs), [""; 0], "what was matched stays");
}

#[test]
fn the_cpus_are_those_that_any_thread_may_use() {
    let host = Host::new(&[]);
    host.process(&process(20, 5, 1, "web"));
    let mut programs = host.programs(vec![wanted("web", "process:web")]);
    let mut there = There::default();
    there.look(&mut programs);
    let cpus = programs.cpus(there.0["web"]).expect("readable");
    assert_eq!(cpus.iter().collect::<Vec<_>>(), [0, 70]);
    host.process(&process(21, 6, 20, "web"));
    assert_eq!(programs.cpus(there.0["web"]).expect("readable").len(), 2, "as of the last look");
    there.look(&mut programs);
    let cpus = programs.cpus(there.0["web"]).expect("readable");
    assert_eq!(cpus.iter().collect::<Vec<_>>(), [0, 1, 70]);
}

#[test]
fn a_name_counts_only_with_its_user_which_may_come_later() {
    let host = Host::new(&[]);
    let status = |pid: i32, ids: &str| {
        let path = host.roots().proc.join(format!("{pid}/status"));
        std::fs::write(path, format!("Name:\tcache\nUid:\t{ids}\n")).expect("status");
    };
    for pid in [20, 21, 22] {
        host.process(&process(pid, 5, 1, "cache"));
    }
    status(20, "7\t7\t7\t7");
    // A set-uid program of that user, which another user started and named.
    status(21, "9\t7\t7\t7");
    // 22 reveals nothing of its user, as where proc is mounted with hidepid.
    let list = vec![wanted("cache", "process:cache,user=7"), wanted("all", "process:c*")];
    let mut programs = host.programs(list);
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), ["+cache", "+all"]);
    assert_eq!(there.tasks(&mut programs, "cache"), [20]);
    assert_eq!(there.tasks(&mut programs, "all"), [21, 22]);
    status(22, "0\t0\t0\t0");
    assert_eq!(there.look(&mut programs), [""; 0]);
    status(22, "7\t7\t7\t7");
    assert_eq!(there.look(&mut programs), [""; 0]);
    assert_eq!(there.tasks(&mut programs, "cache"), [20, 22], "a service drops privileges");
}

/// A file that can't be read is not one that says no: out of descriptors, say. What was found
/// stays, and the next look that succeeds finds the rest.
#[test]
fn a_look_that_fails_is_no_answer() {
    let host = Host::new(V2);
    for (file, expected) in [
        ("cmdline", &["+web"][..]),
        ("status", &["+db"]),
        ("stat", &["+web"]),
        ("cgroup", &["+web"]),
    ] {
        // In a cgroup of an entry before, it would belong to that.
        let mut list = [("web", "process:web"), ("db", "process:db,user=7"), ("c", "cgroup:/c")];
        list.rotate_right(usize::from(file == "cgroup"));
        let list = list.map(|(name, selector)| wanted(name, selector));
        let mut programs = host.programs(list.into());
        let mut there = There::default();
        assert_eq!(there.look(&mut programs), [""; 0], "{file}");
        let (name, argument) = if file == "status" { ("db", "") } else { ("other", "/bin/web") };
        let at = host.roots().proc.join("20").join(file);
        host.process(&Process { argument, ..process(20, 5, 1, name) });
        let text = match file {
            "status" => b"Uid:\t7\t7\t7\t7\n".to_vec(),
            _ => std::fs::read(&at).expect("a file"),
        };
        std::fs::remove_file(&at).expect("a file");
        // Reading a directory fails with an error that says nothing about a process.
        std::fs::create_dir(&at).expect("a directory");
        for _ in 0..2 {
            let why = programs.look().expect_err("it can't be looked at").to_string();
            assert!(why.contains(&format!("20/{file}: ")), "{why}");
        }
        std::fs::remove_dir(&at).expect("a directory");
        std::fs::write(&at, text).expect("a file");
        assert_eq!(there.look(&mut programs), expected, "{file}");
        host.end(20);
        assert_eq!(there.look(&mut programs).len(), 1, "{file}");
    }
}
