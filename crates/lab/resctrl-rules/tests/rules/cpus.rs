use fairways_resctrl_rules::rules::Errno;

use crate::shell::Shell;

/// `rdtgroup_cpus_write`: the errors of a list or mask.
#[test]
fn bad_lists_and_masks_are_reported() {
    let mut shell = Shell::mounted("");
    shell.mkdir("g").unwrap();
    shell.resctrl.cpu_offline(3);
    let bad = "Bad CPU list/mask\n";
    for (file, text, errno, status) in [
        ("cpus_list", "0-", Errno::Einval, bad),
        ("cpus_list", "1-0", Errno::Einval, bad),
        ("cpus_list", "4", Errno::Erange, bad),
        ("cpus_list", "99999999999", Errno::Eoverflow, bad),
        ("cpus_list", "0,x", Errno::Einval, bad),
        ("cpus_list", "0-3", Errno::Einval, "Can only assign online CPUs\n"),
        ("cpus", "10", Errno::Eoverflow, bad),
        ("cpus", "g", Errno::Einval, bad),
        ("cpus", "f", Errno::Einval, "Can only assign online CPUs\n"),
    ] {
        shell.echo(text, &format!("g/{file}"), Err(errno), status);
    }
    for (file, text, cpus) in [
        ("cpus_list", "0-2:1/2", "0,2\n"),
        ("cpus_list", " 1 , 2", "1-2\n"),
        ("cpus", "0x1", "ignored"),
        ("cpus", "00000001", "0\n"),
        ("cpus", "", "\n"),
    ] {
        if cpus == "ignored" {
            shell.echo(text, &format!("g/{file}"), Err(Errno::Einval), bad);
        } else {
            assert_eq!(shell.write(text, &format!("g/{file}")), Ok(()), "no line end is needed");
            assert_eq!(shell.cat("g/cpus_list"), cpus);
        }
    }
}

/// `bitmap_find_region`: Linux 7.2's answers to a fuzzer. Only a line break right behind CPUs ends
/// a list.
#[test]
fn line_breaks_before_cpus_are_blanks() {
    let mut shell = Shell::mounted("");
    shell.mkdir("g").unwrap();
    let answer = shell.write("\n\x061", "g/cpus_list");
    shell.expect(answer, Err(Errno::Einval), "Bad CPU list/mask\n");
    for (text, cpus) in [("\n2\n", "2\n"), ("1 \n3\n0", "1,3\n"), ("0-3:1/2\n3", "0,2-3\n")] {
        assert_eq!(shell.write(text, "g/cpus_list"), Ok(()));
        assert_eq!(shell.cat("g/cpus_list"), cpus);
    }
}

/// `cpus_ctrl_write`.
#[test]
fn cpus_go_from_group_to_group() {
    let mut shell = Shell::mounted("");
    for group in ["a", "b", "a/mon_groups/m", "mon_groups/r"] {
        shell.mkdir(group).unwrap();
    }
    shell.set("0-1", "mon_groups/r/cpus_list");
    shell.set("1-3", "a/cpus_list");
    assert_eq!(
        (shell.cat("cpus_list"), shell.cat("mon_groups/r/cpus_list")),
        ("0\n".into(), "0\n".into())
    );
    shell.set("2-3", "a/mon_groups/m/cpus_list");
    shell.set("3", "b/cpus_list");
    assert_eq!(shell.cat("a/cpus_list"), "1-2\n");
    assert_eq!(
        shell.cat("a/mon_groups/m/cpus_list"),
        "2\n",
        "CPUs that the parent lost are lost here too"
    );
    shell.set("1-2", "a/cpus_list");
    assert_eq!(shell.cat("a/mon_groups/m/cpus_list"), "\n", "any write to the parent clears");
    shell.set("", "b/cpus_list");
    assert_eq!(shell.cat("cpus_list"), "0,3\n", "dropped to the root");
    let message = "Can't drop CPUs from default group\n";
    shell.echo("0", "cpus_list", Err(Errno::Einval), message);
    shell.set("0-3", "cpus_list");
    assert_eq!(shell.cat("a/cpus_list"), "\n");
}

fn rmid(shell: &Shell, cpu: u32) -> u32 {
    shell.resctrl.class_of_cpu(cpu).rmid
}

/// `cpus_mon_write`.
#[test]
fn cpus_of_a_mon_group_are_its_parents() {
    let mut shell = Shell::mounted("");
    for group in ["a", "a/mon_groups/m", "a/mon_groups/n"] {
        shell.mkdir(group).unwrap();
    }
    let message = "Can only add CPUs to mongroup that belong to parent\n";
    shell.echo("1", "a/mon_groups/m/cpus_list", Err(Errno::Einval), message);
    shell.set("1-2", "a/cpus_list");
    shell.set("1-2", "a/mon_groups/m/cpus_list");
    shell.set("2", "a/mon_groups/n/cpus_list");
    assert_eq!(shell.cat("a/mon_groups/m/cpus_list"), "1\n");
    assert_eq!((rmid(&shell, 0), rmid(&shell, 1), rmid(&shell, 2), rmid(&shell, 3)), (0, 2, 3, 0));
    shell.set("", "a/mon_groups/m/cpus_list");
    assert_eq!(shell.resctrl.class_of_cpu(1).rmid, 1, "its parent's");
}

/// `resctrl_offline_cpu`, `resctrl_online_cpu`, `domain_setup_ctrlval`.
#[test]
fn a_domain_goes_with_its_last_cpu_and_returns_unlimited() {
    let mut shell = Shell::mounted("");
    shell.mkdir("g").unwrap();
    shell.set("L3:0=3;1=3\nMB:1=20", "g/schemata");
    shell.set("2-3", "g/cpus_list");
    shell.resctrl.cpu_offline(2);
    assert_eq!((shell.cat("g/cpus_list"), shell.ls("mon_data").len()), ("3\n".into(), 2));
    let held = shell.node("g/mon_data/mon_L3_01/llc_occupancy");
    shell.resctrl.cpu_offline(3);
    assert_eq!(shell.cat("g/schemata"), "    MB:0=100\n    L3:0=3\n");
    assert_eq!(shell.ls("mon_data"), ["mon_L3_00"]);
    shell.echo("L3:1=1", "g/schemata", Err(Errno::Einval), "ok\n");
    let answer = shell.resctrl.read(held, &shell.caller, &mut shell.world);
    assert_eq!(answer, Err(Errno::Enodev));

    shell.resctrl.cpu_online(3, &mut shell.world);
    assert_eq!(shell.cat("g/schemata"), "    MB:0=100;1=100\n    L3:0=3;1=fff\n");
    assert_eq!((shell.cat("g/cpus_list"), shell.cat("cpus_list")), ("\n".into(), "0-1,3\n".into()));
    assert_eq!(shell.ls("g/mon_data"), ["mon_L3_00", "mon_L3_01"]);
}
