use fairways_resctrl_rules::rules::{Caller, Errno};

use crate::shell::{SHELL, Shell};

/// `rdtgroup_tasks_write`: threads listed before the one that fails have moved.
#[test]
fn a_list_of_threads_is_taken_up_to_the_first_that_fails() {
    let mut shell = Shell::mounted("");
    shell.mkdir("g").unwrap();
    let einval = Err(Errno::Einval);
    for (text, answer, status) in [
        ("", Ok(()), "ok\n"),
        ("100", Ok(()), "ok\n"),
        (" 101 , 0x66 ,\n", Ok(()), "ok\n"),
        ("0147\n103", einval, "Task list parsing error pid 0147\n103\n"),
        ("103,x,200", einval, "Task list parsing error pid x\n"),
        ("-1", einval, "Invalid pid -1\n"),
        (" ", einval, "Task list parsing error pid \n"),
        (",", einval, "Task list parsing error pid \n"),
        ("2147483648", einval, "Task list parsing error pid 2147483648\n"),
        ("7", Err(Errno::Esrch), "No task 7\nError while processing task 7\n"),
    ] {
        let given = shell.write(text, "g/tasks");
        assert_eq!((given, shell.status().as_str()), (answer, status), "{text:?}");
    }
    assert_eq!(shell.cat("g/tasks"), "100\n101\n102\n103\n");
    assert_eq!(shell.cat("tasks"), "200\n201\n");
}

/// `rdtgroup_task_write_permission`: root, and the thread's own user, by real or saved id.
#[test]
fn a_user_moves_only_own_threads() {
    let mut shell = Shell::mounted("");
    shell.mkdir("g").unwrap();
    shell.caller = Caller { thread: 200, uid: 1000, gid: 1000 };
    shell.set("201", "g/tasks");
    shell.set("0", "g/tasks");
    let status = "No permission to move task 100\nError while processing task 100\n";
    shell.echo("100", "g/tasks", Err(Errno::Eperm), status);
    assert_eq!(shell.cat("g/tasks"), "200\n201\n");
}

/// `find_task_by_vpid` and `task_pid_vnr`: numbers are those of the caller's PID namespace, where
/// threads outside have none.
#[test]
fn numbers_are_those_of_the_caller_s_namespace() {
    let mut shell = Shell::mounted("");
    shell.mkdir("g").unwrap();
    shell.set("103", "g/tasks");
    shell.world.numbers = Some([(101, 1), (102, 103), (SHELL, 7)].into());
    assert_eq!(shell.cat("g/tasks"), "", "103 is not of the namespace");
    assert_eq!(shell.cat("tasks"), "7\n1\n103\n");
    shell.set("103", "g/tasks");
    shell.set("0", "g/tasks");
    shell.set("1,7", "g/tasks");
    assert_eq!(shell.cat("g/tasks"), "7\n1\n103\n");
    for number in ["101", "102", "100", "2"] {
        let status = format!("No task {number}\nError while processing task {number}\n");
        shell.echo(number, "g/tasks", Err(Errno::Esrch), &status);
    }
    // From outside, all are seen.
    shell.world.numbers = None;
    assert_eq!(shell.cat("g/tasks"), "100\n101\n102\n103\n");
    assert_eq!(shell.cat("tasks"), "200\n201\n");
}

/// `__rdtgroup_move_task`: into a MON group from its parent only; into a CTRL_MON group out of
/// every MON group.
#[test]
fn a_mon_group_takes_threads_of_its_parent() {
    let mut shell = Shell::mounted("");
    for group in ["g", "g/mon_groups/m", "mon_groups/r"] {
        shell.mkdir(group).unwrap();
    }
    let status = "Can't move task to different control group\nError while processing task 100\n";
    shell.echo("100", "g/mon_groups/m/tasks", Err(Errno::Einval), status);
    shell.set("100", "g/tasks");
    shell.set("100", "g/mon_groups/m/tasks");
    assert_eq!(shell.cat("g/tasks"), "100\n", "a parent lists its MON groups' threads");
    assert_eq!(shell.cat("g/mon_groups/m/tasks"), "100\n");
    assert_eq!(shell.resctrl.groups_of(100), "res:g\nmon:m\n");
    shell.set("100", "g/tasks");
    assert_eq!(shell.cat("g/mon_groups/m/tasks"), "");
    assert_eq!(shell.resctrl.groups_of(100), "res:g\nmon:\n");
    shell.set("101", "mon_groups/r/tasks");
    assert_eq!(shell.resctrl.groups_of(101), "res:/\nmon:r\n");
}

/// resctrl.rst, "Resource allocation rules" and "Resource monitoring rules": a thread in a group
/// uses that group, otherwise its CPU's; class and id separately (`__resctrl_sched_in`).
#[test]
fn a_threads_own_class_goes_before_its_cpus() {
    let mut shell = Shell::mounted("");
    for group in ["a", "b", "mon_groups/r"] {
        shell.mkdir(group).unwrap();
    }
    shell.set("1", "a/cpus_list");
    shell.set("100", "b/tasks");
    shell.set("101", "mon_groups/r/tasks");
    let class = |thread, cpu| {
        let class = shell.resctrl.class_of(thread, cpu);
        (class.closid, class.rmid)
    };
    assert_eq!(class(100, 1), (2, 2));
    assert_eq!(class(102, 1), (1, 1));
    assert_eq!(class(101, 1), (1, 3), "the CPU's class, the thread's id");
    assert_eq!(class(102, 0), (0, 0));
}

/// `copy_process`: children are where their parents are.
#[test]
fn children_inherit() {
    let mut shell = Shell::mounted("");
    shell.mkdir("g").unwrap();
    shell.set("100", "g/tasks");
    let generation = shell.resctrl.generation();
    shell.resctrl.forked(100, 103);
    shell.resctrl.forked(200, 201);
    assert_ne!(shell.resctrl.generation(), generation);
    assert_eq!(shell.cat("g/tasks"), "100\n103\n");
    shell.resctrl.exited(100);
    assert_eq!(shell.resctrl.class_of(100, 0).closid, 0);
}

/// `rdt_move_group_tasks` walks all threads, also those that no visible process can name.
#[test]
fn threads_out_of_sight_leave_with_their_group() {
    let mut shell = Shell::mounted("");
    shell.mkdir("g").unwrap();
    shell.set("100", "g/tasks");
    let seen = std::mem::take(&mut shell.world.threads);
    shell.rmdir("g").unwrap();
    shell.world.threads = seen;
    shell.mkdir("h").unwrap();
    assert_eq!(shell.cat("h/tasks"), "", "another group, of the same class");
}
