//! No thread runs on a CPU that it may not use.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fairways_core::{AppId, CpuSet};
use fairways_perf::switches::Stay;
use fairways_testing::needs::withheld;
use fairways_turns::{Scheduler as _, TurnReport};
use rustix::time::{ClockId, clock_gettime};

use crate::common::{Crew, Has, has, is_clean, open, own, settings, spin, turn};
use crate::switches::watch;

fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap()
}

/// Masks of a thread, each with when its change began, and when it was done.
type Masks = Vec<(CpuSet, u64, u64)>;

/// How far the fast clock of perf's records may be off from the clock that is read here, in
/// nanoseconds: the kernel corrects it at each tick.
const SLACK: u64 = 20_000;

/// The masks in force while a stay lasted. While a mask is being changed, none is in force: the
/// system call returns when the thread is off the CPUs that it may no longer use.
fn in_force<'a>(stay: &'a Stay, masks: &'a Masks) -> impl Iterator<Item = &'a CpuSet> {
    let ends = masks.iter().skip(1).map(|&(_, began, _)| began).chain([u64::MAX]);
    masks.iter().zip(ends).filter_map(|((mask, _, done), until)| {
        let (from, until) = (done.saturating_add(SLACK), until.saturating_sub(SLACK));
        (stay.span.0 < until && stay.span.1 > from).then_some(mask)
    })
}

/// Whether a stay was on a CPU that was not allowed at any moment of it.
fn violates(stay: &Stay, masks: &Masks) -> bool {
    in_force(stay, masks).any(|mask| !mask.contains(stay.cpu))
}

/// Whether a stay could have violated a mask: at some moment of it, not all CPUs were allowed.
fn is_judged(stay: &Stay, masks: &Masks, all: &CpuSet) -> bool {
    in_force(stay, masks).any(|mask| mask != all)
}

#[test]
fn a_violation_is_seen() {
    let masks =
        vec![(CpuSet::from_iter([0, 1]), 0, 0), (CpuSet::from_iter([1]), 1_000_000, 1_100_000)];
    let stay =
        |cpu, span| Stay { cpu, thread: 1, span, counters: Default::default(), goes_on: false };
    assert!(!violates(&stay(0, (500_000, 1_050_000)), &masks));
    assert!(violates(&stay(0, (500_000, 1_200_000)), &masks));
    assert!(violates(&stay(0, (1_300_000, 1_300_100)), &masks));
    assert!(!violates(&stay(1, (500_000, 9_000_000)), &masks));
    let judged = |span| is_judged(&stay(1, span), &masks, &CpuSet::from_iter([0, 1]));
    assert!(!judged((500_000, 1_050_000)) && judged((500_000, 1_200_000)));
}

#[test]
fn no_thread_is_on_a_cpu_that_it_may_not_use() {
    const SWITCHES: usize = 100_000;
    let test = "no_thread_is_on_a_cpu_that_it_may_not_use";
    let Some(mut switches) = watch(test) else { return };
    let cpus = own();
    if cpus.len() < 2 {
        withheld(test, "it takes two CPUs");
        return;
    }
    let (folder, settings) = settings();
    let crew = Crew::start(64, |number| match number % 4 {
        0 => spin(Duration::from_micros(400)),
        1 => std::thread::sleep(Duration::from_micros(150)),
        _ => std::thread::yield_now(),
    });
    let before: Vec<Has> = crew.ids.iter().map(|&id| has(id)).collect();
    let mut affinity = open(&settings);
    let all: CpuSet = cpus.iter().copied().collect();
    let mut masks: BTreeMap<i32, Masks> = BTreeMap::new();
    for (app, id) in crew.apps() {
        affinity.begin(app, id).unwrap();
        masks.insert(id, vec![(all.clone(), 0, 0)]);
    }
    // So that masks change as often as they can.
    rustix::process::setpriority_process(Some(rustix::thread::gettid()), -20).unwrap();
    let (mut ended, mut stays, mut random) = (TurnReport::default(), Vec::new(), 1_u64);
    let began = Instant::now();
    let mut changes = 0;
    let (mut seen, mut judged) = (0, 0);
    while judged < SWITCHES || changes < 2000 {
        assert!(
            began.elapsed() < Duration::from_secs(240),
            "{judged} of {} switches only",
            stays.len()
        );
        // Moves some threads together to some CPUs; sometimes to no CPU, which means all of them.
        let mut moved = Vec::new();
        for (app, id) in crew.apps() {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let bits = random >> 33;
            if bits % 3 == 0 {
                let chosen: CpuSet = cpus
                    .iter()
                    .enumerate()
                    .filter(|(at, _): &(usize, &u32)| bits >> (2 + at % 20) & 1 == 1)
                    .map(|(_, &cpu)| cpu)
                    .collect();
                affinity.allow(app, &chosen).unwrap();
                moved.push((id, if chosen.is_empty() { all.clone() } else { chosen }));
            }
        }
        let start = now();
        affinity.settle().unwrap();
        let done = now();
        for (id, mask) in moved {
            let masks = masks.get_mut(&id).unwrap();
            if masks.last().unwrap().0 != mask {
                masks.push((mask, start, done));
                changes += 1;
            }
        }
        turn(&mut affinity, &mut ended);
        switches.read(&mut stays).unwrap();
        let new = stays.iter().skip(seen);
        judged += new
            .filter(|stay| masks.get(&stay.thread).is_some_and(|of| is_judged(stay, of, &all)))
            .count();
        seen = stays.len();
    }
    for (id, masks) in &masks {
        assert_eq!(crate::common::set(&has(*id).cpus), masks.last().unwrap().0, "thread {id}");
    }
    let ours: Vec<&Stay> = stays.iter().filter(|stay| masks.contains_key(&stay.thread)).collect();
    let wrong: Vec<_> = ours.iter().filter(|stay| violates(stay, &masks[&stay.thread])).collect();
    // The others were under none while it was being changed, or allowed all CPUs.
    eprintln!(
        "{judged} switches of 64 threads under masks of some CPUs ({:.1} % of theirs were under none), {changes} changes, {} violations",
        100.0 * (ours.len() - judged) as f64 / ours.len() as f64,
        wrong.len()
    );
    assert!(wrong.is_empty(), "{:?}", wrong.first());
    assert_eq!(affinity.close().failed, []);
    assert_eq!(crew.ids.iter().map(|&id| has(id)).collect::<Vec<_>>(), before);
    assert!(is_clean(folder.path()));
}

#[test]
fn turns_show_which_threads_ran_together() {
    let test = "turns_show_which_threads_ran_together";
    if watch(test).is_none() {
        return;
    }
    let (_folder, settings) = settings();
    let crew = Crew::start(2, |_| spin(Duration::from_millis(5)));
    let mut affinity = open(&settings);
    crew.apps().for_each(|(app, id)| affinity.begin(app, id).unwrap());
    affinity.watch(Some(Duration::from_micros(200))).unwrap();
    let cpus: CpuSet = own().into_iter().collect();
    let mut gathering = fairways_turns::together::Gathering::new(&cpus, 200_000);
    let (mut ended, mut stretches) = (TurnReport::default(), Vec::new());
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        turn(&mut affinity, &mut ended);
        gathering.add(&ended.turns, &mut stretches);
        ended = TurnReport::default();
    }
    let ran = |app| {
        stretches
            .iter()
            .filter(|stretch| stretch.together.threads.iter().any(|ran| ran.thread.app == app))
            .map(|stretch| stretch.span.1 - stretch.span.0)
            .sum::<u64>()
    };
    let times = [ran(AppId(1)), ran(AppId(2))];
    eprintln!("{} times together, of {times:?} ns", stretches.len());
    assert!(stretches.is_sorted_by(|a, b| a.span.1 <= b.span.0));
    assert!(stretches.iter().all(|s| s.span.1 - s.span.0 >= 200_000));
    assert!(times.iter().all(|&time| time > 100_000_000), "each ran for some of the three seconds");
}
