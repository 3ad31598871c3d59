//! Dunn's decisions, by hand.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use fairways_core::{Counters, Curve, PartitionError, PlanId, Profile, Ways, Wish};

use super::*;
use crate::announce::static_text;

const LLC: Llc = Llc::with_ways(Ways::new(11).unwrap());

fn start(app: u32, stalls_percent: Option<u64>) -> Event {
    let zero = Curve::from_fn(LLC.ways, |_| Q32::default());
    let profile = stalls_percent.map(|percent| {
        Arc::new(Profile {
            ipc: zero,
            llcmpki: zero,
            llcmpkc: zero,
            bandwidth_mbps: zero,
            // Only the first way counts.
            stalls_l2_miss: Curve::from_fn(LLC.ways, |ways| {
                if ways == 1 { Q32::ratio(percent, 100) } else { Q32::ONE }
            }),
        })
    });
    Event::Started { app: AppId(app), wish: Wish::default(), profile }
}

fn sampled(app: u32, cycles: Option<u64>, stalls: Option<u64>) -> Event {
    let counters = Counters { cycles, stalls_l2_miss: stalls, ..Counters::default() };
    let (app, window) = (AppId(app), Duration::ZERO);
    let sample = Sample::new(app, counters, window);
    Event::Sampled(sample)
}

/// The clusters of each plan that the event leads to: the mask and the members.
fn report(policy: &mut Dunn, event: &Event) -> Vec<Vec<(u32, Vec<u32>)>> {
    let mut plans = Vec::new();
    policy.handle(Time::ZERO, event, &mut |action| {
        let Action::Partition { partition, .. } = action else { return };
        let cluster = |(cluster, mask): (u32, WayMask)| {
            let mut members: Vec<u32> = partition.members(cluster).map(|app| app.0).collect();
            members.sort_unstable();
            (mask.bits(), members)
        };
        plans.push((0..).zip(partition.masks()).map(cluster).collect());
    });
    plans
}

fn known(parameters: Parameters, stalls: &[u64]) -> Vec<(u32, Vec<u32>)> {
    let mut policy = Dunn::new(parameters);
    report(&mut policy, &Event::Machine(LLC.into()));
    let plans =
        (0..).zip(stalls).map(|(app, &stalls)| report(&mut policy, &start(app, Some(stalls))));
    plans.last().unwrap().remove(0)
}

#[test]
fn clusters_by_stalls_from_one_end_and_the_other() {
    let stalls = [20, 80, 2, 78];
    // Of two clusters the index is 58/18, of three 18/2. The mean of 2 and 20 is 0.14 of that of 78
    // and 80: 1 + 10^0.14 = 2.4 ways.
    let published = vec![(0x7ff, vec![1, 3]), (0x600, vec![0, 2])];
    assert_eq!(known(Parameters::default(), &stalls), published);
    // 1 + 10^(20/79) = 2.8, 1 + 10^(2/79) = 2.1.
    let textbook = Parameters { textbook_index: true, ..Parameters::default() };
    assert_eq!(known(textbook, &stalls), [(0x7ff, vec![1, 3]), (0x700, vec![0]), (0x3, vec![2])]);
}

#[test]
fn two_are_a_cluster_each_and_those_alike_are_one() {
    let two = known(Parameters::default(), &[40, 80]);
    assert_eq!(two, [(0x7ff, vec![1]), (0x780, vec![0])]);
    assert_eq!(known(Parameters::default(), &[40, 40, 40]), [(0x7ff, vec![0, 1, 2])]);
}

#[test]
fn readings_add_up_and_a_period_later_there_is_a_plan_if_it_is_another() {
    let mut policy = Dunn::default();
    report(&mut policy, &Event::Machine(LLC.into()));
    for app in 0..4 {
        let all = vec![(0x7ff, (0..=app).collect::<Vec<u32>>())];
        assert_eq!(report(&mut policy, &start(app, None)), [all]);
    }
    assert_eq!(report(&mut policy, &Event::Woke), <[Vec<_>; 0]>::default());
    // Half of 0's cycles, a tenth of 1's; 2's counters are missing; 3 is not read at all.
    for (app, cycles, stalls) in [(0, 600, 200), (0, 400, 300), (1, 500, 50)] {
        assert!(report(&mut policy, &sampled(app, Some(cycles), Some(stalls))).is_empty());
    }
    assert!(report(&mut policy, &sampled(2, Some(900), None)).is_empty());
    // 1 + 10^(0.1/0.5) = 2.6 ways.
    let plan = vec![(0x7ff, vec![0, 2, 3]), (0x700, vec![1])];
    assert_eq!(report(&mut policy, &Event::Woke), core::slice::from_ref(&plan));
    assert!(report(&mut policy, &Event::Woke).is_empty());
    let why = PartitionError::TooManyClusters { clusters: 2, clos: 1 };
    report(&mut policy, &Event::Refused { plan: PlanId::default(), why });
    assert_eq!(report(&mut policy, &Event::Woke), [plan]);
}

/// Decision Dunn 6: by default, what is long over still counts.
#[test]
fn the_last_window_alone_counts_where_it_is_asked_for() {
    for (last_window, ways) in [(false, 0x780), (true, 0x600)] {
        let mut policy = Dunn::new(Parameters { last_window, ..Parameters::default() });
        report(&mut policy, &Event::Machine(LLC.into()));
        for app in 0..2 {
            report(&mut policy, &start(app, None));
        }
        // Program 1 stalled for most of its first window, and hardly in its second.
        for (app, stalls) in [(0, 80), (1, 70), (0, 80), (1, 10)] {
            report(&mut policy, &sampled(app, Some(100), Some(stalls)));
        }
        // 1 + 10^(40/80) = 4.2 ways, and 1 + 10^(10/80) = 2.3.
        let plans = report(&mut policy, &Event::Woke);
        assert_eq!(plans, [[(0x7ff, vec![0]), (ways, vec![1])]], "{last_window}");
    }
}

#[test]
fn each_programs_cluster_and_stalls_are_announced() {
    let mut policy = Dunn::default();
    let (mut classes, mut numbers) = (Vec::new(), Vec::new());
    let stalls = [Some(20), Some(80), Some(2), Some(78), None];
    let events = (0..).zip(stalls).map(|(app, stalls)| start(app, stalls));
    for event in core::iter::once(Event::Machine(LLC.into())).chain(events) {
        policy.handle(Time::ZERO, &event, &mut |action| match action {
            Action::Classified { app, class, .. } => classes.push((app.0, static_text(class))),
            Action::Estimated { thread, what, value, .. } => {
                assert_eq!(what, words::STALLS.text());
                numbers.push((thread.app.0, value));
            }
            _ => {}
        });
    }
    let last = |app: u32| classes.iter().rfind(|&&(of, _)| of == app).unwrap().1;
    let clusters = ["cluster B", "cluster A", "cluster B", "cluster A", "unknown"];
    assert_eq!([0, 1, 2, 3, 4].map(last), clusters);
    for (app, percent) in [(0, 20), (1, 80), (2, 2), (3, 78)] {
        let last = numbers.iter().rfind(|&&(of, _)| of == app).unwrap().1;
        assert_eq!(last, Q32::ratio(percent, 100));
    }
    assert!(!numbers.iter().any(|&(app, _)| app == 4));
}
