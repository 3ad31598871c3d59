//! Machines that differ.

use fairways_core::AppId;
use fairways_resctrl::language::Reading;
use fairways_resctrl_client::{Actuator, Applied};
use fairways_resctrl_rules::platform::{Kernel, Platform};

use crate::common::{Host, Sleeper, can_mount, mask, plan};

#[test]
fn haswell_has_two_ways_at_least_and_three_classes() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::haswell().with_domains(1, 4));
    let mut client = host.open();
    let llc = client.domains()[0].llc;
    assert_eq!((llc.ways.get(), llc.min_bits, llc.clos, llc.contiguous), (18, 2, 3, true));
    client.add(AppId(1), "a", &[]).unwrap();
    assert!(client.apply(&[(0, &plan(&[(0x1, &[1])]))], "a test").is_err());
    client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test").unwrap();
    assert_eq!(client.occupancy(AppId(1), 0), Reading::Value(0));
    assert_eq!(client.memory_bytes(AppId(1), 0), Reading::Unassigned, "it counts none");
}

#[test]
fn zen_has_masks_with_gaps_and_domains_whose_ids_skip() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::zen());
    let before = host.snapshot();
    let mut client = host.open();
    let ids: Vec<u32> = client.domains().iter().map(|domain| domain.id).collect();
    assert_eq!(ids, [0, 1, 8, 9]);
    let of = &client.domains()[2];
    assert_eq!((of.llc.min_bits, of.llc.contiguous, of.cpus.to_list()), (1, false, "8-11".into()));
    assert_eq!(of.way_bytes, 2 << 20);
    let [a, b, c] = [Sleeper::start(), Sleeper::start(), Sleeper::start()];
    for (app, process) in [(1, &a), (2, &b), (3, &c)] {
        client.add(AppId(app), "x", &[process.id()]).unwrap();
    }
    let (first, last) = (plan(&[(0x0005, &[1]), (0xfff0, &[2])]), plan(&[(0x8001, &[2, 3])]));
    let applied = client.apply(&[(0, &first), (9, &last)], "a test").unwrap();
    assert_eq!(applied.placed.len(), 3, "1, 2 and 3 are each of another class");
    for (group, line) in applied.placed.iter().map(|placed| {
        let line = match placed.programs[0].0 {
            1 => "L3:0=5;1=ffff;8=ffff;9=ffff\n",
            2 => "L3:0=fff0;1=ffff;8=ffff;9=8001\n",
            _ => "L3:0=ffff;1=ffff;8=ffff;9=8001\n",
        };
        (&placed.group, line)
    }) {
        assert!(host.read(&format!("{group}/schemata")).contains(line), "{group}");
    }
    // One domain's plan changes, and the other's stays in force.
    client.apply(&[(9, &plan(&[(0x000f, &[3])]))], "a test").unwrap();
    let applied = client.apply(&[], "again").unwrap();
    let of = |app: u32| applied.placed.iter().find(|of| of.programs.contains(&AppId(app))).unwrap();
    assert_eq!((of(1).masks[&0], of(1).masks[&9]), (mask(0x5), mask(0xffff)));
    assert_eq!((of(3).masks[&0], of(3).masks[&9]), (mask(0xffff), mask(0xf)));
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

#[test]
fn code_and_data_get_the_same_ways() {
    if !can_mount() {
        return;
    }
    let host = Host::with_options(Platform::broadwell().with_domains(1, 4), "cdp");
    let before = host.snapshot();
    let mut client = host.open();
    assert_eq!(client.domains()[0].llc.clos, 7);
    client.add(AppId(1), "a", &[]).unwrap();
    client.apply(&[(0, &plan(&[(0x3c, &[1])]))], "a test").unwrap();
    let schemata = host.read("fairways.0/schemata");
    assert!(schemata.contains("L3DATA:0=3c\n") && schemata.contains("L3CODE:0=3c\n"), "{schemata}");
    // Somebody parts them.
    host.write("fairways.0/schemata", "L3CODE:0=1\n").unwrap();
    assert_eq!(client.look().unwrap().rewritten, ["fairways.0"]);
    assert_eq!(host.read("fairways.0/schemata"), schemata);
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

/// Where rename(2) is refused, programs are moved by their threads, and counts never go back.
#[test]
fn groups_that_cannot_be_renamed_are_made_again() {
    if !can_mount() {
        return;
    }
    let old = Platform::broadwell().with_domains(1, 4).with_kernel(Kernel::v6_1());
    for platform in [old, Platform::mpam().with_domains(1, 4)] {
        let host = Host::new(platform);
        let before = host.snapshot();
        let mut client = host.open();
        let [a, b] = [Sleeper::start(), Sleeper::start()];
        client.add(AppId(1), "a", &[a.id()]).unwrap();
        client.add(AppId(2), "b", &[b.id()]).unwrap();
        client.apply(&[(0, &plan(&[(0x3, &[1]), (0xc, &[2])]))], "a test").unwrap();
        assert_eq!(host.threads("fairways.0/mon_groups/fairways.1-a"), [a.id()]);
        assert!(!host.has("mon_groups/fairways.1-a"));
        assert_eq!(client.occupancy(AppId(1), 0), Reading::Value(0));
        let counted = [1, 2].map(|app| client.counting_group(AppId(app)));
        client.apply(&[(0, &plan(&[(0x3, &[2, 1])]))], "a test").unwrap();
        // The lines of the one that moved count from zero again.
        let now = [1, 2].map(|app| client.counting_group(AppId(app)));
        assert!(now != counted && (now[0] == counted[0] || now[1] == counted[1]), "{now:?}");
        let mut both = [a.id(), b.id()];
        both.sort_unstable();
        let group = ["fairways.0", "fairways.1"].into_iter().find(|group| host.has(group)).unwrap();
        assert_eq!(host.threads(group), both);
        assert_eq!(host.threads(&format!("{group}/mon_groups/fairways.1-a")), [a.id()]);
        assert_eq!(client.occupancy(AppId(1), 0), Reading::Value(0));
        client.remove(AppId(1)).unwrap();
        assert!(host.threads("").contains(&a.id()));
        assert_eq!(client.close().left, []);
        assert_eq!(host.snapshot(), before);
    }
}

#[test]
fn programs_without_a_monitoring_id_are_managed_all_the_same() {
    if !can_mount() {
        return;
    }
    // One id is the root's, two the classes' that there can be, one is left.
    let platform = Platform::broadwell().with_domains(1, 4).with_closids(3).with_rmids(4);
    let host = Host::new(platform);
    let before = host.snapshot();
    let mut client = host.open();
    let [a, b] = [Sleeper::start(), Sleeper::start()];
    assert!(client.add(AppId(1), "a", &[a.id()]).unwrap().monitored);
    assert!(!client.add(AppId(2), "b", &[b.id()]).unwrap().monitored);
    assert_eq!(client.occupancy(AppId(2), 0), Reading::Unassigned);
    client.apply(&[(0, &plan(&[(0x3, &[1]), (0xc, &[2])]))], "a test").unwrap();
    assert_eq!(host.threads("fairways.1"), [b.id()]);
    client.apply(&[(0, &plan(&[(0x3, &[1, 2])]))], "a test").unwrap();
    assert!(host.threads("fairways.0").contains(&b.id()));
    // An id becomes free, and is taken.
    client.remove(AppId(1)).unwrap();
    host.advance(std::time::Duration::from_secs(2));
    assert_eq!(client.look().unwrap().monitored, [AppId(2)]);
    assert_eq!(host.threads("fairways.0/mon_groups/fairways.2-b"), [b.id()]);
    assert_eq!(client.occupancy(AppId(2), 0), Reading::Value(0));
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

/// Nothing is monitored: no L3_MON.
#[test]
fn a_machine_that_monitors_nothing_is_managed() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform { monitoring: None, ..Platform::haswell().with_domains(1, 2) });
    let before = host.snapshot();
    let mut client = host.open();
    assert!(client.monitoring().is_none());
    let a = Sleeper::start();
    client.add(AppId(1), "a", &[a.id()]).unwrap();
    client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test").unwrap();
    assert_eq!(host.threads("fairways.0"), [a.id()]);
    client.remove(AppId(1)).unwrap();
    assert!(host.threads("").contains(&a.id()));
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

#[test]
fn a_domain_that_returns_gets_its_masks_again() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::lab());
    let mut client = host.open();
    client.add(AppId(1), "a", &[]).unwrap();
    let (one, other) = (plan(&[(0x3, &[1])]), plan(&[(0xc, &[1])]));
    client.apply(&[(0, &one), (1, &other)], "a test").unwrap();
    assert_eq!(client.look().unwrap(), Default::default());
    for cpu in [2, 3] {
        host.cpu(cpu, false).unwrap();
    }
    assert!(client.look().unwrap().domains);
    assert_eq!(client.domains().len(), 1);
    assert_eq!(client.occupancy(AppId(1), 1), Reading::Unavailable);
    assert_eq!(client.occupancy(AppId(1), 0), Reading::Value(0));
    for cpu in [2, 3] {
        host.cpu(cpu, true).unwrap();
    }
    assert!(host.read("fairways.0/schemata").contains("L3:0=3;1=fff\n"));
    let changes = client.look().unwrap();
    assert!(changes.domains && changes.rewritten == ["fairways.0"]);
    assert!(host.read("fairways.0/schemata").contains("L3:0=3;1=c\n"));
    assert_eq!(client.occupancy(AppId(1), 1), Reading::Value(0));
}

#[test]
fn more_clusters_than_classes_over_all_domains_are_merged() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::lab().with_closids(3));
    let mut client = host.open();
    for app in 1..=4 {
        client.add(AppId(app), "x", &[]).unwrap();
    }
    // In different domains, programs share classes without losing anything.
    let (one, other) = (plan(&[(0x1, &[1]), (0x3c, &[2])]), plan(&[(0x1, &[3]), (0x3e, &[4])]));
    let applied = client.apply(&[(0, &one), (1, &other)], "a test").unwrap();
    assert_eq!((applied.placed.len(), applied.merged), (2, 0));
    let of = |applied: &Applied, app: u32| {
        applied.placed.iter().find(|of| of.programs.contains(&AppId(app))).unwrap().clone()
    };
    for (app, domain, wanted) in [(1, 0, 0x1), (2, 0, 0x3c), (3, 1, 0x1), (4, 1, 0x3e)] {
        assert_eq!(of(&applied, app).masks[&domain], mask(wanted), "{app} has its ways");
    }
    // In both, they can't.
    let one = plan(&[(0x1, &[1]), (0x3c, &[2, 3])]);
    let other = plan(&[(0x1, &[1, 2]), (0x3e, &[3])]);
    let applied = client.apply(&[(0, &one), (1, &other)], "a test").unwrap();
    assert_eq!((applied.placed.len(), applied.merged), (2, 1));
    let said = client.degraded();
    assert!(said.iter().any(|line| line.contains("two were made one 1 times")), "{said:?}");
    let wanted = [(1, 0, 0x1), (1, 1, 0x1), (2, 0, 0x3c), (2, 1, 0x1), (3, 0, 0x3c), (3, 1, 0x3e)];
    for (app, domain, wanted) in wanted {
        let got = of(&applied, app).masks[&domain].bits();
        assert_eq!(got & wanted, wanted, "{app} may fill its ways");
    }
    let group = of(&applied, 1).group;
    assert_eq!(host.read(&format!("{group}/schemata")).matches("L3:").count(), 1);
}

#[test]
fn nodes_that_share_a_cache_are_domains_where_programs_are_bound() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(Platform::granite_rapids_snc3());
    host.settings.memory_mbps = Some(90_000);
    let before = host.snapshot();
    let mut client = host.open();
    // Sysfs does not show the nodes' CPUs.
    assert!(!client.divide(true));
    assert_eq!(ids(&client), [(0, 0, "0-11".into()), (1, 1, "12-23".into())]);
    let whole = client.domains()[0].way_bytes;
    for node in 0..6 {
        let folder = host.at(&format!("sys/devices/system/node/node{node}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("cpulist"), format!("{}-{}\n", 4 * node, 4 * node + 3)).unwrap();
    }
    client.look().unwrap();
    assert!(client.divide(true));
    let nodes = ids(&client);
    assert_eq!(nodes.len(), 6);
    assert_eq!((&nodes[1], &nodes[4]), (&(1, 0, "4-7".into()), &(4, 1, "16-19".into())));
    let domain = &client.domains()[1];
    assert_eq!((domain.way_bytes, domain.llc.ways.get()), (whole / 3, 16));
    let capacity = domain.bandwidth.and_then(|lever| lever.capacity_mbps);
    assert_eq!(capacity, Some(30_000), "a node has a third of the channels");
    for app in 1..=3 {
        client.add(AppId(app), "a", &[]).unwrap();
    }
    // Programs of two nodes: each fills its own ways, which both nodes' plans chose by themselves.
    let plans = [(0, plan(&[(0x3, &[1])])), (1, plan(&[(0xff0, &[2]), (0x3, &[3])]))];
    let plans: Vec<_> = plans.iter().map(|(id, plan)| (*id, plan)).collect();
    let applied = client.apply(&plans, "a test").unwrap();
    assert_eq!(applied.placed.len(), 2, "1 and 3 have the same ways, each in its node");
    assert_eq!(client.in_force(1).unwrap().mask_of(AppId(2)), Some(mask(0xff0)));
    assert!(host.read("fairways.0/schemata").contains("L3:0=3;1=ffff\n"));
    // The emulated machine counts nothing; both readings are of the node's own file.
    assert_eq!(client.occupancy(AppId(2), 1), Reading::Value(0));
    assert_eq!(client.memory_bytes(AppId(2), 1), Reading::Value(0));
    host.fault("read:*/mon_sub_L3_01/llc_occupancy=Unavailable");
    assert_eq!(client.occupancy(AppId(2), 1), Reading::Unavailable);
    assert_eq!(client.occupancy(AppId(1), 0), Reading::Value(0));
    assert!(client.divide(false));
    // The kernel's own sum would leave that node out.
    assert!(host.read("mon_data/mon_L3_00/llc_occupancy").trim().parse::<u64>().is_ok());
    assert_eq!(client.occupancy(AppId(2), 0), Reading::Unavailable, "no part of a sum");
    assert_eq!(client.occupancy(AppId(2), 1), Reading::Value(0), "the sum of the other cache");
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

/// Ids that a class has of its own suffice for its programs whatever another class needs.
#[test]
fn a_class_without_ids_left_keeps_no_other_from_its_own() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::mpam().with_domains(1, 4));
    let before = host.snapshot();
    let mut client = host.open();
    for app in 1..=5 {
        client.add(AppId(app), "a", &[]).unwrap();
    }
    client.apply(&[(0, &plan(&[(0x3, &[1, 2, 3, 4]), (0xc, &[5])]))], "a test").unwrap();
    client.look().unwrap();
    // Of the four ids of each class one is its own.
    let read = [1, 2, 3, 4, 5].map(|app| client.occupancy(AppId(app), 0) == Reading::Value(0));
    assert_eq!(read.iter().filter(|read| **read).count(), 4, "{read:?}");
    assert!(read[4], "the only program of its class");
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

/// A node goes with its last CPU, and its part of a sum with it; it returns with its first.
#[test]
fn the_sum_of_a_shared_cache_is_of_the_nodes_there_are() {
    if !can_mount() {
        return;
    }
    // L2 caches would go with the CPUs, and their domains with them.
    let host = Host::new(Platform { l2: None, ..Platform::granite_rapids_snc3() });
    let mut client = host.open();
    client.add(AppId(1), "a", &[]).unwrap();
    client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test").unwrap();
    assert_eq!(client.occupancy(AppId(1), 0), Reading::Value(0));
    (4..8).for_each(|cpu| host.cpu(cpu, false).unwrap());
    assert!(!host.has("mon_data/mon_L3_00/mon_sub_L3_01"));
    client.look().unwrap();
    assert_eq!(client.occupancy(AppId(1), 0), Reading::Value(0), "of the two that are left");
    (4..8).for_each(|cpu| host.cpu(cpu, true).unwrap());
    client.look().unwrap();
    host.fault("read:*/mon_sub_L3_01/llc_occupancy=Unavailable");
    assert_eq!(client.occupancy(AppId(1), 0), Reading::Unavailable, "no part of a sum");
    assert_eq!(client.close().left, []);
}

#[test]
fn what_devices_fill_is_planned_around_confined_and_put_back() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(Platform::zen_ioalloc().with_domains(2, 4));
    let classes = host.open().domains()[0].llc.clos;
    host.write("info/L3/io_alloc", "1\n").unwrap();
    let client = host.open();
    assert_eq!(offers(&client), [(16, classes - 1); 2], "devices fill every way, as the others");
    drop(client);
    host.write("info/L3/io_alloc_cbm", "0=f000;1=f\n").unwrap();
    let before = host.read("info/L3/io_alloc_cbm");
    assert_eq!(offers(&host.open()), [(12, classes - 1); 2]);
    assert_eq!(host.open().domains()[1].ways, (4..16).collect::<Vec<u32>>());
    host.settings.confine_io = Some(2);
    let mut client = host.open();
    assert_eq!(offers(&client), [(14, classes - 1); 2]);
    assert_eq!(host.read("info/L3/io_alloc_cbm"), before, "nothing changes before a plan");
    client.add(AppId(1), "a", &[]).unwrap();
    client.apply(&[(0, &plan(&[(0x3fff, &[1])]))], "a test").unwrap();
    assert_eq!(host.read("info/L3/io_alloc_cbm"), "0=c000;1=c000\n");
    // Killed: the next start puts it back.
    drop(client);
    assert_eq!(host.read("info/L3/io_alloc_cbm"), "0=c000;1=c000\n");
    drop(host.open());
    assert_eq!(host.read("info/L3/io_alloc_cbm"), before);
    // Also where somebody removed all that was made beside it.
    let mut client = host.open();
    client.add(AppId(1), "a", &[]).unwrap();
    client.apply(&[(0, &plan(&[(0x3fff, &[1])]))], "a test").unwrap();
    drop(client);
    std::fs::remove_dir(host.path("fairways.0")).unwrap();
    host.write("schemata", "L3:0=ffff;1=ffff\n").unwrap();
    drop(host.open());
    assert_eq!(host.read("info/L3/io_alloc_cbm"), before);
    // What others wrote meanwhile stays.
    let mut client = host.open();
    client.apply(&[(0, &plan(&[]))], "a test").unwrap();
    host.write("info/L3/io_alloc_cbm", "0=ff\n").unwrap();
    let restored = client.close();
    let left: Vec<String> = restored.left.iter().map(|(what, _)| what.to_string()).collect();
    assert_eq!(left, ["domain 0 of info/L3/io_alloc_cbm"]);
    assert_eq!(host.read("info/L3/io_alloc_cbm"), "0=ff;1=f\n");
    // It is put back, too, where the next plan has confined devices again.
    let mut client = host.open();
    client.apply(&[(0, &plan(&[]))], "a test").unwrap();
    // Without a look before.
    host.write("info/L3/io_alloc_cbm", "1=f0\n").unwrap();
    client.apply(&[(0, &plan(&[]))], "a test").unwrap();
    assert_eq!(host.read("info/L3/io_alloc_cbm"), "0=c000;1=c000\n");
    assert!(client.close().left.is_empty());
    assert_eq!(host.read("info/L3/io_alloc_cbm"), "0=ff;1=f0\n");
}

#[test]
fn a_chip_with_ways_of_l2_caches_alone_is_managed_by_them() {
    if !can_mount() {
        return;
    }
    let host = Host::with_options(Platform::alder_lake_l2(), "cdpl2");
    for cpu in 0..8 {
        let index = host.at(&format!("sys/devices/system/cpu/cpu{cpu}/cache/index2"));
        std::fs::create_dir_all(&index).unwrap();
        std::fs::write(index.join("level"), "2\n").unwrap();
        std::fs::write(index.join("id"), format!("{}\n", cpu / 4)).unwrap();
    }
    let before = host.snapshot();
    let mut client = host.open();
    let domains = client.domains();
    assert_eq!(domains.len(), 2);
    assert_eq!(
        (domains[1].id, domains[1].cpus.to_list(), domains[1].llc.clos),
        (1, "4-7".into(), 3)
    );
    assert_eq!((domains[1].way_bytes, domains[1].bandwidth), (128 << 10, None));
    client.add(AppId(1), "a", &[]).unwrap();
    client.apply(&[(1, &plan(&[(0xf0, &[1])]))], "a test").unwrap();
    let schemata = host.read("fairways.0/schemata");
    assert!(schemata.contains("L2DATA:0=ffff;1=f0\n"), "{schemata}");
    assert!(schemata.contains("L2CODE:0=ffff;1=f0\n"), "{schemata}");
    assert_eq!(client.occupancy(AppId(1), 1), Reading::Unassigned, "it counts nothing");
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

#[test]
fn where_an_l3_can_be_shared_out_l2s_are_left_alone() {
    if !can_mount() {
        return;
    }
    let host = Host::with_options(Platform::ice_lake().with_domains(1, 4), "cdp,cdpl2");
    let mut client = host.open();
    assert_eq!(client.domains().len(), 1);
    client.add(AppId(1), "a", &[]).unwrap();
    client.apply(&[(0, &plan(&[(0xf, &[1])]))], "a test").unwrap();
    let schemata = host.read("fairways.0/schemata");
    for line in ["L3DATA:0=f\n", "L3CODE:0=f\n", "L2DATA:0=fff;1=fff;2=fff;3=fff\n"] {
        assert!(schemata.contains(line), "{schemata}");
    }
}

#[test]
fn hardware_that_keeps_levels_as_fractions_is_read_back() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::grace_mpam().with_domains(1, 4));
    let mut client = host.open();
    client.add(AppId(1), "a", &[]).unwrap();
    let levels = crate::common::levelled(&[(0xf, 4, &[1])]);
    client.apply(&[(0, &levels)], "a test").unwrap();
    assert!(host.read("fairways.0/schemata").contains("MB:0=5\n"), "3 of 64, as a percentage");
    let in_force = client.in_force(0).unwrap();
    assert_eq!(in_force.clusters()[0].bandwidth.map(|level| level.get()), Some(5));
    assert_eq!(client.occupancy(AppId(1), 0), Reading::Value(0));
}

/// Each domain, its cache, and its CPUs.
fn ids(client: &Actuator) -> Vec<(u32, u32, String)> {
    client.domains().iter().map(|of| (of.id, of.cache_id, of.cpus.to_list())).collect()
}

/// The ways and classes of each domain.
fn offers(client: &Actuator) -> Vec<(u32, u32)> {
    client.domains().iter().map(|of| (of.llc.ways.get(), of.llc.clos)).collect()
}
