//! The answers of a real Linux 7.2 to an exercise of resctrl, on the kernel lab's machine.

use fairways_resctrl_rules::rules::Errno;

use crate::shell::Shell;

#[test]
fn the_tree_is_that_of_the_kernel() {
    let mut shell = Shell::mounted("");
    assert_eq!(
        shell.ls(""),
        [
            "cpus",
            "cpus_list",
            "info",
            "mode",
            "mon_data",
            "mon_groups",
            "schemata",
            "size",
            "tasks"
        ]
    );
    for (path, text) in [
        ("L3/bit_usage", "0=XXSSSSSSSSSS;1=XXSSSSSSSSSS\n"),
        ("L3/cbm_mask", "fff\n"),
        ("L3/min_cbm_bits", "1\n"),
        ("L3/num_closids", "8\n"),
        ("L3/shareable_bits", "c00\n"),
        ("L3/sparse_masks", "0\n"),
        ("L3_MON/max_threshold_occupancy", "524288\n"),
        ("L3_MON/mbm_assign_mode", "[default]\n"),
        ("L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n"),
        ("L3_MON/num_rmids", "32\n"),
        ("MB/bandwidth_gran", "10\n"),
        ("MB/delay_linear", "1\n"),
        ("MB/min_bandwidth", "10\n"),
        ("MB/num_closids", "8\n"),
        ("MB/thread_throttle_mode", "max\n"),
        ("last_cmd_status", "ok\n"),
    ] {
        assert_eq!(shell.cat(&format!("info/{path}")), text, "{path}");
    }
    let files: usize = ["", "L3", "L3_MON", "MB"]
        .iter()
        .map(|directory| shell.ls(&format!("info/{directory}")).len())
        .sum();
    assert_eq!(files, 16 + 3, "there are no others");
    assert_eq!(shell.cat("schemata"), "    MB:0=100;1=100\n    L3:0=fff;1=fff\n");
    assert_eq!(shell.ls("mon_data"), ["mon_L3_00", "mon_L3_01"]);
    assert_eq!(
        shell.ls("mon_data/mon_L3_01"),
        ["llc_occupancy", "mbm_local_bytes", "mbm_total_bytes"]
    );
    assert_eq!(shell.cat("mon_data/mon_L3_00/mbm_local_bytes"), "0\n");
}

/// The 31 steps, in their order.
#[test]
fn an_exercise_gets_the_answers_of_the_kernel() {
    let einval = Err(Errno::Einval);
    let mut shell = Shell::mounted("");
    let answer = shell.mkdir("g1");
    shell.expect(answer, Ok(()), "ok\n");
    shell.echo("L3:0=f", "g1/schemata", Ok(()), "ok\n");
    assert_eq!(shell.cat("g1/schemata"), "    MB:0=100;1=100\n    L3:0=f;1=fff\n");
    assert_eq!(shell.cat("g1/size"), "    MB:0=100;1=100\n    L3:0=5592404;1=16777212\n");
    assert_eq!(shell.cat("g1/mode"), "shareable\n");
    assert_eq!(shell.cat("g1/cpus"), "0\n");
    assert_eq!(shell.cat("g1/cpus_list"), "\n");
    shell.echo("L3:0=f;1=ff0", "g1/schemata", Ok(()), "ok\n");
    for (text, status) in [
        ("L3:0=5", "The mask 5 has non-consecutive 1-bits\n"),
        ("L3:0=0", "Mask out of range\n"),
        ("L3:0=1fff", "Mask out of range\n"),
        ("L3:7=f", "ok\n"),
        ("L2:0=f", "Unknown or unsupported resource name 'L2'\n"),
        ("L3:0=xyz", "Non-hex character in the mask xyz\n"),
        ("L3:0=f;0=f0", "Duplicate domain 0\n"),
    ] {
        shell.echo(text, "g1/schemata", einval, status);
    }
    let answer = shell.write("L3:0=f", "g1/schemata");
    shell.expect(answer, einval, "Duplicate domain 0\n");
    shell.echo("MB:0=50;1=33", "g1/schemata", Ok(()), "ok\n");
    shell.echo("MB:0=5", "g1/schemata", einval, "MB value 5 out of range [10,100]\n");
    assert_eq!(shell.cat("g1/schemata"), "    MB:0=50;1=40\n    L3:0=f;1=ff0\n");
    shell.echo("1", "g1/cpus_list", Ok(()), "ok\n");
    shell.echo("99", "g1/cpus_list", Err(Errno::Erange), "Bad CPU list/mask\n");
    assert_eq!((shell.cat("g1/cpus").as_str(), shell.cat("cpus").as_str()), ("2\n", "d\n"));
    shell.echo("100", "g1/tasks", Ok(()), "ok\n");
    let status = "No task 99999\nError while processing task 99999\n";
    shell.echo("99999", "g1/tasks", Err(Errno::Esrch), status);
    shell.echo("exclusive", "g1/mode", einval, "Schemata overlaps\n");
    shell.echo("L3:0=00f;1=0f0", "schemata", Ok(()), "ok\n");
    shell.echo("L3:0=3f0;1=f", "schemata", Ok(()), "ok\n");
    shell.echo("L3:0=f;1=3f0", "g1/schemata", Ok(()), "ok\n");
    shell.echo("exclusive", "g1/mode", Ok(()), "ok\n");
    assert_eq!(shell.cat("info/L3/bit_usage"), "0=HHSSSSSSEEEE;1=HHEEEEEESSSS\n");
    assert_eq!(shell.cat("g1/mode"), "exclusive\n");
    let answer = shell.mkdir("g2");
    shell.expect(answer, Ok(()), "ok\n");
    assert_eq!(shell.cat("g2/schemata"), "    MB:0=100;1=100\n    L3:0=ff0;1=f\n");
    shell.echo("L3:0=f", "g2/schemata", einval, "Overlaps with exclusive group\n");
    shell.echo("shareable", "g1/mode", Ok(()), "ok\n");
    let answer = shell.mkdir("g1/mon_groups/m1");
    shell.expect(answer, Ok(()), "ok\n");
    for group in ["g3", "g4", "g5", "g6", "g7"] {
        shell.mkdir(group).unwrap();
    }
    let answer = shell.mkdir("g8");
    shell.expect(answer, Err(Errno::Enospc), "Out of CLOSIDs\n");
    for event in ["llc_occupancy", "mbm_local_bytes", "mbm_total_bytes"] {
        assert_eq!(shell.cat(&format!("g1/mon_data/mon_L3_01/{event}")), "0\n");
    }
    let answer = shell.mkdir("g1/sub");
    shell.expect(answer, Err(Errno::Eperm), "ok\n");
    let answer = shell.rmdir("g1/mon_groups/m1");
    shell.expect(answer, Ok(()), "ok\n");
    for group in ["g1", "g2", "g3", "g4", "g5", "g6", "g7"] {
        let answer = shell.rmdir(group);
        shell.expect(answer, Ok(()), "ok\n");
    }
    assert_eq!(shell.cat("cpus"), "f\n");
    assert_eq!(shell.cat("schemata"), "    MB:0=100;1=100\n    L3:0=3f0;1=f\n");
    shell.resctrl.unmount();
    shell.resctrl.mount("cdp", &mut shell.world).unwrap();
    assert_eq!(
        shell.cat("schemata"),
        "    MB:0=100;1=100\nL3DATA:0=fff;1=fff\nL3CODE:0=fff;1=fff\n"
    );
    assert_eq!(shell.ls("info"), ["L3CODE", "L3DATA", "L3_MON", "MB", "last_cmd_status"]);
}
