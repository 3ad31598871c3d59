use fairways_resctrl_rules::platform::Platform;
use fairways_resctrl_rules::rules::Errno;

use crate::shell::Shell;

/// `cbm_validate`: gaps, fewest bits, and empty masks, as machines differ.
#[test]
fn masks_are_legal_as_the_machine_says() {
    let needs_two = "Need at least 2 bits in the mask\n";
    for (platform, mask, expected) in [
        ("haswell", "1", Err(needs_two)),
        ("haswell", "3", Ok(())),
        ("haswell", "5", Err("The mask 5 has non-consecutive 1-bits\n")),
        ("haswell", "0", Err("Mask out of range\n")),
        ("granite-rapids", "f0f", Ok(())),
        ("granite-rapids", "0", Err("Mask out of range\n")),
        ("zen", "0", Ok(())),
        ("zen", "8001", Ok(())),
        ("zen", "10000", Err("Mask out of range\n")),
        ("mpam", "5", Ok(())),
    ] {
        let mut shell = Shell::on(Platform::named(platform).unwrap(), "");
        let answer = shell.write(&format!("L3:0={mask}\n"), "schemata");
        let (expected, status) = match expected {
            Ok(()) => (Ok(()), "ok\n"),
            Err(status) => (Err(Errno::Einval), status),
        };
        assert_eq!((answer, shell.status().as_str()), (expected, status), "{platform} {mask}");
    }
    // The fewest bits are counted in the first run (`zero_bit - first_bit`).
    let mut platform = Platform::granite_rapids();
    platform.l3.as_mut().unwrap().min_cbm_bits = 2;
    let mut shell = Shell::on(platform, "");
    shell.echo("L3:0=f1", "schemata", Err(Errno::Einval), needs_two);
    shell.set("L3:0=1f3", "schemata");
}

fn exclusive() -> Shell {
    let mut shell = Shell::mounted("");
    for group in ["x", "y"] {
        shell.mkdir(group).expect("there is room");
    }
    for (path, ways) in [("schemata", "c00"), ("y/schemata", "0f0"), ("x/schemata", "00f")] {
        shell.set(&format!("L3:0={ways};1={ways}"), path);
    }
    shell.set("exclusive", "x/mode");
    shell
}

/// `rdtgroup_mode_test_exclusive`, `parse_cbm`: resctrl.rst, "mode".
#[test]
fn exclusive_masks_overlap_no_other() {
    let mut shell = exclusive();
    let others = "Overlaps with exclusive group\n";
    shell.echo("L3:0=1f", "y/schemata", Err(Errno::Einval), others);
    shell.echo("L3:1=001", "schemata", Err(Errno::Einval), others);
    let own = "Overlaps with other group\n";
    shell.echo("L3:0=1f", "x/schemata", Err(Errno::Einval), own);
    shell.echo("L3:0=f00", "x/schemata", Err(Errno::Einval), own);
    shell.set("L3:0=7", "x/schemata");
    shell.set("L3:0=1f8", "y/schemata");
    shell.set("exclusive", "x/mode");
    shell.echo("L3:0=ff", "y/schemata", Err(Errno::Einval), others);
}

/// `__rdtgroup_cbm_overlaps`: bits that hardware shares count as another group's.
#[test]
fn no_group_is_exclusive_on_shareable_bits() {
    let mut shell = exclusive();
    shell.set("L3:0=400", "y/schemata");
    shell.echo("exclusive", "y/mode", Err(Errno::Einval), "Schemata overlaps\n");
    shell.set("shareable", "y/mode");
}

/// `rdtgroup_mode_write`.
#[test]
fn modes_are_words() {
    let mut shell = exclusive();
    let unknown = "Unknown or unsupported mode\n";
    for word in ["", "Exclusive", "exclusive ", "pseudo-locked"] {
        shell.echo(word, "y/mode", Err(Errno::Einval), unknown);
    }
    let answer = shell.write("exclusive", "y/mode");
    shell.expect(answer, Err(Errno::Einval), unknown);
    let mut platform = Platform::lab();
    platform.l3 = None;
    let mut shell = Shell::on(platform, "");
    let message = "Cannot be exclusive without CAT/CDP\n";
    shell.echo("exclusive", "mode", Err(Errno::Einval), message);
}

/// `rdt_bit_usage_show`.
#[test]
fn bit_usage_shows_what_may_fill_a_way() {
    let mut shell = exclusive();
    assert_eq!(shell.cat("info/L3/bit_usage"), "0=XX00SSSSEEEE;1=XX00SSSSEEEE\n");
    shell.set("L3:0=300", "schemata");
    assert_eq!(shell.cat("info/L3/bit_usage"), "0=HHSSSSSSEEEE;1=XX00SSSSEEEE\n");
}

/// `rdtgroup_cbm_overlaps` with code and data apart: one side also excludes the other side of
/// others.
#[test]
fn code_is_kept_from_others_data() {
    let mut shell = Shell::mounted("cdp");
    shell.mkdir("x").unwrap();
    shell.set("L3CODE:0=c00;1=c00\nL3DATA:0=c00;1=c00", "schemata");
    shell.set("L3CODE:0=f;1=f\nL3DATA:0=f0;1=f0", "x/schemata");
    shell.set("exclusive", "x/mode");
    let message = "Overlaps with exclusive group\n";
    shell.echo("L3CODE:0=80", "schemata", Err(Errno::Einval), message);
    shell.echo("L3DATA:0=1", "schemata", Err(Errno::Einval), message);
    shell.set("L3CODE:0=3f", "x/schemata");
    shell.mkdir("y").unwrap();
    assert_eq!(
        shell.cat("y/schemata"),
        "    MB:0=100;1=100\nL3DATA:0=f00;1=f00\nL3CODE:0=f00;1=f00\n"
    );
}

/// `cbm_ensure_valid`: a new group's free ways are cut to the first run, except where gaps are
/// allowed (since 6.19).
#[test]
fn a_new_groups_ways_are_one_run() {
    for (sparse, mask) in [(false, "f"), (true, "f0f")] {
        let mut shell = Shell::on(Platform::lab().with_ways(12, 0).with_sparse_masks(sparse), "");
        shell.mkdir("x").unwrap();
        shell.set("L3:0=f;1=f", "schemata");
        shell.set("L3:0=f0;1=f0", "x/schemata");
        shell.set("exclusive", "x/mode");
        shell.mkdir("y").unwrap();
        let expected = format!("    MB:0=100;1=100\n    L3:0={mask};1={mask}\n");
        assert_eq!(shell.cat("y/schemata"), expected);
    }
}

/// `rdtgroup_locksetup_enter`, for machines on which the kernel has no way to lock; Arm's kernels
/// do not know the word.
#[test]
fn nothing_is_pseudo_locked() {
    for (platform, options, path, message) in [
        ("lab", "", "mode", "Cannot pseudo-lock default group\n"),
        ("lab", "", "g/mode", "Pseudo-locking not supported\n"),
        ("lab", "cdp", "g/mode", "CDP enabled\n"),
        ("mpam", "", "g/mode", "Unknown or unsupported mode\n"),
    ] {
        let mut shell = Shell::on(Platform::named(platform).unwrap(), options);
        shell.mkdir("g").unwrap();
        shell.echo("pseudo-locksetup", path, Err(Errno::Einval), message);
        assert_eq!(shell.cat("g/mode"), "shareable\n");
    }
}
