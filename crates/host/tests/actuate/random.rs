//! Whatever policies and other managers do, what is others' stays, and everything of ours goes.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use fairways_core::{AppId, Partition, WayMask};
use fairways_host::actuate::{Actuator, Error, Refused, restore};
use fairways_resctrl::platform::Platform;
use proptest::prelude::*;

use crate::common::{Host, Sleeper, can_mount};

/// What happens next.
#[derive(Clone, Debug)]
enum Step {
    Add(u32),
    Remove(u32),
    /// A plan for a domain: lowest way, width and members of each cluster.
    Plan(u32, Vec<(u32, u32, Vec<u32>)>),
    /// Another manager makes or changes a group.
    Group(u32, u32, u32),
    Gone(u32),
    /// It moves one of the processes to a group of its own, if that is there.
    Move(usize, u32),
    /// It removes one of our classes.
    Vanish(u32),
    Look,
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let cluster = (0_u32..12, 1_u32..6, prop::collection::vec(0_u32..4, 1..3));
    prop_oneof![
        3 => (0_u32..4).prop_map(Step::Add),
        1 => (0_u32..4).prop_map(Step::Remove),
        6 => (0_u32..2, prop::collection::vec(cluster, 1..5)).prop_map(|(of, plan)| Step::Plan(of, plan)),
        2 => (0_u32..3, 0_u32..10, 1_u32..4).prop_map(|(of, low, width)| Step::Group(of, low, width)),
        1 => (0_u32..3).prop_map(Step::Gone),
        2 => (0_usize..4, 0_u32..3).prop_map(|(process, of)| Step::Move(process, of)),
        1 => (0_u32..3).prop_map(Step::Vanish),
        3 => Just(Step::Look),
        1 => Just(Step::Crash),
    ]
}

/// All that is not ours, but for tasks of the root.
fn theirs(host: &Host) -> BTreeMap<String, String> {
    let mut snapshot = host.snapshot();
    snapshot.retain(|path, _| !path.contains("fairways."));
    snapshot
}

fn partition(
    client: &Actuator,
    domain: u32,
    clusters: &[(u32, u32, Vec<u32>)],
    running: &[u32],
) -> Partition {
    let mut partition = Partition::default();
    let Some(of) = client.domains().iter().find(|of| of.id == domain) else { return partition };
    let ways = of.llc.ways.get();
    let mut placed: Vec<u32> = Vec::new();
    for (lowest, width, apps) in clusters {
        let mut members = apps.clone();
        members.retain(|app| running.contains(app) && !placed.contains(app));
        members.dedup();
        if members.is_empty() {
            continue;
        }
        let lowest = lowest % ways;
        let cluster = partition.add_cluster(WayMask::span(lowest, (*width).min(ways - lowest)));
        members.iter().for_each(|&app| partition.place(AppId(app), cluster));
        placed.extend(members);
    }
    partition
}

/// One step; what others have, and whose tasks they are, is the same after what we do.
fn take(
    host: &Host,
    client: &mut Option<Actuator>,
    running: &mut Vec<u32>,
    processes: &[Sleeper],
    step: &Step,
) {
    let of = client.get_or_insert_with(|| host.open());
    let before = theirs(host);
    match step {
        Step::Add(app) if !running.contains(app) => {
            of.add(AppId(*app), "x", &[processes[*app as usize].id()]).unwrap();
            running.push(*app);
        }
        Step::Remove(app) if running.contains(app) => {
            of.remove(AppId(*app)).unwrap();
            running.retain(|other| other != app);
        }
        Step::Plan(domain, clusters) => {
            let plan = partition(of, *domain, clusters, running);
            match of.apply(&[(*domain, &plan)], "at random") {
                Ok(applied) => {
                    for (app, mask) in
                        plan.places().iter().map(|place| (place.app, plan.mask_of(place.app)))
                    {
                        let got = applied.partition(*domain).mask_of(app).unwrap();
                        let mask = mask.unwrap();
                        assert_eq!(got.bits() & mask.bits(), mask.bits());
                        assert!(applied.merged > 0 || got == mask, "{got} for {mask}");
                    }
                }
                Err(Refused::Changed | Refused::Failed(Error::Busy(_))) => {}
                // Others may take a class or a monitoring id first.
                Err(Refused::Failed(why)) if why.to_string().contains("Out of") => {}
                Err(why) => panic!("{why}"),
            }
        }
        Step::Look => match of.look() {
            Ok(_) => {
                for &app in running.iter() {
                    let id = processes[app as usize].id();
                    of.tasks(AppId(app), &mut |list| list.push(id)).unwrap();
                }
            }
            Err(Error::Busy(_)) => {}
            Err(why) => panic!("{why}"),
        },
        Step::Crash => {
            *client = None;
            running.clear();
            assert_eq!(restore(&host.settings).unwrap().left, []);
        }
        _ => {}
    }
    assert_eq!(theirs(host), before, "{step:?}");
    other(host, processes, step);
}

/// What another manager does.
fn other(host: &Host, processes: &[Sleeper], step: &Step) {
    let name = |of: &u32| host.path(&format!("COS{of}"));
    match step {
        Step::Group(of, lowest, width) => {
            let _ = fs::create_dir(name(of));
            let mask = WayMask::span(*lowest, *width).bits();
            let _ =
                host.write(&format!("COS{of}/schemata"), &format!("L3:0={mask:x};1={mask:x}\n"));
        }
        Step::Gone(of) => drop(fs::remove_dir(name(of))),
        Step::Move(process, of) => {
            let _ = host.write(&format!("COS{of}/tasks"), &processes[*process].id().to_string());
        }
        Step::Vanish(of) => drop(fs::remove_dir(host.path(&format!("fairways.{of}")))),
        _ => {}
    }
}

#[test]
fn nothing_foreign_ever_changes_and_all_is_restored() {
    if !can_mount() {
        return;
    }
    let processes = [(); 4].map(|()| Sleeper::start());
    let host = Host::new(Platform::lab().with_closids(6));
    let cases =
        ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(cases, |(steps in prop::collection::vec(step(), 1..25))| {
        host.advance(Duration::from_secs(2));
        let (mut client, mut running) = (None, Vec::new());
        for step in &steps {
            take(&host, &mut client, &mut running, &processes, step);
        }
        let before = theirs(&host);
        drop(client);
        prop_assert_eq!(restore(&host.settings).unwrap().left, []);
        prop_assert_eq!(host.snapshot(), before, "nothing of ours is left");
        for of in 0..3 {
            other(&host, &processes, &Step::Gone(of));
        }
        prop_assert_eq!(host.snapshot().len(), 3, "the root alone");
    });
}
