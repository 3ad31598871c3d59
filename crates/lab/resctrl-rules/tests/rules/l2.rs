//! L2 caches beside the L3, one for each core: Linux 7.2's answers in the kernel lab to
//! `crates/proof/kernel-lab/tests/steps/l2`.

use fairways_resctrl_rules::platform::{CacheAllocation, Platform};
use fairways_resctrl_rules::rules::Errno;

use crate::shell::Shell;

/// The lab's machine with L2 caches of 8 ways, one of them shared, and 6 classes.
fn mounted(options: &str) -> Shell {
    let mut platform = Platform::lab();
    let (cbm_len, shareable_bits, closids, cache_bytes) = (8, 0x80, 6, 4 << 20);
    platform.l2 = platform.l3.clone().map(|l3| CacheAllocation {
        cbm_len,
        shareable_bits,
        closids,
        cache_bytes,
        ..l3
    });
    Shell::on(platform, options)
}

/// A group's three lines, of MB, L2 and L3.
#[track_caller]
fn has(shell: &mut Shell, file: &str, lines: [&str; 3]) {
    let expected = lines.map(|line| format!("    {line}\n")).concat();
    assert_eq!(shell.cat(file), expected, "{file}");
}

#[test]
fn l2_has_domains_and_masks_of_its_own() {
    let mut shell = mounted("");
    assert_eq!(shell.ls("info"), ["L2", "L3", "L3_MON", "MB", "last_cmd_status"]);
    for (file, text) in [
        ("cbm_mask", "ff\n"),
        ("num_closids", "6\n"),
        ("shareable_bits", "80\n"),
        ("bit_usage", "0=XSSSSSSS;1=XSSSSSSS;2=XSSSSSSS;3=XSSSSSSS\n"),
    ] {
        assert_eq!(shell.cat(&format!("info/L2/{file}")), text);
    }
    shell.mkdir("g").unwrap();
    shell.set("L2:0=f;3=3", "g/schemata");
    has(&mut shell, "g/schemata", ["MB:0=100;1=100", "L2:0=f;1=ff;2=ff;3=3", "L3:0=fff;1=fff"]);
    let sizes = "L2:0=2097152;1=4194304;2=4194304;3=1048576";
    has(&mut shell, "g/size", ["MB:0=100;1=100", sizes, "L3:0=16777212;1=16777212"]);
    for (text, status) in [
        ("L2:1=5", "The mask 5 has non-consecutive 1-bits\n"),
        ("L2:1=100", "Mask out of range\n"),
        ("L2:1=0", "Mask out of range\n"),
        ("L2:4=f", "ok\n"),
        ("L2CODE:0=f", "Unknown or unsupported resource name 'L2CODE'\n"),
        ("L2:2=f;2=f0", "Duplicate domain 2\n"),
    ] {
        shell.echo(text, "g/schemata", Err(Errno::Einval), status);
    }
    shell.set("L3:0=f\nL2:2=7\nMB:1=50", "g/schemata");
    let lines = ["MB:0=100;1=50", "L2:0=f;1=ff;2=7;3=3", "L3:0=f;1=fff"];
    has(&mut shell, "g/schemata", lines);
    let status = "Non-hex character in the mask xyz\n";
    shell.echo("L3:1=3\nL2:2=xyz", "g/schemata", Err(Errno::Einval), status);
    has(&mut shell, "g/schemata", lines);
}

#[test]
fn an_exclusive_group_is_so_in_both_caches() {
    let mut shell = mounted("");
    let refused = Err(Errno::Einval);
    shell.mkdir("g").unwrap();
    shell.set("L3:0=f;1=f", "g/schemata");
    shell.set("L3:0=ff0;1=ff0", "schemata");
    shell.echo("exclusive", "g/mode", refused, "Schemata overlaps\n");
    shell.set("L2:0=7;1=7;2=7;3=7", "g/schemata");
    shell.set("L2:0=f8;1=f8;2=f8;3=78", "schemata");
    shell.set("exclusive", "g/mode");
    let usage = "0=XSSSSEEE;1=XSSSSEEE;2=XSSSSEEE;3=HSSSSEEE\n";
    assert_eq!(shell.cat("info/L2/bit_usage"), usage);
    assert_eq!(shell.cat("info/L3/bit_usage"), "0=XXSSSSSSEEEE;1=XXSSSSSSEEEE\n");
    shell.echo("L2:3=ff", "schemata", refused, "Overlaps with exclusive group\n");
    shell.echo("L3:1=fff", "schemata", refused, "Overlaps with exclusive group\n");
    shell.echo("L2:1=f", "g/schemata", refused, "Overlaps with other group\n");
    shell.mkdir("h").unwrap();
    let lines = ["MB:0=100;1=100", "L2:0=f8;1=f8;2=f8;3=f8", "L3:0=ff0;1=ff0"];
    has(&mut shell, "h/schemata", lines);
    shell.echo("L2:0=4", "h/schemata", refused, "Overlaps with exclusive group\n");
    shell.set("L2:0=1", "g/schemata");
    shell.set("L2:0=4", "h/schemata");
    shell.mkdir("i").unwrap();
    let lines = ["MB:0=100;1=100", "L2:0=fe;1=f8;2=f8;3=f8", "L3:0=ff0;1=ff0"];
    has(&mut shell, "i/schemata", lines);
}

#[test]
fn there_are_as_many_classes_as_the_poorer_cache_has() {
    for (options, groups) in [("", 5), ("cdpl2", 2), ("cdp", 3), ("cdp,cdpl2", 2)] {
        let mut shell = mounted(options);
        for group in 0..groups {
            shell.mkdir(&format!("g{group}")).unwrap();
        }
        let answer = shell.mkdir("last");
        shell.expect(answer, Err(Errno::Enospc), "Out of CLOSIDs\n");
    }
}

#[test]
fn code_and_data_are_apart_in_the_requested_cache() {
    let mut shell = mounted("cdpl2");
    assert_eq!(shell.ls("info"), ["L2CODE", "L2DATA", "L3", "L3_MON", "MB", "last_cmd_status"]);
    assert_eq!(shell.cat("info/L2CODE/num_closids"), "3\n");
    assert_eq!(shell.cat("info/L3/num_closids"), "8\n");
    shell.mkdir("g").unwrap();
    shell.set("L2CODE:0=3\nL2DATA:0=c;2=f", "g/schemata");
    for name in ["L2", "L3CODE"] {
        let status = format!("Unknown or unsupported resource name '{name}'\n");
        shell.echo(&format!("{name}:0=f"), "g/schemata", Err(Errno::Einval), &status);
    }
    assert_eq!(
        shell.cat("g/schemata"),
        "    MB:0=100;1=100\nL2DATA:0=c;1=ff;2=f;3=ff\nL2CODE:0=3;1=ff;2=ff;3=ff\n    L3:0=fff;1=fff\n"
    );
    assert_eq!(
        shell.cat("g/size"),
        "    MB:0=100;1=100\nL2DATA:0=1048576;1=4194304;2=2097152;3=4194304\nL2CODE:0=1048576;1=4194304;2=4194304;3=4194304\n    L3:0=16777212;1=16777212\n"
    );
    shell.echo("pseudo-locksetup", "g/mode", Err(Errno::Einval), "CDP enabled\n");
    let apart = mounted("cdp,cdpl2").ls("info");
    let names = ["L2CODE", "L2DATA", "L3CODE", "L3DATA", "L3_MON", "MB", "last_cmd_status"];
    assert_eq!(apart, names);
}
