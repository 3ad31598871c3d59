//! Against the stretches found nanosecond by nanosecond.

use std::collections::BTreeMap;

use fairways_core::{AppId, Counters};
use proptest::prelude::*;

use super::*;

const CPUS: u32 = 3;

fn turn(cpu: u32, who: Who, span: (u64, u64), misses: Option<u64>, goes_on: bool) -> Turn {
    let counters =
        Counters { llc_misses: misses, cycles: Some(span.1 - span.0), ..Counters::default() };
    Turn { cpu, who, span, counters, goes_on }
}

const fn app(number: u32) -> Who {
    Who::Thread(AppId(number))
}

fn gathering(cpus: u32, shortest: u64, longest: u64) -> Gathering {
    let cpus: CpuSet = (0..cpus).collect();
    Gathering { longest, ..Gathering::new(&cpus, shortest) }
}

/// Which stay of a CPU holds each nanosecond, by its number.
fn stays(turns: &[&Turn]) -> BTreeMap<u64, (usize, usize)> {
    let mut at = BTreeMap::new();
    let mut stay = 0;
    for (index, turn) in turns.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| turns[before]);
        let same = |last: &Turn| last.goes_on && last.who == turn.who && last.span.1 == turn.span.0;
        stay += usize::from(!before.is_some_and(same));
        at.extend((turn.span.0..turn.span.1).map(|time| (time, (stay, index))));
    }
    at
}

/// What a counter rose by in one nanosecond of a turn.
fn rose(count: u64, (begin, end): (u64, u64), time: u64) -> u64 {
    let until = |time: u64| count * (time - begin) / (end - begin);
    until(time + 1) - until(time)
}

/// The stretches by the definition, from the turns until now.
fn naive(turns: &[Turn], shortest: u64, longest: u64) -> Vec<Stretch> {
    let rows: Vec<Vec<&Turn>> =
        (0..CPUS).map(|cpu| turns.iter().filter(|turn| turn.cpu == cpu).collect()).collect();
    let at: Vec<_> = rows.iter().map(|row| stays(row)).collect();
    let known = rows.iter().map(|row| row.last().map_or(0, |last| last.span.1)).min().unwrap();
    let tuple =
        |time: u64| at.iter().map(|at| at.get(&time).map(|at| at.0)).collect::<Option<Vec<_>>>();
    let mut stretches = Vec::new();
    let mut begin = 0;
    while begin < known {
        let who = tuple(begin);
        let mut end = begin + 1;
        while end < known && tuple(end) == who && end - begin < longest {
            end += 1;
        }
        // At the end of all that is known, it may go on, unless a turn has ended there.
        let ended =
            |row: &Vec<&Turn>| row.last().is_some_and(|last| last.span.1 == known && !last.goes_on);
        let over = |at: &BTreeMap<u64, (usize, usize)>| {
            at.get(&(known - 1)).map(|at| at.0) != at.get(&known).map(|at| at.0)
                && at.range(known..).next().is_some()
        };
        let is_over =
            end < known || end - begin == longest || rows.iter().any(ended) || at.iter().any(over);
        if who.is_some() && is_over && end - begin >= shortest {
            let mut threads: BTreeMap<ThreadId, Counters> = BTreeMap::new();
            let (mut misses, mut cycles) = (Some(0), 0);
            for (row, at) in rows.iter().zip(&at) {
                let (mut own, mut ran) = (Some(0), 0);
                for time in begin..end {
                    let turn = row[at[&time].1];
                    own = own
                        .zip(turn.counters.llc_misses)
                        .map(|(sum, count)| sum + rose(count, turn.span, time));
                    ran += 1;
                }
                misses = misses.zip(own).map(|(sum, own)| sum + own);
                cycles += ran;
                if let Who::Thread(app) = row[at[&begin].1].who {
                    let counters =
                        Counters { llc_misses: own, cycles: Some(ran), ..Counters::default() };
                    threads.insert(ThreadId::first_of(app), counters);
                }
            }
            if !threads.is_empty() {
                let threads = threads
                    .into_iter()
                    .map(|(thread, counters)| ThreadCounters { thread, counters });
                let group =
                    Counters { llc_misses: misses, cycles: Some(cycles), ..Counters::default() };
                let window = std::time::Duration::from_nanos(end - begin);
                let together = CoRun { threads: threads.collect(), group, window };
                stretches.push(Stretch { span: (begin, end), together });
            }
        }
        begin = end;
    }
    stretches
}

prop_compose! {
    /// A CPU's turns; each CPU has a thread of its own, since one can't be in two places.
    fn row(cpu: u32)(
        pieces in prop::collection::vec((0..3_u32, 1..40_u64, prop::option::weighted(0.9, 0..500_u64), any::<bool>(), prop::bool::weighted(0.1)), 0..12),
    ) -> Vec<Turn> {
        let mut time = 0;
        let mut turns = Vec::new();
        for (who, length, misses, goes_on, gap) in pieces {
            time += u64::from(gap) * 7;
            let who = match who {
                0 => Who::Idle,
                1 => Who::Other,
                _ => app(10 + cpu),
            };
            turns.push(turn(cpu, who, (time, time + length), misses, goes_on));
            time += length;
        }
        turns
    }
}

proptest! {
    #[test]
    fn as_by_the_definition_at_every_moment(
        rows in (row(0), row(1), row(2)),
        order in prop::collection::vec(0..3_usize, 0..40),
        shortest in 1..30_u64,
        longest in 30..60_u64,
    ) {
        let rows = [rows.0, rows.1, rows.2];
        let mut next = [0; 3];
        let mut gathering = gathering(CPUS, shortest, longest);
        let (mut given, mut stretches) = (Vec::new(), Vec::new());
        // In some order, then all that are left.
        for cpu in order.into_iter().chain((0..3).flat_map(|cpu| [cpu; 12])) {
            if let Some(turn) = rows[cpu].get(next[cpu]) {
                next[cpu] += 1;
                given.push(turn.clone());
                gathering.add(std::slice::from_ref(turn), &mut stretches);
                prop_assert_eq!(&stretches, &naive(&given, shortest, longest));
            }
        }
    }
}

#[test]
fn parts_of_a_turn_add_up_to_the_whole() {
    let mut gathering = gathering(2, 1, 1_000_000);
    let mut stretches = Vec::new();
    let other: Vec<Turn> =
        (0..10).map(|at| turn(1, Who::Idle, (at * 10, at * 10 + 10), Some(0), false)).collect();
    gathering.add(&[turn(0, app(1), (0, 100), Some(1003), false)], &mut stretches);
    assert_eq!(stretches, []);
    gathering.add(&other, &mut stretches);
    let misses: Vec<u64> = stretches
        .iter()
        .map(|stretch| stretch.together.threads[0].counters.llc_misses.unwrap())
        .collect();
    assert_eq!(misses.len(), 10);
    assert_eq!(misses.iter().sum::<u64>(), 1003);
    assert!(misses.iter().all(|misses| (100..=101).contains(misses)), "{misses:?}");
}

#[test]
fn a_silent_cpu_costs_limited_memory_and_only_its_time() {
    let mut gathering = gathering(2, 1, LONGEST);
    let mut stretches = Vec::new();
    for at in 0..100_000 {
        gathering.add(&[turn(0, app(1), (at * 10, at * 10 + 10), Some(1), false)], &mut stretches);
    }
    assert_eq!(stretches, []);
    gathering.add(&[turn(1, app(2), (0, 1_000_000), Some(1_000_000), false)], &mut stretches);
    assert_eq!(stretches.len(), 4096);
    assert_eq!(stretches[0].span, (1_000_000 - 40_960, 1_000_000 - 40_950));
    assert_eq!(stretches[0].together.group.llc_misses, Some(11));
}

#[test]
fn a_turn_of_no_length_ends_what_it_follows_and_one_that_contradicts_is_not_believed() {
    let mut gathering = gathering(1, 1, LONGEST);
    let mut stretches = Vec::new();
    let spans = |stretches: &mut Vec<Stretch>| {
        stretches.drain(..).map(|stretch| stretch.span).collect::<Vec<_>>()
    };
    gathering.add(
        &[turn(0, app(1), (0, 10), None, true), turn(0, app(1), (10, 10), None, false)],
        &mut stretches,
    );
    gathering.add(
        &[turn(0, app(1), (10, 20), None, true), turn(0, app(1), (20, 30), None, false)],
        &mut stretches,
    );
    assert_eq!(spans(&mut stretches), [(0, 10), (10, 30)]);
    gathering.add(
        &[turn(0, app(1), (25, 40), None, false), turn(0, app(1), (40, 50), None, false)],
        &mut stretches,
    );
    assert_eq!(spans(&mut stretches), [(40, 50)]);
}

#[test]
fn no_thread_is_in_two_places() {
    let mut gathering = gathering(2, 1, LONGEST);
    let mut stretches = Vec::new();
    let both = [0, 1].map(|cpu| turn(cpu, app(1), (0, 10), Some(1), false));
    gathering.add(&both, &mut stretches);
    gathering.add(
        &[turn(0, app(1), (10, 20), Some(1), false), turn(1, Who::Other, (10, 20), None, false)],
        &mut stretches,
    );
    assert_eq!(stretches.len(), 1);
    assert_eq!(stretches[0].together.group.llc_misses, None);
    assert_eq!(stretches[0].together.threads[0].counters.llc_misses, Some(1));
}

#[test]
fn a_long_stay_is_reported_every_tenth_of_a_second() {
    let cpus: CpuSet = (0..1).collect();
    let mut gathering = Gathering::new(&cpus, 200_000);
    let mut stretches = Vec::new();
    for at in 0..100 {
        gathering.add(
            &[turn(0, app(1), (at * 10_000_000, (at + 1) * 10_000_000), Some(5), true)],
            &mut stretches,
        );
    }
    assert_eq!(stretches.len(), 10);
    assert!(
        stretches.iter().all(|stretch| stretch.together.threads[0].counters.llc_misses == Some(50))
    );
}

#[test]
fn a_turn_before_the_beginning_is_not_reported_and_one_that_goes_on_counts_from_there() {
    let cpus: CpuSet = (0..2).collect();
    let mut gathering = Gathering::new(&cpus, 10).since(50);
    let mut stretches = Vec::new();
    let spans = [(0, 20), (20, 40), (40, 80), (80, 100)];
    let turns = |cpu, who| spans.map(|span| turn(cpu, who, span, Some(span.1 - span.0), false));
    gathering.add(&turns(0, app(1)), &mut stretches);
    gathering.add(&turns(1, app(2)), &mut stretches);
    let stretches =
        stretches.iter().map(|one| (one.span, one.together.group.llc_misses)).collect::<Vec<_>>();
    assert_eq!(stretches, [((50, 80), Some(60)), ((80, 100), Some(40))]);
}
