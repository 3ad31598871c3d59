//! Whatever policies and other managers do, what is others' stays, and everything of ours goes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use fairways_core::{AppId, BandwidthLevel, Partition, Resources, WayMask};
use fairways_resctrl::language::{Schemata, Value};
use fairways_resctrl_client::{Actuator, Error, OpenError, Refused, Restored, Settings, restore};
use fairways_resctrl_rules::platform::Platform;
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
    /// It limits memory bandwidth in the root's group, in a group of its own or in one of our
    /// classes.
    Limit(u32, u32),
    /// It monitors in the root's group, in a group of its own or in one of our classes; or no
    /// longer.
    Monitor(u32),
    Unmonitor(u32),
    Look,
    /// The programs' threads are placed, without a look before; the last process, if it is no
    /// program itself, belongs to the first program now or does not.
    Place(bool),
    Crash,
    Close,
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
        2 => (0_u32..3, 1_u32..11).prop_map(|(of, tenths)| Step::Limit(of, 10 * tenths)),
        1 => (0_u32..3).prop_map(Step::Monitor),
        1 => (0_u32..3).prop_map(Step::Unmonitor),
        3 => Just(Step::Look),
        2 => any::<bool>().prop_map(Step::Place),
        1 => Just(Step::Crash),
        1 => Just(Step::Close),
    ]
}

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..25)
}

/// Others limit a class of ours, and a group of theirs from which a process joins it.
fn limiting_steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1_u32..3, 1_u32..11).prop_map(|(of, tenths)| Step::Limit(of, 10 * tenths)),
        1 => Just(Step::Move(3, 1)),
        2 => any::<bool>().prop_map(Step::Place),
        1 => Just(Step::Look),
    ];
    prop::collection::vec(step, 1..25).prop_map(|steps| {
        let clusters = vec![(0, 2, vec![0])];
        let mut all = vec![Step::Add(0), Step::Plan(0, clusters), Step::Group(1, 9, 1)];
        all.extend(steps);
        all
    })
}

/// All that is not ours, except tasks of the root, and what these settings allow to change.
fn theirs(host: &Host) -> BTreeMap<String, String> {
    let mut snapshot = host.snapshot();
    snapshot.retain(|path, _| !path.contains("fairways."));
    if host.settings.take_over {
        snapshot.retain(|path, _| !path.ends_with("/tasks"));
    }
    if host.settings.confine_others.is_some() {
        snapshot.remove("/schemata");
    }
    snapshot
}

/// Nothing failed, and what was left others have changed.
fn check(restored: &Restored) {
    assert_eq!(restored.failed, [], "{restored}");
    for (thing, why) in &restored.left {
        let others = ["others monitor in it: ", "it was moved to another", "that group is gone"];
        assert!(others.iter().any(|other| why.starts_with(other)), "{thing}: {why}");
    }
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
        let mask = WayMask::span(lowest, (*width).min(ways - lowest));
        // As good as random: every third has no limit, the others 10 to 100 %.
        let tenths = if lowest % 3 == 0 { 0 } else { (lowest + 3 * width) % 10 + 1 };
        let bandwidth = of.bandwidth.and(BandwidthLevel::new(10 * tenths));
        let cluster = partition.add(Resources { mask, bandwidth });
        members.iter().for_each(|&app| partition.place(AppId(app), cluster));
        placed.extend(members);
    }
    partition
}

fn place(client: &mut Actuator, running: &[u32], processes: &[Sleeper], joined: bool) {
    let joining = processes.get(3).filter(|_| joined && !running.contains(&3)).map(Sleeper::id);
    for (at, &app) in running.iter().enumerate() {
        let ids = [Some(processes[app as usize].id()), joining.filter(|_| at == 0)];
        client.tasks(AppId(app), &mut |list| list.extend(ids.into_iter().flatten())).unwrap();
    }
}

/// What another manager wrote last to the first of our classes, as far as that can be seen: that it
/// wrote what was there before, nobody can see.
#[derive(Default)]
struct WrittenLevels {
    /// The class's inode: another of its name is another class.
    class: u64,
    /// Its line of `MB` as the client last left it, by domain.
    left: BTreeMap<u32, Value>,
    /// What another manager wrote since, and before that, by domain.
    written: BTreeMap<u32, Value>,
    limits: BTreeMap<u32, Value>,
}

impl WrittenLevels {
    /// Checks that nothing of it was raised, and notes what this step wrote.
    fn follow(&mut self, host: &Host, is_ours: bool, step: &Step) {
        let class = fs::metadata(host.path("fairways.0")).map_or(0, |of| of.ino());
        let text = if class == 0 { String::new() } else { host.read("fairways.0/schemata") };
        let now = Schemata::parse(&text).unwrap();
        let line = now.line("MB").into_iter().flat_map(|line| &line.domains);
        let line: BTreeMap<u32, Value> = line.copied().collect();
        if class == 0 || class != self.class || !is_ours {
            *self = Self { class, left: line, ..Self::default() };
            return;
        }
        if matches!(step, Step::Limit(2, _)) {
            self.written = line;
            self.written.retain(|domain, value| self.left.get(domain) != Some(value));
            return;
        }
        self.limits.append(&mut self.written);
        for (domain, value) in &line {
            let limit = self.limits.get(domain).unwrap_or(value);
            assert!(value <= limit, "{step:?}: {value:?} above {limit:?} in {domain}");
        }
        self.left = line;
    }
}

/// One step; what others have, and whose tasks they are, is the same after what we do.
fn take(
    host: &Host,
    client: &mut Option<Actuator>,
    running: &mut Vec<u32>,
    processes: &[Sleeper],
    step: &Step,
) {
    let before = theirs(host);
    if client.is_none() {
        match Actuator::open(host.settings.clone()) {
            Ok(opened) => *client = Some(opened),
            Err(OpenError::Busy(_)) => return other(host, processes, step),
            Err(why) => panic!("{why}"),
        }
    }
    let Some(of) = client else { return };
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
                        plan.placements().iter().map(|place| (place.app, plan.mask_of(place.app)))
                    {
                        let got = applied.partition(*domain).mask_of(app).unwrap();
                        let mask = mask.unwrap();
                        assert_eq!(got.bits() & mask.bits(), mask.bits());
                        assert!(applied.merged > 0 || got == mask, "{got} for {mask}");
                        let (level, planned) =
                            (applied.partition(*domain).level_of(app), plan.level_of(app));
                        let is_kept = level.is_some() == planned.is_some() && level <= planned;
                        assert!(applied.merged > 0 || is_kept, "{level:?} for {planned:?}");
                    }
                }
                Err(Refused::Changed | Refused::Failed(Error::Busy(_))) => {}
                // Others may take a class or a monitoring id first.
                Err(Refused::Failed(why)) if why.to_string().contains("Out of") => {}
                Err(why) => panic!("{why}"),
            }
        }
        Step::Place(joined) => place(of, running, processes, *joined),
        Step::Look => match of.look() {
            Ok(_) => place(of, running, processes, false),
            Err(Error::Busy(_)) => {}
            Err(why) => panic!("{why}"),
        },
        Step::Crash => {
            *client = None;
            running.clear();
            check(&restore(&host.settings).unwrap());
        }
        Step::Close => {
            running.clear();
            check(&client.take().unwrap().close());
        }
        _ => {}
    }
    assert_eq!(theirs(host), before, "{step:?}");
    other(host, processes, step);
}

/// Another manager's MON groups.
const MONITORS: [&str; 3] = ["mon_groups/m", "COS1/mon_groups/m", "fairways.0/mon_groups/m"];

/// Groups whose memory bandwidth another manager limits.
const LIMITED: [&str; 3] = ["", "COS1/", "fairways.0/"];

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
        Step::Monitor(of) => drop(fs::create_dir(host.path(MONITORS[*of as usize]))),
        Step::Unmonitor(of) => drop(fs::remove_dir(host.path(MONITORS[*of as usize]))),
        Step::Limit(of, percent) => {
            let group = LIMITED[*of as usize];
            let lines = format!("MB:0={percent};1={}\n", 110 - percent);
            let _ = host.write(&format!("{group}schemata"), &lines);
        }
        Step::Vanish(of) => drop(fs::remove_dir(host.path(&format!("fairways.{of}")))),
        _ => {}
    }
}

/// Where the other manager last put each process, if it is known: one whose group went is in the
/// root's group by nobody's choice.
fn follow(at: &mut [Option<String>], host: &Host, step: &Step) {
    match step {
        Step::Move(process, of) if host.has(&format!("COS{of}")) => {
            at[*process] = Some(format!("COS{of}"));
        }
        Step::Gone(of) => {
            let gone = format!("COS{of}");
            at.iter_mut().filter(|at| **at == Some(gone.clone())).for_each(|at| *at = None);
        }
        _ => {}
    }
}

fn at_random(
    settings: impl Fn(&mut Settings),
    steps: impl Strategy<Value = Vec<Step>>,
    cases: u32,
) {
    let processes = [(); 4].map(|()| Sleeper::start());
    let mut host = Host::new(Platform::lab().with_closids(6));
    settings(&mut host.settings);
    let root = host.read("schemata");
    let cases = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(cases, |(steps in steps)| {
        host.advance(Duration::from_secs(2));
        let (mut client, mut running) = (None, Vec::new());
        let mut at = [const { None }; 4];
        let mut written = WrittenLevels::default();
        for step in &steps {
            take(&host, &mut client, &mut running, &processes, step);
            follow(&mut at, &host, step);
            written.follow(&host, client.is_some(), step);
        }
        other(&host, &processes, &Step::Limit(0, 100));
        let _ = host.write("schemata", "MB:1=100\n");
        let before = theirs(&host);
        drop(client);
        other(&host, &processes, &Step::Unmonitor(2));
        check(&restore(&host.settings).unwrap());
        prop_assert_eq!(theirs(&host), before);
        let ours = host.snapshot().into_keys().filter(|path| path.contains("fairways."));
        prop_assert_eq!(ours.count(), 0, "nothing of ours is left");
        prop_assert_eq!(host.read("schemata"), root.clone());
        for (process, group) in processes.iter().zip(&at) {
            let Some(group) = group else { continue };
            prop_assert!(host.threads(group).contains(&process.id()), "{} of {}", process.id(), group);
        }
        for of in 0..3 {
            other(&host, &processes, &Step::Gone(of));
            other(&host, &processes, &Step::Unmonitor(of));
        }
        prop_assert_eq!(host.snapshot().len(), 3, "the root alone");
    });
}

#[test]
fn nothing_foreign_ever_changes_and_all_is_restored() {
    if can_mount() {
        at_random(|_| {}, any_steps(), 24);
    }
}

#[test]
fn what_is_taken_over_goes_back() {
    if can_mount() {
        at_random(|settings| settings.take_over = true, any_steps(), 24);
    }
}

#[test]
fn confined_programs_are_set_free() {
    if can_mount() {
        let confine = |settings: &mut Settings| {
            (settings.confine_others, settings.take_over) = (Some(2), true);
        };
        at_random(confine, any_steps(), 24);
    }
}

#[test]
fn what_others_write_to_a_class_stays_a_limit() {
    if can_mount() {
        at_random(|settings| settings.take_over = true, limiting_steps(), 24);
    }
}
