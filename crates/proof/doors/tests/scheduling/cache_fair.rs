//! Cache-fair on this machine: a program that others slow down gets more CPU time.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::chip;
use super::daemon::{Daemon, Place, can, scheduler};
use super::journal::Story;
use super::profiles::{Row, table};
use super::threads::{Spinning, cpu_time, cpus, facts, is_under_ext, nice};

/// Profiles by ways: one program needs its lines; many stream, one of them as background work; one
/// hardly misses and takes no lines from the first, so that the first is also seen beside others.
fn profiles() -> String {
    let row = |ipc, references, misses, stalls| Row { ipc, references, misses, stalls };
    let needs = [(0.1, 40.0, 0.9), (0.2, 30.0, 0.8), (1.0, 1.0, 0.02), (1.0, 1.0, 0.02)];
    let needs = needs.map(|(ipc, misses, stalls)| row(ipc, 45.0, misses, stalls));
    let streams = || vec![row(0.2, 61.0, 60.0, 0.8); 4];
    let idles = [0.4, 0.3, 0.2, 0.1].map(|misses| row(1.0, 5.0, misses, 0.01));
    table([
        ("needs", needs.to_vec()),
        ("streams", streams()),
        ("works", streams()),
        ("idles", idles.to_vec()),
    ])
}

/// The CPU time of a thread at each nice value.
struct Weighed {
    last: Option<(i32, u64, Instant)>,
    /// CPU time and time, in seconds.
    times: BTreeMap<i32, [f64; 2]>,
}

impl Weighed {
    const fn new() -> Self {
        Self { last: None, times: BTreeMap::new() }
    }

    /// The time since the last look counts for the present nice value if the thread had it at the
    /// last look too.
    fn look(&mut self, pid: i32) {
        let (nice, ran, now) = (nice(pid), cpu_time(pid), Instant::now());
        if let Some((_, before, then)) = self.last.filter(|last| last.0 == nice) {
            let times = self.times.entry(nice).or_default();
            times[0] += (ran - before) as f64 / 1e9;
            times[1] += now.duration_since(then).as_secs_f64();
        }
        self.last = Some((nice, ran, now));
    }

    /// Sums over some nice values: CPU time, time, and time by shares.
    fn sum(&self, is_of: fn(i32) -> bool) -> [f64; 3] {
        let of = self.times.iter().filter(|(nice, _)| is_of(**nice));
        of.map(|(&nice, &[ran, time])| [ran, time, time * share(nice)]).fold([0.0; 3], add)
    }

    fn millis(&self) -> BTreeMap<i32, [u128; 2]> {
        self.times
            .iter()
            .map(|(&nice, times)| {
                (nice, times.map(|seconds: f64| Duration::from_secs_f64(seconds).as_millis()))
            })
            .collect()
    }
}

fn add(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// The weight of a nice value relative to that of 0: each has 1.25 times the weight of the next
/// (sched(7)).
fn share(nice: i32) -> f64 {
    1.25f64.powi(-nice)
}

/// The kernel received only the weights that were ordered, each rounded to the nearest possible
/// one, and kept them.
fn are_kept(story: &Story, names: &[String], weighed: &[Weighed], quantum: u64) {
    for ((app, name), weighed) in (0..).zip(names).zip(weighed) {
        eprintln!("{name}: CPU time and time by nice value, in ms: {:?}", weighed.millis());
        let orders = story.ordered.get(&app).into_iter().flatten();
        let orders: Vec<f64> = orders.map(|&time| time as f64 / quantum as f64).collect();
        let least = orders.iter().copied().fold(1.0, f64::min) * 0.88;
        let most = orders.iter().copied().fold(1.0, f64::max) * 1.13;
        for nice in weighed.times.keys().map(|nice| share(*nice)) {
            assert!((least..most).contains(&nice), "{name}: {nice}, {least} to {most}");
        }
    }
    // A thread gets more than others while it is ordered to have more.
    let all = |is_of: fn(i32) -> bool| weighed.iter().map(|of| of.sum(is_of)).fold([0.0; 3], add);
    let ([more_ran, more, more_share], [less_ran, less, less_share]) =
        (all(|nice| nice < 0), all(|nice| nice > 0));
    assert!(more > 0.3 && less > 0.3, "{more} s and {less} s");
    let expected = (more_share / more) / (less_share / less);
    let found = (more_ran / more) / (less_ran / less);
    eprintln!("nice values below 0 got {found:.2} times as much as those above, for {expected:.2}");
    assert!(expected > 1.5 && found > 1.3, "{found} {expected}");
    assert!(found / expected > 0.65, "{found} {expected}");
}

#[test]
fn a_program_behind_its_fair_cpi_gets_time_of_background_work() {
    let Some(_alone) = can() else { return };
    let (place, there) = (Place::new(), cpus());
    fs::write(place.at("profiles"), profiles()).unwrap();
    let mut names = vec!["needs".to_owned()];
    for number in 1..=there.len().div_ceil(2) {
        names.extend(["works", "idles"].map(|kind| format!("{kind}.{number}")));
        names.extend((0..4).map(|of| format!("streams.{number}{of}")));
    }
    let spinning: Vec<Spinning> = names.iter().map(|_| Spinning::one()).collect();
    let before: Vec<_> = spinning.iter().map(|of| facts(of.id())).collect();
    let listed = names.iter().zip(&spinning);
    let listed = listed.map(|(name, of)| (name.clone(), of.id(), name.starts_with("works")));
    place.configure("cache-fair", &listed.collect::<Vec<_>>());
    // The published form: background work is not protected from losing much. Each program has to be
    // seen beside many others first.
    let published = ["--set", "penalty_limit=0", "--set", "extrapolates=true"];
    let flags = [&published[..], &["--set", "data_points=40"]].concat();
    let mut daemon = Daemon::start(&place, &flags);
    daemon.eventually("turns are ordered of the one that is behind", |daemon| {
        let programs = daemon.programs();
        programs.iter().any(|of| of["name"] == "needs" && !of["ordered_ns"].is_null())
    });
    let in_kernel = scheduler() == "sched_ext";
    assert!(spinning.iter().all(|of| is_under_ext(of.id()) == in_kernel));
    let times = || spinning.iter().map(|of| cpu_time(of.id())).collect::<Vec<_>>();
    let from = times();
    // Meanwhile the test asks the kernel for the threads' weights and CPU time. A scheduler in the
    // kernel reports no weights.
    let mut weighed: Vec<Weighed> = names.iter().map(|_| Weighed::new()).collect();
    // For longer where threads rarely have a weight: this machine may be busy with other things.
    let time = |weighed: &[Weighed], is_of| weighed.iter().map(|of| of.sum(is_of)[1]).sum::<f64>();
    let began = Instant::now();
    if in_kernel {
        std::thread::sleep(Duration::from_secs(8));
    }
    while !in_kernel
        && (began.elapsed() < Duration::from_secs(20)
            || began.elapsed() < Duration::from_secs(100)
                && (time(&weighed, |nice| nice < 0) < 4.0 || time(&weighed, |nice| nice > 0) < 4.0))
    {
        for (of, weighed) in spinning.iter().zip(&mut weighed) {
            weighed.look(of.id());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let seconds = began.elapsed().as_secs();
    let ran: Vec<u64> = times().iter().zip(&from).map(|(to, from)| to - from).collect();
    daemon.schedules_as_asked();
    assert!(daemon.end(Signal::TERM).success());
    for (of, before) in spinning.iter().zip(&before) {
        assert_eq!(facts(of.id()), *before, "as it was");
    }
    // They would take most of an emulated machine's time from what follows.
    drop(spinning);
    let story = Story::read(&place.text("journal"));
    let quantum = 10_000_000;
    for ((app, name), ran) in (0..).zip(&names).zip(&ran) {
        let turns = &story.turns[&app];
        let ordered = turns.iter().map(|turn| turn.0).sum::<u64>() / turns.len() as u64;
        let (count, ran) = (turns.len(), ran / 1_000_000);
        let ordered = ordered / 1000;
        eprintln!("{name}: {count} turns of {ordered} us on average, {ran} ms in {seconds} s");
    }
    // Turns that were ordered to be longer were longer.
    let all = story.turns.values().flatten();
    let (longer, shorter): (Vec<_>, Vec<_>) =
        all.filter(|turn| turn.0 != quantum).partition(|turn| turn.0 > quantum);
    let mean = |of: &[&(u64, u64)]| of.iter().map(|turn| turn.1).sum::<u64>() / of.len() as u64;
    assert!(longer.len() > 10 && shorter.len() > 10, "{} {}", longer.len(), shorter.len());
    assert!(mean(&longer) * 10 > mean(&shorter) * 12, "{} {}", mean(&longer), mean(&shorter));
    if !in_kernel {
        are_kept(&story, &names, &weighed, quantum);
    }
    // A thread's share of the CPUs, beside background work, is what was ordered. The amount depends
    // on the other load of this machine: a thread that runs beside no profiled program has the
    // cache to itself.
    let ordered = |app: usize| {
        let turns = &story.turns[&(app as u64)];
        turns.iter().map(|turn| turn.0).sum::<u64>() as f64 / turns.len() as f64
    };
    let works = names.iter().position(|name| name == "works.1").unwrap();
    for (app, name) in names.iter().enumerate().filter(|(app, _)| *app != works) {
        let (expected, found) =
            (ordered(app) / ordered(works), ran[app] as f64 / ran[works] as f64);
        eprintln!("{name}: {found:.2} of the time of works.1, ordered {expected:.2}");
        assert!((0.65..1.55).contains(&(found / expected)), "{name}: {found} {expected}");
    }
    for word in ["ran_together", "quantum_given", "sampled", "estimated", "quantum"] {
        assert!(story.words.contains_key(word), "{word}");
    }
    let journal = place.at("journal");
    place.printed("replay", &[journal.to_str().unwrap()]);
}

#[test]
fn fair_miss_rates_are_those_of_a_chip_that_counts_the_same() {
    let Some(_alone) = can() else { return };
    let (place, there) = (Place::new(), cpus().len());
    // On a chip of two CPUs, where a program has at most two co-runners, the estimates differ from
    // what threads count on average.
    if there < 4 {
        eprintln!("SKIPPED: {there} CPUs share a cache, and it takes four");
        return;
    }
    let chip = chip::on_chip(&place, "cache-fair", there);
    let names: Vec<String> =
        (0..chip::programs(there).len()).map(|number| format!("p{number}")).collect();
    fs::write(place.at("profiles"), chip::profiles(&chip, &names)).unwrap();
    let spinning: Vec<Spinning> = names.iter().map(|_| Spinning::one()).collect();
    let before: Vec<_> = spinning.iter().map(|of| facts(of.id())).collect();
    let listed = names.iter().zip(&spinning).map(|(name, of)| (name.clone(), of.id(), false));
    place.configure("cache-fair", &listed.collect::<Vec<_>>());
    let mut daemon = Daemon::start(&place, &[]);
    daemon.eventually("every reconnaissance is over", |daemon| {
        let programs = daemon.programs();
        let is_known = |of: &serde_json::Value| {
            let known = of["estimates"].as_object();
            known.is_some_and(|of| of.keys().any(|what| what.starts_with("fair miss rate")))
        };
        programs.len() == names.len() && programs.iter().all(is_known)
    });
    daemon.schedules_as_asked();
    assert!(daemon.end(Signal::TERM).success());
    for (of, before) in spinning.iter().zip(&before) {
        assert_eq!(facts(of.id()), *before, "as it was");
    }
    drop(spinning);
    let host = Story::read(&place.text("journal"));
    for (app, name) in (0..).zip(&names) {
        let (here, there) = (host.fair[&app], chip.fair[&app]);
        eprintln!("{name}: fair miss rate {here:.3} and {there:.3} per 1000 cycles");
        assert!((here / there - 1.0).abs() < 0.15, "{name}: {here} and {there}");
    }
    let journal = place.at("journal");
    place.printed("replay", &[journal.to_str().unwrap()]);
}
