//! Limits of others: bandwidth and L2, which hold for a program's threads wherever they are.

use std::collections::BTreeMap;
use std::fs;

use fairways_core::AppId;
use fairways_resctrl::language::{Schemata, Value};
use fairways_resctrl_client::{Settings, restore};
use fairways_resctrl_rules::platform::Platform;

use crate::common::{Host, Sleeper, can_mount, plan};

/// A machine that limits bandwidth, of slow memory too, and L2, of one domain.
pub(crate) fn limiting() -> Platform {
    Platform { smba: Platform::zen().smba, ..Platform::ice_lake() }.with_domains(1, 4)
}

/// The class that each thread is in but the root's.
fn classes(host: &Host) -> BTreeMap<i32, String> {
    let entries = fs::read_dir(&host.settings.root).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let names: Vec<String> = names.filter(|name| host.has(&format!("{name}/tasks"))).collect();
    let threads = |name: String| host.threads(&name).into_iter().map(move |id| (id, name.clone()));
    names.into_iter().flat_map(threads).collect()
}

/// The class that a thread is in, and its `schemata`.
pub(crate) fn of_thread(host: &Host, thread: i32) -> (String, Schemata) {
    let class = classes(host).remove(&thread).unwrap_or_default();
    let schemata = limits_of(host, &class);
    (class, schemata)
}

fn limits_of(host: &Host, class: &str) -> Schemata {
    let path = if class.is_empty() { "schemata".to_owned() } else { format!("{class}/schemata") };
    Schemata::parse(&host.read(&path)).unwrap()
}

/// Whether nothing but L3 is looser than there.
pub(crate) fn is_no_looser(now: &Schemata, origin: &Schemata) -> bool {
    origin.lines.iter().filter(|line| line.resource != "L3").all(|line| {
        line.domains.iter().all(|&(domain, was)| {
            let is = now.line(&line.resource).unwrap().value(domain).unwrap();
            match (is, was) {
                (Value::Number(is), Value::Number(was)) => is <= was,
                (Value::Mask(is), Value::Mask(was)) => is.count() <= was.count(),
                _ => false,
            }
        })
    })
}

/// Every line but L3's.
fn limits(schemata: &Schemata) -> Schemata {
    let mut limits = schemata.clone();
    limits.lines.retain(|line| line.resource != "L3");
    limits
}

/// `count` other managers' classes of different limits, with a process in each.
fn others(host: &Host, count: u32) -> (Vec<Sleeper>, Vec<Schemata>) {
    let mut sleepers = Vec::new();
    let mut origins = Vec::new();
    for number in 0..count {
        let name = format!("COS{number}");
        let (mb, l2) = (10 + 10 * (number % 9), 3_u32 << (number % 8));
        let smba = 2000 - 8 * number;
        let every = |of: &str, value: String| {
            let root = Schemata::parse(&host.read("schemata")).unwrap();
            let ids = root.line(of).unwrap().domains.iter();
            let ids: Vec<String> = ids.map(|(id, _)| format!("{id}={value}")).collect();
            format!("{of}:{}\n", ids.join(";"))
        };
        let lines = every("MB", mb.to_string())
            + &every("L2", format!("{l2:x}"))
            + &every("SMBA", smba.to_string());
        host.group(&name, &lines);
        let sleeper = Sleeper::start();
        host.write(&format!("{name}/tasks"), &sleeper.id().to_string()).unwrap();
        origins.push(of_thread(host, sleeper.id()).1);
        sleepers.push(sleeper);
    }
    (sleepers, origins)
}

fn host(count: u32) -> (Host, Vec<Sleeper>, Vec<Schemata>, BTreeMap<String, String>) {
    let mut host = Host::new(limiting());
    host.settings = Settings { take_over: true, ..host.settings.clone() };
    let (sleepers, origins) = others(&host, count);
    let before = host.snapshot();
    (host, sleepers, origins, before)
}

/// One cluster of programs with different limits is as many classes, of the same ways.
#[test]
fn a_cluster_of_different_limits_is_split() {
    if !can_mount() {
        return;
    }
    let (host, sleepers, origins, before) = host(3);
    let mut client = host.open();
    let check = |when: &str| {
        for (sleeper, origin) in sleepers.iter().zip(&origins) {
            let (class, now) = of_thread(&host, sleeper.id());
            assert!(class.starts_with("fairways."), "{when}: in {class}");
            assert_eq!(limits(&now), limits(origin), "{when}: {class}");
        }
    };
    for (app, sleeper) in (0..).zip(&sleepers) {
        let added = client.add(AppId(app), "x", &[sleeper.id()]).unwrap();
        assert_eq!(added.tasks.others, []);
    }
    check("before a plan");
    let applied = client.apply(&[(0, &plan(&[(0x3, &[0, 1, 2])]))], "a test").unwrap();
    assert_eq!((applied.placed.len(), applied.merged), (3, 0));
    assert!(applied.placed.iter().all(|class| class.masks[&0] == crate::common::mask(0x3)));
    check("one cluster");
    client.apply(&[(0, &plan(&[(0x3, &[2, 1]), (0x4, &[0])]))], "a test").unwrap();
    check("two clusters");
    client.apply(&[(0, &plan(&[(0x3, &[2])]))], "a test").unwrap();
    check("two without a place");
    client.remove(AppId(2)).unwrap();
    assert_eq!(of_thread(&host, sleepers[2].id()).0, "COS2");
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

/// With fewer classes than limits the strictest of those in one hold, before anybody is in it.
#[test]
fn eleven_classes_with_different_limits_are_never_limited_less() {
    if !can_mount() {
        return;
    }
    let (host, sleepers, origins, before) = host(11);
    for ends in [false, true] {
        let mut client = host.open();
        let check = |when: &str| {
            let classes = classes(&host);
            for (sleeper, origin) in sleepers.iter().zip(&origins) {
                let class = classes.get(&sleeper.id()).cloned().unwrap_or_default();
                let now = limits_of(&host, &class);
                assert!(is_no_looser(&now, origin), "{when}: {class}: {now} of {origin}");
            }
            let now = host.snapshot();
            for (path, text) in before.iter().filter(|(path, _)| !path.ends_with("tasks")) {
                assert_eq!(now[path], *text, "{when}: {path}");
            }
        };
        for (app, sleeper) in (0..).zip(&sleepers) {
            client.add(AppId(app), "x", &[sleeper.id()]).unwrap();
            check("added");
        }
        for masks in [[0x3, 0xc], [0xf, 0x1], [0x3, 0x3]] {
            let split: [Vec<u32>; 2] = [(0..6).collect(), (6..11).collect()];
            let clusters = [(masks[0], &split[0][..]), (masks[1], &split[1][..])];
            let applied = client.apply(&[(0, &plan(&clusters))], "a test").unwrap();
            assert_eq!(applied.placed.iter().map(|class| class.programs.len()).sum::<usize>(), 11);
            let said = client.degraded();
            assert!(said.iter().any(|line| line.contains("limits are stricter")), "{said:?}");
            check("planned");
            for (app, sleeper) in (0..).zip(&sleepers) {
                client.tasks(AppId(app), &mut |list| list.push(sleeper.id())).unwrap();
            }
            check("threads listed");
            client.look().unwrap();
            check("looked at");
        }
        if ends {
            assert_eq!(client.close().left, []);
        } else {
            drop(client);
            assert_eq!(restore(&host.settings).unwrap().left, []);
        }
        assert_eq!(host.snapshot(), before);
    }
}

/// What the root's group is limited to when it changes holds in classes, too, with the next look.
#[test]
fn limits_that_change_are_followed() {
    if !can_mount() {
        return;
    }
    let (host, sleepers, _, _) = host(1);
    let free = Sleeper::start();
    let mut client = host.open();
    client.add(AppId(0), "x", &[sleepers[0].id()]).unwrap();
    client.add(AppId(1), "y", &[free.id()]).unwrap();
    client.apply(&[(0, &plan(&[(0x3, &[0, 1])]))], "a test").unwrap();
    let limit = |thread: i32| {
        let (_, schemata) = of_thread(&host, thread);
        schemata.line("MB").unwrap().value(0).unwrap()
    };
    assert_eq!(
        [limit(sleepers[0].id()), limit(free.id())],
        [Value::Number(10), Value::Number(100)]
    );
    host.write("schemata", "MB:0=20\n").unwrap();
    host.write("COS0/schemata", "MB:0=40\n").unwrap();
    assert!(client.look().unwrap().limits);
    assert_eq!([limit(sleepers[0].id()), limit(free.id())], [Value::Number(40), Value::Number(20)]);
    assert!(!client.look().unwrap().limits, "once");
    assert_eq!(client.close().left, []);
    assert!(host.read("schemata").contains("MB:0=20"));
    assert!(host.read("COS0/schemata").contains("MB:0=40"));
}
