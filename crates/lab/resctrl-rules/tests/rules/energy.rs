//! Energy of groups (resctrl.rst, `PERF_PKG_MON`; fs/resctrl and intel_aet.c of Linux 7.2).

use fairways_resctrl_rules::platform::{Kernel, Platform};
use fairways_resctrl_rules::rules::Errno;

use crate::shell::Shell;

const FILE: &str = "mon_data/mon_PERF_PKG_00/core_energy";

/// A group's is the sum with its MON groups'; what has no count is `Unavailable`.
#[test]
fn packages_report_energy() {
    let mut shell = Shell::on(Platform::clearwater_aet(), "");
    assert_eq!(shell.cat("info/PERF_PKG_MON/mon_features"), "core_energy\nactivity\n");
    assert_eq!(shell.ls("info/PERF_PKG_MON"), ["mon_features", "num_rmids"]);
    shell.mkdir("g").unwrap();
    shell.mkdir("g/mon_groups/m").unwrap();
    let (group, monitor) = (format!("g/{FILE}"), format!("g/mon_groups/m/{FILE}"));
    assert_eq!(shell.cat(&group), "Unavailable\n");
    shell.world.energy.insert((2, 0), 5775);
    assert_eq!(
        (shell.cat(&group), shell.cat(&monitor)),
        ("0.022030\n".into(), "0.022030\n".into())
    );
    shell.world.energy.insert((1, 0), 3 << 18);
    assert_eq!(shell.cat(&group), "3.022030\n");
    assert_eq!(shell.cat("g/mon_data/mon_PERF_PKG_01/core_energy"), "Unavailable\n");
}

/// `resctrl_arch_system_num_rmid_idx`: groups have the fewest ids of any resource.
#[test]
fn ids_are_as_few_as_packages_have() {
    let platform = Platform { telemetry_rmids: Some(3), ..Platform::clearwater_aet() };
    let mut shell = Shell::on(platform.clone(), "");
    assert_eq!(shell.cat("info/L3_MON/num_rmids"), "1024\n");
    assert_eq!(shell.cat("info/PERF_PKG_MON/num_rmids"), "3\n");
    shell.mkdir("a").unwrap();
    shell.mkdir("b").unwrap();
    let answer = shell.mkdir("c");
    shell.expect(answer, Err(Errno::Enospc), "Out of RMIDs\n");
    let mut older = Shell::on(platform.with_kernel(Kernel::v6_12()), "");
    assert!(older.resctrl.at("info/PERF_PKG_MON").is_none());
    for group in ["a", "b", "c"] {
        older.mkdir(group).unwrap();
    }
}
