//! A class for devices: Linux 7.2.13's answers in the kernel lab to
//! `crates/proof/kernel-lab/tests/steps/io_alloc`, on fewer classes and caches.

use fairways_resctrl_rules::platform::{Kernel, Platform};
use fairways_resctrl_rules::rules::Errno;

use crate::shell::Shell;

const SWITCH: &str = "info/L3/io_alloc";
const MASKS: &str = "info/L3/io_alloc_cbm";

fn mounted(options: &str) -> Shell {
    let platform = Platform::zen_ioalloc().with_domains(2, 1).with_ways(12, 0).with_closids(4);
    Shell::on(platform, options)
}

#[test]
fn the_highest_class_is_taken() {
    let mut shell = mounted("debug");
    assert_eq!(shell.cat(SWITCH), "disabled\n");
    shell.echo("0=f", MASKS, Err(Errno::Einval), "io_alloc is not enabled on L3\n");
    let made = ["a", "b", "c"].map(|name| shell.mkdir(name));
    assert_eq!(made, [Ok(()); 3]);
    let status = "CLOSID (ctrl_hw_id) 3 for io_alloc is used by c group\n";
    shell.echo("1", SWITCH, Err(Errno::Enospc), status);
    shell.rmdir("c").unwrap();
    shell.set("on", SWITCH);
    assert_eq!((shell.cat(SWITCH), shell.cat(MASKS)), ("enabled\n".into(), "0=fff;1=fff\n".into()));
    let answer = shell.mkdir("c");
    shell.expect(answer, Err(Errno::Enospc), "Out of CLOSIDs\n");
    shell.set("n", SWITCH);
    shell.mkdir("c").unwrap();
    assert_eq!(shell.write("2\n", SWITCH), Err(Errno::Einval));
}

#[test]
fn its_masks_are_hardware_s() {
    let mut shell = mounted("");
    shell.set("1", SWITCH);
    shell.set("0=f00;1=3", MASKS);
    assert_eq!(shell.cat(MASKS), "0=f00;1=3\n");
    assert_eq!(shell.cat("info/L3/bit_usage"), "0=XXXXSSSSSSSS;1=SSSSSSSSSSXX\n");
    for (text, status) in [
        ("0=1;0=2", "Duplicate domain 0\n"),
        ("9=1", "Invalid domain 9\n"),
        ("x=1", "Missing '=' or non-numeric domain\n"),
        ("0=x", "Non-hex character in the mask x\n"),
        ("0=1000", "Mask out of range\n"),
        ("*=3;0=1", "Configurations after global '*'\n"),
    ] {
        shell.echo(text, MASKS, Err(Errno::Einval), status);
    }
    assert_eq!(shell.write("0=1", MASKS), Err(Errno::Einval), "no end of the line");
    shell.set("*=1", MASKS);
    assert_eq!(shell.cat(MASKS), "0=1;1=1\n");
}

#[test]
fn code_and_data_have_the_same_and_a_mount_gives_the_class_back() {
    let mut shell = mounted("cdp");
    shell.set("1", "info/L3CODE/io_alloc");
    shell.set("1=3", "info/L3DATA/io_alloc_cbm");
    assert_eq!(shell.cat("info/L3CODE/io_alloc_cbm"), "0=fff;1=3\n");
    let answer = shell.mkdir("a");
    shell.expect(answer, Err(Errno::Enospc), "Out of CLOSIDs\n");
    shell.resctrl.unmount();
    shell.resctrl.mount("", &mut shell.world).unwrap();
    assert_eq!(shell.cat(SWITCH), "enabled\n");
    let made = ["a", "b", "c"].map(|name| shell.mkdir(name));
    assert_eq!(made, [Ok(()); 3], "the devices' class is a group's, too");
}

#[test]
fn its_files_are_there_where_kernel_and_processor_have_it() {
    let old = Platform::zen_ioalloc().with_kernel(Kernel::v6_12());
    for platform in [Platform::zen(), old] {
        assert!(Shell::on(platform, "").resctrl.at(SWITCH).is_none());
    }
}
