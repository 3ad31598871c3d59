//! LFOC decides without allocating once it has seen as many programs; so does Locpart if nothing
//! changes, and so does `fairways` whatever it observes.

use std::sync::Arc;

use std::time::Duration;

use fairways_core::{
    Action, AppId, Counters, Cpus, Curve, EndedTurn, Event, Latencies, LatencyBin, Llc, Objective,
    Policy, Profile, Q32, Sample, ThreadId, Time, Ways, Wish,
};
use fairways_policy::fairways::Fairways;
use fairways_policy::lfoc::{Lfoc, Parameters};
use fairways_policy::locpart::{self, Locpart};

/// A profile of each class in turn; no two are the same.
fn profile(number: u32, ways: Ways) -> Arc<Profile> {
    let curve = |value: &dyn Fn(u64) -> u64| {
        Curve::from_fn(ways, |w| Q32::from_raw(value(u64::from(w)) << 20))
    };
    let number = u64::from(number);
    let (ipc, llcmpkc) = match number % 3 {
        0 => (curve(&|w| 4096 + w), curve(&|_| (20 + number) << 12)),
        1 => (curve(&|w| 2048 + 100 * w + 7 * number), curve(&|w| (40 << 12) / w)),
        _ => (curve(&|_| 4096 + number), curve(&|_| number)),
    };
    let flat = curve(&|_| 1);
    Arc::new(Profile { ipc, llcmpki: llcmpkc, llcmpkc, bandwidth_mbps: flat, stalls_l2_miss: flat })
}

#[test]
fn a_decision_allocates_nothing() {
    for (programs, ways, clos) in [(4, 11, 16), (11, 11, 16), (64, 20, 16), (64, 20, 4), (3, 2, 1)]
    {
        let ways = Ways::new(ways).expect("from 1 to 32");
        let mut policy = Lfoc::new(Parameters::default());
        let mut plans = 0;
        let mut handle = |event: &Event| {
            policy.handle(Time::ZERO, event, &mut |action| {
                plans += u32::from(matches!(action, Action::Partition { .. }));
            });
        };
        handle(&Event::Machine(Llc { clos, ..Llc::with_ways(ways) }.into()));
        let started = |number| Event::Started {
            app: AppId(number),
            wish: Wish::default(),
            profile: Some(profile(number, ways)),
        };
        (0..programs).for_each(|number| handle(&started(number)));
        for number in programs..programs + 30 {
            let events = [Event::Exited { app: AppId(number - programs) }, started(number)];
            let counted = allocation_counter::measure(|| events.iter().for_each(&mut handle));
            // Classes come in turn: after three starts every set has been as large as it gets.
            let seen = number >= programs + 3;
            assert!(
                !seen || counted.count_total == 0,
                "{counted:?}: {programs} programs, {ways} ways, {clos} classes"
            );
        }
        assert_eq!(plans, programs + 60);
    }
}

/// Its histograms are as large as the machine's, and windows go on and on.
#[test]
fn a_period_in_which_nothing_changes_allocates_nothing() {
    let mut policy = Locpart::new(locpart::Parameters::default());
    let mut plans = 0;
    let mut handle = |at: u64, event: &Event| {
        policy.handle(Time::from_nanos(at), event, &mut |action| {
            plans += u32::from(matches!(action, Action::Partition { .. }));
        });
    };
    handle(0, &Event::Machine(Llc::with_ways(Ways::new(20).expect("from 1 to 32")).into()));
    let slo = Duration::from_millis(10);
    let objective = Some(Objective { slo, percentile: Q32::from_int(99) });
    for app in (0..4).map(AppId) {
        let wish = Wish { objective: objective.filter(|_| app.0 < 2), ..Wish::default() };
        handle(0, &Event::Started { app, wish, profile: None });
    }
    // In the dead band, of 40 to 70 requests a window.
    let answered = |period: u64| {
        let latency = |index| Duration::from_micros(9600 + index);
        (0..40 + period % 31)
            .map(|index| LatencyBin { latency: latency(index), requests: 1 })
            .collect()
    };
    for period in 1..200 {
        let at = period * 500_000_000;
        let window = Duration::from_millis(500);
        let report = |app| Latencies { app: AppId(app), window, answered: answered(period) };
        let events = [Event::Latency(report(0)), Event::Latency(report(1)), Event::Woke];
        let counted =
            allocation_counter::measure(|| events.iter().for_each(|event| handle(at, event)));
        // Every window's memory has then been as large as it gets.
        assert!(period < 150 || counted.count_total == 0, "{counted:?} in period {period}");
    }
    assert_eq!(plans, 4);
}

/// Programs whose windows show another size and another speed each time: plans change, programs are
/// sampled, and phases come and go; and all of that again with new programs that behave alike.
#[test]
fn what_fairways_observes_allocates_nothing() {
    let mut policy = Fairways::default();
    let (mut plans, mut sampled) = (0, 0);
    let mut handle = |at: u64, event: &Event| {
        policy.handle(Time::from_nanos(at), event, &mut |action| {
            if let Action::Partition { reason, .. } = action {
                plans += 1;
                sampled +=
                    u32::from(at > (AGAIN + FIRST) * 1_000_000 && reason.starts_with("sampling"));
            }
        });
    };
    handle(0, &Event::Machine(Llc::with_ways(Ways::new(11).expect("from 1 to 32")).into()));
    for round in 0..2 * AGAIN {
        let (at, again) = (round * 1_000_000, round % AGAIN);
        if again == 0 {
            for app in (0..8).map(AppId) {
                handle(at, &Event::Exited { app });
                handle(at, &Event::Started { app, wish: Wish::default(), profile: None });
            }
        }
        let samples = (0..8_u64).map(|app| {
            let ways = (again * (app + 3) / 16) % 11;
            // Every two seconds, each program is another one for a while.
            let kind = app + 8 * (again / 2000);
            let cycles = 1_000_000 * (2 + kind % 3) - 80_000 * ways * (kind % 4) / 3;
            let counters = Counters {
                instructions: Some(1_000_000),
                cycles: Some(cycles),
                llc_misses: Some(30_000 / (1 + ways * (kind % 3))),
                stalls_l2_miss: Some(cycles / 2),
                ..Counters::default()
            };
            Event::Sampled(Sample {
                occupancy: Some(Q32::from_raw(ways << 32)),
                ..Sample::new(
                    AppId(u32::try_from(app).expect("below 8")),
                    counters,
                    Duration::from_millis(1),
                )
            })
        });
        let mut events: Vec<Event> = samples.collect();
        events.extend((round % 250 == 0).then_some(Event::Woke));
        let counted =
            allocation_counter::measure(|| events.iter().for_each(|event| handle(at, event)));
        let is_warm = round > AGAIN + FIRST;
        assert!(!is_warm || counted.count_total == 0, "{counted:?} in round {round}");
    }
    assert!(plans > 20 && sampled > 0, "{plans} plans, {sampled} of them to sample again");
}

/// Turns that are made longer and shorter.
#[test]
fn what_fairways_makes_up_for_by_cpu_time_allocates_nothing() {
    let ways = Ways::new(11).expect("from 1 to 32");
    let quantum = Duration::from_millis(10);
    let mut policy = Fairways::default();
    let mut orders = 0;
    let mut handle = |at: u64, event: &Event| {
        policy.handle(Time::from_nanos(at), event, &mut |action| {
            orders += u32::from(matches!(action, Action::Quantum { .. }));
        });
    };
    handle(0, &Event::Machine(Llc::with_ways(ways).into()));
    handle(0, &Event::Cpus(Cpus { count: 2, quantum }));
    for app in 0..6 {
        let wish = Wish { best_effort: app % 3 == 2, ..Wish::default() };
        handle(0, &Event::Started { app: AppId(app), wish, profile: Some(profile(app, ways)) });
    }
    for round in 0..600_u64 {
        let app = AppId(u32::try_from(round % 6).expect("below 6"));
        let turn =
            EndedTurn { thread: ThreadId::first_of(app), cpu: 0, ordered: quantum, ran: quantum };
        let counters = Counters {
            instructions: Some(1_000_000),
            cycles: Some(1_000_000 * (1 + round % 5)),
            ..Counters::default()
        };
        let sample = Sample { occupancy: Some(Q32::ONE), ..Sample::new(app, counters, quantum) };
        let events = [Event::QuantumGiven(turn), Event::Sampled(sample)];
        let at = round * 10_000_000;
        let counted =
            allocation_counter::measure(|| events.iter().for_each(|event| handle(at, event)));
        assert!(round < 60 || counted.count_total == 0, "{counted:?} in round {round}");
    }
    assert!(orders > 50, "{orders} orders");
}

/// Rounds of a millisecond after which everything happens again.
const AGAIN: u64 = 6000;

/// Rounds in which each program gets its first curves.
const FIRST: u64 = 100;
