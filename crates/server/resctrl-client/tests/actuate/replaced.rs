//! Groups of our names that are not ours: ours were removed from outside and others made in their
//! place.

use std::collections::BTreeMap;
use std::fs;

use fairways_core::AppId;
use fairways_resctrl_client::{Actuator, restore};
use fairways_resctrl_rules::platform::Platform;

use crate::common::{Host, Sleeper, can_mount, plan};

/// A client with a program in a class of its own, and what was there before.
fn managed(host: &Host, sleeper: &Sleeper) -> Actuator {
    let mut client = host.open();
    client.add(AppId(1), "a", &[sleeper.id()]).unwrap();
    client.apply(&[(0, &plan(&[(0xf, &[1])]))], "a test").unwrap();
    assert!(host.has("fairways.0/mon_groups/fairways.1-a"));
    client
}

fn below(snapshot: &BTreeMap<String, String>, group: &str) -> BTreeMap<String, String> {
    let mut below = snapshot.clone();
    below.retain(|path, _| path.starts_with(&format!("{group}/")));
    below
}

/// Whichever comes first, a look, a plan, threads, the end or `restore`: the other's class stays as
/// it is.
#[test]
fn a_class_that_replaced_ours_is_never_written() {
    if !can_mount() {
        return;
    }
    for first in ["look", "plan", "threads", "remove", "close", "restore"] {
        let host = Host::new(Platform::broadwell().with_domains(1, 4));
        let [ours, theirs, late] = [(); 3].map(|()| Sleeper::start());
        let mut client = managed(&host, &ours);
        fs::remove_dir(host.path("fairways.0")).unwrap();
        host.group("fairways.0", "L3:0=c0000\n");
        fs::create_dir(host.path("fairways.0/mon_groups/fairways.1-a")).unwrap();
        host.write("fairways.0/tasks", &theirs.id().to_string()).unwrap();
        let foreign = below(&host.snapshot(), "fairways.0");
        let both = [ours.id(), late.id()];
        match first {
            "look" => {
                let changes = client.look().unwrap();
                assert_eq!(
                    (&changes.lost[..], changes.domains),
                    (&["fairways.0".into()][..], true)
                );
            }
            "plan" => {
                client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test").unwrap_err();
            }
            "threads" => drop(client.tasks(AppId(1), &mut |list| list.extend(both))),
            "remove" => drop(client.remove(AppId(1))),
            _ => {}
        }
        assert_eq!(below(&host.snapshot(), "fairways.0"), foreign, "{first}");
        if !["remove", "close", "restore"].contains(&first) {
            // Its ways are its own, and ours is made again by another name.
            client.look().unwrap();
            assert_eq!(client.domains()[0].llc.ways.get(), 18, "{first}");
            client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test").unwrap();
            client.tasks(AppId(1), &mut |list| list.extend(both)).unwrap();
            assert_eq!(host.threads("fairways.1").len(), 2, "{first}");
            assert_eq!(below(&host.snapshot(), "fairways.0"), foreign, "{first}");
        }
        if first == "restore" {
            drop(client);
            drop(restore(&host.settings).unwrap());
        } else {
            assert_eq!(client.close().failed, [], "{first}");
        }
        let left = host.snapshot();
        assert_eq!(below(&left, "fairways.0"), foreign, "{first}");
        assert!(!host.has("fairways.1"), "{first}");
    }
}

#[test]
fn a_monitoring_group_that_replaced_ours_is_never_written() {
    if !can_mount() {
        return;
    }
    for first in ["look", "plan", "threads", "close", "restore"] {
        let host = Host::new(Platform::broadwell().with_domains(1, 4));
        let [ours, theirs, late] = [(); 3].map(|()| Sleeper::start());
        let mut client = managed(&host, &ours);
        let group = "fairways.0/mon_groups/fairways.1-a";
        fs::remove_dir(host.path(group)).unwrap();
        fs::create_dir(host.path(group)).unwrap();
        host.write("fairways.0/tasks", &theirs.id().to_string()).unwrap();
        host.write(&format!("{group}/tasks"), &theirs.id().to_string()).unwrap();
        let both = [ours.id(), late.id()];
        match first {
            "look" => {
                client.look().unwrap();
            }
            "plan" => drop(client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test")),
            "threads" => drop(client.tasks(AppId(1), &mut |list| list.extend(both))),
            _ => {}
        }
        assert_eq!(host.threads(group), [theirs.id()], "{first}");
        if !["close", "restore"].contains(&first) {
            client.look().unwrap();
            assert_eq!(
                host.threads("fairways.0/mon_groups/fairways.1-a~2"),
                [ours.id()],
                "{first}"
            );
        }
        let restored = if first == "restore" {
            drop(client);
            restore(&host.settings).unwrap()
        } else {
            client.close()
        };
        // Others monitor in the class: it stays, and confines no program.
        assert_eq!(host.threads(group), [theirs.id()], "{first}: {restored}");
        assert!(host.threads("").contains(&ours.id()), "{first}: {restored}");
        assert!(!host.has("fairways.0/mon_groups/fairways.1-a~2"), "{first}");
    }
}
