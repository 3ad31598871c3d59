use fairways_resctrl_rules::platform::Platform;
use fairways_resctrl_rules::rules::{Attributes, Caller, Errno};

use crate::shell::Shell;

fn mark(shell: &mut Shell) {
    shell.echo("nonsense", "mode", Err(Errno::Einval), "Unknown or unsupported mode\n");
}

/// `rdtgroup_mkdir`, `mkdir_rdt_prepare`: where groups can be made.
#[test]
fn groups_are_made_in_the_root_and_in_mon_groups() {
    let mut shell = Shell::mounted("debug");
    shell.mkdir("g").unwrap();
    shell.mkdir("mon_groups/m").unwrap();
    shell.mkdir("g/mon_groups/m").unwrap();
    let old = "Unknown or unsupported mode\n";
    for (path, errno, status) in [
        ("g", Errno::Eexist, old),
        ("info", Errno::Eexist, old),
        ("tasks", Errno::Eexist, old),
        ("tasks/x", Errno::Enotdir, old),
        ("info/x", Errno::Enodev, old),
        ("info/L3/x", Errno::Enodev, old),
        ("info/L3_MON/x", Errno::Enodev, old),
        ("a\nb", Errno::Einval, old),
        ("g/x", Errno::Eperm, "ok\n"),
        ("g/mon_groups/m/x", Errno::Eperm, "ok\n"),
        ("g/mon_data/x", Errno::Eperm, "ok\n"),
        ("mon_data/mon_L3_00/x", Errno::Eperm, "ok\n"),
        ("g/mon_groups/mon_groups", Errno::Eperm, "ok\n"),
    ] {
        mark(&mut shell);
        let answer = shell.mkdir(path);
        assert_eq!((answer, shell.status().as_str()), (Err(errno), status), "{path:?}");
    }
}

/// `rdtgroup_add_files`: the files of each kind of group.
#[test]
fn groups_have_the_files_of_their_kind() {
    let mut shell = Shell::mounted("debug,mba_MBps");
    shell.mkdir("g").unwrap();
    shell.mkdir("g/mon_groups/m").unwrap();
    let control = [
        "cpus",
        "cpus_list",
        "ctrl_hw_id",
        "mba_MBps_event",
        "mode",
        "mon_data",
        "mon_groups",
        "mon_hw_id",
        "schemata",
        "size",
        "tasks",
    ];
    assert_eq!(shell.ls("g"), control);
    assert_eq!(shell.ls("g/mon_groups/m"), ["cpus", "cpus_list", "mon_data", "mon_hw_id", "tasks"]);
    assert_eq!(shell.ls("").len(), control.len() + 2, "info and g besides");
    assert_eq!((shell.cat("g/ctrl_hw_id"), shell.cat("g/mon_hw_id")), ("1\n".into(), "1\n".into()));
    assert_eq!(shell.cat("g/mon_groups/m/mon_hw_id"), "2\n");

    let mut platform = Platform::lab();
    platform.monitoring = None;
    let mut shell = Shell::on(platform, "debug");
    shell.mkdir("g").unwrap();
    assert_eq!(
        shell.ls("g"),
        ["cpus", "cpus_list", "ctrl_hw_id", "mode", "schemata", "size", "tasks"]
    );
}

/// `closid_alloc`: the lowest free class, free again as soon as its group is gone.
#[test]
fn the_lowest_free_class_is_taken() {
    let mut shell = Shell::mounted("debug");
    for group in ["a", "b", "c"] {
        shell.mkdir(group).unwrap();
    }
    shell.rmdir("b").unwrap();
    shell.mkdir("d").unwrap();
    shell.mkdir("e").unwrap();
    assert_eq!(
        (shell.cat("d/ctrl_hw_id"), shell.cat("e/ctrl_hw_id")),
        ("2\n".into(), "4\n".into())
    );
}

/// `__init_one_rdt_domain`: all that is shared or free, cut to its first run; if that is too
/// little, the group is not made, and nothing has happened.
#[test]
fn a_group_that_finds_no_ways_is_not_made() {
    let mut shell = Shell::on(Platform::lab().with_ways(4, 0), "debug");
    shell.mkdir("a").unwrap();
    shell.set("L3:0=7;1=f", "schemata");
    shell.set("L3:0=8;1=f", "a/schemata");
    shell.set("L3:1=7", "schemata");
    shell.set("L3:1=8", "a/schemata");
    shell.set("exclusive", "a/mode");
    shell.set("exclusive", "mode");
    let answer = shell.mkdir("b");
    shell.expect(answer, Err(Errno::Enospc), "No space on L3:0\n");
    assert!(shell.resctrl.at("b").is_none());
    shell.set("shareable", "a/mode");
    shell.mkdir("b").unwrap();
    assert_eq!(shell.cat("b/schemata"), "    MB:0=100;1=100\n    L3:0=8;1=8\n");
    assert_eq!(shell.cat("b/ctrl_hw_id"), "2\n", "the class was given back");
    assert_eq!(shell.cat("b/mon_hw_id"), "3\n", "the id is in limbo");
}

/// `rdtgroup_rmdir`: members go to the root or the parent, and the files are gone for their
/// holders.
#[test]
fn members_of_a_group_that_goes_fall_back() {
    let mut shell = Shell::mounted("");
    shell.mkdir("g").unwrap();
    shell.mkdir("g/mon_groups/m").unwrap();
    shell.set("2-3", "g/cpus_list");
    shell.set("3", "g/mon_groups/m/cpus_list");
    shell.set("100,101", "g/tasks");
    shell.set("101", "g/mon_groups/m/tasks");
    let (held, monitor) = (shell.node("g/tasks"), shell.node("g/mon_groups/m/tasks"));
    assert_ne!(shell.resctrl.class_of(101, 0).rmid, shell.resctrl.class_of(100, 0).rmid);

    shell.rmdir("g/mon_groups/m").unwrap();
    assert_eq!(shell.cat("g/tasks"), "100\n101\n");
    assert_eq!(shell.resctrl.class_of(101, 0), shell.resctrl.class_of(100, 0));
    assert_eq!(shell.resctrl.class_of_cpu(3), shell.resctrl.class_of_cpu(2));
    let answer = shell.resctrl.write(monitor, b"100\n", &shell.caller, &mut shell.world);
    assert_eq!(answer, Err(Errno::Enodev));

    shell.rmdir("g").unwrap();
    assert_eq!(shell.cat("cpus_list"), "0-3\n");
    assert_eq!(shell.resctrl.class_of(100, 3), shell.resctrl.class_of(103, 0));
    let answer = shell.resctrl.read(held, &shell.caller, &mut shell.world);
    assert_eq!(answer, Err(Errno::Enodev));
    shell.mkdir("g").unwrap();
    assert!(!shell.resctrl.exists(held), "another group of that name");
}

/// `rdtgroup_rmdir`: only groups go.
#[test]
fn only_groups_are_removed() {
    let mut shell = Shell::mounted("");
    shell.mkdir("g").unwrap();
    for (path, errno) in [
        ("", Errno::Eperm),
        ("info", Errno::Eperm),
        ("info/L3", Errno::Eperm),
        ("mon_data", Errno::Eperm),
        ("mon_data/mon_L3_00", Errno::Eperm),
        ("g/mon_groups", Errno::Eperm),
        ("g/tasks", Errno::Enotdir),
    ] {
        assert_eq!(shell.rmdir(path), Err(errno), "{path:?}");
    }
}

fn attributes_of(shell: &Shell, path: &str) -> Attributes {
    shell.resctrl.attributes(shell.node(path)).expect("it exists")
}

/// `rdtgroup_kn_set_ugid`: the files of a group belong to its maker.
#[test]
fn a_group_belongs_to_its_maker() {
    let mut shell = Shell::mounted("");
    shell.caller = Caller { thread: 200, uid: 1000, gid: 1001 };
    let root = shell.resctrl.root();
    shell.resctrl.mkdir_with_mode(root, "g", 0o700, &shell.caller, &mut shell.world).unwrap();
    for (path, mode) in [
        ("g", 0o700),
        ("g/mon_groups", 0o700),
        ("g/mon_data/mon_L3_01", 0o700),
        ("g/schemata", 0o644),
        ("g/size", 0o444),
        ("g/mon_data/mon_L3_01/llc_occupancy", 0o444),
    ] {
        let attributes = attributes_of(&shell, path);
        assert_eq!((attributes.mode, attributes.uid, attributes.gid), (mode, 1000, 1001), "{path}");
    }
    // `kernfs_create_root`; files in the root have its permissions.
    for (path, mode) in [
        ("", 0o555),
        ("mon_groups", 0o555),
        ("mon_data/mon_L3_00", 0o555),
        ("info/L3", 0o555),
        ("tasks", 0o644),
        ("info/L3/cbm_mask", 0o444),
    ] {
        assert_eq!(
            (attributes_of(&shell, path).mode, attributes_of(&shell, path).uid),
            (mode, 0),
            "{path}"
        );
    }
}
