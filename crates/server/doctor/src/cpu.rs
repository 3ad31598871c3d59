//! What the CPU can do, by its own flags.

use super::facts::{Facts, field};
use super::{Finding, FindingState};

/// Flags of giving out ways or bandwidth, and of monitoring (resctrl.rst, "Enabling"; AMD names
/// them the same).
const ALLOCATION: [&str; 5] = ["cat_l3", "cdp_l3", "cat_l2", "cdp_l2", "mba"];
const MONITORING: [&str; 4] = ["cqm", "cqm_occup_llc", "cqm_mbm_total", "cqm_mbm_local"];
const SERVERS: &str = "a host with an Intel Xeon with RDT (since Haswell-EP; Xeon E, Core and Atom: L2 at best), AMD EPYC since Rome, \
                       or ARM with MPAM";

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    match facts.is_x86() {
        Some(true) => {
            findings.push(allocation(facts));
            findings.push(monitoring(facts));
        }
        Some(false) => findings.push(mpam(facts)),
        None => {
            let why = "which of RDT, QoS and MPAM to look for follows from the CPU";
            let found = "/proc/cpuinfo describes neither an x86 nor an ARM CPU";
            findings.push(Finding::new("cpu-allocation", FindingState::Unknown, found, why));
        }
    }
    findings.push(virtual_machine(facts));
}

fn allocation(facts: &Facts) -> Finding {
    let why = "without cat_l3 or cat_l2 no cache has ways to give out";
    let model = field(&facts.cpuinfo, "model name").unwrap_or_else(|| "a CPU".to_owned());
    let found = format!("{model}: {}", listed(facts, &ALLOCATION));
    if facts.has_flag("cat_l3") || facts.has_flag("cat_l2") {
        return Finding::new("cpu-allocation", FindingState::Ok, found, why);
    }
    if let Some(cache) = facts.shared_cache() {
        // Haswell does not report the flag: the kernel tries (cache_alloc_hsw_probe).
        let found = format!("{found}, but resctrl gives out ways of {}", cache.resource);
        return Finding::new("cpu-allocation", FindingState::Ok, found, why);
    }
    Finding::new("cpu-allocation", FindingState::Missing, found, why).remedy(SERVERS)
}

fn monitoring(facts: &Facts) -> Finding {
    let why = "policies see by it how much of the cache programs occupy, and what they move";
    let has_monitoring = facts.info.as_ref().is_some_and(|info| info.monitoring.is_some());
    let state = match (facts.has_flag("cqm_occup_llc"), facts.has_flag("cqm_mbm_total")) {
        (true, true) => FindingState::Ok,
        (false, false) if !has_monitoring => FindingState::Missing,
        _ => FindingState::Limited,
    };
    let finding = Finding::new("cpu-monitoring", state, listed(facts, &MONITORING), why);
    match state {
        FindingState::Ok => finding,
        _ => finding.remedy("policies that need no occupancy run without it; perf still counts"),
    }
}

fn mpam(facts: &Facts) -> Finding {
    let why = "MPAM gives out the cache's portions; /proc/cpuinfo has no flag for it";
    let table = facts.files.exists("sys/firmware/acpi/tables/MPAM");
    let (state, found) = match (table, facts.shared_cache().is_some()) {
        (_, true) => (FindingState::Ok, "resctrl gives out portions of L3"),
        (true, false) => (FindingState::Ok, "the firmware has an ACPI table MPAM"),
        (false, false) => (FindingState::Missing, "the firmware has no ACPI table MPAM"),
    };
    let finding = Finding::new("cpu-allocation", state, found, why);
    let remedy = "a firmware that describes MPAM (ACPI table MPAM), on a CPU that has it";
    if state == FindingState::Ok { finding } else { finding.remedy(remedy) }
}

fn virtual_machine(facts: &Facts) -> Finding {
    let why = "guests are seldom given the cache's controls or the PMU";
    let files = ["sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name"];
    let vendor = files.iter().filter_map(|file| facts.files.line(file)).collect::<Vec<_>>();
    let known = ["QEMU", "KVM", "VMware", "Xen", "VirtualBox", "innotek", "Virtual Machine"];
    let named = vendor.iter().any(|text| known.iter().any(|name| text.contains(name)));
    if facts.has_flag("hypervisor") || named {
        let found = match vendor.join(" ").as_str() {
            "" => "a virtual machine".to_owned(),
            vendor => format!("a virtual machine ({vendor})"),
        };
        Finding::new("virtual-machine", FindingState::Limited, found, why)
            .remedy("run Fairways on the host, or try it out on `fairways-lab emulate`")
    } else if facts.cpuinfo.is_empty() {
        Finding::new("virtual-machine", FindingState::Unknown, "there is no /proc/cpuinfo", why)
    } else {
        Finding::new("virtual-machine", FindingState::Ok, "no sign of a hypervisor", why)
    }
}

/// Those of `flags` that the CPU has.
fn listed(facts: &Facts, flags: &[&str]) -> String {
    let has: Vec<&str> = flags.iter().copied().filter(|flag| facts.has_flag(flag)).collect();
    if has.is_empty() { format!("none of {}", flags.join(", ")) } else { has.join(", ") }
}
