//! CASC on this machine, and on a chip with as many CPUs and the same counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use super::chip::{on_chip, profiles, programs, settings};
use super::daemon::{Daemon, Place, can, scheduler};
use super::journal::Story;
use super::threads::{SCHED_EXT, Spinning, cpus, facts, is_under_ext, processor};

#[test]
fn casc_decides_on_this_machine_as_on_a_chip_that_counts_the_same() {
    let Some(_alone) = can() else { return };
    let (place, there) = (Place::new(), cpus());
    let chip = on_chip(&place, "casc", there.len());
    let names: Vec<String> =
        (0..programs(there.len()).len()).map(|number| format!("p{number}")).collect();
    fs::write(place.at("profiles"), profiles(&chip, &names)).unwrap();
    let spinning: Vec<Spinning> = names.iter().map(|_| Spinning::one()).collect();
    let before: Vec<_> = spinning.iter().map(|of| facts(of.id())).collect();
    let listed = names.iter().zip(&spinning).map(|(name, of)| (name.clone(), of.id(), false));
    place.configure("casc", &listed.collect::<Vec<_>>());
    let mut daemon = Daemon::start(&place, settings("casc"));
    daemon.eventually("every thread is measured", |daemon| {
        let programs = daemon.programs();
        let is_known = |of: &serde_json::Value| {
            !of["class"].is_null() && of["estimates"].as_object().is_some_and(|of| !of.is_empty())
        };
        programs.len() == names.len() && programs.iter().all(is_known)
    });
    let kind = scheduler();
    let in_kernel = kind == "sched_ext";
    let pid_of = |of: &serde_json::Value| {
        let name = of["name"].as_str().unwrap();
        spinning[names.iter().position(|known| known == name).unwrap()].id()
    };
    let allowed =
        |of: &serde_json::Value| of["cpus"].as_str().map_or(there.clone(), super::threads::listed);
    // A new decision is shown at once, and carried out a moment later.
    let mut status = daemon.status();
    daemon.eventually("what is decided is carried out", |daemon| {
        status = daemon.status();
        let is_so = |of: &serde_json::Value| {
            in_kernel || facts(pid_of(of)).values().all(|found| found.cpus == allowed(of))
        };
        status["programs"].as_array().unwrap().iter().all(is_so)
    });
    let why = if in_kernel { "this kernel has sched_ext" } else { "as configured" };
    daemon.schedules_as_asked();
    let text = place.printed("status", &[]);
    assert!(text.contains(&format!("threads take turns by {kind}: {why}\n")), "{text}");

    // `status` shows what the kernel has: the thread's affinity or, under the scheduler, the CPUs
    // on which the thread is seen.
    let mut shown = BTreeMap::new();
    let mut seen: BTreeMap<i32, BTreeSet<u32>> = BTreeMap::new();
    for _ in 0..if in_kernel { 50 } else { 0 } {
        std::thread::sleep(Duration::from_millis(5));
        for pid in spinning.iter().map(Spinning::id) {
            seen.entry(pid).or_default().insert(processor(pid));
        }
    }
    for of in status["programs"].as_array().unwrap() {
        let name = of["name"].as_str().unwrap();
        let pid = pid_of(of);
        let [found] = &facts(pid).into_values().collect::<Vec<_>>()[..] else { panic!("{name}") };
        let allowed = allowed(of);
        if in_kernel {
            assert_eq!(found.policy, SCHED_EXT, "{of}");
            assert!(is_under_ext(pid), "{of}");
            let seen = &seen[&pid];
            eprintln!("{name} is allowed {allowed:?}, and was seen on {seen:?}");
            assert!(seen.iter().all(|cpu| allowed.contains(cpu)), "{of}: {seen:?}");
        } else {
            assert_eq!(found.cpus, allowed, "{of}");
        }
        shown.insert(name.to_owned(), allowed);
    }
    daemon.schedules_as_asked();
    assert!(daemon.end(Signal::TERM).success());
    for (of, before) in spinning.iter().zip(&before) {
        assert!(!is_under_ext(of.id()));
        assert_eq!(facts(of.id()), *before, "as it was");
    }
    // They would take most of an emulated machine's time from what follows.
    drop(spinning);

    // The decisions are those made on the chip, and those that the policy makes from the journal
    // alone.
    let host = Story::read(&place.text("journal"));
    let measured = Duration::from_nanos(host.estimated);
    eprintln!("measured after {measured:?}");
    assert!(measured < Duration::from_secs(200), "the limit went by: not all were seen together");
    let mut confined = 0;
    for (app, name) in (0..).zip(&names) {
        let (here, chips) = (host.cpus_of(app, there.len()), chip.cpus_of(app, there.len()));
        let scores = format!("{name}: PCMR {:?} and {:?}", host.pcmrs[&app], chip.pcmrs[&app]);
        eprintln!("{scores}: CPUs {here:?} and {chips:?}");
        assert_eq!(here, chips, "{scores}");
        assert!((host.pcmrs[&app] - chip.pcmrs[&app]).abs() < 3.0, "{scores}");
        let numbers: Vec<u32> = here.iter().map(|&cpu| there[cpu as usize]).collect();
        assert_eq!(shown[name], numbers, "{scores}");
        confined += usize::from(here.len() < there.len());
    }
    let both = (0, names.len());
    assert!(
        there.len() == 1 || (confined > both.0 && confined < both.1),
        "{confined} are confined"
    );
    let journal = place.at("journal");
    place.printed("replay", &[journal.to_str().unwrap()]);
    for word in ["ran_together", "quantum_given", "priority", "allow", "estimated"] {
        assert!(host.words.contains_key(word), "{word}");
    }
}
