//! Plans on one domain.

use fairways_core::AppId;
use fairways_resctrl::language::Reading;
use fairways_resctrl::platform::Platform;

use crate::common::{Host, Sleeper, can_mount, mask, plan};

fn one_domain() -> Platform {
    Platform::skylake().with_domains(1, 4)
}

#[test]
fn a_plan_is_groups_masks_and_tasks_and_all_goes_again() {
    if !can_mount() {
        return;
    }
    let host = Host::new(one_domain());
    let before = host.snapshot();
    let mut client = host.open();
    let domain = client.domains()[0].clone();
    assert_eq!((domain.id, domain.llc.ways.get(), domain.llc.clos), (0, 9, 7), "two are shared");
    assert_eq!(domain.cpus.to_list(), "0-3");
    assert_eq!(host.snapshot(), before, "opening changes nothing");
    let [a, b, c] = [Sleeper::start(), Sleeper::start(), Sleeper::start()];
    for (app, process) in [(1, &a), (2, &b), (3, &c)] {
        let added = client.add(AppId(app), "sleep", &[process.id()]).unwrap();
        assert!(added.monitored);
        assert_eq!(added.tasks.moved, [process.id()]);
        assert_eq!(host.threads(&format!("mon_groups/fairways.{app}-sleep")), [process.id()]);
    }
    let wanted = plan(&[(0x007, &[1, 3]), (0x1f8, &[2])]);
    let applied = client.apply(&[(0, &wanted)], "a test").unwrap();
    assert_eq!((applied.placed.len(), applied.merged), (2, 0));
    let of = |group: &str| applied.placed.iter().find(|of| of.group == group).unwrap();
    assert_eq!(of("fairways.0").masks[&0], mask(0x007));
    assert_eq!(of("fairways.0").programs, [AppId(1), AppId(3)]);
    assert!(host.read("fairways.0/schemata").contains("L3:0=7\n"));
    assert!(host.read("fairways.1/schemata").contains("L3:0=1f8\n"));
    assert_eq!(host.threads("fairways.1"), [b.id()]);
    assert_eq!(host.threads("fairways.0/mon_groups/fairways.3-sleep"), [c.id()]);
    assert_eq!(client.occupancy(AppId(3), 0), Reading::Value(0));
    assert_eq!(client.memory_bytes(AppId(3), 0), Reading::Value(0));
    assert_eq!(client.occupancy(AppId(9), 0), Reading::Unassigned);
    // Program 3 goes over; the others stay, and so do their groups.
    let wanted = plan(&[(0x003, &[1]), (0x1fc, &[2, 3])]);
    client.apply(&[(0, &wanted)], "a test").unwrap();
    assert_eq!(host.threads("fairways.0"), [a.id()]);
    assert_eq!(host.threads("fairways.1/mon_groups/fairways.3-sleep"), [c.id()]);
    assert_eq!(client.occupancy(AppId(3), 0), Reading::Value(0), "after it was renamed");
    client.remove(AppId(1)).unwrap();
    assert!(!host.has("fairways.0"), "nobody is in it");
    assert!(host.threads("").contains(&a.id()));
    let restored = client.close();
    assert_eq!(restored.left, []);
    assert_eq!(host.snapshot(), before);
    assert!(!host.at("state/resctrl.json").exists());
}
