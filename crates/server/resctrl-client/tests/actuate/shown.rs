//! A resctrl that is read only: its caches, and what others let programs fill.

use std::fs;

use fairways_resctrl_client::ShownCaches;
use fairways_resctrl_rules::platform::Platform;

use crate::common::{Host, Sleeper, can_mount, mask};

#[test]
fn what_others_let_programs_fill_is_read_and_nothing_is_written() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(Platform::broadwell().with_domains(2, 2));
    host.settings.proc = host.at("proc");
    let [one, two, free, on_cpus] = [(); 4].map(|()| Sleeper::start());
    host.group("COS1", "L3:0=f;1=ff\n");
    host.group("COS2", "L3:0=f0\n");
    host.write("COS2/cpus_list", "3\n").unwrap();
    fs::create_dir(host.path("COS1/mon_groups/m")).unwrap();
    for (group, process) in [("COS1", &one), ("COS1", &two), ("COS1/mon_groups/m", &two)] {
        host.write(&format!("{group}/tasks"), &process.id().to_string()).unwrap();
    }
    for (process, cpus) in [(&free, "0-2"), (&on_cpus, "2-3")] {
        let dir = host.at(&format!("proc/{}", process.id()));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("status"), format!("Cpus_allowed_list:\t{cpus}\n")).unwrap();
    }
    let before = host.snapshot();
    let mut shown = ShownCaches::open(&host.settings).unwrap();
    let domains = shown.domains();
    let summary = domains.iter().map(|of| (of.id, of.llc.ways.get(), of.cpus.to_list()));
    let expected = [(0, 20, "0-1".to_owned()), (1, 20, "2-3".to_owned())];
    assert_eq!(summary.collect::<Vec<_>>(), expected);
    let limit = |shown: &ShownCaches, threads: &[&Sleeper], domain: u32| {
        let threads: Vec<i32> = threads.iter().map(|of| of.id()).collect();
        shown.limit(&threads, domain).map(|mask| mask.bits())
    };
    assert_eq!(limit(&shown, &[&one], 0), Some(0xf));
    assert_eq!(limit(&shown, &[&two], 1), Some(0xff));
    assert_eq!(limit(&shown, &[&free], 0), None, "the whole cache");
    assert_eq!(limit(&shown, &[&one, &free], 0), None, "the whole by one of its threads");
    assert_eq!(limit(&shown, &[&on_cpus], 0), None, "the whole on one of its CPUs");
    // Its manager keeps the root's class to a part, too, and gives away the other CPU.
    host.write("schemata", "L3:0=fff00\n").unwrap();
    host.write("COS2/cpus_list", "2-3\n").unwrap();
    shown.look().unwrap();
    assert_eq!(limit(&shown, &[&free], 0), Some(0xf_fff0), "the root's, or by its CPU");
    assert_eq!(limit(&shown, &[&on_cpus], 0), Some(0xf0));
    assert_eq!(limit(&shown, &[], 0), Some(0xf_ff00));
    fs::remove_dir(host.path("COS1")).unwrap();
    shown.look().unwrap();
    fs::write(host.at(&format!("proc/{}", one.id())), "").unwrap();
    assert_eq!(limit(&shown, &[&one], 0), Some(mask(0xf_ff00).bits()), "in the root's group");
    host.write("schemata", "L3:0=fffff\n").unwrap();
    host.write("COS2/cpus_list", "3\n").unwrap();
    let mut kept = before;
    kept.retain(|path, _| !path.starts_with("COS1"));
    assert_eq!(host.snapshot(), kept);
}

#[test]
fn without_a_resctrl_there_is_nothing_to_read() {
    let folder = tempfile::tempdir().unwrap();
    let settings = fairways_resctrl_client::Settings {
        root: folder.path().to_owned(),
        ..fairways_resctrl_client::Settings::default()
    };
    assert!(ShownCaches::open(&settings).is_none());
    let root = folder.path().join("missing");
    assert!(ShownCaches::open(&fairways_resctrl_client::Settings { root, ..settings }).is_none());
}
