//! Counters of memory traffic that are assigned to groups (AMD's ABMC).

use std::collections::BTreeMap;

use fairways_core::AppId;
use fairways_resctrl::language::Reading;
use fairways_resctrl_client::{Actuator, Ids, restore};
use fairways_resctrl_rules::platform::Platform;

use crate::common::{Host, can_mount, plan};

const FREE: &str = "info/L3_MON/available_mbm_cntrs";
const MODE: &str = "info/L3_MON/mbm_assign_mode";

/// One domain with that many counters, of which the root has two.
fn host(counters: u32) -> Host {
    let mut platform = Platform::zen5_abmc().with_domains(1, 4);
    platform.monitoring.as_mut().unwrap().assignable = Some(counters);
    Host::new(platform)
}

/// Each program's traffic, read as at the end of a window; `None` is missing.
fn read(client: &mut Actuator, apps: u32) -> Vec<Option<u64>> {
    let apps = (1..=apps).map(AppId);
    apps.map(|app| match client.memory_bytes(app, 0) {
        Reading::Value(bytes) => Some(bytes),
        Reading::Unassigned => None,
        other => panic!("{other:?}"),
    })
    .collect()
}

fn assigned(host: &Host, group: &str) -> String {
    host.read(&format!("{group}/mbm_L3_assignments"))
}

/// Everything that must come back.
fn all(host: &Host) -> (BTreeMap<String, String>, String, String, String) {
    (host.snapshot(), host.read(FREE), assigned(host, "theirs"), assigned(host, "."))
}

/// Programs have total traffic counted, classes nothing, and others keep theirs; removing our
/// groups puts back everything.
#[test]
fn only_what_programs_need_is_assigned() {
    if !can_mount() {
        return;
    }
    let host = host(32);
    host.group("theirs", "");
    host.write("theirs/mbm_L3_assignments", "mbm_local_bytes:0=_\n").unwrap();
    let before = all(&host);
    let mut client = host.open();
    for app in [1, 2] {
        client.add(AppId(app), "x", &[]).unwrap();
    }
    client.apply(&[(0, &plan(&[(0xf, &[1]), (0xf0, &[2])]))], "a test").unwrap();
    client.look().unwrap();
    let none = "mbm_total_bytes:0=_\nmbm_local_bytes:0=_\n";
    assert_eq!(
        (assigned(&host, "fairways.0"), assigned(&host, "fairways.1")),
        (none.into(), none.into())
    );
    assert_eq!(read(&mut client, 2), [Some(0), Some(0)]);
    assert_eq!(client.traffic_counters(), [(0, Ids { used: 2, others: 3, free: 27 })]);
    assert_eq!(client.degraded(), [""; 0]);
    assert_eq!(client.close().left, []);
    assert_eq!(all(&host), before);

    // Killed, it leaves groups with counters, which restoring removes.
    let mut client = host.open();
    client.add(AppId(1), "x", &[]).unwrap();
    client.apply(&[(0, &plan(&[(0xf, &[1])]))], "a test").unwrap();
    drop(client);
    assert_ne!(host.read(FREE), before.1);
    restore(&host.settings).unwrap();
    assert_eq!(all(&host), before);
}

/// Where counters are fewer than programs, each program is counted for a whole window, and then
/// gives way to the one that has waited longest; what is not counted is missing, never 0.
#[test]
fn programs_take_turns_where_counters_are_too_few() {
    if !can_mount() {
        return;
    }
    let host = host(4);
    let mut client = host.open();
    for app in 1..=4 {
        client.add(AppId(app), "x", &[]).unwrap();
    }
    let mut seen = Vec::new();
    for _ in 0..12 {
        let readings = read(&mut client, 4);
        seen.push(
            readings.iter().map(|of| if of.is_some() { 'x' } else { '.' }).collect::<String>(),
        );
        client.look().unwrap();
    }
    // Of the three readings of a turn, the first ends a window without a beginning.
    let expected = ["xx..", "xx..", "xx..", "..xx", "..xx", "..xx"].repeat(2);
    assert_eq!(seen, expected);
    let said = client.degraded();
    assert!(said[0].contains("2 of 4 are counted at a time"), "{said:?}");

    // Somebody else frees some, and takes one of ours away.
    host.write("mbm_L3_assignments", "mbm_total_bytes:0=_\nmbm_local_bytes:0=_\n").unwrap();
    client.look().unwrap();
    for _ in 0..2 {
        read(&mut client, 4);
    }
    assert_eq!(read(&mut client, 4), [Some(0); 4]);
    assert_eq!(client.degraded(), [""; 0]);
    let of_one = "mon_groups/fairways.1-x";
    host.write(&format!("{of_one}/mbm_L3_assignments"), "mbm_total_bytes:0=_\n").unwrap();
    assert_eq!(read(&mut client, 4)[0], None);
    client.look().unwrap();
    assert!(assigned(&host, of_one).starts_with("mbm_total_bytes:0=e\n"));
    assert_eq!(client.close().left, []);
}

/// The mode is whose it is: without assignment nothing is written, and after a change programs are
/// counted again.
#[test]
fn the_mode_may_change_at_any_time() {
    if !can_mount() {
        return;
    }
    let host = host(8);
    host.write(MODE, "default\n").unwrap();
    let mut client = host.open();
    client.add(AppId(1), "x", &[]).unwrap();
    client.look().unwrap();
    assert_eq!(read(&mut client, 1), [Some(0)]);
    assert_eq!(client.traffic_counters(), []);
    host.write(MODE, "mbm_event\n").unwrap();
    assert_eq!(read(&mut client, 1), [None]);
    client.look().unwrap();
    assert_eq!(read(&mut client, 1), [None], "all counts began again in this window");
    assert_eq!(read(&mut client, 1), [Some(0)]);
    assert_eq!(client.traffic_counters(), [(0, Ids { used: 1, others: 0, free: 7 })]);
    assert_eq!(client.close().left, []);
    assert_eq!(host.read(MODE), "[mbm_event]\ndefault\n");
}

/// Somebody lets the event count something else: it is named as soon as it is seen, and the window
/// in which it happened has no count.
#[test]
fn a_changed_filter_is_named() {
    if !can_mount() {
        return;
    }
    let zen = Host::new(Platform::zen().with_domains(1, 4));
    zen.write("info/L3_MON/mbm_total_bytes_config", "0=0x33\n").unwrap();
    let mut client = zen.open();
    let reads = "mbm_total_bytes counts local_reads, remote_reads, local_reads_slow_memory, remote_reads_slow_memory";
    let said = format!("{reads} in domain 0, not the default: programs' bytes include only these");
    assert_eq!(client.degraded(), [said]);
    zen.write("info/L3_MON/mbm_total_bytes_config", "0=0x7f\n").unwrap();
    client.look().unwrap();
    assert_eq!(client.degraded(), [""; 0]);
    drop(client);

    let host = host(8);
    let mut client = host.open();
    client.add(AppId(1), "x", &[]).unwrap();
    assert_eq!(read(&mut client, 1), [Some(0)]);
    host.write("info/L3_MON/event_configs/mbm_total_bytes/event_filter", "local_reads\n").unwrap();
    client.look().unwrap();
    assert_eq!(client.degraded().len(), 1);
    assert!(client.traffic().is_filtered("mbm_total_bytes", 0));
    assert_eq!([read(&mut client, 1), read(&mut client, 1)], [[None], [Some(0)]]);
}

/// Packages count energy; the client lists them, and groups have as few ids as packages do.
#[test]
fn packages_count_energy() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::clearwater_aet().with_domains(2, 2));
    let mut client = host.open();
    assert_eq!(client.package_events(), ["core_energy", "activity"]);
    assert_eq!(client.monitoring().unwrap().rmids, 576);
    client.add(AppId(1), "x", &[]).unwrap();
    client.look().unwrap();
    let none = fairways_resctrl_client::PackageCounts::default();
    assert_eq!(client.package_counts(AppId(1)), none, "nothing ran, and that is not 0");
    let group = "mon_groups/fairways.1-x/mon_data";
    assert_eq!(host.read(&format!("{group}/mon_PERF_PKG_01/activity")), "Unavailable\n");
    assert_eq!(client.close().left, []);
}
