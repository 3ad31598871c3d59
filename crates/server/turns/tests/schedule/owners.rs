//! Changes that owners make meanwhile stay.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fairways_core::{AppId, CpuSet};
use fairways_ledger::Thing;
use fairways_testing::needs::{Need, has as meets, withheld};
use fairways_turns::{Scheduler as _, TurnReport};
use rustix::process::Pid;

use crate::common::{Crew, Has, has, is_clean, open, own, settings, spin, turn};

fn sleeping() -> Crew {
    Crew::start(3, |number| {
        spin(Duration::from_millis(if number == 0 { 1 } else { 0 }));
        std::thread::sleep(Duration::from_millis(5));
    })
}

/// Changes a thread as its owner would, with taskset(1) or renice(1).
fn owner(program: &str, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).stdout(Stdio::null()).status().unwrap();
    assert!(done.success(), "{program} {arguments:?}");
}

#[test]
fn what_an_owner_sets_meanwhile_counts_and_stays() {
    let test = "what_an_owner_sets_meanwhile_counts_and_stays";
    if !meets(test, &[Need::Root, Need::Program("taskset"), Need::Program("renice")]) {
        return;
    }
    let cpus = own();
    let [first, .., last] = cpus.as_slice() else {
        withheld(test, "it takes two CPUs");
        return;
    };
    let (folder, settings) = settings();
    let crew = sleeping();
    let before: Vec<Has> = crew.ids.iter().map(|&id| has(id)).collect();
    let mut affinity = open(&settings);
    let all: CpuSet = cpus.iter().copied().collect();
    for (app, id) in crew.apps() {
        affinity.begin(app, id).unwrap();
        affinity.allow(app, &[*first].into_iter().collect()).unwrap();
    }
    affinity.settle().unwrap();
    assert!(crew.ids.iter().all(|&id| has(id).cpus == first.to_string()));
    let thread = crew.ids[0].to_string();
    owner("taskset", &["-pc", &last.to_string(), &thread]);
    owner("renice", &["-n", "7", "-p", &thread]);
    let looked = Instant::now();
    while looked.elapsed() < Duration::from_secs(1) {
        turn(&mut affinity, &mut TurnReport::default());
    }
    // Its owner allows none of the wanted CPUs now, so the owner's choice counts.
    let theirs = Has { cpus: last.to_string(), nice: 7 };
    assert_eq!(has(crew.ids[0]), theirs);
    // A weight is relative to the owner's own; wanted CPUs are limited to the owner's.
    affinity.order(AppId(1), affinity.quantum() * 2).unwrap();
    affinity.allow(AppId(1), &all).unwrap();
    let began = Instant::now();
    // As soon as the turn that it has is over.
    while has(crew.ids[0]) == theirs {
        assert!(began.elapsed() < Duration::from_secs(300));
        turn(&mut affinity, &mut TurnReport::default());
    }
    assert_eq!(has(crew.ids[0]), Has { cpus: last.to_string(), nice: 4 });
    // The other is changed at the last moment, after the last check.
    owner("taskset", &["-pc", &last.to_string(), &crew.ids[1].to_string()]);
    let restored = affinity.close();
    assert_eq!(restored.failed, []);
    // Both are reported, since neither is as Fairways left it.
    let left: Vec<Thing> = restored.left.into_iter().map(|(thing, _)| thing).collect();
    assert_eq!(left, [crew.ids[0], crew.ids[1]].map(Thing::Affinity));
    assert_eq!(has(crew.ids[0]), theirs);
    assert_eq!(has(crew.ids[1]), Has { cpus: last.to_string(), ..before[1].clone() });
    assert_eq!(has(crew.ids[2]), before[2]);
    assert!(is_clean(folder.path()));
}

#[test]
fn a_nice_value_that_an_owner_sets_after_a_turn_stays() {
    let test = "a_nice_value_that_an_owner_sets_after_a_turn_stays";
    if !meets(test, &[Need::Root, Need::Program("renice")]) {
        return;
    }
    let (folder, settings) = settings();
    let crew = Crew::start(1, |_| spin(Duration::from_millis(1)));
    let (thread, usual) = (crew.ids[0], has(crew.ids[0]).nice);
    let mut affinity = open(&settings);
    affinity.begin(AppId(1), thread).unwrap();
    affinity.order(AppId(1), affinity.quantum() * 2).unwrap();
    affinity.settle().unwrap();
    assert_eq!(has(thread).nice, usual - 3);
    let began = Instant::now();
    while has(thread).nice != usual {
        assert!(began.elapsed() < Duration::from_secs(300));
        turn(&mut affinity, &mut TurnReport::default());
    }
    // A thread that was made meanwhile, and has the nice value from before the owner's change.
    let other = Crew::start(1, |_| std::thread::sleep(Duration::from_millis(5)));
    owner("renice", &["-n", "10", "-p", &thread.to_string()]);
    let looked = Instant::now();
    while looked.elapsed() < Duration::from_secs(1) {
        turn(&mut affinity, &mut TurnReport::default());
    }
    let restored = affinity.close();
    assert_eq!((restored.done, restored.failed), (vec![], vec![]));
    assert_eq!((has(thread).nice, has(other.ids[0]).nice), (10, usual));
    assert!(is_clean(folder.path()));
}

#[test]
fn a_restricted_thread_stays_within_its_owners_cpus_and_gets_them_back() {
    let test = "a_restricted_thread_stays_within_its_owners_cpus_and_gets_them_back";
    let cpus = own();
    if !meets(test, &[Need::Root]) || cpus.len() < 2 {
        return;
    }
    let (_folder, settings) = settings();
    let crew = sleeping();
    let mut only = rustix::thread::CpuSet::new();
    only.set(cpus[1] as usize);
    rustix::thread::sched_setaffinity(Pid::from_raw(crew.ids[0]), &only).unwrap();
    let mut affinity = open(&settings);
    affinity.begin(AppId(1), crew.ids[0]).unwrap();
    for (wanted, expected) in [(vec![cpus[0]], cpus[1]), (cpus.clone(), cpus[1]), (vec![], cpus[1])]
    {
        affinity.allow(AppId(1), &wanted.into_iter().collect()).unwrap();
        affinity.settle().unwrap();
        assert_eq!(has(crew.ids[0]).cpus, expected.to_string());
    }
    affinity.end(AppId(1));
    assert_eq!(has(crew.ids[0]).cpus, cpus[1].to_string());
}

#[test]
fn one_without_weight_gets_cpus_only() {
    let test = "one_without_weight_gets_cpus_only";
    if !meets(test, &[Need::Root, Need::Program("chrt")]) {
        return;
    }
    let (_folder, settings) = settings();
    let mut child = Command::new("chrt").args(["-i", "0", "sleep", "1000"]).spawn().unwrap();
    let id = i32::try_from(child.id()).unwrap();
    let is_idle = || {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        stat.starts_with(&format!("{id} (sleep) ")) && stat.split(' ').nth(40) == Some("5")
    };
    let began = Instant::now();
    while !is_idle() {
        assert!(began.elapsed() < Duration::from_secs(300));
        std::thread::sleep(Duration::from_millis(5));
    }
    let before = has(id);
    let mut affinity = open(&settings);
    affinity.begin(AppId(1), id).unwrap();
    affinity.raise(AppId(1), true).unwrap();
    affinity.order(AppId(1), affinity.quantum() * 3).unwrap();
    affinity.allow(AppId(1), &[own()[0]].into_iter().collect()).unwrap();
    affinity.settle().unwrap();
    assert_eq!(has(id), Has { cpus: own()[0].to_string(), nice: before.nice });
    drop(affinity);
    assert_eq!(has(id), before);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_thread_that_chose_what_others_were_given_keeps_it() {
    let test = "a_thread_that_chose_what_others_were_given_keeps_it";
    let cpus = own();
    if !meets(test, &[Need::Root]) || cpus.len() < 2 {
        return;
    }
    let (folder, settings) = settings();
    let crew = sleeping();
    // Two of them chose this CPU themselves. One of these is taken in and never changed, since
    // nothing else is requested.
    let mut only = rustix::thread::CpuSet::new();
    only.set(cpus[1] as usize);
    for &id in &crew.ids[1..] {
        rustix::thread::sched_setaffinity(Pid::from_raw(id), &only).unwrap();
    }
    let before: Vec<Has> = crew.ids.iter().map(|&id| has(id)).collect();
    // So that they started earlier by the kernel's clock of starts, too.
    std::thread::sleep(Duration::from_millis(50));
    let mut affinity = open(&settings);
    for (app, id) in crew.apps().take(2) {
        affinity.begin(app, id).unwrap();
        affinity.allow(app, &[cpus[1]].into_iter().collect()).unwrap();
    }
    affinity.settle().unwrap();
    assert!(crew.ids.iter().all(|&id| has(id).cpus == cpus[1].to_string()));
    let restored = affinity.close();
    assert_eq!(restored.done, [Thing::Affinity(crew.ids[0])]);
    assert_eq!(crew.ids.iter().map(|&id| has(id)).collect::<Vec<_>>(), before);
    assert!(is_clean(folder.path()));
}
