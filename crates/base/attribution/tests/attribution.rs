//! Losses, and their causes, from windows as a machine reports them.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use fairways_attribution::{
    Attribution, Caused, Loss, MOST_PROGRAMS, MemoryLatency, RecentAttribution, Remedy, Unknown,
    WatchedPolicy,
};
use fairways_core::{
    Action, AppId, Counters, Curve, Event, Llc, Partition, PlanId, Policy, Profile, Q32, Sample,
    Time, WayMask, Ways, Wish,
};

const LLC: Llc = Llc::with_ways(Ways::new(8).unwrap());
const IDLE: MemoryLatency = MemoryLatency { llc: 50, memory: 200 };

fn started(app: u32, profile: Option<Arc<Profile>>) -> Event {
    Event::Started { app: AppId(app), wish: Wish::default(), profile }
}

/// A machine with programs without profiles.
fn machine(latency: Option<MemoryLatency>, programs: u32) -> Attribution {
    let mut all = Attribution::new(latency, Time::ZERO);
    all.handle(Time::ZERO, &Event::Machine(LLC.into()));
    (0..programs).for_each(|app| all.handle(Time::ZERO, &started(app, None)));
    all
}

/// 100 ms with this many misses of 10 million references, each of which waits so many cycles for
/// memory, where a hit waits 25; and an occupancy in quarters of a way.
fn sampled(app: u32, misses: u64, wait: u64, quarters: u64) -> Event {
    let (references, misses) = (10_000_000, misses * 1000);
    let waits = misses * wait;
    let counters = Counters {
        instructions: Some(100_000_000),
        cycles: Some(100_000_000 + 25 * (references - misses) + waits),
        llc_references: Some(references),
        llc_misses: Some(misses),
        stalls_l2_miss: Some(25 * (references - misses) + waits),
        stalls_llc_miss: Some(waits),
        memory_bytes: Some(64 * misses),
        ..Counters::default()
    };
    Event::Sampled(Sample {
        occupancy: Some(Q32::from_raw(quarters << 30)),
        ..Sample::new(AppId(app), counters, Duration::from_millis(100))
    })
}

fn partitioned(masks: &[u32]) -> Event {
    let mut actual = Partition::default();
    for (app, &mask) in (0..).zip(masks) {
        let cluster = actual.add_cluster(WayMask::from_bits(mask));
        actual.place(AppId(app), cluster);
    }
    Event::Applied { plan: PlanId::default(), actual }
}

/// Gives windows, one after the other; the last of them is the span.
fn observe(all: &mut Attribution, windows: &[[Event; 2]]) {
    for (number, each) in (1..).zip(windows) {
        let at = Time::from_nanos(number * 100_000_000);
        if windows.len() as u64 == number {
            all.begin(Time::from_nanos((number - 1) * 100_000_000));
        }
        each.iter().for_each(|window| all.handle(at, window));
    }
}

fn loss(all: &Attribution, app: u32) -> Loss {
    all.losses().find(|loss| loss.app == AppId(app)).unwrap()
}

/// In thousandths.
fn thousandths(value: Q32) -> u64 {
    (value.raw() * 1000 + (1 << 31)) >> 32
}

/// A program is seen with the whole cache, then with half of it beside a stream.
fn beside_a_stream(wait: u64) -> Attribution {
    let mut all = machine(Some(IDLE), 2);
    let with_all = [sampled(0, 1000, 100, 32), sampled(1, 10, 100, 0)];
    let with_half = [sampled(0, 4000, wait, 16), sampled(1, 9900, wait, 16)];
    let windows = [&with_all, &with_all, &with_half, &with_half];
    observe(&mut all, &windows.map(Clone::clone));
    all
}

#[test]
fn lines_that_a_neighbour_takes_are_its_part() {
    let all = beside_a_stream(100);
    let loss = loss(&all, 0);
    // 3 million misses that take 75 cycles longer than hits, of 650 million cycles.
    assert_eq!(thousandths(loss.slowdown.likely), 1529);
    assert_eq!([loss.lines, loss.ways, loss.bus].map(thousandths), [529, 0, 0]);
    assert!(
        loss.slowdown.least <= loss.slowdown.likely && loss.slowdown.likely <= loss.slowdown.most
    );
    assert_eq!(loss.unknown, None);
    let Caused { culprit, cache, bus } = all.worst_culprit(loss).unwrap();
    assert_eq!((culprit, [cache, bus].map(thousandths)), (AppId(1), [529, 0]));
}

#[test]
fn misses_that_wait_longer_than_on_an_idle_bus_are_the_part_of_its_traffic() {
    let all = beside_a_stream(150);
    let loss = loss(&all, 0);
    // Four million misses wait 50 cycles more; of that, its own traffic would cause a part alone.
    let [lines, bus] = [loss.lines, loss.bus].map(thousandths);
    assert!((520..560).contains(&lines) && (420..480).contains(&bus), "{lines} {bus}");
    assert_eq!(thousandths(all.worst_culprit(loss).unwrap().bus), bus);
}

#[test]
fn a_program_that_streams_loses_nothing_and_blames_none() {
    let all = beside_a_stream(100);
    let stream = loss(&all, 1);
    assert_eq!(thousandths(stream.slowdown.likely), 1000);
    assert_eq!(all.worst_culprit(stream), None);
    // It was never seen with the whole cache.
    assert_eq!(stream.unknown, Some(Unknown::LargerSizes(Q32::from_int(4))));
    assert!(thousandths(stream.slowdown.most) > 1200);
}

#[test]
fn ways_that_the_partition_withholds_are_the_part_of_their_owner() {
    let mut all = machine(Some(IDLE), 2);
    let with_all = [sampled(0, 1000, 100, 32), sampled(1, 10, 100, 0)];
    let with_half = [sampled(0, 4000, 100, 16), sampled(1, 10, 100, 1)];
    observe(&mut all, &[with_all.clone(), with_all]);
    all.handle(Time::from_nanos(200_000_000), &partitioned(&[0x0f, 0xf0]));
    observe(&mut all, &[with_half.clone(), with_half.clone(), with_half]);
    let loss = loss(&all, 0);
    assert_eq!([loss.lines, loss.ways].map(thousandths), [0, 529]);
    assert_eq!(thousandths(all.worst_culprit(loss).unwrap().cache), 529);
}

#[test]
fn without_latencies_the_bus_widens_the_interval() {
    let mut all = machine(None, 2);
    let with_all = [sampled(0, 1000, 100, 32), sampled(1, 10, 100, 0)];
    let contended = [sampled(0, 1000, 150, 32), sampled(1, 9900, 150, 0)];
    observe(&mut all, &[with_all.clone(), with_all, contended]);
    let loss = loss(&all, 0);
    assert_eq!(loss.unknown, Some(Unknown::IdleBus));
    // The lowest cost ever seen is the likely one.
    assert!((1080..1120).contains(&thousandths(loss.slowdown.likely)), "{loss:?}");
    assert!(loss.slowdown.least == Q32::ONE && thousandths(loss.slowdown.most) > 1200, "{loss:?}");
}

fn curve(value: fn(u32) -> u64) -> Curve {
    Curve::from_fn(LLC.ways, |ways| Q32::from_raw(value(ways)))
}

#[test]
fn a_profile_says_how_fast_a_program_is_alone() {
    let profile = Profile {
        // One instruction in two cycles, alone.
        ipc: curve(|_| 1 << 31),
        llcmpki: curve(|ways| if ways < 8 { 40 << 32 } else { 10 << 32 }),
        llcmpkc: curve(|_| 0),
        bandwidth_mbps: curve(|_| 0),
        stalls_l2_miss: curve(|_| 0),
    };
    let mut all = machine(Some(IDLE), 0);
    all.handle(Time::ZERO, &started(0, Some(Arc::new(profile))));
    all.handle(Time::ZERO, &started(1, None));
    let windows = [sampled(0, 4000, 100, 16), sampled(1, 9900, 100, 16)];
    observe(&mut all, &[windows.clone(), windows]);
    let loss = loss(&all, 0);
    // 650 million cycles instead of 200.
    assert_eq!(thousandths(loss.slowdown.likely), 3250);
    assert_eq!([loss.lines, loss.unexplained].map(thousandths), [529, 1721]);
    assert_eq!(loss.unknown, None);
}

#[test]
fn without_occupancies_the_cache_is_not_known_and_misses_name_the_culprit() {
    let mut all = machine(Some(IDLE), 3);
    for number in 1..=2 {
        for (app, misses) in [(0, 4000), (1, 100), (2, 9900)] {
            let Event::Sampled(sample) = sampled(app, misses, 150, 0) else { unreachable!() };
            let sample = Sample { occupancy: None, ..sample };
            all.handle(Time::from_nanos(number * 100_000_000), &Event::Sampled(sample));
        }
    }
    let loss = loss(&all, 0);
    assert_eq!(loss.unknown, Some(Unknown::LargerSizes(Q32::default())));
    assert!(thousandths(loss.slowdown.most) > 2000 && loss.lines == Q32::default(), "{loss:?}");
    assert_eq!(all.worst_culprit(loss).unwrap().culprit, AppId(2));
}

/// The occupancy of one neighbour is missing, and it takes as much as the other.
#[test]
fn a_neighbour_whose_occupancy_is_missing_is_not_taken_for_a_small_one() {
    let Event::Sampled(of) = sampled(2, 9900, 100, 0) else { panic!() };
    let unknown = Event::Sampled(Sample { occupancy: None, ..of });
    let mut all = machine(Some(IDLE), 3);
    for window in 1..=5 {
        let windows = if window < 3 {
            [sampled(0, 1000, 100, 32), sampled(1, 10, 100, 0), sampled(2, 10, 100, 0)]
        } else {
            [sampled(0, 4000, 100, 16), sampled(1, 9900, 100, 8), unknown.clone()]
        };
        if window == 5 {
            all.begin(Time::from_nanos(400_000_000));
        }
        let at = Time::from_nanos(window * 100_000_000);
        windows.iter().for_each(|window| all.handle(at, window));
    }
    let loss = loss(&all, 0);
    assert_eq!(thousandths(loss.lines), 529);
    let parts: Vec<u64> = all.caused(loss).map(|of| thousandths(of.cache)).collect();
    assert_eq!(parts, [265, 265]);
}

/// The same window of a program that holds more than is counted.
fn in_part(app: u32, misses: u64, wait: u64, quarters: u64) -> Event {
    let Event::Sampled(whole) = sampled(app, misses, wait, quarters) else { unreachable!() };
    let (occupancy, occupancy_at_least) = (None, whole.occupancy);
    Event::Sampled(Sample { occupancy, occupancy_at_least, ..whole })
}

/// Two programs ran before: what they have brought in since seems to be all that they hold. The
/// program misses as often as ever.
#[test]
fn occupancies_that_are_not_all_are_no_sizes() {
    let mut all = machine(Some(IDLE), 2);
    let mut windows: Vec<[Event; 2]> = (0..20)
        .map(|quarters| [in_part(0, 4000, 100, quarters), in_part(1, 9900, 100, quarters)])
        .collect();
    observe(&mut all, &windows);
    // By these, it would miss no less with more ways.
    let before = loss(&all, 0);
    assert!(!before.is_known(), "{before:?}");
    assert_eq!(before.unknown, Some(Unknown::LargerSizes(Q32::default())));
    assert_eq!(before.slowdown.least, Q32::ONE);
    assert!(thousandths(before.slowdown.most) > 1529, "{before:?}");
    // Once all is counted, it is as if it had been from the start.
    let counted = [sampled(0, 4000, 100, 16), sampled(1, 9900, 100, 16)];
    windows.extend([counted.clone(), counted.clone(), counted.clone()]);
    let mut cold = machine(Some(IDLE), 2);
    observe(&mut all, &windows);
    observe(&mut cold, &[counted.clone(), counted.clone(), counted]);
    let [warm, cold] = [&all, &cold].map(|all| loss(all, 0));
    assert_eq!(warm, cold);
    assert!(thousandths(warm.slowdown.likely) > 1100, "{warm:?}");
}

/// In a part of the span its size is not known: those misses count as the rest.
#[test]
fn misses_at_a_size_that_is_not_known_count_as_the_others() {
    fn with_half() -> [Event; 2] {
        [sampled(0, 4000, 100, 16), sampled(1, 9900, 100, 16)]
    }
    let mut slowdowns = Vec::new();
    for last in [with_half(), [in_part(0, 4000, 100, 1), in_part(1, 9900, 100, 1)]] {
        let mut all = machine(Some(IDLE), 2);
        let with_all = [sampled(0, 1000, 100, 32), sampled(1, 10, 100, 0)];
        observe(&mut all, &[with_all.clone(), with_all, with_half(), with_half()]);
        all.begin(Time::from_nanos(400_000_000));
        for (at, windows) in [(500_000_000, with_half()), (600_000_000, last)] {
            windows.iter().for_each(|window| all.handle(Time::from_nanos(at), window));
        }
        slowdowns.push(thousandths(loss(&all, 0).slowdown.likely));
    }
    assert_eq!(slowdowns[0], slowdowns[1]);
}

/// It has hardly a miss: whatever it holds, it loses next to nothing.
#[test]
fn a_program_that_hardly_misses_loses_nothing_whatever_it_holds() {
    let mut all = machine(Some(IDLE), 2);
    let windows: Vec<[Event; 2]> =
        (0..5).map(|_| [in_part(0, 5, 100, 1), in_part(1, 9900, 100, 8)]).collect();
    observe(&mut all, &windows);
    let loss = loss(&all, 0);
    assert!(loss.is_known() && thousandths(loss.slowdown.most) < 1030, "{loss:?}");
}

#[test]
fn a_slowdown_in_a_wide_interval_is_known_to_be_at_least_its_end() {
    let mut all = machine(None, 2);
    let with_all = [sampled(0, 1000, 100, 32), sampled(1, 10, 100, 0)];
    let contended = [sampled(0, 4000, 200, 16), sampled(1, 9900, 200, 16)];
    observe(&mut all, &[with_all.clone(), with_all, contended.clone(), contended]);
    let found = loss(&all, 0);
    assert!(!found.is_known(), "{found:?}");
    let shown = found.at_least();
    assert_eq!(shown.slowdown.likely, found.slowdown.least);
    let parts = [shown.lines, shown.ways, shown.bus, shown.unexplained];
    let sum = parts.map(thousandths).iter().sum::<u64>();
    assert!(sum.abs_diff(thousandths(found.slowdown.least) - 1000) <= 2, "{shown:?}");
    assert_eq!(all.worst_culprit(found).unwrap().culprit, AppId(1));
    // One that is narrow is shown as it is likely.
    assert!(loss(&beside_a_stream(100), 0).is_known());
}

/// A window of 100 ms in which a program refers to the cache so many times in 100 instructions, and
/// this percent of that misses.
fn in_phase(all: &mut Attribution, number: u64, rate: u64, percent: u64, quarters: u64) {
    let (references, instructions) = (1_000_000 * rate, 100_000_000);
    let misses = references * percent / 100;
    let waits = misses * 100;
    let counters = Counters {
        instructions: Some(instructions),
        cycles: Some(instructions + 25 * (references - misses) + waits),
        llc_references: Some(references),
        llc_misses: Some(misses),
        stalls_l2_miss: Some(25 * (references - misses) + waits),
        stalls_llc_miss: Some(waits),
        ..Counters::default()
    };
    let sample = Sample {
        occupancy: Some(Q32::from_raw(quarters << 30)),
        ..Sample::new(AppId(0), counters, Duration::from_millis(100))
    };
    all.handle(Time::from_nanos(number * 100_000_000), &Event::Sampled(sample));
}

/// What it missed with few lines, when it used more of the cache, is no loss now: a phase that
/// hardly misses, seen with all of the cache, and then one that always misses, seen with little.
#[test]
fn what_a_program_misses_in_one_phase_says_nothing_of_another() {
    let mut all = machine(Some(IDLE), 1);
    for (number, quarters) in [(1, 2), (2, 2), (3, 16), (4, 16), (5, 32), (6, 32)] {
        in_phase(&mut all, number, 1, if quarters < 32 { 80 } else { 5 }, quarters);
    }
    all.begin(Time::from_nanos(600_000_000));
    (7..=30).for_each(|number| in_phase(&mut all, number, 10, 90, 16));
    let Loss { slowdown, unknown, .. } = loss(&all, 0);
    let largest = Unknown::LargerSizes(Q32::from_int(4));
    assert_eq!((slowdown.least, unknown), (Q32::ONE, Some(largest)));
    // The same misses in one phase are a loss.
    let mut one = machine(Some(IDLE), 1);
    for (number, misses, quarters) in [(1, 8000, 2), (2, 8000, 2), (3, 500, 32), (4, 500, 32)] {
        one.handle(Time::from_nanos(number * 100_000_000), &sampled(0, misses, 100, quarters));
    }
    (5..30).for_each(|number| {
        one.handle(Time::from_nanos(number * 100_000_000), &sampled(0, 9000, 100, 16));
    });
    assert!(thousandths(loss(&one, 0).slowdown.least) > 1300);
}

#[test]
fn a_program_whose_counters_are_missing_has_no_loss() {
    let mut all = machine(Some(IDLE), 1);
    let Event::Sampled(sample) = sampled(0, 1, 1, 1) else { unreachable!() };
    let sample = Sample { counters: Counters::default(), ..sample };
    all.handle(Time::from_nanos(100_000_000), &Event::Sampled(sample));
    assert_eq!(all.losses().count(), 0);
}

/// A journal may say anything.
#[test]
fn counts_of_any_size_are_taken_in() {
    for latency in [Some(IDLE), Some(MemoryLatency { llc: u32::MAX, memory: 0 }), None] {
        let mut all = machine(latency, 3);
        for (number, count) in (1..).zip([u64::MAX, 0, u64::MAX, 1, u64::MAX / 2]) {
            for app in 0..3 {
                let Event::Sampled(sample) = sampled(app, 1, 1, 1) else { unreachable!() };
                let counters = Counters::from_fn(|_| Some(count >> app));
                let occupancy = (number != 2).then_some(Q32::from_raw(count));
                let sample = Sample { counters, occupancy, ..sample };
                all.handle(Time::from_nanos(number * 100_000_000), &Event::Sampled(sample));
            }
            let losses: Vec<Loss> = all.losses().collect();
            for loss in losses {
                assert!(loss.slowdown.likely >= Q32::ONE);
                assert!(all.worst_culprit(loss).is_none_or(|worst| worst.culprit != loss.app));
                assert!(all.remedy(loss).is_none_or(|of| of.ways < 8));
            }
            if number == 3 {
                let fewer = Llc::with_ways(Ways::new(2).unwrap());
                all.handle(Time::from_nanos(number * 100_000_000), &Event::Machine(fewer.into()));
            }
        }
    }
}

#[test]
fn a_program_that_ends_is_forgotten() {
    let mut all = beside_a_stream(100);
    all.handle(Time::from_nanos(500_000_000), &Event::Exited { app: AppId(1) });
    assert_eq!(all.losses().count(), 1);
    assert_eq!(all.caused(loss(&all, 0)).count(), 0);
}

/// Half of the cache is too little for the reader, and a stream gains nothing from its half.
#[test]
fn ways_of_its_own_would_end_a_loss() {
    let all = beside_a_stream(100);
    let Remedy { culprit, ways, saves, costs, costs_others, is_guess } =
        all.remedy(loss(&all, 0)).unwrap();
    assert_eq!((culprit, ways, is_guess), (AppId(1), 7, false));
    // Seen with 8 ways and with 4; with 7 it misses as on the line between.
    assert!((390..=400).contains(&thousandths(saves.likely)), "{saves:?}");
    assert!(saves.least <= saves.likely && saves.likely <= saves.most);
    assert!(thousandths(costs.likely) <= 10 && costs.least <= costs.most, "{costs:?}");
    assert_eq!(costs_others, Q32::default());
    assert_eq!(all.remedy(loss(&all, 1)), None);
}

#[test]
fn without_ways_to_give_out_no_remedy_is_known() {
    let mut all = beside_a_stream(100);
    all.handle(Time::from_nanos(400_000_000), &Event::Machine(Llc { clos: 1, ..LLC }.into()));
    assert!(all.worst_culprit(loss(&all, 0)).is_some());
    assert_eq!(all.remedy(loss(&all, 0)), None);
}

#[test]
fn pairs_of_programs_are_bounded() {
    let count = u32::try_from(MOST_PROGRAMS).unwrap();
    let mut all = machine(Some(IDLE), count + 1);
    assert_eq!(all.programs().count(), MOST_PROGRAMS);
    all.handle(Time::ZERO, &Event::Exited { app: AppId(0) });
    all.handle(Time::ZERO, &started(count + 1, None));
    assert_eq!(all.programs().last(), Some(AppId(count + 1)));
}

/// A loss is forgotten after one span to two; how often the program misses with more of the cache
/// is not.
#[test]
fn losses_of_late_are_of_the_last_span_or_two() {
    let mut all = RecentAttribution::new(Some(IDLE), Time::ZERO, Duration::from_secs(1));
    all.handle(Time::ZERO, &Event::Machine(LLC.into()));
    (0..2).for_each(|app| all.handle(Time::ZERO, &started(app, None)));
    let with_all = [sampled(0, 1000, 100, 32), sampled(1, 10, 100, 0)];
    let with_half = [sampled(0, 4000, 100, 16), sampled(1, 9900, 100, 16)];
    let mut slowdowns = Vec::new();
    for window in 1..=60 {
        let at = Time::from_nanos(window * 100_000_000);
        let slow = (20..30).contains(&window);
        let windows = if slow { &with_half } else { &with_all };
        windows.iter().for_each(|event| all.handle(at, event));
        let covered = at.since(all.recent().since());
        assert!(covered <= Duration::from_secs(2), "{covered:?}");
        assert!(window < 20 || covered >= Duration::from_secs(1), "{covered:?}");
        slowdowns.push(thousandths(loss(all.recent(), 0).slowdown.likely));
    }
    assert_eq!((slowdowns[17], slowdowns[50]), (1000, 1000), "{slowdowns:?}");
    assert!(slowdowns[29] > 1200, "{slowdowns:?}");
    let found = allocation_counter::measure(|| {
        for window in 61..=120 {
            let at = Time::from_nanos(window * 100_000_000);
            with_half.iter().for_each(|event| all.handle(at, event));
        }
    });
    assert_eq!(found.count_total, 0);
}

/// `crates/base/policy/tests/allocation.rs` promises the same of policies.
#[test]
fn nothing_is_allocated_when_warm() {
    let mut all = beside_a_stream(100);
    let (window, plan) = (sampled(0, 4000, 100, 16), partitioned(&[0x0f, 0xf0]));
    let mut at = Time::from_nanos(500_000_000);
    let mut counted = u64::MAX;
    for _ in 0..2 {
        let found = allocation_counter::measure(|| {
            for _ in 0..100 {
                at = at.after(Duration::from_millis(100));
                all.handle(at, &plan);
                all.handle(at, &window);
                let loss = all.losses().next().unwrap();
                assert!(all.caused(loss).count() == 1);
            }
        });
        counted = found.count_total;
    }
    assert_eq!(counted, 0);
}

/// A policy that watches program 1 only, and counts what it gets.
#[derive(Default)]
struct WatchingOne(Arc<std::sync::atomic::AtomicUsize>);

impl Policy for WatchingOne {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if let Event::Started { app: AppId(1), .. } = event {
            let every = fairways_core::WindowLength::Instructions(1000);
            act(Action::Watch { app: AppId(1), every });
        }
    }
}

#[test]
fn a_policy_gets_no_window_that_it_did_not_request() {
    let policy = WatchingOne::default();
    let count = Arc::clone(&policy.0);
    let mut watched = WatchedPolicy::new(Box::new(policy), machine(Some(IDLE), 0));
    let mut watches = Vec::new();
    let mut at = Time::ZERO;
    let mut events = vec![started(0, None), started(1, None)];
    for _ in 0..60 {
        events.extend([sampled(0, 100, 100, 16), sampled(1, 100, 100, 16)]);
    }
    for event in events {
        at = at.after(Duration::from_millis(100));
        watched.handle(at, &event, &mut |action| {
            if let Action::Watch { app: AppId(app), .. } = action {
                watches.push(app);
            }
        });
    }
    // Program 0 is watched in short windows, then in longer ones; program 1 as the policy requests.
    assert_eq!(watches, [0, 1, 0]);
    assert_eq!(count.load(std::sync::atomic::Ordering::Relaxed), 2 + 60);
    assert_eq!(watched.attribution.losses().count(), 2);
}
