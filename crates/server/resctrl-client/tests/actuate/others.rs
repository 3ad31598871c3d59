//! Other managers, whose groups, masks and tasks stay as they are.

use std::fs;

use fairways_core::AppId;
use fairways_resctrl_client::{Actuator, Error, OpenError, Refused, Settings, Thing};
use fairways_resctrl_rules::platform::Platform;

use crate::common::{Host, Sleeper, can_mount, mask, plan};

fn one_domain() -> Platform {
    Platform::broadwell().with_domains(1, 4)
}

#[test]
fn what_others_hold_is_not_offered() {
    if !can_mount() {
        return;
    }
    let host = Host::new(one_domain());
    host.group("COS1", "L3:0=f\n");
    host.group("all", "");
    host.write("schemata", "L3:0=ffff0\n").unwrap();
    host.group("alone", "L3:0=30000\n");
    host.write("schemata", "L3:0=cfff0\n").unwrap_err();
    host.write("schemata", "L3:0=fff0\n").unwrap();
    host.write("all/schemata", "L3:0=fff0\n").unwrap();
    host.write("alone/mode", "exclusive\n").unwrap();
    host.write("all/schemata", "L3:0=c0\n").unwrap();
    let before = host.snapshot();
    let mut client = host.open();
    let domain = client.domains()[0].clone();
    assert_eq!(domain.ways, (8..16).collect::<Vec<u32>>(), "the longest run that is free");
    assert_eq!(domain.llc.clos, 16 - 1 - 3);
    let sleeper = Sleeper::start();
    client.add(AppId(1), "a", &[sleeper.id()]).unwrap();
    let applied = client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test").unwrap();
    assert!(host.read("fairways.0/schemata").contains("L3:0=300\n"));
    assert_eq!(applied.placed[0].masks[&0], mask(0x3), "in offered ways");
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

#[test]
fn where_nothing_is_left_it_says_who_holds_it() {
    if !can_mount() {
        return;
    }
    let host = Host::new(one_domain());
    host.group("COS1", "L3:0=7fff8\n");
    host.group("COS2", "L3:0=7\n");
    let busy = Actuator::open(host.settings.clone()).unwrap_err();
    assert!(matches!(busy, OpenError::Busy(_)), "{busy}");
    assert!(busy.to_string().contains("COS1 (L3:0=0x7fff8), COS2 (L3:0=0x7)"), "{busy}");
    let host = Host::new(one_domain().with_closids(2));
    host.group("COS1", "");
    let busy = Actuator::open(host.settings.clone()).unwrap_err();
    assert!(busy.to_string().starts_with("no class of service is free of 2; "), "{busy}");
}

#[test]
fn groups_that_come_and_go_change_what_is_offered() {
    if !can_mount() {
        return;
    }
    let host = Host::new(one_domain());
    let mut client = host.open();
    client.add(AppId(1), "a", &[]).unwrap();
    client.apply(&[(0, &plan(&[(0x0ff, &[1])]))], "a test").unwrap();
    host.group("COS1", "L3:0=f\n");
    // It is seen before anything is written, even without a look.
    let refused = client.apply(&[(0, &plan(&[(0x00f, &[1])]))], "a test").unwrap_err();
    assert!(matches!(refused, Refused::Changed), "{refused}");
    let changes = client.look().unwrap();
    assert!(changes.domains);
    assert_eq!(changes.others, ["COS1"]);
    assert_eq!((client.domains()[0].ways[0], client.domains()[0].llc.clos), (4, 14));
    client.apply(&[(0, &plan(&[(0x00f, &[1])]))], "a test").unwrap();
    assert!(host.read("fairways.0/schemata").contains("L3:0=f0\n"));
    host.write("COS1/schemata", "L3:0=3\n").unwrap();
    assert_eq!(client.look().unwrap().others, ["COS1"]);
    assert_eq!(client.domains()[0].ways[0], 2);
    fs::remove_dir(host.path("COS1")).unwrap();
    assert!(client.look().unwrap().domains);
    assert_eq!(client.domains()[0].ways[0], 0);
    // All is taken.
    host.group("COS1", "L3:0=3ffff\n");
    assert!(matches!(client.look(), Err(Error::Busy(_))));
    assert_eq!(client.domains()[0].ways[0], 0);
}

#[test]
fn tasks_of_others_stay_where_they_are() {
    if !can_mount() {
        return;
    }
    let host = Host::new(one_domain());
    let [a, b, c] = [Sleeper::start(), Sleeper::start(), Sleeper::start()];
    host.group("COS1", "L3:0=f\n");
    fs::create_dir(host.path("mon_groups/pqos-1-2")).unwrap();
    host.write("COS1/tasks", &a.id().to_string()).unwrap();
    host.write("mon_groups/pqos-1-2/tasks", &b.id().to_string()).unwrap();
    let before = host.snapshot();
    let mut client = host.open();
    let all = [a.id(), b.id(), c.id()];
    let added = client.add(AppId(1), "a", &all).unwrap();
    assert_eq!(added.tasks.moved, [c.id()]);
    let expected = [(a.id(), "COS1".to_owned()), (b.id(), "mon_groups/pqos-1-2".to_owned())];
    assert_eq!(added.tasks.others, expected);
    client.apply(&[(0, &plan(&[(0x0f, &[1])]))], "a test").unwrap();
    assert_eq!(host.threads("fairways.0"), [c.id()]);
    assert_eq!(host.threads("COS1"), [a.id()]);
    // One that is given up by its manager is taken in.
    host.write("tasks", &a.id().to_string()).unwrap();
    client.look().unwrap();
    let moved = client.tasks(AppId(1), &mut |list| list.extend(all)).unwrap();
    assert_eq!((moved.moved, moved.others.len()), (vec![a.id()], 1));
    assert_eq!(client.close().left, []);
    host.write("COS1/tasks", &a.id().to_string()).unwrap();
    assert_eq!(host.snapshot(), before);
}

#[test]
fn tasks_that_are_taken_over_are_put_back() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(one_domain());
    host.settings.take_over = true;
    let [a, b, c, d] = [(); 4].map(|()| Sleeper::start());
    host.group("COS1", "L3:0=f\n");
    host.group("COS2", "L3:0=30\n");
    fs::create_dir(host.path("COS1/mon_groups/m")).unwrap();
    for (group, process) in [("COS1", &a), ("COS1", &b), ("COS2", &c), ("COS2", &d)] {
        host.write(&format!("{group}/tasks"), &process.id().to_string()).unwrap();
    }
    host.write("COS1/mon_groups/m/tasks", &b.id().to_string()).unwrap();
    let before = host.snapshot();
    let all = [a.id(), b.id(), c.id()];
    for crash in [false, true] {
        let mut client = host.open();
        let added = client.add(AppId(1), "a", &all).unwrap();
        assert_eq!((added.tasks.moved.len(), added.tasks.others.len()), (3, 0));
        client.add(AppId(2), "d", &[d.id()]).unwrap();
        client.apply(&[(0, &plan(&[(0x0f, &[1]), (0xf0, &[2])]))], "a test").unwrap();
        assert_eq!(host.threads("fairways.0").len(), 3);
        assert!(host.threads("COS1").is_empty());
        // Put back as soon as it is let go.
        client.remove(AppId(2)).unwrap();
        assert_eq!(host.threads("COS2"), [d.id()]);
        let restored = if crash {
            drop(client);
            fairways_resctrl_client::restore(&host.settings).unwrap()
        } else {
            client.close()
        };
        assert_eq!(restored.left, []);
        let tasks = restored.done.iter().filter(|thing| matches!(thing, Thing::Task(..)));
        assert_eq!(tasks.count(), 3);
        assert_eq!(host.snapshot(), before);
    }
    // What the other manager did meanwhile holds.
    let mut client = host.open();
    client.add(AppId(1), "a", &all).unwrap();
    fs::remove_dir(host.path("COS1")).unwrap();
    host.write("tasks", &c.id().to_string()).unwrap();
    host.write("COS2/tasks", &a.id().to_string()).unwrap();
    let restored = client.close();
    let left: Vec<String> =
        restored.left.iter().map(|(thing, why)| format!("{thing}: {why}")).collect();
    assert_eq!(
        left,
        [
            format!("task {} of group COS1: it was moved to another group since", a.id()),
            format!("task {} of group COS1/mon_groups/m: that group is gone", b.id()),
        ]
    );
}

#[test]
fn others_are_confined_and_set_free_again() {
    if !can_mount() {
        return;
    }
    let mut host = Host::with_options(one_domain(), "cdp");
    host.settings.confine_others = Some(2);
    let before = host.snapshot();
    let mut client = host.open();
    assert_eq!(client.domains()[0].ways[0], 2);
    client.add(AppId(1), "a", &[]).unwrap();
    assert_eq!(host.read("schemata"), before["/schemata"], "not before there is a plan");
    client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test").unwrap();
    assert!(host.read("schemata").contains("L3DATA:0=3\n"));
    assert!(host.read("schemata").contains("L3CODE:0=3\n"));
    assert!(host.read("fairways.0/schemata").contains("L3DATA:0=c\n"));
    // Somebody else writes one of the two.
    host.write("schemata", "L3CODE:0=ff\n").unwrap();
    let restored = client.close();
    assert_eq!(restored.left.len(), 1);
    assert_eq!(restored.left[0].0, Thing::Mask("L3CODE".into(), 0));
    assert_eq!(restored.left[0].1, "it is 0xff, which others wrote");
    assert!(host.read("schemata").contains("L3DATA:0=fffff\n"));
    assert!(host.read("schemata").contains("L3CODE:0=ff\n"));
}

#[test]
fn groups_of_ours_that_somebody_removes_are_made_again() {
    if !can_mount() {
        return;
    }
    let host = Host::new(one_domain());
    let before = host.snapshot();
    let mut client = host.open();
    let [a, b] = [Sleeper::start(), Sleeper::start()];
    client.add(AppId(1), "a", &[a.id()]).unwrap();
    client.add(AppId(2), "b", &[b.id()]).unwrap();
    client.apply(&[(0, &plan(&[(0x3, &[1]), (0xc, &[2])]))], "a test").unwrap();
    fs::remove_dir(host.path("fairways.0")).unwrap();
    fs::remove_dir(host.path("fairways.1/mon_groups/fairways.2-b")).unwrap();
    let changes = client.look().unwrap();
    assert_eq!(
        (changes.lost, changes.unmonitored),
        (vec!["fairways.0".to_owned()], vec![AppId(2)])
    );
    assert_eq!(changes.monitored, [AppId(1), AppId(2)]);
    assert_eq!(host.threads("fairways.1/mon_groups/fairways.2-b"), [b.id()]);
    client.tasks(AppId(1), &mut |list| list.push(a.id())).unwrap();
    client.apply(&[], "again").unwrap();
    assert_eq!(host.threads("fairways.0/mon_groups/fairways.1-a"), [a.id()]);
    assert!(host.read("fairways.0/schemata").contains("L3:0=3\n"));
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

#[test]
fn a_lock_that_is_kept_is_reported_with_its_holder() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(one_domain());
    host.settings.patience = std::time::Duration::from_millis(50);
    let mut client = host.open();
    let held = fs::File::open(&host.settings.root).unwrap();
    held.lock().unwrap();
    let error = client.add(AppId(1), "a", &[]).unwrap_err().to_string();
    assert!(error.contains("locked for 0 s"), "{error}");
    assert!(error.contains(&format!("({})", std::process::id())), "{error}");
    assert_eq!(client.degraded().len(), 1, "{:?}", client.degraded());
    drop(held);
    client.add(AppId(1), "a", &[]).unwrap();
    assert_eq!(client.degraded(), [""; 0]);
}

/// The holder may be root, where it is unknown; but what was changed is put back.
#[test]
fn a_lock_that_nobody_is_named_for_is_not_ignored() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(one_domain());
    host.settings.patience = std::time::Duration::from_millis(50);
    let before = host.snapshot();
    for locks in [None, Some(""), Some("1: FLOCK  ADVISORY  WRITE 1 00:00:0 0 EOF\n")] {
        drop(host.open());
        let mut client = host.open();
        client.add(AppId(1), "a", &[]).unwrap();
        let proc = host.at("proc");
        fs::create_dir_all(&proc).unwrap();
        let _ = fs::remove_file(proc.join("locks"));
        if let Some(text) = locks {
            fs::write(proc.join("locks"), text).unwrap();
        }
        drop(client);
        let held = fs::File::open(&host.settings.root).unwrap();
        held.lock().unwrap();
        let settings = Settings { proc, ..host.settings.clone() };
        let mut client = Actuator::open(settings).unwrap();
        assert_eq!(host.snapshot(), before, "put back without it");
        let error = client.add(AppId(1), "a", &[]).unwrap_err().to_string();
        assert!(error.contains("by a process that /proc/locks does not name"), "{error}");
        assert_eq!(client.degraded().len(), 1);
        drop(held);
        client.add(AppId(1), "a", &[]).unwrap();
        assert_eq!(client.close().failed, []);
    }
}

#[test]
fn an_unmounted_resctrl_is_reported() {
    if !can_mount() {
        return;
    }
    let host = Host::new(one_domain());
    let mut client = host.open();
    client.add(AppId(1), "a", &[]).unwrap();
    client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test").unwrap();
    // Mounted again, with other options: everything of ours is gone.
    host.remount("cdp").unwrap();
    let changes = client.look().unwrap();
    assert_eq!(changes.lost, ["fairways.0"]);
    assert_eq!(client.domains()[0].llc.clos, 7);
    client.apply(&[], "again").unwrap();
    assert!(host.read("fairways.0/schemata").contains("L3CODE:0=3\n"));
    assert!(host.remount("nonsense").is_err());
    assert!(matches!(client.look(), Err(Error::Unmounted { .. })));
}

/// What a look has seen before it failed, the next one reports.
#[test]
fn changes_are_reported_even_if_a_look_fails_halfway() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(one_domain());
    host.settings.patience = std::time::Duration::from_millis(50);
    let mut client = host.open();
    client.add(AppId(1), "a", &[]).unwrap();
    client.apply(&[(0, &plan(&[(0x0ff, &[1])]))], "a test").unwrap();
    host.group("COS1", "L3:0=f\n");
    let held = fs::File::open(&host.settings.root).unwrap();
    held.lock().unwrap();
    assert!(matches!(client.look(), Err(Error::Locked { .. })));
    drop(held);
    let changes = client.look().unwrap();
    assert!(changes.domains);
    assert_eq!(changes.others, ["COS1"]);
    // The ledger can't be written.
    fs::remove_dir(host.path("fairways.0")).unwrap();
    let blocked = host.at("state/resctrl.json.new");
    fs::create_dir(&blocked).unwrap();
    assert!(matches!(client.look(), Err(Error::Ledger(_))));
    fs::remove_dir(&blocked).unwrap();
    assert_eq!(client.look().unwrap().lost, ["fairways.0"]);
    assert_eq!(client.look().unwrap(), Default::default(), "once");
}

/// A class has masks in all domains, and a new one those that the kernel chooses.
#[test]
fn where_nothing_is_offered_a_class_has_the_roots_ways() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::broadwell().with_domains(2, 2));
    host.group("COS1", "L3:0=3;1=ff\n");
    host.group("COS2", "L3:0=3;1=fff00\n");
    host.write("schemata", "L3:1=3\n").unwrap();
    let mut client = host.open();
    assert_eq!(client.domains().iter().map(|domain| domain.id).collect::<Vec<_>>(), [0]);
    client.add(AppId(1), "x", &[]).unwrap();
    client.apply(&[(0, &plan(&[(0x1, &[1])]))], "a test").unwrap();
    let schemata = host.read("fairways.0/schemata");
    assert!(schemata.contains("L3:0=4;1=3\n"), "{schemata}");
}

/// What the hardware can is read once.
#[test]
fn info_is_read_again_after_a_mount_only() {
    if !can_mount() {
        return;
    }
    let host = Host::new(one_domain());
    let mut client = host.open();
    client.add(AppId(1), "a", &[]).unwrap();
    host.fault("read:/info/L3*=EIO");
    assert_eq!(client.look().unwrap(), Default::default());
    client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test").unwrap();
    fairways_emulated::Client::connect(host.socket()).unwrap().clear(None).unwrap();
    host.remount("cdp").unwrap();
    assert!(client.look().unwrap().domains);
    assert_eq!(client.domains()[0].llc.clos, 7);
}
