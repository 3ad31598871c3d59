//! NUMA nodes that share an L3 cache (sub-NUMA clusters): Linux 6.11 and later,
//! Documentation/filesystems/resctrl.rst, "Notes on Sub-NUMA Cluster mode"; fs/resctrl/rdtgroup.c,
//! `mkdir_mondata_subdir`; arch/x86/kernel/cpu/resctrl/monitor.c, `rdt_get_l3_mon_config`.

use fairways_resctrl::language::Reading;
use fairways_resctrl_rules::platform::{Event, Kernel, Platform};
use fairways_resctrl_rules::rules::{Errno, Resctrl};

use crate::shell::{Fake, Shell};

const MIB: u64 = 1024 * 1024;

fn mount(platform: Platform) -> Result<(), Errno> {
    Resctrl::new(platform).mount("mba_MBps", &mut Fake::default())
}

impl Shell {
    /// What a directory of the group's `mon_data` says.
    fn occupancy(&mut self, place: &str) -> String {
        self.cat(&format!("g/mon_data/{place}/llc_occupancy"))
    }
}

fn shell() -> Shell {
    Shell::on(Platform::granite_rapids_snc3(), "")
}

#[test]
fn each_node_has_a_directory_in_its_caches() {
    let mut shell = shell();
    assert_eq!(shell.ls("mon_data"), ["mon_L3_00", "mon_L3_01"]);
    let events = ["llc_occupancy", "mbm_local_bytes", "mbm_total_bytes"];
    let nodes = ["mon_sub_L3_03", "mon_sub_L3_04", "mon_sub_L3_05"];
    assert_eq!(shell.ls("mon_data/mon_L3_01"), [&events[..], &nodes[..]].concat());
    assert_eq!(shell.ls("mon_data/mon_L3_01/mon_sub_L3_04"), events);
    assert_eq!(shell.cat("schemata").lines().last().unwrap().trim(), "L3:0=ffff;1=ffff");
    // Three nodes share 224 ids, and a unit of the counters is a third of 96 KiB.
    assert_eq!(shell.cat("info/L3_MON/num_rmids"), "74\n");
    assert_eq!(shell.cat("info/L3_MON/max_threshold_occupancy"), "7110656\n");
    assert_eq!(shell.resctrl.platform().scale_bytes(), 32 * 1024);
    // `rdtgroup_cbm_to_size` divides nothing: the bytes are those of the whole cache.
    assert!(shell.cat("size").contains("L3:0=528482304;1=528482304\n"));
}

#[test]
fn a_caches_count_is_the_sum_of_its_nodes() {
    let mut shell = shell();
    shell.mkdir("g").unwrap();
    let event = Event::LlcOccupancy;
    for (node, bytes) in [(0, MIB), (1, 2 * MIB), (2, 4 * MIB), (3, 8 * MIB)] {
        shell.count(1, node, event, Reading::Value(bytes));
    }
    assert_eq!(shell.occupancy("mon_L3_00/mon_sub_L3_01"), "2097152\n");
    assert_eq!(shell.occupancy("mon_L3_00"), "7340032\n");
    assert_eq!(shell.occupancy("mon_L3_01"), "8388608\n");
    shell.count(1, 1, event, Reading::Unavailable);
    assert_eq!(shell.occupancy("mon_L3_00/mon_sub_L3_01"), "Unavailable\n");
    assert_eq!(shell.occupancy("mon_L3_00"), "5242880\n", "one good reading hides the others");
}

#[test]
fn a_node_goes_with_its_last_cpu() {
    let mut shell = shell();
    (4..8).for_each(|cpu| shell.resctrl.cpu_offline(cpu));
    let names = shell.ls("mon_data/mon_L3_00");
    assert!(names.contains(&"mon_sub_L3_00".into()) && !names.contains(&"mon_sub_L3_01".into()));
    (0..12).for_each(|cpu| shell.resctrl.cpu_offline(cpu));
    assert_eq!(shell.ls("mon_data"), ["mon_L3_01"]);
    shell.resctrl.cpu_online(5, &mut shell.world);
    assert!(shell.ls("mon_data/mon_L3_00").contains(&"mon_sub_L3_01".into()));
}

/// `supports_mba_mbps`: what is counted by node can't steer what is limited by cache.
#[test]
fn bandwidth_is_not_steered_where_nodes_count() {
    assert_eq!(mount(Platform::granite_rapids_snc3()), Err(Errno::Einval));
    assert_eq!(mount(Platform::granite_rapids()), Ok(()));
}

#[test]
fn kernels_before_6_11_know_no_nodes() {
    let platform = Platform::granite_rapids_snc3().with_kernel(Kernel::v6_1());
    let mut shell = Shell::on(platform, "");
    assert_eq!(shell.ls("mon_data/mon_L3_00").len(), 3);
    assert_eq!(shell.cat("info/L3_MON/num_rmids"), "224\n");
}
