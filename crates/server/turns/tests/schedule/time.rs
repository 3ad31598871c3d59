//! The time that threads get, compared with the orders.

use std::time::{Duration, Instant};

use fairways_core::AppId;
use fairways_testing::needs::{Need, has as meets};
use fairways_turns::{Scheduler as _, TurnReport};

use crate::common::{Crew, has, open, own, ran, settings, spin, turn};

/// Four threads on one CPU, one of which gets the same order for each turn.
struct Shares {
    /// For each window of a second: that thread's time, over the mean of the others.
    windows: Vec<f64>,
    /// For each of its turns: its real length, over the ordered one.
    turns: Vec<f64>,
}

fn measure(numerator: u32, denominator: u32, seconds: u32) -> Shares {
    let (_folder, settings) = settings();
    let crew = Crew::start(4, |_| spin(Duration::from_millis(1)));
    let before: Vec<_> = crew.ids.iter().map(|&id| has(id)).collect();
    let mut affinity = open(&settings);
    let one = [*own().last().unwrap()].into_iter().collect();
    for (app, id) in crew.apps() {
        affinity.begin(app, id).unwrap();
        affinity.allow(app, &one).unwrap();
    }
    let ordered = affinity.quantum() * numerator / denominator;
    affinity.order(AppId(1), ordered).unwrap();
    let mut shares = Shares { windows: Vec::new(), turns: Vec::new() };
    // The first second does not count: threads come from other CPUs.
    for second in 0..=seconds {
        let times = |crew: &Crew| crew.ids.iter().map(|&id| ran(id)).collect::<Vec<u64>>();
        let (first, began) = (times(&crew), Instant::now());
        while began.elapsed() < Duration::from_secs(1) {
            let mut ended = TurnReport::default();
            turn(&mut affinity, &mut ended);
            for given in ended.given.iter().filter(|given| given.app == AppId(1)) {
                affinity.order(AppId(1), ordered).unwrap();
                if second > 0 && given.ordered == ordered {
                    shares.turns.push(given.ran.as_secs_f64() / ordered.as_secs_f64());
                }
            }
        }
        let had: Vec<f64> = times(&crew).iter().zip(&first).map(|(a, b)| (a - b) as f64).collect();
        if second > 0 {
            shares.windows.push(had[0] / (had[1..].iter().sum::<f64>() / 3.0));
        }
    }
    assert_eq!(affinity.close().failed, []);
    assert_eq!(crew.ids.iter().map(|&id| has(id)).collect::<Vec<_>>(), before);
    shares
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// Checks that the one thread gets its share. Weights are within 12 % of the request; a turn's end
/// is seen up to a look late, and a neighbour that takes the CPU meanwhile makes that longer. So
/// the median may be off by a third, and single windows by any amount.
fn check_share(numerator: u32, denominator: u32) {
    if !meets("threads get what was ordered", &[Need::Root]) {
        return;
    }
    let wanted = f64::from(numerator) / f64::from(denominator);
    let Shares { windows, turns } = measure(numerator, denominator, 5);
    let errors = sorted(windows.iter().map(|share| share / wanted - 1.0).collect());
    let turns = sorted(turns);
    let at = |of: &[f64], percent: usize| of[(of.len() - 1) * percent / 100];
    eprintln!(
        "ordered {wanted} quanta: share of a second off by {:+.1} % in the median ({:+.1} to {:+.1} %, {} windows); turns of {:.2} \
         times the order in the median ({:.2} to {:.2} in nine of ten, {} turns)",
        100.0 * at(&errors, 50),
        100.0 * errors[0],
        100.0 * at(&errors, 100),
        errors.len(),
        at(&turns, 50),
        at(&turns, 5),
        at(&turns, 95),
        turns.len(),
    );
    assert!(at(&errors, 50).abs() < 1.0 / 3.0, "{errors:?}");
    assert!(turns.len() > 10 && at(&turns, 0) > 0.0);
}

#[test]
fn half_a_quantum_is_half_the_time() {
    check_share(1, 2);
}

#[test]
fn two_quanta_are_twice_the_time() {
    check_share(2, 1);
}

#[test]
fn four_quanta_are_four_times_the_time() {
    check_share(4, 1);
}

#[test]
fn a_weight_stays_until_the_time_has_run_and_no_longer() {
    if !meets("a_weight_stays_until_the_time_has_run_and_no_longer", &[Need::Root]) {
        return;
    }
    let (_folder, settings) = settings();
    let crew = Crew::start(2, |_| spin(Duration::from_millis(1)));
    let usual = has(crew.ids[0]).nice;
    let mut affinity = open(&settings);
    let one = [own()[0]].into_iter().collect();
    let first = ran(crew.ids[0]);
    for (app, id) in crew.apps() {
        affinity.begin(app, id).unwrap();
        affinity.allow(app, &one).unwrap();
    }
    let ordered = affinity.quantum() * 4;
    let mut given = None;
    affinity.order(AppId(1), ordered).unwrap();
    affinity.settle().unwrap();
    assert_eq!(has(crew.ids[0]).nice, usual - 6, "1.25 to the sixth is nearest to four");
    let began = Instant::now();
    while given.is_none() {
        assert!(began.elapsed() < Duration::from_secs(300));
        let mut ended = TurnReport::default();
        let nice = has(crew.ids[0]).nice;
        turn(&mut affinity, &mut ended);
        given = ended.given.iter().find(|given| given.app == AppId(1)).copied();
        assert_eq!(nice, usual - 6);
    }
    let given = given.unwrap();
    assert_eq!(given.ordered, ordered);
    assert!(given.ran >= ordered, "{given:?}");
    let had = Duration::from_nanos(ran(crew.ids[0]) - first);
    assert!(had >= ordered, "{had:?}");
    assert_eq!(has(crew.ids[0]).nice, usual, "as usual again with the same look");
    eprintln!("ordered {ordered:?}, given {:?}", given.ran);
    // Raised, and no longer.
    affinity.raise(AppId(2), true).unwrap();
    affinity.settle().unwrap();
    assert_eq!(has(crew.ids[1]).nice, -20);
    affinity.raise(AppId(2), false).unwrap();
    affinity.settle().unwrap();
    assert_eq!(has(crew.ids[1]).nice, usual);
}
