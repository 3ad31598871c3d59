use fairways_resctrl_rules::platform::Platform;
use fairways_resctrl_rules::rules::Errno;

use crate::shell::Shell;

/// `rdtgroup_schemata_write`, `parse_line`: forms that are accepted, and the messages for those
/// that are not.
#[test]
fn forms_are_those_that_the_kernel_reads() {
    for (text, expected, status) in [
        ("L3:0=f\n", Ok(()), "ok\n"),
        ("L3:0=0xf;1=0XF0\n", Ok(()), "ok\n"),
        ("  L3 :1= f0 ;\n", Ok(()), "ok\n"),
        ("L3:+0=+f\n", Ok(()), "ok\n"),
        ("L3:00=00000000000f\n", Ok(()), "ok\n"),
        ("MB:0=50\nL3:1=1\n", Ok(()), "ok\n"),
        ("L3:0=f\0 ignored by all\n", Ok(()), "ok\n"),
        ("", Err(Errno::Einval), "before\n"),
        ("L3:0=f", Err(Errno::Einval), "before\n"),
        ("\n", Err(Errno::Einval), "Missing ':'\n"),
        ("L3\n", Err(Errno::Einval), "Missing ':'\n"),
        ("L3:0=f\n\n", Err(Errno::Einval), "Missing ':'\n"),
        ("L3:\n", Err(Errno::Einval), "Missing 'L3' value\n"),
        (":\n", Err(Errno::Einval), "Missing '' value\n"),
        ("l3:0=f\n", Err(Errno::Einval), "Unknown or unsupported resource name 'l3'\n"),
        ("L3CODE:0=f\n", Err(Errno::Einval), "Unknown or unsupported resource name 'L3CODE'\n"),
        ("L3: \n", Err(Errno::Einval), "Missing '=' or non-numeric domain\n"),
        ("L3:0\n", Err(Errno::Einval), "Missing '=' or non-numeric domain\n"),
        ("L3:=f\n", Err(Errno::Einval), "Missing '=' or non-numeric domain\n"),
        ("L3:0x0=f\n", Err(Errno::Einval), "Missing '=' or non-numeric domain\n"),
        ("L3: 0=f\n", Err(Errno::Einval), "Missing '=' or non-numeric domain\n"),
        ("L3:0=f;;1=f\n", Err(Errno::Einval), "Missing '=' or non-numeric domain\n"),
        ("L3:2=f\n", Err(Errno::Einval), "ok\n"),
        ("L3:4294967296=f\n", Err(Errno::Einval), "ok\n"),
        ("L3:0=\n", Err(Errno::Einval), "Non-hex character in the mask \n"),
        ("L3:0=f=f\n", Err(Errno::Einval), "Non-hex character in the mask f=f\n"),
        ("L3:0=-1\n", Err(Errno::Einval), "Non-hex character in the mask -1\n"),
        ("L3:0=10000000f\n", Err(Errno::Einval), "Mask out of range\n"),
        ("L3:0=0\n", Err(Errno::Einval), "Mask out of range\n"),
        ("L3:0=f;0=f\n", Err(Errno::Einval), "Duplicate domain 0\n"),
        ("L3:0=f\nL3:0=f\n", Err(Errno::Einval), "Duplicate domain 0\n"),
        ("MB:0=x\n", Err(Errno::Einval), "Invalid MB value x\n"),
        ("MB:0=4294967296\n", Err(Errno::Einval), "Invalid MB value 4294967296\n"),
        ("MB:0=101\n", Err(Errno::Einval), "MB value 101 out of range [10,100]\n"),
    ] {
        let mut shell = Shell::mounted("");
        shell.mkdir("g").unwrap();
        shell.echo("x", "tasks", Err(Errno::Einval), "Task list parsing error pid x\n");
        let status = if status == "before\n" { "Task list parsing error pid x\n" } else { status };
        let answer = shell.write(text, "g/schemata");
        assert_eq!((answer, shell.status().as_str()), (expected, status), "{text:?}");
        let changed = shell.cat("g/schemata") != "    MB:0=100;1=100\n    L3:0=fff;1=fff\n";
        assert_eq!(changed, expected.is_ok(), "{text:?}: all of it or nothing");
    }
}

fn page(bytes: usize) -> String {
    format!("L3:0=f{}\n", " ".repeat(bytes - 7))
}

/// `atomic_write_len`: one write is a page at most.
#[test]
fn a_write_is_a_page_at_most() {
    let mut shell = Shell::mounted("");
    assert_eq!(shell.write(&page(4096), "schemata"), Ok(()));
    assert_eq!(shell.write(&page(4097), "schemata"), Err(Errno::E2big));
}

/// `bw_validate`: rounded up to the next step; the first value in range is the least.
#[test]
fn bandwidth_is_rounded_up() {
    let mut shell = Shell::mounted("");
    for (requested, rounded) in [(10, 10), (11, 20), (20, 20), (91, 100), (100, 100)] {
        shell.set(&format!("MB:0={requested}"), "schemata");
        let line = shell.cat("schemata");
        assert!(line.starts_with(&format!("    MB:0={rounded};1=100\n")), "{requested}: {line}");
    }
    let mut shell = Shell::on(Platform::zen(), "");
    shell.set("MB:8=0\nSMBA:9=17", "schemata");
    assert!(
        shell
            .cat("schemata")
            .contains("  SMBA:0=2048;1=2048;8=2048;9=17\n    MB:0=2048;1=2048;8=0;9")
    );
    let message = "MB value 2049 out of range [0,2048]\n";
    shell.echo("MB:0=2049", "schemata", Err(Errno::Einval), message);
}

/// `parse_bw` with `is_mba_sc`: MBps apply as soon as they are read, whatever follows, and can be
/// given twice.
#[test]
fn mbps_apply_at_once() {
    let mut shell = Shell::mounted("mba_MBps");
    assert!(shell.cat("schemata").starts_with("    MB:0=4294967295;1=4294967295\n"));
    shell.echo("MB:0=500;0=600;1=x", "schemata", Err(Errno::Einval), "Invalid MB value x\n");
    assert!(shell.cat("schemata").starts_with("    MB:0=600;1=4294967295\n"));
    assert!(shell.cat("size").starts_with("    MB:0=600;1=4294967295\n"));
    assert_eq!(shell.cat("mba_MBps_event"), "mbm_local_bytes\n");
    shell.set("mbm_total_bytes", "mba_MBps_event");
    assert_eq!(shell.cat("mba_MBps_event"), "mbm_total_bytes\n");
    let message = "Unsupported event id 'llc_occupancy'\n";
    shell.echo("llc_occupancy", "mba_MBps_event", Err(Errno::Einval), message);
}

/// `rdtgroup_cbm_to_size`: bytes of the cache divided by bits first, then times the bits set.
#[test]
fn sizes_are_whole_bits() {
    let mut shell = Shell::on(Platform::lab().with_llc_bytes(1000), "");
    shell.set("L3:0=7", "schemata");
    assert_eq!(shell.cat("size"), "    MB:0=100;1=100\n    L3:0=249;1=996\n");
}
