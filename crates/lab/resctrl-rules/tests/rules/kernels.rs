//! Differences between kernels.

use fairways_resctrl_rules::platform::{Kernel, Platform};
use fairways_resctrl_rules::rules::{Errno, Resctrl};

use crate::shell::{Fake, Shell};

fn on(kernel: Kernel, options: &str) -> Shell {
    Shell::on(Platform::lab().with_kernel(kernel), options)
}

#[test]
fn kernels_have_names() {
    for kernel in Kernel::all() {
        assert_eq!(Kernel::named(kernel.name), Some(kernel));
    }
    assert_eq!(Kernel::named("5.4"), None);
    for platform in Platform::all() {
        assert_eq!(Platform::named(platform.name), Some(platform));
    }
}

#[test]
fn older_kernels_have_fewer_files() {
    let mut shell = on(Kernel::v6_1(), "");
    assert_eq!(
        shell.ls("info/L3"),
        ["bit_usage", "cbm_mask", "min_cbm_bits", "num_closids", "shareable_bits"]
    );
    assert_eq!(shell.ls("info/L3_MON"), ["max_threshold_occupancy", "mon_features", "num_rmids"]);
    shell.mkdir("mon_groups/m").unwrap();
    assert_eq!(shell.mv("mon_groups/m", "mon_groups/n"), Err(Errno::Eperm));
    let mut resctrl = Resctrl::new(Platform::lab().with_kernel(Kernel::v6_1()));
    assert_eq!(resctrl.mount("debug", &mut Fake::default()), Err(Errno::Einval));
    assert!(on(Kernel::v6_12(), "mba_MBps").resctrl.at("mba_MBps_event").is_none());
    let zen = Shell::on(Platform::zen().with_kernel(Kernel::v6_1()), "");
    assert_eq!(zen.ls("info"), ["L3", "L3_MON", "MB", "last_cmd_status"]);
    assert_eq!(zen.ls("info/L3_MON").len(), 3);
}

/// `show_doms` with `max_data_width`, until 6.14.
#[test]
fn older_kernels_pad_schemata() {
    let mut platform = Platform::skylake().with_ways(20, 0).with_kernel(Kernel::v6_12());
    platform.mb.as_mut().unwrap().closids = 16;
    let mut shell = Shell::on(platform, "");
    shell.set("L3:0=f", "schemata");
    assert_eq!(shell.cat("schemata"), "    MB:0=  100;1=  100\n    L3:0=0000f;1=fffff\n");
}

/// `cbm_validate` with `arch_has_sparse_bitmaps`, which before 6.7 only AMD had.
#[test]
fn older_kernels_take_gaps_of_amd_only() {
    let refused = "The mask f0f has non-consecutive 1-bits\n";
    for (platform, kernel, expected, status) in [
        (Platform::granite_rapids(), Kernel::v6_1(), Err(Errno::Einval), refused),
        (Platform::granite_rapids(), Kernel::v6_12(), Ok(()), "ok\n"),
        (Platform::zen(), Kernel::v6_1(), Ok(()), "ok\n"),
    ] {
        Shell::on(platform.with_kernel(kernel), "").echo("L3:0=f0f", "schemata", expected, status);
    }
}

/// `rdtgroup_mkdir`, which found no group below `info`.
#[test]
fn info_is_no_group() {
    for (kernel, errno) in [(Kernel::v6_12(), Errno::Eperm), (Kernel::v7_2(), Errno::Enodev)] {
        assert_eq!(on(kernel, "").mkdir("info/g"), Err(errno));
    }
}

/// `mkdir_rdt_prepare` and `rdtgroup_cpus_write` of 6.12: the last message stays.
#[test]
fn older_kernels_leave_the_status() {
    for (kernel, status) in [(Kernel::v6_12(), "Bad CPU list/mask\n"), (Kernel::v7_2(), "ok\n")] {
        let mut shell = on(kernel, "");
        shell.echo("x", "cpus", Err(Errno::Einval), "Bad CPU list/mask\n");
        shell.mkdir("g").unwrap();
        assert_eq!(shell.cat("info/last_cmd_status"), status);
    }
}

/// `rdtgroup_tasks_write` before 6.7: one id, and no message for a bad one.
#[test]
fn older_kernels_take_one_thread_at_a_time() {
    let mut shell = on(Kernel::v6_1(), "");
    shell.mkdir("g").unwrap();
    shell.echo("7", "g/tasks", Err(Errno::Esrch), "No task 7\n");
    for text in ["100,101", "x", "-1", ""] {
        shell.echo(text, "g/tasks", Err(Errno::Einval), "No task 7\n");
    }
    shell.set("100", "g/tasks");
    assert_eq!(shell.cat("g/tasks"), "100\n");
}

/// After 7.2, the status is of the last access, and reports input that is no line.
#[test]
fn newer_kernels_report_the_last_access() {
    for (kernel, after_line, after_rmdir, ending) in [
        (Kernel::v7_2(), "Missing ':'\n", "Missing ':'\n", "xxx"),
        (Kernel::next(), "schemata: Invalid input\n", "ok\n", "xxx[truncated]\n"),
    ] {
        let mut shell = on(kernel, "");
        shell.mkdir("g").unwrap();
        shell.echo("L3", "schemata", Err(Errno::Einval), "Missing ':'\n");
        let answer = shell.write("L3:0=f", "schemata");
        shell.expect(answer, Err(Errno::Einval), after_line);
        shell.echo("L3", "schemata", Err(Errno::Einval), "Missing ':'\n");
        let answer = shell.rmdir("g");
        shell.expect(answer, Ok(()), after_rmdir);
        let long = format!("L3:0={}\n", "x".repeat(600));
        assert_eq!(shell.write(&long, "schemata"), Err(Errno::Einval));
        assert!(shell.status().ends_with(ending));
    }
}
