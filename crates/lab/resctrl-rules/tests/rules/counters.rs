//! Counters of bandwidth that are assigned to groups (resctrl.rst, `mbm_assign_mode`;
//! fs/resctrl/monitor.c of Linux 7.2).

use fairways_resctrl::language::Reading;
use fairways_resctrl_rules::platform::{Event, Kernel, Platform};
use fairways_resctrl_rules::rules::Errno;

use crate::shell::Shell;

const MIB: u64 = 1024 * 1024;

/// Two domains of that many counters.
fn zen5(counters: u32, options: &str) -> Shell {
    let mut platform = Platform::zen5_abmc().with_domains(2, 2);
    platform.monitoring.as_mut().expect("it monitors").assignable = Some(counters);
    Shell::on(platform, options)
}

/// What has no counter is `Unassigned`, and never 0; bytes count from the assignment on.
#[test]
fn an_event_counts_while_it_has_a_counter() {
    let mut shell = zen5(3, "");
    assert_eq!(shell.cat("info/L3_MON/num_mbm_cntrs"), "0=3;1=3\n");
    assert_eq!(shell.cat("info/L3_MON/available_mbm_cntrs"), "0=1;1=1\n");
    shell.mkdir("g").unwrap();
    let status = "Failed to allocate counter for mbm_local_bytes in domain 0\n\
                  Failed to allocate counter for mbm_local_bytes in domain 1\n";
    assert_eq!(shell.cat("info/last_cmd_status"), status);
    assert_eq!(
        shell.cat("g/mbm_L3_assignments"),
        "mbm_total_bytes:0=e;1=e\nmbm_local_bytes:0=_;1=_\n"
    );
    let (total, local) =
        ("g/mon_data/mon_L3_00/mbm_total_bytes", "g/mon_data/mon_L3_00/mbm_local_bytes");
    shell.count(1, 0, Event::MbmTotalBytes, Reading::Value(3 * MIB));
    assert_eq!((shell.cat(total), shell.cat(local)), ("3145728\n".into(), "Unassigned\n".into()));
    assert_eq!(shell.cat("g/mon_data/mon_L3_00/llc_occupancy"), "0\n", "has no such counters");

    shell.write("mbm_total_bytes:0=_\n", "g/mbm_L3_assignments").unwrap();
    assert_eq!(shell.cat(total), "Unassigned\n");
    shell.count(1, 0, Event::MbmTotalBytes, Reading::Value(5 * MIB));
    shell.write("mbm_total_bytes:0=e\n", "g/mbm_L3_assignments").unwrap();
    assert_eq!(shell.cat(total), "0\n");
    let answer = shell.write("mbm_local_bytes:1=_;0=e\n", "g/mbm_L3_assignments");
    let status = "Failed to allocate counter for mbm_local_bytes in domain 0\n\
                  Assign operation 'mbm_local_bytes:0=e' failed\n";
    shell.expect(answer, Err(Errno::Enospc), status);
    shell.rmdir("g").unwrap();
    assert_eq!(shell.cat("info/L3_MON/available_mbm_cntrs"), "0=1;1=1\n");
}

/// Filters, the mode and `mbm_assign_on_mkdir` outlive a mount; another mode sets them back.
#[test]
fn settings_outlive_a_mount() {
    let mut shell = zen5(32, "");
    let filter = "info/L3_MON/event_configs/mbm_total_bytes/event_filter";
    shell.write("0\n", "info/L3_MON/mbm_assign_on_mkdir").unwrap();
    shell.write("local_reads,remote_reads\n", filter).unwrap();
    shell.resctrl.unmount();
    shell.resctrl.mount("", &mut shell.world).unwrap();
    assert_eq!(shell.cat("mbm_L3_assignments").matches('e').count(), 2, "in the names only");
    assert_eq!(shell.cat(filter), "local_reads,remote_reads\n");
    assert!(shell.resctrl.at("info/L3_MON/mbm_total_bytes_config").is_none());

    shell.write("default\n", "info/L3_MON/mbm_assign_mode").unwrap();
    assert_eq!(shell.cat("info/L3_MON/mbm_assign_mode"), "[default]\nmbm_event\n");
    assert!(shell.resctrl.at("info/L3_MON/mbm_total_bytes_config").is_some());
    assert_eq!(shell.cat("mon_data/mon_L3_00/mbm_total_bytes"), "0\n", "hardware chooses");
    shell.write("mbm_event\n", "info/L3_MON/mbm_assign_mode").unwrap();
    assert_eq!(shell.cat("info/L3_MON/mbm_assign_on_mkdir"), "1\n");
    assert!(shell.cat(filter).ends_with(",dirty_victim_writes_all\n"));
    assert_eq!(shell.cat("mon_data/mon_L3_00/mbm_total_bytes"), "Unassigned\n");
}

/// A kernel before 6.18 knows nothing of such counters.
#[test]
fn older_kernels_have_no_modes() {
    let mut shell = Shell::on(Platform::zen5_abmc().with_kernel(Kernel::v6_12()), "");
    for path in ["info/L3_MON/mbm_assign_mode", "info/L3_MON/num_mbm_cntrs", "mbm_L3_assignments"] {
        assert!(shell.resctrl.at(path).is_none(), "{path}");
    }
    assert_eq!(shell.cat("mon_data/mon_L3_00/mbm_total_bytes"), "0\n");
}
