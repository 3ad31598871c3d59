use fairways_resctrl::language::Reading;
use fairways_resctrl_rules::platform::Event;
use fairways_resctrl_rules::rules::Errno;

use crate::shell::Shell;

fn groups() -> Shell {
    let mut shell = Shell::mounted("debug");
    for group in ["a", "b", "a/mon_groups/m", "a/mon_groups/n"] {
        shell.mkdir(group).expect("there is room");
    }
    shell
}

/// `rdtgroup_rename`, in the order of its checks.
#[test]
fn only_mon_groups_are_renamed() {
    let mut shell = groups();
    let source = "Source must be a MON group\n";
    let target = "Destination must be a mon_groups subdirectory\n";
    for (from, to, errno, status) in [
        ("a", "c", Errno::Eperm, source),
        ("a/mon_groups", "a/x", Errno::Eperm, source),
        ("a/mon_data", "b/mon_groups/x", Errno::Eperm, source),
        ("a/tasks", "a/x", Errno::Eperm, "Source and destination must be directories"),
        ("a/mon_groups/m", "m", Errno::Eperm, target),
        ("a/mon_groups/m", "b/x", Errno::Eperm, target),
        ("a/mon_groups/m", "b/mon_groups/mon_groups", Errno::Eperm, target),
        ("a/mon_groups/m", "a/mon_groups/n", Errno::Eexist, "ok\n"),
    ] {
        let answer = shell.mv(from, to);
        assert_eq!((answer, shell.status().as_str()), (Err(errno), status), "{from} to {to}");
    }
    for (from, to, errno) in [
        ("nothing", "x", Errno::Enoent),
        ("info", "x", Errno::Enoent),
        ("a/mon_groups/m", "info/x", Errno::Enoent),
        ("a", "a/mon_groups/x", Errno::Einval),
        ("a/mon_groups/m", "a", Errno::Enotempty),
        ("a/mon_groups/m", "b/tasks", Errno::Enotdir),
        ("b/tasks", "a", Errno::Eisdir),
    ] {
        assert_eq!(shell.mv(from, to), Err(errno), "{from} to {to}");
    }
    assert_eq!(shell.mv("a/mon_groups/m", "a/mon_groups/m"), Ok(()));
}

/// `mongrp_reparent`: threads change class at once, ids and counters stay.
#[test]
fn a_mon_group_takes_its_threads_along() {
    let mut shell = groups();
    shell.set("100,101", "a/tasks");
    shell.set("101", "a/mon_groups/m/tasks");
    let event = Event::MbmTotalBytes;
    shell.count(3, 0, event, Reading::Value(1 << 20));
    let node = shell.node("a/mon_groups/m");
    let before = shell.cat("a/mon_groups/m/mon_data/mon_L3_00/mbm_total_bytes");

    shell.mv("a/mon_groups/m", "b/mon_groups/k").unwrap();
    assert_eq!(shell.node("b/mon_groups/k"), node);
    assert_eq!((shell.cat("a/tasks"), shell.cat("b/tasks")), ("100\n".into(), "101\n".into()));
    assert_eq!(shell.cat("b/mon_groups/k/tasks"), "101\n");
    assert_eq!(shell.cat("b/mon_groups/k/mon_hw_id"), "3\n");
    assert_eq!(shell.cat("b/mon_groups/k/mon_data/mon_L3_00/mbm_total_bytes"), before);
    assert_eq!(before, "1048576\n");
    assert_eq!(shell.resctrl.class_of(101, 0).closid, 2);
}

/// `rdtgroup_rename`: CPUs belong to the parent, so a group that has some cannot leave it.
#[test]
fn a_mon_group_with_cpus_stays_with_its_parent() {
    let mut shell = groups();
    shell.set("1", "a/cpus_list");
    shell.set("1", "a/mon_groups/m/cpus_list");
    let answer = shell.mv("a/mon_groups/m", "b/mon_groups/m");
    shell.expect(answer, Err(Errno::Eperm), "Cannot move a MON group that monitors CPUs\n");
    let answer = shell.mv("a/mon_groups/m", "a/mon_groups/k");
    shell.expect(answer, Ok(()), "ok\n");
    assert_eq!(shell.cat("a/mon_groups/k/cpus_list"), "1\n");
}
