//! Hosts of which other managers have every way, or every class of service.

use std::collections::BTreeSet;
use std::fs;

use fairways_core::AppId;
use fairways_resctrl::language::Reading;
use fairways_resctrl_client::{Actuator, OpenError, Settings};
use fairways_resctrl_rules::platform::Platform;

use crate::common::{Host, Sleeper, can_mount, mask, plan};

/// Eleven ways, two of them shareable, in three classes of another manager.
fn partitioned() -> Host {
    let host = Host::new(Platform::skylake().with_domains(1, 4));
    host.group("COS1", "L3:0=3f\n");
    host.group("COS2", "L3:0=3c0\n");
    host.group("COS3", "L3:0=400\n");
    host
}

fn busy(settings: &Settings) -> String {
    match Actuator::open(settings.clone()) {
        Err(OpenError::Busy(why)) => why,
        Err(why) => panic!("{why}"),
        Ok(_) => panic!("it was opened"),
    }
}

/// The ways on offer.
fn ways(host: &Host) -> Vec<u32> {
    let client = host.open();
    let ways = client.domains()[0].ways.clone();
    assert_eq!(client.close().left, []);
    ways
}

fn ids(client: &Actuator) -> Vec<u32> {
    client.domains().iter().map(|domain| domain.id).collect()
}

/// What gives nothing out measures programs, says that nothing could be given out, and writes no
/// mask. When others let go of ways, policies have them.
#[test]
fn who_only_watches_needs_no_free_way() {
    if !can_mount() {
        return;
    }
    for is_dry in [false, true] {
        let mut host = partitioned();
        let sleeper = Sleeper::start();
        let before = host.snapshot();
        assert!(busy(&host.settings).contains("--observe"));
        (host.settings.only_watch, host.settings.dry_run) = (!is_dry, is_dry);
        let mut client = host.open();
        let domain = client.domains()[0].clone();
        assert_eq!((domain.llc.ways.get(), domain.llc.clos), (9, 4));
        assert!(!client.gives_out(0));
        let said = client.degraded();
        assert_eq!(said.len(), 1, "{said:?}");
        let expected = "nothing could be given out: no ways are free in any domain";
        assert!(said[0].starts_with(expected), "{said:?}");
        let added = client.add(AppId(1), "a", &[sleeper.id()]).unwrap();
        assert!(added.monitored);
        if !is_dry {
            assert_eq!(client.occupancy(AppId(1), 0), Reading::Value(0));
            assert_eq!(host.threads("mon_groups/fairways.1-a"), [sleeper.id()]);
        }
        let applied = client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test").unwrap();
        assert_eq!((applied.placed, host.has("fairways.0")), (vec![], false));
        assert!(!client.look().unwrap().domains);
        // Its manager lets go of some.
        host.write("COS1/schemata", "L3:0=30\n").unwrap();
        assert!(client.look().unwrap().domains);
        assert_eq!(client.domains()[0].ways, [0, 1, 2, 3]);
        assert!(client.gives_out(0) && client.degraded().is_empty());
        let applied = client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test").unwrap();
        assert_eq!(applied.placed[0].masks[&0], mask(0x3));
        assert_eq!(host.has("fairways.0"), !is_dry);
        // And takes them again: what was given out is given back.
        host.write("COS1/schemata", "L3:0=3f\n").unwrap();
        assert!(client.look().unwrap().domains);
        client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test").unwrap();
        assert!(!host.has("fairways.0"));
        assert_eq!(client.close().left, []);
        assert_eq!(host.snapshot(), before);
    }
}

#[test]
fn a_domain_that_others_have_is_watched_beside_one_that_they_leave() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(Platform::skylake().with_domains(2, 2));
    host.group("COS1", "L3:0=3f;1=3\n");
    host.group("COS2", "L3:0=7c0;1=3\n");
    let client = host.open();
    assert_eq!(ids(&client), [1], "where ways are to be given out");
    assert!(client.degraded()[0].contains("no ways are free in domain 0, "));
    assert_eq!(client.close().left, []);
    host.settings.only_watch = true;
    let mut client = host.open();
    assert_eq!(ids(&client), [0, 1]);
    assert_eq!([0, 1].map(|domain| client.gives_out(domain)), [false, true]);
    let (one, other) = (plan(&[(0x3, &[1])]), plan(&[(0xc, &[1])]));
    client.add(AppId(1), "a", &[]).unwrap();
    let applied = client.apply(&[(0, &one), (1, &other)], "a test").unwrap();
    assert_eq!(applied.placed[0].masks[&1], mask(0xc));
    let schemata = host.read("fairways.0/schemata");
    assert!(schemata.contains("L3:0=7ff;1=30\n"), "the root's there: {schemata}");
    assert_eq!(client.close().left, []);
}

#[test]
fn without_a_class_of_service_programs_are_watched() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(Platform::skylake().with_domains(1, 4).with_closids(3));
    host.group("COS1", "L3:0=1\n");
    host.group("COS2", "");
    let before = host.snapshot();
    assert!(busy(&host.settings).starts_with("no class of service is free of 3; "));
    host.settings.take_over = true;
    assert!(busy(&host.settings).starts_with("no class of service is free of 3; "));
    (host.settings.take_over, host.settings.only_watch) = (false, true);
    let mut client = host.open();
    assert_eq!(client.domains()[0].llc.clos, 2, "as without the others");
    assert_eq!((client.closids().free, client.gives_out(0)), (0, false));
    let sleeper = Sleeper::start();
    assert!(client.add(AppId(1), "a", &[sleeper.id()]).unwrap().monitored);
    client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test").unwrap();
    fs::remove_dir(host.path("COS2")).unwrap();
    assert!(client.look().unwrap().domains);
    assert!(client.gives_out(0));
    host.group("COS2", "");
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

/// Ways of groups that are empty, or have only the programs' threads, are given out; those of
/// groups with a thread or a CPU of somebody else are not.
#[test]
fn taking_over_frees_the_ways_of_groups_that_it_empties() {
    if !can_mount() {
        return;
    }
    let mut host = partitioned();
    host.settings.take_over = true;
    let [ours, theirs] = [Sleeper::start(), Sleeper::start()];
    assert_eq!(ways(&host), (0..9).collect::<Vec<u32>>(), "all are empty");
    host.write("COS1/tasks", &theirs.id().to_string()).unwrap();
    assert_eq!(ways(&host), [6, 7, 8], "two of three");
    host.write("COS2/tasks", &ours.id().to_string()).unwrap();
    assert!(busy(&host.settings).contains("remove a group that is not needed"));
    host.settings.to_take = BTreeSet::from([ours.id()]);
    assert_eq!(ways(&host), [6, 7, 8], "one empty, one of our program");

    let before = host.snapshot();
    let mut client = host.open();
    // The first look comes before programs are added.
    assert!(!client.look().unwrap().domains);
    let added = client.add(AppId(1), "a", &[ours.id()]).unwrap();
    assert_eq!(added.tasks.moved, [ours.id()]);
    client.apply(&[(0, &plan(&[(0x7, &[1])]))], "a test").unwrap();
    assert!(host.read("fairways.0/schemata").contains("L3:0=1c0\n"));
    assert!(!client.look().unwrap().domains);
    // Its manager uses the group again.
    let late = Sleeper::start();
    host.write("COS2/tasks", &late.id().to_string()).unwrap();
    client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test").unwrap_err();
    drop(late);
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

/// The kernel lets no other group have exclusive ways, whatever tasks are in their group.
#[test]
fn exclusive_ways_are_not_taken_over() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(Platform::skylake().with_domains(1, 4));
    host.group("COS1", "L3:0=3f\n");
    host.group("COS2", "L3:0=1c0\n");
    host.write("schemata", "L3:0=600\n").unwrap();
    host.settings.take_over = true;
    assert_eq!(ways(&host), (0..9).collect::<Vec<u32>>());
    host.write("COS1/mode", "exclusive\n").unwrap();
    assert_eq!(ways(&host), [6, 7, 8]);
    host.write("COS2/mode", "exclusive\n").unwrap();
    let said = busy(&host.settings);
    assert!(said.starts_with("no ways are free in any domain"), "{said}");
    assert!(!said.contains("--take-over"), "it is tried already: {said}");
}

/// Programs of the root's group have the class of the CPU that they run on.
#[test]
fn a_group_with_cpus_is_not_empty() {
    if !can_mount() {
        return;
    }
    let mut host = partitioned();
    host.settings.take_over = true;
    host.write("COS2/cpus_list", "3\n").unwrap();
    assert_eq!(ways(&host), (0..6).collect::<Vec<u32>>());
    host.write("COS1/cpus_list", "2\n").unwrap();
    assert!(busy(&host.settings).starts_with("no ways are free in any domain"));
}
