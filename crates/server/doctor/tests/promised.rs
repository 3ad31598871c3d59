//! Hosts whose kernel leaves out what their processor has.

#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "what other tests do with it")]
mod host;

use fairways_doctor::{FindingState, Report, Verdict};
use host::{Host, RESCTRL, says};

const EVENTS: &str = "sys/fs/resctrl/info/L3_MON/mon_features";

/// The server with this model and stepping, and these words on the kernel's command line.
fn server(model: u32, stepping: u32, words: &str) -> Host {
    let host = Host::skylake();
    let is = format!("model\t\t: {model}\nstepping\t: {stepping}\n");
    host.replace("proc/cpuinfo", "model\t\t: 85\nstepping\t: 4\n", &is);
    host.put("proc/cmdline", &format!("root=/dev/sda1 ro {words}\n"));
    host
}

fn without(host: &Host, entries: &[&str]) {
    for entry in entries {
        host.remove(&format!("{RESCTRL}/info/{entry}"));
    }
}

/// The ids of the findings about what is left out.
fn left_out(report: &Report) -> Vec<&str> {
    let known = [
        "l3cat",
        "l3cdp",
        "l2cat",
        "l2cdp",
        "mba",
        "cmt",
        "mbmtotal",
        "mbmlocal",
        "smba",
        "bmec",
        "abmc",
        "mpam-portions",
        "mpam-monitors",
        "mpam-bandwidth",
    ];
    let ids = report.findings.iter().map(|one| one.id);
    ids.filter(|id| known.contains(id)).collect()
}

#[test]
fn where_nothing_is_left_out_nothing_is_said() {
    assert!(left_out(&Host::skylake().examine()).is_empty());
    assert!(left_out(&server(106, 6, "quiet").examine()).is_empty());
}

/// Cascade Lake has the erratum of L3 CAT, and monitors.
#[test]
fn l3_cat_that_errata_leave_out_is_requested_on_the_command_line() {
    let host = server(85, 7, "quiet");
    without(&host, &["L3"]);
    let report = host.examine();
    assert_eq!(left_out(&report), ["l3cat", "l3cdp"]);
    let said = ["cat_l3", "info has no L3", "errata (model 85, stepping 7)", "add rdt=l3cat to"];
    says(&report, "l3cat", FindingState::Missing, &said);
    says(&report, "l3cdp", FindingState::Missing, &["cdp_l3", "add rdt=l3cat to"]);
    says(&report, "ways", FindingState::Missing, &["see l3cat"]);
    says(&report, "monitoring", FindingState::Ok, &[]);
    assert_eq!(report.verdict, Verdict::NotSupported);
    assert!(report.partition.why.unwrap().contains("the kernel leaves out the ways"));
}

#[test]
fn up_to_stepping_4_of_the_same_model_monitors_are_left_out_too() {
    for (words, remedy) in [
        ("quiet", "add rdt=l3cat,cmt,mbmtotal,mbmlocal to"),
        ("rdt=mba", "replace rdt=mba by rdt=mba,l3cat,cmt,mbmtotal,mbmlocal on"),
        ("rdt=!l3cat rdt=mba", "replace rdt=!l3cat,mba by rdt=mba,l3cat,cmt,mbmtotal,mbmlocal on"),
    ] {
        let host = server(85, 4, words);
        without(&host, &["L3", "L3_MON"]);
        let report = host.examine();
        assert_eq!(left_out(&report), ["l3cat", "l3cdp", "cmt", "mbmtotal", "mbmlocal"]);
        for id in left_out(&report) {
            says(&report, id, FindingState::Missing, &[remedy]);
        }
        says(&report, "monitoring", FindingState::Missing, &["see cmt, mbmtotal, mbmlocal"]);
    }
    // The ways were requested, the monitors were not.
    let host = server(85, 4, "rdt=l3cat");
    without(&host, &["L3_MON"]);
    let report = host.examine();
    assert_eq!(left_out(&report), ["cmt", "mbmtotal", "mbmlocal"]);
    says(&report, "cmt", FindingState::Missing, &["replace rdt=l3cat by rdt=l3cat,cmt,mbmtotal"]);
    assert_eq!(report.verdict, Verdict::Manageable);
}

/// Of another stepping of the model, and of other models, no erratum is known.
#[test]
fn what_no_erratum_explains_is_left_out_for_no_known_reason() {
    for (model, stepping) in [(85, 7), (106, 6), (143, 8)] {
        let host = server(model, stepping, "rdt=l3cat");
        without(&host, &["L3_MON", "MB"]);
        let report = host.examine();
        assert_eq!(left_out(&report), ["mba", "cmt", "mbmtotal", "mbmlocal"]);
        for id in left_out(&report) {
            let said = ["the kernel leaves it out", "rdt=l3cat,mba,cmt,mbmtotal,mbmlocal", "dmesg"];
            says(&report, id, FindingState::Missing, &said);
        }
    }
    let host = server(106, 6, "rdt=l3cat");
    without(&host, &["L3"]);
    says(&host.examine(), "l3cat", FindingState::Missing, &["in spite of rdt=l3cat", "dmesg"]);
}

#[test]
fn each_event_is_looked_for_by_itself() {
    let host = server(106, 6, "quiet");
    host.put(EVENTS, "mbm_total_bytes\nmbm_local_bytes\n");
    let report = host.examine();
    assert_eq!(left_out(&report), ["cmt"]);
    says(&report, "cmt", FindingState::Missing, &["info/L3_MON has no llc_occupancy"]);
    says(&report, "monitoring", FindingState::Limited, &["see cmt"]);
    assert_eq!(report.monitor.yes, Some(false), "occupancy is not read");
    host.put(EVENTS, "llc_occupancy\nmbm_total_bytes\n");
    let report = host.examine();
    assert_eq!((left_out(&report), report.monitor.yes), (vec!["mbmlocal"], Some(true)));
}

#[test]
fn what_the_command_line_turns_off_is_found_missing() {
    let host = server(106, 6, "rdt=!mba,cmt");
    without(&host, &["MB"]);
    let report = host.examine();
    assert_eq!(left_out(&report), ["mba"]);
    says(
        &report,
        "mba",
        FindingState::Missing,
        &["rdt=!mba", "replace rdt=!mba,cmt by rdt=cmt on"],
    );
    host.put("proc/cmdline", "rdt=!mba\n");
    says(&host.examine(), "mba", FindingState::Missing, &["take rdt=!mba off"]);
    // Of both words the kernel follows the one without `!`.
    host.put("proc/cmdline", "rdt=!mba,mba\n");
    says(&host.examine(), "kernel-command-line", FindingState::Ok, &[]);
    says(&host.examine(), "mba", FindingState::Missing, &["in spite of rdt=mba"]);
}

#[test]
fn an_older_kernel_lacks_what_it_does_not_know() {
    let host = server(79, 1, "quiet");
    without(&host, &["L3_MON", "MB"]);
    host.put("proc/sys/kernel/osrelease", "4.11.0\n");
    let report = host.examine();
    assert_eq!(left_out(&report), ["mba", "cmt", "mbmtotal", "mbmlocal"]);
    says(&report, "mba", FindingState::Missing, &["Linux 4.12 or later"]);
    says(&report, "cmt", FindingState::Missing, &["Linux 4.14 or later"]);
}

/// The flags of the newer features are shown by kernels of vendors only.
#[test]
fn features_of_amd_are_compared_too() {
    let host = server(17, 1, "quiet");
    host.replace("proc/cpuinfo", "GenuineIntel", "AuthenticAMD");
    host.replace("proc/cpuinfo", "cpu family\t: 6", "cpu family\t: 25");
    host.replace("proc/cpuinfo", "cqm_mbm_local", "cqm_mbm_local smba bmec abmc");
    let report = host.examine();
    assert_eq!(left_out(&report), ["smba", "bmec", "abmc"]);
    says(&report, "smba", FindingState::Missing, &["info has no SMBA", "rdt=smba,bmec"]);
    says(&report, "bmec", FindingState::Missing, &["no event of info/L3_MON", "rdt=smba,bmec"]);
    says(&report, "abmc", FindingState::Missing, &["num_mbm_cntrs", "Linux 6.18 or later"]);
    host.put(&format!("{RESCTRL}/info/L3_MON/num_mbm_cntrs"), "0=32;1=32\n");
    assert_eq!(left_out(&host.examine()), ["smba"], "counters hide what could be configured");
    without(&host, &["L3_MON", "L3", "MB"]);
    let all = ["l3cat", "l3cdp", "mba", "cmt", "mbmtotal", "mbmlocal", "smba", "bmec", "abmc"];
    assert_eq!(left_out(&host.examine()), all);
}

#[test]
fn l2_ways_and_halves_are_compared_too() {
    let host = server(173, 1, "quiet");
    host.replace("proc/cpuinfo", "cat_l3 cdp_l3", "cat_l3 cdp_l3 cat_l2 cdp_l2");
    let report = host.examine();
    assert_eq!(left_out(&report), ["l2cat", "l2cdp"]);
    says(&report, "l2cat", FindingState::Missing, &["info has no L2", "add rdt=l2cat to"]);
    assert_eq!(report.verdict, Verdict::Manageable, "the L3's are there");
    host.replace("proc/mounts", "resctrl rw,relatime", "resctrl rw,relatime,cdp");
    says(&host.examine(), "l3cdp", FindingState::Missing, &["mounted with cdp", "no L3CODE"]);
}

/// Without resctrl there is nothing to compare; what errata and the command line leave out is known
/// all the same.
#[test]
fn what_will_be_left_out_is_said_before_resctrl_is_mounted() {
    let host = server(85, 7, "rdt=!mba");
    host.unmounted();
    let report = host.examine();
    assert_eq!(left_out(&report), ["l3cat", "mba"]);
    says(&report, "l3cat", FindingState::Missing, &["errata", "by rdt=l3cat on"]);
    for host in [server(106, 6, "quiet"), server(85, 7, "rdt=l3cat"), server(85, 4, "quiet")] {
        host.unmounted();
        host.put("proc/sys/kernel/osrelease", "4.13.0\n");
        assert!(left_out(&host.examine()).is_empty(), "before 4.14 nothing was left out");
    }
}

#[test]
fn an_emulator_is_not_compared_with_this_processor() {
    let host = server(85, 4, "quiet");
    without(&host, &["L3_MON"]);
    let kernels = "resctrl /sys/fs/resctrl resctrl";
    host.replace("proc/mounts", kernels, "fairways /sys/fs/resctrl fuse.resctrl");
    assert!(left_out(&host.examine()).is_empty());
}

#[test]
fn what_mpam_s_table_promises_is_compared_too() {
    let host = Host::skylake();
    host.put("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n");
    without(&host, &["L3", "L3_MON"]);
    assert!(left_out(&host.examine()).is_empty(), "nothing is promised");
    host.put("sys/firmware/acpi/tables/MPAM", "");
    let report = host.examine();
    assert_eq!(left_out(&report), ["mpam-portions", "mpam-monitors"]);
    let said = ["info has no L3 or L2", "dmesg | grep -i mpam", "at most 32 portions"];
    says(&report, "mpam-portions", FindingState::Missing, &said);
    says(&report, "mpam-monitors", FindingState::Limited, &["info has no L3_MON"]);
    says(&report, "ways", FindingState::Missing, &["see mpam-portions"]);
    says(&report, "monitoring", FindingState::Missing, &["see mpam-monitors"]);
    without(&host, &["MB"]);
    says(&host.examine(), "mpam-bandwidth", FindingState::Limited, &["info has no MB"]);
}
