//! Hosts that differ in one respect each from a Skylake server with four CPUs and two L3 caches
//! (docs/doctor.in/skylake).

#![allow(clippy::unwrap_used)]

mod host;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use fairways_doctor::{ExaminedHost, FindingState, Report, Verdict, examine};
use host::{Host, RESCTRL, copy, finding, says};

/// An emulator is found only where the daemon looks for resctrl; a kernel's resctrl comes before
/// it.
#[test]
fn an_emulator_is_found_where_the_daemon_would_find_it() {
    let (kernels, emulators) =
        ("resctrl /sys/fs/resctrl resctrl rw", "fairways /sys/fs/resctrl fuse.resctrl rw");
    let host = Host::skylake();
    host.replace("proc/mounts", kernels, emulators);
    let report = host.examine();
    assert_eq!(report.verdict, Verdict::Manageable);
    says(&report, "mount", FindingState::Limited, &["by an emulator"]);
    host.replace("proc/mounts", emulators, "fairways /mnt fuse.resctrl rw");
    says(&host.examine(), "mount", FindingState::Missing, &["resctrl is not mounted"]);
    let host = Host::skylake();
    host.replace("proc/mounts", kernels, &format!("{kernels} 0 0\nfairways /mnt fuse.resctrl rw"));
    says(&host.examine(), "mount", FindingState::Ok, &["sys/fs/resctrl"]);
}

#[test]
fn a_server_with_resctrl_can_be_managed() {
    let report = Host::skylake().examine();
    assert_eq!(report.verdict, Verdict::Manageable);
    assert_eq!([report.partition.yes, report.monitor.yes, report.count.yes], [Some(true); 3]);
    says(
        &report,
        "ways",
        FindingState::Ok,
        &["11 of L3", "2 shareable with devices (0x600)", "no gaps"],
    );
    says(&report, "classes", FindingState::Ok, &["8 classes", "7 for Fairways"]);
    let levels = "MB: at least 10 %, steps of 10 %, of each core";
    says(&report, "bandwidth", FindingState::Ok, &[levels]);
    says(&report, "domains", FindingState::Ok, &["0: CPUs 0-1, 2560 KiB a way", "1: CPUs 2-3"]);
    says(
        &report,
        "monitoring",
        FindingState::Ok,
        &["224 RMIDs, 223 not in a group", "llc_occupancy"],
    );
    says(
        &report,
        "isolation",
        FindingState::Limited,
        &["3 tasks", "11 of 11 ways", "--confine-others"],
    );
    says(&report, "nmi-watchdog", FindingState::Limited, &["sysctl kernel.nmi_watchdog=0"]);
    let mut ids: Vec<&str> = report.findings.iter().map(|one| one.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), report.findings.len(), "each is found once");
    for one in &report.findings {
        assert!(!one.found.contains('\n') && !one.why.is_empty(), "{one:?}");
    }
}

#[test]
fn resctrl_that_is_not_mounted_is_to_be() {
    let host = Host::skylake();
    host.unmounted();
    let report = host.examine();
    assert_eq!(report.verdict, Verdict::NotSupported);
    assert_eq!(report.partition.why.as_deref(), Some("resctrl is not mounted"));
    says(&report, "cpu-allocation", FindingState::Ok, &[]);
    says(&report, "mount", FindingState::Missing, &["mount -t resctrl resctrl /sys/fs/resctrl"]);
    assert!(report.findings.iter().all(|one| one.id != "classes"), "nothing is made up");
}

#[test]
fn a_virtual_machine_has_nothing_to_give_out() {
    let host = Host::skylake();
    host.unmounted();
    let cpu =
        "vendor_id\t: GenuineIntel\nmodel name\t: Intel Xeon Processor\nflags\t: fpu hypervisor\n";
    host.put("proc/cpuinfo", cpu);
    host.replace("proc/filesystems", "nodev\tresctrl\n", "");
    host.remove("sys/bus/event_source/devices/cpu");
    host.put("sys/bus/event_source/devices/software/type", "1\n");
    let report = host.examine();
    assert_eq!(report.verdict, Verdict::NotSupported);
    assert_eq!(report.partition.why.as_deref(), Some("the kernel has no resctrl"));
    assert_eq!(report.count.yes, Some(false));
    says(&report, "cpu-allocation", FindingState::Missing, &["none of cat_l3"]);
    says(&report, "virtual-machine", FindingState::Limited, &["on the host"]);
    says(&report, "kernel-file-system", FindingState::Missing, &["dmesg"]);
    says(&report, "pmu", FindingState::Missing, &["virtual PMU"]);
}

#[test]
fn this_machine_is_examined_whatever_it_is() {
    let (is_copy, without_scheduler) = (false, None);
    let host = ExaminedHost { sysroot: "/".into(), resctrl: None, is_copy, without_scheduler };
    let report = examine(&host);
    assert!(report.findings.len() >= 15);
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(finding(&report, "kernel").found, format!("Linux {}", release.trim()));
    assert_eq!(report.partition.yes, Some(report.verdict == Verdict::Manageable));
}

#[test]
fn an_older_kernel_does_not_rename_groups() {
    let host = Host::skylake();
    for (release, state) in [
        ("4.9.0", FindingState::Missing),
        ("4.18.0-553.el8.x86_64", FindingState::Limited),
        ("6.4.9", FindingState::Limited),
        ("6.5.0-rc1", FindingState::Ok),
        ("7.2", FindingState::Ok),
        ("next", FindingState::Unknown),
    ] {
        host.put("proc/sys/kernel/osrelease", &format!("{release}\n"));
        says(&host.examine(), "kernel", state, &[release]);
    }
}

fn put(host: &Host, file: &str, text: &str) {
    host.put(&format!("{RESCTRL}/info/L3_MON/{file}"), text);
}

/// AMD's counters that are assigned to groups, and events that somebody changed.
#[test]
fn counters_of_traffic_are_counted_and_filters_named() {
    let host = Host::skylake();
    assert!(host.examine().findings.iter().all(|one| one.id != "traffic"), "nothing can change");
    put(&host, "num_mbm_cntrs", "0=32;1=32\n");
    put(&host, "available_mbm_cntrs", "0=30;1=7\n");
    put(&host, "mbm_assign_mode", "[mbm_event]\ndefault\n");
    let free = "30 of 32 free in domain 0, 7 of 32 free in domain 1";
    says(&host.examine(), "traffic", FindingState::Ok, &[free, "by default"]);
    put(&host, "available_mbm_cntrs", "0=0;1=7\n");
    says(&host.examine(), "traffic", FindingState::Limited, &["0 of 32", "mbm_L3_assignments"]);
    put(&host, "event_configs/mbm_total_bytes/event_filter", "local_reads\n");
    let said = ["mbm_total_bytes counts local_reads", "write all transactions"];
    says(&host.examine(), "traffic", FindingState::Limited, &said);
    put(&host, "mbm_assign_mode", "[default]\nmbm_event\n");
    put(&host, "mbm_total_bytes_config", "0=0x7f;1=0x1\n");
    let said = ["by itself", "mbm_total_bytes counts local_reads in domain 1"];
    says(&host.examine(), "traffic", FindingState::Limited, &said);
    put(&host, "mbm_total_bytes_config", "none\n");
    says(&host.examine(), "traffic", FindingState::Unknown, &["event configuration"]);
}

#[test]
fn zen_has_sparse_masks_and_ids_with_gaps() {
    let host = Host::skylake();
    host.replace("proc/cpuinfo", "GenuineIntel", "AuthenticAMD");
    host.put(&format!("{RESCTRL}/schemata"), "    MB:0=2048;16=2048\n    L3:0=ffff;16=ffff\n");
    for (file, text) in [
        ("L3/cbm_mask", "ffff\n"),
        ("L3/min_cbm_bits", "0\n"),
        ("L3/shareable_bits", "0\n"),
        ("L3/sparse_masks", "1\n"),
        ("MB/num_closids", "16\n"),
        ("MB/min_bandwidth", "0\n"),
        ("MB/bandwidth_gran", "1\n"),
        ("MB/delay_linear", "0\n"),
    ] {
        host.put(&format!("{RESCTRL}/info/{file}"), text);
    }
    host.remove(&format!("{RESCTRL}/info/MB/thread_throttle_mode"));
    for cpu in [2, 3] {
        host.put(&format!("sys/devices/system/cpu/cpu{cpu}/cache/index3/id"), "16\n");
    }
    let report = host.examine();
    assert_eq!(report.verdict, Verdict::Manageable);
    let ways = "16 of L3, at least 1 a mask, none shareable; masks may have gaps";
    says(&report, "ways", FindingState::Ok, &[ways]);
    says(&report, "domains", FindingState::Ok, &["0: CPUs 0-1, 1760 KiB a way", "16: CPUs 2-3"]);
    says(&report, "classes", FindingState::Ok, &["16 classes"]);
    let levels = "MB: at least 0.125 GB/s, steps of 0.125 GB/s, of a class as a whole";
    says(&report, "bandwidth", FindingState::Ok, &[levels]);
}

#[test]
fn a_domain_that_sysfs_does_not_know_is_unknown() {
    let host = Host::skylake();
    for cpu in [2, 3] {
        host.remove(&format!("sys/devices/system/cpu/cpu{cpu}/cache/index3/id"));
    }
    says(&host.examine(), "domains", FindingState::Unknown, &["1: CPUs unknown"]);
}

#[test]
fn mount_options_state_what_they_change() {
    let host = Host::skylake();
    host.replace("proc/mounts", "resctrl rw,relatime", "resctrl rw,relatime,cdp,mba_MBps,debug");
    let info = host.path(&format!("{RESCTRL}/info"));
    fs::rename(info.join("L3"), info.join("L3DATA")).unwrap();
    copy(&info.join("L3DATA"), &info.join("L3CODE"));
    let text = "    MB:0=4294967295;1=4294967295\nL3DATA:0=7ff;1=7ff\nL3CODE:0=7ff;1=7ff\n";
    host.put(&format!("{RESCTRL}/schemata"), text);
    let report = host.examine();
    let expected = ["half the classes", "MiB/s, not percent", "hardware ids"];
    says(&report, "mount-options", FindingState::Limited, &expected);
    says(&report, "ways", FindingState::Ok, &["11 of L3DATA"]);
    let levels = "MB: at least 1 MiB/s, steps of 1 MiB/s, of a class as a whole";
    says(&report, "bandwidth", FindingState::Ok, &[levels]);
    says(&report, "domains", FindingState::Ok, &["2 L3 cache(s)"]);
    assert_eq!(report.verdict, Verdict::Manageable);
}

/// Kernels for MPAM number domains of memory bandwidth by NUMA node: they are matched by CPUs, and
/// without a match there is no lever, which the finding says.
#[test]
fn domains_of_bandwidth_are_matched_by_their_cpus() {
    let host = Host::skylake();
    for (file, text) in [("sparse_masks", "1\n"), ("shareable_bits", "7ff\n")] {
        host.put(&format!("{RESCTRL}/info/L3/{file}"), text);
    }
    for (cpu, id) in [(0, "1\n"), (1, "1\n"), (2, "2\n"), (3, "2\n")] {
        host.put(&format!("sys/devices/system/cpu/cpu{cpu}/cache/index3/id"), id);
    }
    let without = "memory bandwidth of L3 1, 2 can't be limited";
    for (domains, nodes, state, said) in [
        ("MB:0=100;1=100", None, FindingState::Limited, without),
        ("MB:0=100;1=100", Some(["0-3\n", "\n"]), FindingState::Limited, without),
        (
            "MB:0=100;1=100",
            Some(["0-1\n", "2-3\n"]),
            FindingState::Ok,
            "domain 0 is of L3 1, domain 1 is of L3 2",
        ),
        (
            "MB:0=100;1=100",
            Some(["2-3\n", "0-1\n"]),
            FindingState::Ok,
            "domain 1 is of L3 1, domain 0 is of L3 2",
        ),
        (
            "MB:0=100;1=100",
            Some(["0\n", "2-3\n"]),
            FindingState::Limited,
            "memory bandwidth of L3 1 can't be limited",
        ),
        ("MB:1=100;2=100", Some(["2-3\n", "0-1\n"]), FindingState::Ok, "MB: at least 10 %"),
    ] {
        host.put(&format!("{RESCTRL}/schemata"), &format!("{domains}\nL3:1=7ff;2=7ff\n"));
        for (node, cpus) in nodes.iter().flatten().enumerate() {
            host.put(&format!("sys/devices/system/node/node{node}/cpulist"), cpus);
        }
        says(&host.examine(), "bandwidth", state, &[said]);
    }
}

/// Lines that a newer kernel brings are named, and are no hindrance.
#[test]
fn unknown_lines_are_named() {
    let host = Host::skylake();
    assert!(host.examine().findings.iter().all(|one| one.id != "unknown-lines"));
    let lines = "MB_HLIM:0=0;1=0\nL3_MAX:0=all\nMB:0=100;1=100\nL3:0=7ff;1=7ff\nL4:0=1.5 GiB\n";
    host.put(&format!("{RESCTRL}/schemata"), lines);
    let report = host.examine();
    says(&report, "unknown-lines", FindingState::Ok, &["MB_HLIM, L3_MAX, L4"]);
    says(&report, "ways", FindingState::Ok, &["11 of L3"]);
    assert_eq!(report.verdict, Verdict::Manageable);
}

/// An emulator's options are not those of its mount.
#[test]
fn a_file_shows_that_bandwidth_is_in_mebibytes() {
    let host = Host::skylake();
    host.put(&format!("{RESCTRL}/mba_MBps_event"), "mbm_local_bytes\n");
    let levels = "MB: at least 1 MiB/s, steps of 1 MiB/s, of a class as a whole";
    says(&host.examine(), "bandwidth", FindingState::Ok, &[levels]);
}

#[test]
fn arm_has_no_flags_but_a_table() {
    let host = Host::skylake();
    host.unmounted();
    host.put("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n");
    let report = host.examine();
    says(&report, "cpu-allocation", FindingState::Missing, &["no ACPI table MPAM"]);
    says(&report, "kernel-configuration", FindingState::Missing, &["CONFIG_ARM64_MPAM=y"]);
    host.put("sys/firmware/acpi/tables/MPAM", "");
    let built = "CONFIG_ARM64_MPAM=y\nCONFIG_CGROUPS=y\nCONFIG_PERF_EVENTS=y\n";
    host.put("boot/config-6.12.48-amd64", built);
    let report = host.examine();
    says(&report, "cpu-allocation", FindingState::Ok, &["ACPI table MPAM"]);
    says(&report, "kernel-configuration", FindingState::Limited, &["sched_ext"]);
}

#[test]
fn groups_of_others_are_named_and_may_leave_no_class() {
    let host = Host::skylake();
    for class in 1..4 {
        host.group(&format!("COS{class}"), "0=f;1=f", "shareable");
    }
    host.group("web", "0=f0;1=f0", "shareable");
    host.put("proc/803/comm", "pqos\n");
    let report = host.examine();
    let expected = ["3 of pqos (COS1, COS2, COS3)", "1 of unknown (web)"];
    says(&report, "others-groups", FindingState::Limited, &expected);
    says(&report, "other-managers", FindingState::Limited, &["pqos (process 803)"]);
    says(&report, "classes", FindingState::Ok, &["4 of others, 3 for Fairways"]);
    assert_eq!(report.verdict, Verdict::Manageable, "the rest can be managed");
    for class in 4..7 {
        host.group(&format!("COS{class}"), "0=7ff;1=7ff", "shareable");
    }
    let report = host.examine();
    says(&report, "classes", FindingState::Missing, &["0 for Fairways", "rmdir"]);
    assert_eq!(report.verdict, Verdict::Busy);
}

#[test]
fn monitoring_groups_of_others_are_named() {
    let host = Host::skylake();
    says(&host.examine(), "others-monitors", FindingState::Ok, &["none"]);
    host.put("proc/811/comm", "web\n");
    for (name, tasks) in [
        ("cadvisor-pod1-web", "811\n812\n"),
        ("goresctrl.5f3a", ""),
        ("mine", "813\n"),
        ("fairways.3-web", "801\n"),
    ] {
        host.put(&format!("{RESCTRL}/mon_groups/{name}/tasks"), tasks);
    }
    let owner = std::fs::metadata(host.path(RESCTRL)).unwrap().uid();
    let expected = [
        format!("1 of cAdvisor (cadvisor-pod1-web of user {owner}: 2 thread(s), web (811))"),
        format!("1 of goresctrl (goresctrl.5f3a of user {owner}: 0 thread(s))"),
        format!("1 of unknown (mine of user {owner}: 1 thread(s))"),
    ];
    let report = host.examine();
    says(&report, "others-monitors", FindingState::Limited, &[expected.join("; ").as_str()]);
    says(&report, "others-groups", FindingState::Ok, &["none"]);
    assert_eq!(report.verdict, Verdict::Manageable);
}

#[test]
fn ways_exclusive_to_others_are_not_available() {
    let host = Host::skylake();
    host.group("a", "0=f;1=f", "exclusive");
    let report = host.examine();
    says(&report, "exclusive-ways", FindingState::Limited, &["others have 0xf; 7 ways are left"]);
    assert_eq!(report.verdict, Verdict::Manageable);
    host.group("b", "0=7f0;1=7f0", "exclusive");
    assert_eq!(host.examine().verdict, Verdict::Busy);
}

#[test]
fn groups_that_a_killed_daemon_left_are_to_be_restored() {
    let host = Host::skylake();
    host.group("fairways.0", "0=f;1=f", "shareable");
    let report = host.examine();
    says(&report, "own-groups", FindingState::Limited, &["1 group(s)", "fairways restore"]);
    says(&report, "classes", FindingState::Ok, &["7 for Fairways"]);
    host.put("proc/900/comm", "fairways\n");
    host.put("proc/900/cmdline", "fairways\0run\0--machine\0model\0");
    says(&host.examine(), "own-groups", FindingState::Limited, &["no daemon"]);
    host.put("proc/900/cmdline", "fairways\0run\0");
    says(&host.examine(), "own-groups", FindingState::Ok, &["of process 900"]);
    host.remove("proc/900");
    host.remove(&format!("{RESCTRL}/fairways.0"));
    host.put(&format!("{RESCTRL}/mon_groups/fairways.3-web/tasks"), "802\n");
    let report = host.examine();
    says(&report, "own-groups", FindingState::Limited, &["1 group(s)", "fairways restore"]);
    says(&report, "monitoring", FindingState::Ok, &["222 not in a group"]);
}

#[test]
fn a_runtime_is_a_manager_only_where_it_is_configured_to_be() {
    let host = Host::skylake();
    host.put("proc/700/comm", "containerd\n");
    host.put("etc/containerd/config.toml", "[plugins]\n  rdt_config_file = \"\"\n");
    says(&host.examine(), "other-managers", FindingState::Ok, &[]);
    host.put("etc/containerd/config.toml", "  rdt_config_file = \"/etc/rdt.yaml\"\n");
    let expected = "containerd with an rdt_config_file";
    says(&host.examine(), "other-managers", FindingState::Limited, &[expected]);
}

#[test]
fn a_runtime_that_announces_no_containers_is_reported() {
    let host = Host::skylake();
    assert!(host.examine().findings.iter().all(|finding| finding.id != "containers"));
    host.put("proc/700/comm", "containerd\n");
    says(&host.examine(), "containers", FindingState::Limited, &["no socket", "enable NRI"]);
    host.put("run/nri/nri.sock", "");
    says(&host.examine(), "containers", FindingState::Ok, &["/run/nri/nri.sock"]);
}

#[test]
fn open_registers_are_reported() {
    let host = Host::skylake();
    fs::create_dir(host.path("proc/801/fd")).unwrap();
    std::os::unix::fs::symlink("/dev/cpu/0/msr", host.path("proc/801/fd/3")).unwrap();
    let expected = ["nginx (process 801)", "pqos -I"];
    says(&host.examine(), "registers", FindingState::Limited, &expected);
}

#[test]
fn a_kernel_that_hides_its_configuration_is_unknown() {
    let host = Host::skylake();
    host.remove("boot");
    let report = host.examine();
    let id = "kernel-configuration";
    says(&report, id, FindingState::Unknown, &["/boot/config-6.12.48-amd64"]);
    assert_eq!(report.verdict, Verdict::Manageable);
    let file = fs::File::create(host.path("proc/config.gz")).unwrap();
    let mut zipped = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    let built = "CONFIG_CGROUPS=y\nCONFIG_PERF_EVENTS=y\n# CONFIG_X86_CPU_RESCTRL is not set\n";
    zipped.write_all(built.as_bytes()).unwrap();
    zipped.finish().unwrap();
    let expected = ["/proc/config.gz", "CONFIG_X86_CPU_RESCTRL=y"];
    says(&host.examine(), id, FindingState::Missing, &expected);
}

#[test]
fn a_feature_that_the_command_line_turns_off_is_missing() {
    let host = Host::skylake();
    host.unmounted();
    let id = "kernel-command-line";
    host.put("proc/cmdline", "root=/dev/sda1 rdt=!l3cat,!mba,cmt quiet\n");
    let expected = ["rdt=!l3cat,!mba,cmt", "take !l3cat,!mba off"];
    says(&host.examine(), id, FindingState::Missing, &expected);
    host.put("proc/cmdline", "rdt=!mba\n");
    says(&host.examine(), id, FindingState::Limited, &["rdt=!mba"]);
    host.put("proc/cmdline", "rdt=l3cat\n");
    says(&host.examine(), id, FindingState::Ok, &["rdt=l3cat"]);
    host.put("proc/cmdline", "root=/dev/sda1 arm64.nompam\n");
    says(&host.examine(), id, FindingState::Missing, &["take arm64.nompam off"]);
}

#[test]
fn a_user_may_do_less_than_root() {
    let host = Host::skylake();
    let status =
        |capabilities: &str| format!("Uid:\t4242\t4242\t4242\t4242\nCapEff:\t{capabilities}\n");
    host.put("proc/self/status", &status("0000000000000000"));
    let report = host.examine();
    assert_eq!(report.verdict, Verdict::Permission);
    assert_eq!(report.count.yes, Some(false));
    says(&report, "permission", FindingState::Missing, &["user 4242 may not write to it"]);
    says(&report, "perf-permission", FindingState::Missing, &["CAP_PERFMON"]);
    says(
        &report,
        "capabilities",
        FindingState::Limited,
        &["without CAP_DAC_OVERRIDE, CAP_NET_ADMIN"],
    );
    // CAP_DAC_OVERRIDE and CAP_PERFMON.
    host.put("proc/self/status", &status("0000004000000002"));
    let report = host.examine();
    assert_eq!(report.verdict, Verdict::Manageable);
    assert_eq!(report.count.yes, Some(true));
    says(&report, "permission", FindingState::Limited, &["only tasks of its own"]);
}

/// Kernels of Debian and Ubuntu have levels above 2, at which only CAP_SYS_ADMIN counts.
#[test]
fn above_level_2_of_perf_the_packaged_service_may_not_count() {
    let host = Host::skylake();
    host.put("proc/sys/kernel/perf_event_paranoid", "4\n");
    let report = host.examine();
    assert_eq!(report.count.yes, Some(true));
    let remedies = ["is 4", "the packaged service may not", "perf_event_paranoid=2"];
    says(&report, "perf-permission", FindingState::Limited, &remedies);
    // CAP_DAC_OVERRIDE and CAP_PERFMON.
    host.put("proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t0000004000000002\n");
    let report = host.examine();
    assert_eq!(report.count.yes, Some(false));
    let remedies = ["no CAP_SYS_ADMIN", "perf_event_paranoid=2", "counting.conf"];
    says(&report, "perf-permission", FindingState::Missing, &remedies);
}

fn set_mode(root: &Path, mode: u32) {
    fs::set_permissions(root, fs::Permissions::from_mode(mode)).unwrap();
}

/// The kernel makes resctrl's root without write permission for its owner.
#[test]
fn without_cap_dac_override_no_groups_are_made() {
    let host = Host::skylake();
    let root = host.path("sys/fs/resctrl");
    let owner = fs::metadata(&root).unwrap().uid();
    let user = format!("{owner}\t").repeat(4);
    host.put("proc/self/status", &format!("Uid:\t{user}\nCapEff:\t0000000000000000\n"));
    set_mode(&root, 0o555);
    says(&host.examine(), "permission", FindingState::Missing, &["no groups made", "chmod u+w"]);
    host.put("proc/self/status", &format!("Uid:\t{user}\nCapEff:\t0000000000000002\n"));
    assert_eq!(host.examine().verdict, Verdict::Manageable);
    host.put("proc/self/status", &format!("Uid:\t{user}\nCapEff:\t0000000000000000\n"));
    set_mode(&root, 0o755);
    assert_eq!(host.examine().verdict, Verdict::Manageable);
}

#[test]
fn few_descriptors_count_few_programs() {
    let host = Host::skylake();
    let line = "Max open files            1024                 1024                 files\n";
    host.put("proc/self/limits", line);
    let expected = ["19 programs", "LimitNOFILE=2816"];
    says(&host.examine(), "descriptors", FindingState::Limited, &expected);
}

#[test]
fn an_empty_folder_is_unknown_throughout() {
    let folder = tempfile::tempdir().unwrap();
    let report = examine(&ExaminedHost {
        is_copy: false,
        sysroot: folder.path().to_owned(),
        resctrl: None,
        without_scheduler: None,
    });
    assert_eq!(report.verdict, Verdict::NotSupported);
    for id in ["cpu-allocation", "kernel", "kernel-configuration", "kernel-file-system", "pmu"] {
        says(&report, id, FindingState::Unknown, &[]);
    }
}

fn by_affinity(report: &Report, why: &str, remedy: &str) {
    let parts = ["by threads' own affinity and weight", why, remedy];
    says(report, "scheduling", FindingState::Limited, &parts);
    assert_eq!(report.schedule.yes, Some(true));
}

#[test]
fn threads_are_scheduled_in_the_kernel_or_by_affinity_or_not_at_all() {
    let host = Host::skylake();
    let report = host.examine();
    says(&report, "scheduling", FindingState::Ok, &["sched_ext"]);
    assert_eq!(report.schedule.yes, Some(true));
    let built = "build fairways with --features sched-ext";
    by_affinity(&host.examine_without(Some("not built")), "not built", built);
    host.remove("sys/kernel/btf/vmlinux");
    by_affinity(&host.examine(), "BTF", "CONFIG_DEBUG_INFO_BTF");
    host.put("sys/kernel/sched_ext/state", "enabled\n");
    by_affinity(&host.examine(), "another scheduler", "stop that scheduler");
    host.remove("sys/kernel/sched_ext");
    by_affinity(&host.examine(), "no sched_ext", "Linux 6.12 or later");
    // Without CAP_PERFMON and CAP_SYS_ADMIN, and then without any.
    let status = fs::read_to_string(host.path("proc/self/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("CapEff")).unwrap().to_owned();
    host.replace("proc/self/status", &line, "CapEff:\t0000000000800000");
    says(
        &host.examine(),
        "scheduling",
        FindingState::Missing,
        &["which threads run on a CPU", "CAP_PERFMON"],
    );
    host.put("proc/sys/kernel/perf_event_paranoid", "-1\n");
    by_affinity(&host.examine(), "no sched_ext", "Linux 6.12 or later");
    host.replace("proc/self/status", "CapEff:\t0000000000800000", "CapEff:\t0000000000000000");
    let report = host.examine();
    says(&report, "scheduling", FindingState::Missing, &["may not move", "CAP_SYS_NICE"]);
    assert!(report.schedule.yes == Some(false) && report.schedule.why.is_some());
}

#[test]
fn devices_with_a_class_of_their_own_are_named() {
    let host = Host::skylake();
    host.put(&format!("{RESCTRL}/info/L3/io_alloc"), "disabled\n");
    says(&host.examine(), "io-alloc", FindingState::Ok, &["disabled"]);
    says(&host.examine(), "classes", FindingState::Ok, &["7 for Fairways"]);
    host.put(&format!("{RESCTRL}/info/L3/io_alloc"), "enabled\n");
    host.put(&format!("{RESCTRL}/info/L3/io_alloc_cbm"), "0=7c0;1=600\n");
    let report = host.examine();
    let parts = ["devices fill the ways 0=7c0;1=600", "resctrl.confine_io"];
    says(&report, "io-alloc", FindingState::Limited, &parts);
    says(&report, "classes", FindingState::Ok, &["one of devices", "6 for Fairways"]);
}

#[test]
fn nodes_that_share_a_cache_are_counted() {
    let host = Host::skylake();
    for node in [0, 1, 2] {
        let folder = format!("{RESCTRL}/mon_data/mon_L3_00/mon_sub_L3_{node:02}");
        host.put(&format!("{folder}/llc_occupancy"), "0\n");
    }
    let parts = ["0: CPUs 0-1, 2560 KiB a way, shared by 3 NUMA nodes", "1: CPUs 2-3"];
    says(&host.examine(), "domains", FindingState::Ok, &parts);
}

/// Early kernels for MPAM, of which each class has ids of its own, show 1.
#[test]
fn a_number_of_ids_that_is_none_is_no_lack() {
    let host = Host::skylake();
    put(&host, "num_rmids", "1\n");
    says(&host.examine(), "monitoring", FindingState::Ok, &["does not say how many RMIDs"]);
}

#[test]
fn a_client_chip_with_ways_of_l2_caches_can_be_managed() {
    let host = Host::skylake();
    let info = format!("{RESCTRL}/info");
    fs::rename(host.path(&format!("{info}/L3")), host.path(&format!("{info}/L2"))).unwrap();
    host.remove(&format!("{info}/L3_MON"));
    host.put(&format!("{RESCTRL}/schemata"), "    L2:0=7ff;1=7ff\n");
    host.replace("proc/cpuinfo", "cat_l3", "cat_l2");
    for cpu in 0..4 {
        let level = format!("sys/devices/system/cpu/cpu{cpu}/cache/index3/level");
        host.put(&level, "2\n");
    }
    let report = host.examine();
    assert_eq!(report.verdict, Verdict::Manageable);
    says(&report, "ways", FindingState::Ok, &["11 of L2"]);
    says(&report, "domains", FindingState::Ok, &["2 L2 cache(s): 0: CPUs 0-1"]);
    says(&report, "cpu-allocation", FindingState::Ok, &["cat_l2"]);
    says(&report, "monitoring", FindingState::Missing, &["info has no L3_MON"]);
}

/// The doctor asks the daemon's own rule: classes that cover every way leave nothing, whatever
/// their mode and whether or not tasks are in them.
#[test]
fn where_others_cover_every_way_nothing_can_be_managed() {
    for groups in [
        &[("COS1", "0=3f;1=3f"), ("COS2", "0=3c0;1=3c0"), ("COS3", "0=400;1=400")][..],
        // What is left is shared with devices.
        &[("qemu-1-a", "0=1ff;1=1ff")],
        &[("a", "0=ff;1=f"), ("b", "0=100;1=1f0")],
    ] {
        let host = Host::skylake();
        for (name, l3) in groups {
            host.group(name, l3, "shareable");
        }
        let report = host.examine();
        let said = ["no ways are free in any domain", groups[0].0, "--take-over", "--observe"];
        says(&report, "free-ways", FindingState::Missing, &said);
        assert_eq!((report.verdict, report.partition.yes), (Verdict::Busy, Some(false)));
        assert_eq!(report.monitor.yes, Some(true), "it can be watched");
    }
    let host = Host::skylake();
    host.group("COS1", "0=1ff;1=f", "shareable");
    let report = host.examine();
    says(&report, "free-ways", FindingState::Limited, &["no ways are free in domain 0, "]);
    assert_eq!(report.verdict, Verdict::Manageable, "the rest can be managed");
    // Ours are not in the way, nor those that may fill everything.
    let host = Host::skylake();
    host.group("fairways.0", "0=1ff;1=1ff", "shareable");
    host.group("all", "0=7ff;1=7ff", "shareable");
    let report = host.examine();
    assert!(report.findings.iter().all(|one| one.id != "free-ways"), "{report:?}");
    assert_eq!(report.verdict, Verdict::Manageable);
}

/// In a container, unless it shares the host's namespaces.
#[test]
fn a_namespace_of_its_own_is_reported() {
    let host = Host::skylake();
    says(&host.examine(), "pid-namespace", FindingState::Ok, &["the host's"]);
    says(&host.examine(), "cgroup-namespace", FindingState::Ok, &["the host's"]);
    host.put("proc/self/ns/pid", "pid:[4026532201]\n");
    host.put("proc/self/ns/cgroup", "cgroup:[4026532202]\n");
    let report = host.examine();
    let remedies = ["PID namespace of its own", "--pid=host", "hostPID"];
    says(&report, "pid-namespace", FindingState::Limited, &remedies);
    let remedies = ["cgroup namespace of its own", "--cgroupns=host", "hostPath"];
    says(&report, "cgroup-namespace", FindingState::Limited, &remedies);
    assert_eq!(report.verdict, Verdict::Manageable, "programs of the container can be");
    // The host's hierarchy is mounted in the container.
    for file in ["cgroup.procs", "cgroup.controllers"] {
        host.put(&format!("sys/fs/cgroup/{file}"), "");
    }
    says(&host.examine(), "cgroup-namespace", FindingState::Ok, &["of its own", "host's cgroups"]);
    host.remove("proc/self/ns");
    says(&host.examine(), "pid-namespace", FindingState::Unknown, &[]);
    says(&host.examine(), "cgroup-namespace", FindingState::Unknown, &[]);
}

/// The events of a processor decide, not its devices.
#[test]
fn a_processor_whose_cores_count_different_events_counts_nothing() {
    let host = Host::skylake();
    let devices = "sys/bus/event_source/devices";
    host.remove(&format!("{devices}/cpu"));
    host.put(&format!("{devices}/cpu_core/type"), "4\n");
    let report = host.examine();
    assert_eq!(report.count.yes, Some(true), "cores of one kind");
    host.put(&format!("{devices}/cpu_atom/type"), "10\n");
    let report = host.examine();
    assert_eq!(report.count.yes, Some(false));
    assert!(report.count.why.clone().unwrap().contains("see events"), "{:?}", report.count);
    says(&report, "pmu", FindingState::Ok, &["cpu_atom, cpu_core"]);
    let said = ["none for instructions, cycles", "of two kinds", "reads no counter"];
    says(&report, "events", FindingState::Missing, &said);
    // Arm's cores of two kinds, each with devices of its own.
    let cores = ["0xd05", "0xd0b"]
        .map(|part| format!("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n"));
    host.put("proc/cpuinfo", &cores.concat());
    for (remove, put) in [("cpu_core", "armv8_cortex_a55"), ("cpu_atom", "armv8_cortex_a76")] {
        host.remove(&format!("{devices}/{remove}"));
        host.put(&format!("{devices}/{put}/type"), "8\n");
    }
    let report = host.examine();
    assert_eq!(report.count.yes, Some(false));
    says(&report, "events", FindingState::Missing, &["none for instructions, cycles"]);
    host.put("proc/cpuinfo", &cores[0]);
    assert_eq!(host.examine().count.yes, Some(true), "one kind");
}
