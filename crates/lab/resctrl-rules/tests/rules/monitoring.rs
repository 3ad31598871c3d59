use fairways_resctrl::language::Reading;
use fairways_resctrl_rules::platform::{Event, Platform, Resource};
use fairways_resctrl_rules::rules::{Class, Errno, Resctrl, Side};

use crate::shell::{Fake, Shell};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// `mon_event_count`: a CTRL_MON group's numbers include its MON groups', and one good reading
/// hides failures.
#[test]
fn a_group_counts_with_its_mon_groups() {
    let mut shell = Shell::mounted("");
    shell.mkdir("g").unwrap();
    shell.mkdir("g/mon_groups/m").unwrap();
    let event = Event::LlcOccupancy;
    let both =
        ["g/mon_data/mon_L3_00/llc_occupancy", "g/mon_groups/m/mon_data/mon_L3_00/llc_occupancy"];
    for (own, child, of_group, of_child) in [
        (Reading::Value(MIB), Reading::Value(64 * KIB + 1), "1114112\n", "65536\n"),
        (Reading::Error, Reading::Value(64 * KIB), "65536\n", "Error was the group's\n"),
        (Reading::Value(MIB), Reading::Unavailable, "1048576\n", "Unavailable\n"),
        (Reading::Unavailable, Reading::Error, "Error\n", "Error\n"),
        (Reading::Error, Reading::Unavailable, "Unavailable\n", "Unavailable\n"),
        (Reading::Unassigned, Reading::Unassigned, "Unassigned\n", "Unassigned\n"),
    ] {
        shell.count(1, 0, event, own);
        shell.count(2, 0, event, child);
        assert_eq!(shell.cat(both[0]), of_group);
        if !of_child.starts_with("Error was") {
            assert_eq!(shell.cat(both[1]), of_child);
        }
    }
}

/// `resctrl_arch_reset_rmid`: the bytes that an id moved before are not the new group's.
#[test]
fn bandwidth_counts_from_the_groups_making() {
    let mut shell = Shell::mounted("");
    let event = Event::MbmTotalBytes;
    shell.count(1, 1, event, Reading::Value(10 * MIB));
    shell.mkdir("g").unwrap();
    let file = "g/mon_data/mon_L3_01/mbm_total_bytes";
    assert_eq!(shell.cat(file), "0\n");
    shell.count(1, 1, event, Reading::Value(13 * MIB));
    assert_eq!(shell.cat(file), "3145728\n");
    assert_eq!(shell.cat("mon_data/mon_L3_01/mbm_total_bytes"), "0\n", "not the root's");
}

/// `alloc_rmid`, `free_rmid`, `__check_limbo`: resctrl.rst, "max_threshold_occupancy - generic
/// concepts".
#[test]
fn ids_wait_until_the_cache_has_forgotten_them() {
    let mut shell = Shell::on(Platform::lab().with_rmids(3), "debug");
    shell.mkdir("a").unwrap();
    shell.mkdir("b").unwrap();
    let answer = shell.mkdir("c");
    shell.expect(answer, Err(Errno::Enospc), "Out of RMIDs\n");
    assert!(shell.resctrl.at("c").is_none());

    shell.write("131072\n", "info/L3_MON/max_threshold_occupancy").unwrap();
    let event = Event::LlcOccupancy;
    shell.count(1, 0, event, Reading::Value(128 * KIB));
    shell.count(1, 1, event, Reading::Value(0));
    shell.rmdir("a").unwrap();
    let answer = shell.mkdir("c");
    shell.expect(answer, Err(Errno::Ebusy), "Out of RMIDs\n");
    shell.resctrl.check_limbo(&mut shell.world);
    assert_eq!(shell.resctrl.in_limbo(), 1, "not below the threshold in cache 0");
    shell.count(1, 0, event, Reading::Unavailable);
    shell.resctrl.check_limbo(&mut shell.world);
    assert_eq!(shell.resctrl.in_limbo(), 1, "unknown is not little");
    shell.count(1, 0, event, Reading::Value(128 * KIB - 1));
    shell.resctrl.check_limbo(&mut shell.world);
    assert_eq!(shell.resctrl.in_limbo(), 0);
    shell.mkdir("c").unwrap();
    assert_eq!((shell.cat("c/ctrl_hw_id"), shell.cat("c/mon_hw_id")), ("1\n".into(), "1\n".into()));
}

/// `rmid_free_lru`: the id that was freed first is taken first.
#[test]
fn freed_ids_queue() {
    let mut shell = Shell::on(Platform::lab().with_rmids(4), "debug");
    for group in ["a", "b", "c"] {
        shell.mkdir(group).unwrap();
    }
    for group in ["c", "a"] {
        shell.rmdir(group).unwrap();
        shell.resctrl.check_limbo(&mut shell.world);
    }
    shell.mkdir("d").unwrap();
    shell.mkdir("e").unwrap();
    assert_eq!((shell.cat("d/mon_hw_id"), shell.cat("e/mon_hw_id")), ("3\n".into(), "1\n".into()));
}

/// `free_rmid` where occupancy is not reported, and `resctrl_offline_mon_domain`.
#[test]
fn nothing_is_waited_for_where_occupancy_is_not_reported() {
    let mut platform = Platform::lab();
    platform.monitoring.as_mut().unwrap().events = vec![Event::MbmTotalBytes];
    let mut shell = Shell::on(platform, "");
    shell.mkdir("a").unwrap();
    shell.rmdir("a").unwrap();
    assert_eq!(shell.resctrl.in_limbo(), 0);

    let mut shell = Shell::mounted("");
    shell.mkdir("a").unwrap();
    shell.count(1, 1, Event::LlcOccupancy, Reading::Value(16 * MIB));
    shell.rmdir("a").unwrap();
    shell.resctrl.check_limbo(&mut shell.world);
    assert_eq!(shell.resctrl.in_limbo(), 1);
    shell.resctrl.cpu_offline(2);
    shell.resctrl.cpu_offline(3);
    assert_eq!(shell.resctrl.in_limbo(), 0);
}

/// `max_threshold_occ_write`: at most a cache, in whole units; errors have no message.
#[test]
fn the_threshold_is_rounded_down() {
    let mut shell = Shell::mounted("");
    let file = "info/L3_MON/max_threshold_occupancy";
    for (text, expected, shown) in [
        ("70000", Ok(()), "65536\n"),
        ("0x20000\n", Ok(()), "131072\n"),
        ("16777216", Ok(()), "16777216\n"),
        ("16777217", Err(Errno::Einval), "16777216\n"),
        ("4294967296", Err(Errno::Erange), "16777216\n"),
        ("x", Err(Errno::Einval), "16777216\n"),
        ("", Err(Errno::Einval), "16777216\n"),
        ("65535", Ok(()), "0\n"),
    ] {
        assert_eq!(shell.write(text, file), expected, "{text:?}");
        assert_eq!(shell.cat(file), shown, "{text:?}");
        assert_eq!(shell.status(), "ok\n");
    }
}

/// `mon_config_write` (AMD's BMEC): a counter with another configuration starts again, and reports
/// so once.
#[test]
fn events_are_configured_where_hardware_can() {
    let mut shell = Shell::on(Platform::zen(), "");
    let file = "info/L3_MON/mbm_total_bytes_config";
    assert_eq!(shell.cat(file), "0=0x7f;1=0x7f;8=0x7f;9=0x7f\n");
    assert_eq!(
        shell.cat("info/L3_MON/mon_features"),
        "llc_occupancy\nmbm_total_bytes\nmbm_total_bytes_config\nmbm_local_bytes\nmbm_local_bytes_config\n"
    );
    shell.count(0, 8, Event::MbmTotalBytes, Reading::Value(MIB));
    shell.set("8=0x33;0=7f", file);
    assert_eq!(shell.cat(file), "0=0x7f;1=0x7f;8=0x33;9=0x7f\n");
    let counter = "mon_data/mon_L3_08/mbm_total_bytes";
    assert_eq!((shell.cat(counter), shell.cat(counter)), ("Unavailable\n".into(), "0\n".into()));
    assert_eq!(shell.cat("mon_data/mon_L3_00/mbm_total_bytes"), "0\n", "nothing changed there");
    for (text, status) in [
        ("8", "Non-numeric event configuration value\n"),
        ("x=1", "Missing '=' or non-numeric domain id\n"),
        ("0=80", "Invalid event configuration: max valid mask is 0x7f\n"),
        ("2=1", "ok\n"),
    ] {
        shell.echo(text, file, Err(Errno::Einval), status);
    }
    assert!(Shell::mounted("").resctrl.at(file).is_none());
}

/// `resctrl_mbm_assign_mode_write` for a machine whose counters are not assigned.
#[test]
fn counters_are_not_assigned() {
    let mut shell = Shell::mounted("");
    let file = "info/L3_MON/mbm_assign_mode";
    shell.set("default", file);
    shell.echo("mbm_event", file, Err(Errno::Einval), "mbm_event mode is not supported\n");
    shell.echo("x", file, Err(Errno::Einval), "Unsupported assign mode\n");
}

/// MPAM: each class has ids of its own (`resctrl_arch_rmid_idx_encode`,
/// `resctrl_find_cleanest_closid`).
#[test]
fn ids_can_be_a_classs_own() {
    let mut platform = Platform::mpam().with_closids(3).with_rmids(2);
    platform.llc_bytes = 1 << 20;
    let mut shell = Shell::on(platform, "debug");
    shell.mkdir("a").unwrap();
    shell.mkdir("a/mon_groups/m").unwrap();
    assert_eq!(
        (shell.cat("a/mon_hw_id"), shell.cat("a/mon_groups/m/mon_hw_id")),
        ("0\n".into(), "1\n".into())
    );
    let answer = shell.mkdir("a/mon_groups/n");
    shell.expect(answer, Err(Errno::Enospc), "Out of RMIDs\n");
    shell.rmdir("a").unwrap();
    shell.mkdir("b").unwrap();
    assert_eq!(shell.cat("b/ctrl_hw_id"), "2\n", "class 1 has ids in limbo");
}

/// MPAM: the numbers in `info`, the ids in hardware, and that ids do not leave their class
/// (`resctrl_arch_system_num_rmid_idx`, `mpam_thread_switch`).
#[test]
fn mpam_has_both_ids_in_one_value() {
    let mut shell = Shell::on(Platform::mpam(), "");
    assert_eq!(shell.cat("info/L3_MON/num_rmids"), "128\n", "4 of each of 32 classes");
    assert_eq!(shell.cat("info/L3/shareable_bits"), "ffff\n");
    shell.echo("exclusive", "mode", Err(Errno::Einval), "Schemata overlaps\n");
    for group in ["a", "b", "a/mon_groups/m", "b/mon_groups/m"] {
        shell.mkdir(group).unwrap();
    }
    assert_eq!(shell.mv("a/mon_groups/m", "b/mon_groups/n"), Err(Errno::Eperm));
    assert_eq!(shell.mv("a/mon_groups/m", "a/mon_groups/n"), Ok(()));
    shell.set("100", "a/tasks");
    shell.set("1", "b/cpus_list");
    shell.set("1", "b/mon_groups/m/cpus_list");
    assert_eq!(shell.resctrl.class_of(100, 1), Class { closid: 1, rmid: 0 }, "not the CPU's id");
    assert_eq!(
        Resctrl::new(Platform::mpam()).mount("cdp", &mut Fake::default()),
        Err(Errno::Einval)
    );
}

fn percent(shell: &Shell) -> u32 {
    shell.resctrl.bandwidth(Resource::Mb, 1, 0).expect("a limit")
}

/// `update_mba_bw`: a step down while more is moved than allowed, a step up when there would still
/// be room.
#[test]
fn the_controller_turns_the_percentage() {
    let mut shell = Shell::mounted("mba_MBps");
    shell.mkdir("g").unwrap();
    shell.set("MB:0=100", "g/schemata");
    let mut moved = 0;
    let mut second = |shell: &mut Shell, mbps: u64| {
        moved += mbps * MIB;
        shell.count(1, 0, Event::MbmLocalBytes, Reading::Value(moved));
        shell.resctrl.check_bandwidth(&mut shell.world);
        percent(shell)
    };
    assert_eq!(second(&mut shell, 200), 90);
    assert_eq!(second(&mut shell, 150), 80);
    assert_eq!(second(&mut shell, 95), 80, "95 · 90 / 80 would be too much");
    assert_eq!(second(&mut shell, 80), 90);
    for _ in 0..20 {
        second(&mut shell, 200);
    }
    assert_eq!(percent(&shell), 10, "never below the least");
    assert_eq!(shell.resctrl.mask(Resource::L3, Side::Both, 1, 0), Some(0xfff));
}
