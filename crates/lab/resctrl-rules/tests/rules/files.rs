use fairways_resctrl_rules::rules::Errno;

use crate::shell::Shell;

/// `kernfs_fop_open`: a file without write permission can't be opened for writing, not even by
/// root.
#[test]
fn read_only_files_are_not_opened_to_be_written() {
    let mut shell = Shell::mounted("");
    for (path, errno) in [
        ("size", Errno::Eacces),
        ("info/last_cmd_status", Errno::Eacces),
        ("info/L3/cbm_mask", Errno::Eacces),
        ("info/L3_MON/num_rmids", Errno::Eacces),
        ("mon_data/mon_L3_00/llc_occupancy", Errno::Eacces),
        ("mon_groups", Errno::Eisdir),
        ("info", Errno::Eisdir),
    ] {
        assert_eq!(shell.write("x\n", path), Err(errno), "{path}");
    }
    let node = shell.node("mon_groups");
    let answer = shell.resctrl.read(node, &shell.caller, &mut shell.world);
    assert_eq!(answer, Err(Errno::Eisdir));
}

/// `kernfs_iop_setattr`: chmod(2) changes permissions, but adds no rule.
#[test]
fn permissions_can_be_changed() {
    let mut shell = Shell::mounted("");
    shell.mkdir("g").unwrap();
    let (size, tasks) = (shell.node("g/size"), shell.node("g/tasks"));
    let event = shell.node("g/mon_data/mon_L3_00/llc_occupancy");
    for node in [size, event] {
        shell.resctrl.set_attributes(node, Some(0o644), None, None).unwrap();
    }
    assert_eq!(shell.write("x\n", "g/size"), Err(Errno::Einval));
    assert_eq!(shell.write("x\n", "g/mon_data/mon_L3_00/llc_occupancy"), Err(Errno::Eacces));
    shell.resctrl.set_attributes(tasks, Some(0), Some(7), None).unwrap();
    assert_eq!(shell.write("0\n", "g/tasks"), Err(Errno::Eacces));
    let attributes = shell.resctrl.attributes(tasks).unwrap();
    assert_eq!((attributes.mode, attributes.uid, attributes.gid), (0, 7, 0));
    shell.rmdir("g").unwrap();
    assert_eq!(shell.resctrl.set_attributes(tasks, Some(0), None, None), Err(Errno::Enoent));
}

/// The tree can be walked down and up again, and every file can be read.
#[test]
fn every_node_has_its_place() {
    for options in ["", "cdp,debug", "mba_MBps"] {
        let mut shell = Shell::mounted(options);
        for group in ["g", "g/mon_groups/m", "mon_groups/r"] {
            shell.mkdir(group).unwrap();
        }
        let mut nodes = vec![shell.resctrl.root()];
        let mut files = 0;
        while let Some(node) = nodes.pop() {
            for (name, child) in shell.resctrl.children(node) {
                assert_eq!(shell.resctrl.parent(child), Some(node), "{name}");
                assert_eq!(shell.resctrl.lookup(node, &name), Some(child));
                assert_eq!(shell.resctrl.name(child), name);
                assert_eq!(
                    child.is_directory(),
                    shell.resctrl.attributes(child).unwrap().directory
                );
                if !child.is_directory() {
                    files += 1;
                    let text = shell.resctrl.read(child, &shell.caller, &mut shell.world).unwrap();
                    let lines = text.is_empty() || text.ends_with(b"\n");
                    assert!(lines, "{name}: {}", text.escape_ascii());
                }
                nodes.push(child);
            }
        }
        assert!(files > 50, "{files}");
    }
}

/// `struct seq_buf last_cmd_status`: 512 bytes, the rest is lost.
#[test]
fn the_status_has_room_for_512_bytes() {
    let mut shell = Shell::mounted("");
    let long = "x".repeat(600);
    assert_eq!(shell.write(&format!("L3:0={long}\n"), "schemata"), Err(Errno::Einval));
    let status = shell.status();
    assert!(status.starts_with("Non-hex character in the mask xxx") && status.len() == 511);
    shell.set("L3:0=f", "schemata");
}
