//! Groups of a resctrl file system.

use std::fs;

use fairways_programs::Roots;

use super::super::live;
use super::*;

/// A folder like resctrl's, and one like /proc.
fn tree(
    groups: &[(&str, &str, &str)],
    processes: &[(i32, &str, &str)],
) -> (tempfile::TempDir, Roots) {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir_all(at.join("resctrl/info/L3")).unwrap();
    fs::create_dir_all(at.join("resctrl/mon_groups")).unwrap();
    fs::write(at.join("resctrl/info/L3/cbm_mask"), "fffff\n").unwrap();
    for (name, schemata, tasks) in groups {
        let group = at.join("resctrl").join(name);
        fs::create_dir_all(&group).unwrap();
        fs::write(group.join("schemata"), schemata).unwrap();
        fs::write(group.join("tasks"), tasks).unwrap();
        fs::write(group.join("cpus_list"), if *name == "COS4" { "2-3\n" } else { "\n" }).unwrap();
        fs::write(group.join("mode"), "shareable\n").unwrap();
    }
    for (pid, comm, cgroup) in processes {
        let process = at.join("proc").join(pid.to_string());
        fs::create_dir_all(&process).unwrap();
        let rest = " 0".repeat(40);
        fs::write(process.join("stat"), format!("{pid} ({comm}) S 1 {pid} {pid} 0 -1{rest}\n"))
            .unwrap();
        fs::write(process.join("cgroup"), format!("0::{cgroup}\n")).unwrap();
    }
    let thread = at.join("proc/71");
    fs::create_dir_all(&thread).unwrap();
    fs::write(thread.join("status"), "Name:\tx\nTgid:\t7\nPPid:\t1\n").unwrap();
    let roots = Roots { proc: at.join("proc"), cgroup: at.join("cgroup"), pods: at.join("pods") };
    (folder, roots)
}

fn live_import(groups: &[(&str, &str, &str)], processes: &[(i32, &str, &str)]) -> (Config, String) {
    let (folder, roots) = tree(groups, processes);
    let mut import = ImportedSources::new(HostCache::default());
    let root = folder.path().join("resctrl");
    assert!(live::is_resctrl(&root));
    import.source = root.display().to_string();
    live::read(&mut import, &root, &roots).unwrap();
    let text = short(&configuration(&mut import).unwrap(), folder.path());
    (toml::from_str(&text).unwrap(), text)
}

#[test]
fn groups_of_the_live_tree_become_programs() {
    let processes = [
        (7, "nginx", "/system.slice/nginx.service"),
        (8, "nginx", "/system.slice/nginx.service"),
        (9, "mlr", "/"),
    ];
    let groups = [
        ("", "L3:0=fffff;1=fffff\nMB:0=100;1=100\n", ""),
        ("COS1", "L3:0=ff;1=ff\nMB:0=100;1=100\n", "7\n71\n8\n"),
        ("COS2", "L3:0=f00;1=f00\nMB:0=100;1=100\n", "9\n"),
        ("COS3", "L3:0=fffff;1=fffff\nMB:0=100;1=100\n", ""),
    ];
    let (config, text) = live_import(&groups, &processes);
    assert_eq!(config.policy, "static", "{text}");
    assert_eq!(
        programs(&config),
        [
            ("nginx", "unit:nginx.service".to_owned(), Some(8), false, None),
            ("mlr", "process:mlr".to_owned(), Some(4), false, None),
        ]
    );
    assert_eq!(config.resctrl.confine_others, None);
    has_line(&text, &["resctrl/COS3: group: no task is in it"]);
    has_line(&text, &["# process:mlr: any user can take such a name"]);
}

#[test]
fn what_groups_of_the_live_tree_have_besides_is_named() {
    let processes = [
        (7, "nginx", "/system.slice/nginx.service"),
        (8, "nginx", "/system.slice/nginx.service"),
        (9, "mlr", "/batch/night"),
    ];
    let groups = [
        ("", "L3:0=ff000;1=ff000\nMB:0=2048;1=2048\n", ""),
        ("COS1", "L3:0=ff;1=f\nMB:0=2048;1=512\n", "7\n999\n"),
        ("COS2", "L3:0=f0;1=f0\nMB:0=2048;1=2048\n", "8\n9\n"),
        ("COS4", "L3:0=f00;1=f00\nMB:0=2048;1=2048\n", ""),
        ("fairways.1+web", "L3:0=1;1=1\n", "9\n"),
    ];
    let (config, text) = live_import(&groups, &processes);
    assert_eq!(config.policy, "fairways");
    assert_eq!(
        programs(&config),
        [
            // Four ways in either cache; a quarter of the bandwidth in one.
            ("nginx", "unit:nginx.service".to_owned(), Some(4), false, None),
            ("night", "cgroup:/batch/night".to_owned(), None, false, Some(4)),
        ],
        "{text}"
    );
    assert_eq!(config.resctrl.confine_others, Some(8));
    has_line(&text, &["resctrl/COS1: 1 of 2 tasks: "]);
    has_line(&text, &["resctrl/COS1: 1 of the 2 processes of unit:nginx.service: "]);
    has_line(&text, &["resctrl/COS2: unit:nginx.service: ", "in one class"]);
    has_line(&text, &["resctrl/COS1: class COS1, 25 % of memory bandwidth: "]);
    has_line(&text, &["resctrl/COS4: CPUs 2-3: "]);
    has_line(&text, &["resctrl/fairways.1+web: group: Fairways made it"]);
}

/// What everything else may fill is nobody's own.
#[test]
fn ways_that_the_rest_is_limited_to_are_not_promised() {
    let processes = [(7, "nginx", "/system.slice/nginx.service")];
    let groups = [("", "L3:0=fff;1=ff\n", ""), ("COS1", "L3:0=fff00;1=fff00\n", "7\n")];
    let (config, text) = live_import(&groups, &processes);
    assert_eq!(config.program[0].baseline_ways, Some(8), "{text}");
    assert_eq!(config.resctrl.confine_others, Some(8));
    assert_eq!(config.policy, "fairways");
    has_line(&text, &["the root's group: ", "the fewest ways count"]);
}
