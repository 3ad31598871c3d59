//! Properties of every tree, which the fuzz target and the random steps check.

use std::collections::BTreeSet;

use fairways_core::CpuSet;
use fairways_resctrl_rules::platform::{Platform, Resource};
use fairways_resctrl_rules::rules::{GroupFile, MonitoringFile, Node, Resctrl, Side};

use crate::shell::Shell;

/// All nodes, the root first.
pub(crate) fn nodes(resctrl: &Resctrl) -> Vec<Node> {
    let mut nodes = vec![resctrl.root()];
    let mut at = 0;
    while at < nodes.len() {
        nodes.extend(resctrl.children(nodes[at]).into_iter().map(|(_, node)| node));
        at += 1;
    }
    nodes
}

/// Shares ways out so that groups can be exclusive, which random steps seldom reach.
pub(crate) fn part(shell: &mut Shell) {
    for group in ["a", "b"] {
        shell.mkdir(group).expect("there is room");
    }
    for (path, ways) in [("schemata", "c00"), ("a/schemata", "00f"), ("b/schemata", "0f0")] {
        shell.write(&format!("L3:0={ways};1={ways}\n"), path).expect("they are free");
    }
    shell.write("exclusive\n", "a/mode").expect("it overlaps no other");
}

/// A file as text.
pub(crate) fn read(shell: &mut Shell, node: Node) -> String {
    let text = shell.resctrl.read(node, &shell.caller, &mut shell.world).expect("it exists");
    String::from_utf8_lossy(&text).into_owned()
}

/// Every CPU that is online is in one CTRL_MON group; classes and ids each belong to one group;
/// masks are legal; an exclusive group's overlap no other's, if `disjoint`: the kernel lets a
/// domain that comes back overlap.
pub(crate) fn check(shell: &mut Shell, disjoint: bool) {
    let all = nodes(&shell.resctrl);
    let mut cpus = CpuSet::new();
    let (mut closids, mut rmids) = (BTreeSet::new(), BTreeSet::new());
    let mut exclusive = Vec::new();
    let mut control = Vec::new();
    for &node in &all {
        let text = if node.is_directory() { String::new() } else { read(shell, node) };
        let Node::Group(group) = node else {
            assert!(text.is_empty() || text.ends_with('\n') || node == Node::LastCmdStatus);
            continue;
        };
        let class = shell.resctrl.class_of_group(group).expect("it exists");
        assert!(rmids.insert(class.rmid), "id {} twice", class.rmid);
        let file = |shell: &mut Shell, name| {
            let node = shell.resctrl.lookup(node, name)?;
            Some(read(shell, node))
        };
        let own = file(shell, "cpus_list").expect("every group has CPUs");
        let own = CpuSet::parse_list(&own, 4).expect("the kernel's own form");
        let Some(mode) = file(shell, "mode") else {
            let parent = shell.resctrl.parent(node).and_then(|node| node.group());
            let parent = parent.and_then(|parent| shell.resctrl.class_of_group(parent));
            assert_eq!(parent.map(|class| class.closid), Some(class.closid));
            continue;
        };
        assert!(own.intersection(&cpus).is_empty(), "a CPU in two groups");
        cpus = cpus.union(&own);
        assert!(closids.insert(class.closid), "class {} twice", class.closid);
        control.push(class.closid);
        if mode == "exclusive\n" {
            exclusive.push(class.closid);
        }
    }
    assert_eq!(&cpus, shell.resctrl.online(), "every CPU is in a group");
    let sides = if shell.resctrl.show_options().contains("cdp") {
        vec![Side::Code, Side::Data]
    } else {
        vec![Side::Both]
    };
    for domain in 0..2 {
        for &closid in &control {
            let masks = |closid| {
                sides
                    .iter()
                    .filter_map(|&side| shell.resctrl.mask(Resource::L3, side, closid, domain))
                    .collect::<Vec<_>>()
            };
            for own in masks(closid) {
                assert!(own != 0 && own <= 0xfff, "{own:x}");
                assert_eq!(own.count_ones(), (own >> own.trailing_zeros()).trailing_ones());
                let others = control.iter().filter(|&&other| other != closid);
                if disjoint && exclusive.contains(&closid) {
                    let theirs =
                        others.flat_map(|&other| masks(other)).fold(0xc00, |all, mask| all | mask);
                    assert_eq!(own & theirs, 0, "exclusive {own:x}, others {theirs:x}");
                }
            }
            let percent = shell.resctrl.bandwidth(Resource::Mb, closid, domain);
            assert!(
                percent.is_none_or(|percent| percent % 10 == 0 && (10..=100).contains(&percent))
            );
        }
    }
}

/// Files that can be written.
fn writable(node: Node) -> bool {
    let read_only = [GroupFile::Size, GroupFile::CtrlHwId, GroupFile::MonHwId];
    match node {
        Node::File(_, file) => !read_only.contains(&file),
        Node::MonitoringFile(file) => {
            use MonitoringFile::{AvailableMbmCntrs, MonFeatures, NumMbmCntrs, NumRmids};
            !matches!(file, MonFeatures | NumRmids | NumMbmCntrs | AvailableMbmCntrs)
        }
        Node::EventFilter(_) => true,
        _ => false,
    }
}

/// Writes, one after the other, split by bytes of 255. The first byte of each picks the file, the
/// rest is the text; the first byte of all picks the machine and the options.
pub(crate) fn writes(bytes: &[u8]) {
    let Some((&first, bytes)) = bytes.split_first() else { return };
    let (platform, options) = match first % 5 {
        0 => (Platform::lab(), ""),
        1 => (Platform::lab(), "cdp"),
        2 => (Platform::lab(), "mba_MBps"),
        3 => (Platform::zen().with_domains(2, 2).with_ways(12, 0xc00), ""),
        _ => (Platform::lab().with_kernel(fairways_resctrl_rules::platform::Kernel::v6_1()), ""),
    };
    let lab = first % 5 != 3;
    let mut shell = Shell::on(platform, options);
    if options != "cdp" {
        part(&mut shell);
        shell.mkdir("a/mon_groups/m").expect("there is room");
    }
    let files: Vec<Node> =
        nodes(&shell.resctrl).into_iter().filter(|&node| writable(node)).collect();
    for write in bytes.split(|&byte| byte == 255) {
        let Some((&file, text)) = write.split_first() else { continue };
        let node = files[usize::from(file) % files.len()];
        let _ = shell.resctrl.write(node, text, &shell.caller, &mut shell.world);
    }
    if lab {
        check(&mut shell, true);
    } else {
        for node in nodes(&shell.resctrl).into_iter().filter(|node| !node.is_directory()) {
            read(&mut shell, node);
        }
    }
}
