//! Kernels that are not Linux's own: lines of `schemata` that are not known, and domains of memory
//! bandwidth whose ids are not the caches'.

use std::fs;

use fairways_core::AppId;
use fairways_resctrl_client::Actuator;
use fairways_resctrl_rules::platform::{OtherLine, Platform};

use crate::common::{Host, Sleeper, can_mount, levelled, plan};
use crate::levels::{in_force, managed, mb};

/// A switch, a percentage that is no limit at 100, a priority that is none in the middle, and a
/// cache's lease, which begins at 0.
const LINES: [OtherLine; 4] = [
    OtherLine { name: "MB_HLIM", least: 0, most: 1, first: 0 },
    OtherLine { name: "L3_MAX", least: 1, most: 100, first: 100 },
    OtherLine { name: "L3_PRIO", least: 3, most: 7, first: 5 },
    OtherLine { name: "L4", least: 0, most: 4000, first: 0 },
];

/// A machine whose limits are of classes as a whole, so that they are divided, with these lines.
fn with_lines() -> Platform {
    Platform { other_lines: LINES.to_vec(), ..Platform::mpam().with_domains(1, 4) }
}

/// The lines of a group that are not known.
fn lines_of(host: &Host, group: &str) -> Vec<String> {
    let path = if group.is_empty() { "schemata".to_owned() } else { format!("{group}/schemata") };
    let text = host.read(&path);
    let lines = text.lines().map(|line| line.trim().replace(' ', ""));
    lines.filter(|line| !line.starts_with("MB:") && !line.starts_with("L3:")).collect()
}

/// Our classes, in order.
fn classes(host: &Host) -> Vec<String> {
    let entries = fs::read_dir(&host.settings.root).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("fairways.")).collect();
    names.sort();
    names
}

/// Limits of the root are divided among classes; lines that are not known are not.
#[test]
fn unknown_lines_are_not_divided() {
    if !can_mount() {
        return;
    }
    let host = Host::new(with_lines());
    host.write("schemata", "MB:0=40\n").unwrap();
    let before = host.snapshot();
    let (mut client, _processes) = managed(&host, 3);
    let plan = plan(&[(0x3, &[0]), (0xc, &[1]), (0xf0, &[2])]);
    client.apply(&[(0, &plan)], "a test").unwrap();
    let classes = classes(&host);
    assert_eq!(classes.len(), 3);
    for class in &classes {
        assert_eq!(mb(&host, class), "MB:0=13", "{class}");
        assert_eq!(lines_of(&host, class), lines_of(&host, ""), "{class}");
    }
    assert_eq!(lines_of(&host, ""), ["MB_HLIM:0=0", "L3_MAX:0=100", "L3_PRIO:0=5", "L4:0=0"]);
    client.look().unwrap();
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

/// The root's lines hold for programs that come from there, and follow its owner.
#[test]
fn unknown_lines_of_the_root_are_copied_as_they_are() {
    if !can_mount() {
        return;
    }
    let host = Host::new(with_lines());
    host.write("schemata", "MB_HLIM:0=1\nL3_PRIO:0=7\nL4:0=77\n").unwrap();
    let before = host.snapshot();
    let (mut client, _processes) = managed(&host, 2);
    client.apply(&[(0, &plan(&[(0x3, &[0]), (0xc, &[1])]))], "a test").unwrap();
    for class in classes(&host) {
        assert_eq!(lines_of(&host, &class), lines_of(&host, ""), "{class}");
    }
    host.write("schemata", "L3_PRIO:0=3\n").unwrap();
    client.look().unwrap();
    for class in classes(&host) {
        assert_eq!(lines_of(&host, &class)[2], "L3_PRIO:0=3", "{class}");
    }
    host.write("schemata", "L3_PRIO:0=7\n").unwrap();
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

/// A program that is taken out of another manager's group keeps its lines; one cluster of programs
/// with different lines is several classes.
#[test]
fn unknown_lines_come_along_with_a_program() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(with_lines());
    host.settings.take_over = true;
    host.group("COS1", "MB_HLIM:0=1\nL3_MAX:0=30\n");
    let taken = Sleeper::start();
    host.write("COS1/tasks", &taken.id().to_string()).unwrap();
    let before = host.snapshot();
    let (mut client, _processes) = managed(&host, 1);
    assert_eq!(client.add(AppId(1), "y", &[taken.id()]).unwrap().tasks.others, []);
    let theirs = lines_of(&host, "COS1");
    assert_eq!(lines_of(&host, &classes(&host)[0]), theirs, "before a plan");
    client.apply(&[(0, &plan(&[(0x3, &[0, 1])]))], "a test").unwrap();
    let mut lines: Vec<_> = classes(&host).iter().map(|class| lines_of(&host, class)).collect();
    lines.sort();
    let mut expected = vec![theirs, lines_of(&host, "")];
    expected.sort();
    assert_eq!(lines, expected);
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

/// Where a class can't have the lines of a group, its threads stay there.
#[test]
fn threads_stay_where_their_unknown_lines_cannot_come_along() {
    if !can_mount() {
        return;
    }
    // The root's class, two of others, and one of ours.
    for refuses in [false, true] {
        let mut host = Host::new(with_lines().with_closids(if refuses { 8 } else { 4 }));
        host.settings.take_over = true;
        let processes: Vec<Sleeper> = (0..2).map(|_| Sleeper::start()).collect();
        for (group, (line, process)) in
            ["COS1", "COS2"].iter().zip(["MB_HLIM:0=1\n", "L3_MAX:0=50\n"].iter().zip(&processes))
        {
            host.group(group, line);
            host.write(&format!("{group}/tasks"), &process.id().to_string()).unwrap();
        }
        let before = host.snapshot();
        let mut client = host.open();
        if refuses {
            host.fault("write:fairways.*/schemata=EINVAL@1");
        }
        client.add(AppId(0), "x", &[processes[0].id()]).unwrap();
        client.add(AppId(1), "y", &[processes[1].id()]).unwrap();
        let [first, second] = ["COS1", "COS2"].map(|group| host.threads(group).len());
        // The first one's line is refused, or the other one finds no class.
        assert_eq!([first, second], if refuses { [1, 0] } else { [0, 1] });
        let lines = ["COS1", "COS2"].map(|group| lines_of(&host, group).swap_remove(0));
        assert_eq!(lines, ["MB_HLIM:0=1", "MB_HLIM:0=0"]);
        client.look().unwrap();
        assert_eq!(client.close().left, []);
        assert_eq!(host.snapshot(), before);
    }
}

/// What somebody else writes to a line of our class stays, whatever a later plan brings.
#[test]
fn an_unknown_line_that_others_write_is_left_alone() {
    if !can_mount() {
        return;
    }
    let host = Host::new(with_lines());
    let before = host.snapshot();
    let (mut client, _processes) = managed(&host, 1);
    client.apply(&[(0, &plan(&[(0x3, &[0])]))], "a test").unwrap();
    host.write("fairways.0/schemata", "L3_MAX:0=20\n").unwrap();
    client.look().unwrap();
    for (mask, prio) in [(0x7, 4), (0x3, 6)] {
        host.write("schemata", &format!("L3_PRIO:0={prio}\n")).unwrap();
        client.look().unwrap();
        client.apply(&[(0, &plan(&[(mask, &[0])]))], "a test").unwrap();
        let lines = lines_of(&host, "fairways.0");
        assert_eq!(lines[1..3], ["L3_MAX:0=20".to_owned(), format!("L3_PRIO:0={prio}")]);
    }
    host.write("schemata", "L3_PRIO:0=5\n").unwrap();
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

/// The caches 1 and 2 have the memory nodes 0 and 1.
fn by_node() -> Platform {
    let memory_nodes = [(1, 0), (2, 1)].into();
    Platform { memory_nodes, ..Platform::mpam().with_domain_ids(&[1, 2], 2) }
}

/// Has sysfs list these nodes, with their CPUs.
fn list_nodes(host: &Host, nodes: &[(u32, &str)]) {
    for (node, cpus) in nodes {
        let folder = host.at(&format!("sys/devices/system/node/node{node}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("cpulist"), format!("{cpus}\n")).unwrap();
    }
}

/// Whether each cache's bandwidth can be limited.
fn levers(client: &Actuator) -> Vec<bool> {
    client.domains().iter().map(|domain| domain.bandwidth.is_some()).collect()
}

/// Whether it is said that memory bandwidth of these caches can't be limited.
fn says_so(client: &Actuator, caches: &str) -> bool {
    let start = format!("memory bandwidth of L3 {caches} can't be limited");
    client.degraded().iter().any(|line| line.starts_with(&start))
}

/// A cache's level is written to the node with its CPUs, and what others limit there holds.
#[test]
fn a_level_is_of_the_node_with_the_caches_cpus() {
    if !can_mount() {
        return;
    }
    let host = Host::new(by_node());
    // One has memory alone.
    list_nodes(&host, &[(0, "0-1"), (1, "2-3"), (2, "")]);
    let before = host.snapshot();
    let (mut client, _processes) = managed(&host, 1);
    assert_eq!(levers(&client), [true, true]);
    let [one, other] = [40, 60].map(|level| levelled(&[(0x3, level, &[0])]));
    client.apply(&[(1, &one)], "a test").unwrap();
    assert_eq!(mb(&host, "fairways.0"), "MB:0=40;1=100");
    client.apply(&[(2, &other)], "a test").unwrap();
    assert_eq!(mb(&host, "fairways.0"), "MB:0=40;1=60");
    assert_eq!([1, 2].map(|cache| in_force(&client, cache)), [[Some(40)], [Some(60)]]);
    let mut host = host;
    host.write("schemata", "MB:1=20\n").unwrap();
    client.look().unwrap();
    assert_eq!(mb(&host, "fairways.0"), "MB:0=40;1=20");
    assert_eq!([1, 2].map(|cache| in_force(&client, cache)), [[Some(40)], [Some(20)]]);
    host.write("schemata", "MB:1=100\n").unwrap();
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
    // A dry run would do the same.
    host.settings.dry_run = true;
    let (mut client, _processes) = managed(&host, 1);
    let applied = client.apply(&[(1, &one)], "a test").unwrap();
    let level = applied.placed[0].levels.get(&1).map(|level| level.get());
    assert_eq!(level, Some(40));
}

/// Where CPUs do not show whose a domain is, nothing is limited, and that is said.
#[test]
fn without_a_domain_there_is_no_lever() {
    if !can_mount() {
        return;
    }
    let swapped =
        Platform { memory_nodes: [(0, 1), (1, 0)].into(), ..Platform::mpam().with_domains(2, 2) };
    type Nodes = &'static [(u32, &'static str)];
    let cases: [(&str, Platform, Nodes, [bool; 2], &str); 7] = [
        ("sysfs has no nodes", by_node(), &[], [false, false], "1, 2"),
        ("a node of two caches", by_node(), &[(0, "0-3"), (1, "")], [false, false], "1, 2"),
        ("one node is known", by_node(), &[(1, "2-3")], [false, true], "1"),
        ("ids of both, others' CPUs", swapped, &[(0, "2-3"), (1, "0-1")], [false; 2], "0, 1"),
        (
            "ids of both, the same CPUs",
            Platform::mpam().with_domains(2, 2),
            &[(0, "0-1"), (1, "2-3")],
            [true; 2],
            "",
        ),
        (
            "ids of caches alone",
            Platform::mpam().with_domain_ids(&[0, 8], 2),
            &[(0, "2-3"), (1, "0-1")],
            [true; 2],
            "",
        ),
        (
            "x86, where nodes are something else",
            Platform { mb: Platform::skylake().mb, ..Platform::broadwell() }.with_domains(2, 2),
            &[(0, "0-3"), (1, "")],
            [true; 2],
            "",
        ),
    ];
    for (case, platform, nodes, expected, without) in cases {
        let host = Host::new(platform);
        list_nodes(&host, nodes);
        let before = host.read("schemata");
        let (mut client, _processes) = managed(&host, 1);
        assert_eq!(levers(&client), expected, "{case}");
        assert_eq!(says_so(&client, without), !without.is_empty(), "{case}");
        let caches: Vec<u32> = client.domains().iter().map(|domain| domain.id).collect();
        for (cache, expected) in caches.into_iter().zip(expected) {
            let level = levelled(&[(0x3, 50, &[0])]);
            assert_eq!(client.apply(&[(cache, &level)], "a test").is_ok(), expected, "{case}");
            client.apply(&[(cache, &plan(&[(0x3, &[0])]))], "a test").unwrap();
        }
        assert_eq!(client.close().left, [], "{case}");
        assert_eq!(host.read("schemata"), before, "{case}");
    }
}

/// The mapping is found once the nodes are listed, and stays while CPUs come and go.
#[test]
fn a_lever_that_is_found_stays() {
    if !can_mount() {
        return;
    }
    let host = Host::new(by_node());
    let mut client = host.open();
    assert_eq!(levers(&client), [false, false]);
    list_nodes(&host, &[(0, "0-1"), (1, "2-3")]);
    client.look().unwrap();
    assert_eq!(levers(&client), [true, true]);
    assert!(!says_so(&client, "1, 2"));
    list_nodes(&host, &[(0, "0"), (1, "3")]);
    client.look().unwrap();
    assert_eq!(levers(&client), [true, true]);
}
