use fairways_resctrl_rules::platform::{Event, Kernel, Platform, Resource};
use fairways_resctrl_rules::rules::{Errno, Resctrl, Side};

use crate::shell::{Fake, Shell};

/// `rdt_fs_parameters`, `rdt_parse_param`, `resctrl_arch_set_cdp_enabled`.
#[test]
fn options_are_those_of_machine_and_kernel() {
    for (platform, options, expected) in [
        ("lab", "", Ok("")),
        ("lab", "debug,cdp", Ok(",cdp,debug")),
        ("lab", "mba_MBps,rw,,cdp", Ok(",cdp,mba_MBps")),
        ("lab", "cdpl2", Err(Errno::Einval)),
        ("lab", "cdp=1", Err(Errno::Einval)),
        ("lab", "CDP", Err(Errno::Einval)),
        ("lab", "nonsense", Err(Errno::Einval)),
        ("ice-lake", "cdpl2,cdp", Ok(",cdp,cdpl2")),
        ("haswell", "cdp", Err(Errno::Einval)),
        ("broadwell", "mba_MBps", Err(Errno::Einval)),
        ("zen", "mba_MBps", Err(Errno::Einval)),
        ("zen", "cdp", Ok(",cdp")),
    ] {
        let mut resctrl = Resctrl::new(Platform::named(platform).unwrap());
        let answer = resctrl.mount(options, &mut Fake::default());
        assert_eq!(answer, expected.map(drop), "{platform} {options}");
        if let Ok(shown) = expected {
            assert_eq!(resctrl.show_options(), shown);
        }
        assert_eq!(resctrl.is_mounted(), expected.is_ok());
    }
}

/// `supports_mba_mbps`: before 6.14 traffic with the own node must be counted.
#[test]
fn megabytes_need_a_counter() {
    use Event::{MbmLocalBytes, MbmTotalBytes};
    for (events, old, new) in [
        (vec![], false, false),
        (vec![MbmTotalBytes], false, true),
        (vec![MbmLocalBytes], true, true),
        (vec![MbmTotalBytes, MbmLocalBytes], true, true),
    ] {
        for (kernel, can) in [(Kernel::v6_1(), old), (Kernel::v6_12(), old), (Kernel::v7_2(), new)]
        {
            let mut platform = Platform::lab().with_kernel(kernel);
            platform.monitoring.as_mut().unwrap().events.clone_from(&events);
            let done = Resctrl::new(platform).mount("mba_MBps", &mut Fake::default());
            assert_eq!(done.is_ok(), can, "{events:?}");
        }
    }
}

/// `rdt_get_tree`: "The filesystem can only be mounted once."
#[test]
fn it_is_mounted_once() {
    let mut shell = Shell::mounted("");
    assert_eq!(shell.resctrl.mount("", &mut shell.world), Err(Errno::Ebusy));
    shell.resctrl.unmount();
    assert_eq!(shell.resctrl.mount("", &mut shell.world), Ok(()));
}

/// `rdt_kill_sb`: everything is put back, and files of the old mount are gone.
#[test]
fn unmounting_puts_everything_back() {
    let mut shell = Shell::mounted("");
    shell.mkdir("g").unwrap();
    shell.mkdir("g/mon_groups/m").unwrap();
    shell.set("L3:0=f;1=f", "g/schemata");
    shell.set("L3:0=ff0;1=ff0", "schemata");
    shell.set("exclusive", "g/mode");
    shell.set("1,3", "g/cpus_list");
    shell.set("100,200", "g/tasks");
    shell.echo("nonsense", "mode", Err(Errno::Einval), "Unknown or unsupported mode\n");
    let old = (shell.resctrl.root(), shell.node("g/schemata"), shell.node("info/L3/cbm_mask"));
    assert_eq!(shell.resctrl.class_of(100, 0).closid, 1);

    shell.resctrl.unmount();
    assert!(!shell.resctrl.exists(old.0) && !shell.resctrl.exists(old.2));
    assert_eq!(shell.resctrl.class_of(100, 1).closid, 0);
    for closid in 0..8 {
        assert_eq!(shell.resctrl.mask(Resource::L3, Side::Both, closid, 0), Some(0xfff));
    }

    shell.resctrl.mount("", &mut shell.world).unwrap();
    assert_eq!(shell.status(), "ok\n");
    assert_eq!(shell.cat("cpus"), "f\n");
    assert_eq!(shell.cat("tasks"), "100\n101\n102\n103\n200\n201\n");
    let answer = shell.resctrl.read(old.1, &shell.caller, &mut shell.world);
    assert_eq!(answer, Err(Errno::Enodev));
    assert!(!shell.resctrl.exists(old.0), "another root");
}

fn mask(shell: &Shell, side: Side) -> Option<u32> {
    shell.resctrl.mask(Resource::L3, side, 1, 0)
}

/// `closid_init`, `schemata_list_add`: code and data apart need two classes each.
#[test]
fn code_and_data_apart_halve_the_classes() {
    let mut shell = Shell::mounted("cdp");
    for (file, classes) in [("L3CODE", "4\n"), ("L3DATA", "4\n"), ("MB", "8\n")] {
        assert_eq!(shell.cat(&format!("info/{file}/num_closids")), classes);
    }
    for group in ["a", "b", "c"] {
        shell.mkdir(group).unwrap();
    }
    let answer = shell.mkdir("d");
    shell.expect(answer, Err(Errno::Enospc), "Out of CLOSIDs\n");
    shell.set("L3CODE:0=f\nL3DATA:0=f0", "a/schemata");
    assert_eq!((mask(&shell, Side::Code), mask(&shell, Side::Data)), (Some(0xf), Some(0xf0)));
}

/// The names line up alike with code and data apart or not (`max_name_width`).
#[test]
fn names_are_as_wide_as_the_widest_can_be() {
    let mut shell = Shell::on(Platform::zen(), "");
    let schemata = shell.cat("schemata");
    assert_eq!(
        schemata,
        "  SMBA:0=2048;1=2048;8=2048;9=2048\n    MB:0=2048;1=2048;8=2048;9=2048\n    L3:0=ffff;1=ffff;8=ffff;9=ffff\n"
    );
    let mut shell = Shell::on(Platform::haswell(), "");
    assert_eq!(shell.cat("schemata"), "L3:0=fffff;1=fffff\n");
}
