//! What is announced about programs beside their plans.

use alloc::format;
use alloc::string::String;

use fairways_core::{Llc, Q32, Ways};

use super::bench::{Bench, Does, LLC, light, sensitive, streaming};
use crate::lfoc::Parameters;
use crate::words;

/// Gains by every way up to four, the critical size.
fn xalancbmk(ways: u32) -> Does {
    let few = u64::from(4_u32.saturating_sub(ways));
    Does { ipc: 1000 - 100 * few, llcmpkc: 4 + 5 * few, stalls: 300 + 50 * few }
}

impl Bench {
    fn number(&self, app: u32, what: &str) -> Option<Q32> {
        let mut all = self.numbers.iter();
        all.find(|&(&(of, word), _)| (of, word) == (app, what)).map(|(_, &value)| value)
    }

    /// A program's class, its critical size, and the ways that lookahead gave.
    fn says(&self, app: u32) -> String {
        let whole = |what| self.number(app, what).map_or(0, |ways| ways.raw() >> 32);
        let (critical, lookahead) =
            (whole(words::CRITICAL_SIZE.text()), whole(words::LOOKAHEAD.text()));
        let class = self.classes[&app].0;
        format!("{class}, critical size {critical} ways; lookahead gave {lookahead}")
    }
}

/// One way of 11 is for the streaming program; the other two need eight of ten, and share the rest.
#[test]
fn a_sensitive_program_is_announced_with_its_critical_size_and_the_ways_of_lookahead() {
    let mut known = Bench::new(Parameters::default(), LLC);
    known.start_known(0, streaming);
    known.start_known(1, xalancbmk);
    assert_eq!(known.says(1), "sensitive, critical size 4 ways; lookahead gave 10");
    known.start_known(2, xalancbmk);
    let sampled = Bench::settled(&[streaming, xalancbmk, xalancbmk]);
    for (bench, by) in [(known, "by its profile"), (sampled, "every size was sampled")] {
        for app in [1, 2] {
            assert_eq!(bench.says(app), "sensitive, critical size 4 ways; lookahead gave 5");
            assert!(bench.classes[&app].1.starts_with("few ways slow it down"));
            assert!(bench.classes[&app].1.ends_with(by), "{:?}", bench.classes[&app]);
            assert_eq!(bench.number(app, words::SLOWDOWN.text()), Some(Q32::ONE));
        }
        // What it misses with one way, where it gains nothing by more.
        assert_eq!(bench.number(0, words::LLCMPKC.text()), Some(Q32::from_int(30)));
        assert_eq!(bench.number(0, words::SLOWDOWN.text()), None);
    }
}

/// Two that gain by every way up to six, in ten ways.
#[test]
fn slowdown_is_that_of_the_table_at_the_ways_given() {
    let mut bench = Bench::new(Parameters::default(), LLC);
    bench.start_known(0, streaming);
    bench.start_known(1, sensitive);
    bench.start_known(2, sensitive);
    for app in [1, 2] {
        assert_eq!(bench.says(app), "sensitive, critical size 6 ways; lookahead gave 5");
        let slowdown = bench.number(app, words::SLOWDOWN.text()).unwrap().raw();
        assert!(slowdown.abs_diff(Q32::ratio(10, 9).raw()) < 8, "{slowdown}");
    }
}

/// Needs every way, the last most of all, and presses hard.
fn greedy(ways: u32) -> Does {
    let whole = if ways >= 11 { 360 } else { 0 };
    Does { ipc: 400 + 30 * u64::from(ways) + whole, llcmpkc: 100, stalls: 500 }
}

/// Loses 5 % with one way or two.
fn modest(ways: u32) -> Does {
    Does { ipc: if ways > 2 { 1000 } else { 950 + u64::from(ways) }, llcmpkc: 1, stalls: 100 }
}

/// LFOC+ announces the slowdowns of a pair, and the ways that lookahead had given each before.
#[test]
fn a_pair_is_announced_with_the_slowdowns_of_the_ways_that_it_shares() {
    let mut bench = Bench::new(Parameters::plus(), LLC);
    bench.start_known(0, greedy);
    bench.start_known(1, modest);
    assert_eq!([0, 1].map(|app| bench.ways(app)), [11, 11]);
    assert_eq!(bench.says(0), "sensitive, critical size 11 ways; lookahead gave 10");
    assert_eq!(bench.says(1), "sensitive, critical size 3 ways; lookahead gave 1");
    // With the ten ways that it was given, 1.56: it is to fill nearly eleven.
    let slowdown = |app| bench.number(app, words::SLOWDOWN.text()).unwrap();
    assert!(slowdown(0) > Q32::ratio(102, 100) && slowdown(0) < Q32::ratio(110, 100));
    // On the line from one way, which it does not fill, 1.052 and a little.
    assert!(slowdown(1) > Q32::ratio(1051, 1000) && slowdown(1) < Q32::ratio(1055, 1000));
}

/// §4.2: "the class has probably changed", and by which averages.
#[test]
fn a_program_that_changes_is_announced_with_the_averages_that_show_it() {
    let mut bench = Bench::settled(&[light, sensitive]);
    assert_eq!(bench.classes[&0].0, "light");
    bench.becomes(0, streaming);
    for _ in 0..20 {
        if bench.classes[&0].0 == "light" {
            bench.window(0);
        }
    }
    let changing = ("changing", "a light program in a memory-intensive phase");
    assert_eq!(bench.classes[&0], changing);
    assert_eq!(bench.number(0, words::LLCMPKC.text()), Some(Q32::from_int(30)));
    let stalls = bench.number(0, words::STALLS.text()).unwrap();
    assert!(stalls.raw().abs_diff(Q32::ratio(1, 10).raw()) < 8, "{stalls:?}");
    assert_eq!(bench.number(0, words::OCCUPANCY.text()), None);
    bench.sample_all();
    assert_eq!(bench.classes[&0].0, "streaming");
}

/// Sampling that can't go on leaves a program what it was, and says so.
#[test]
fn a_sampling_that_comes_to_nothing_is_announced() {
    let mut bench = Bench::settled(&[sensitive, light]);
    bench.becomes(1, streaming);
    for _ in 0..20 {
        if bench.classes[&1].0 == "light" {
            bench.window(1);
        }
    }
    assert_eq!((bench.sampled(), bench.classes[&1].0), (Some(1), "changing"));
    for _ in 0..6 {
        bench.wake();
    }
    assert_eq!(bench.sampled(), None);
    assert_eq!(bench.classes[&1], ("light", "as before; sampling came to nothing"));
}

/// What lookahead gave is not what a program has while another is sampled.
#[test]
fn expectations_are_withdrawn_while_another_program_is_sampled() {
    let mut bench = Bench::new(Parameters::default(), LLC);
    bench.start_known(0, sensitive);
    bench.start_known(1, streaming);
    let announced = |bench: &Bench, app| {
        [words::CRITICAL_SIZE, words::LOOKAHEAD, words::SLOWDOWN]
            .map(|word| bench.number(app, word.text()).is_some())
    };
    assert_eq!(announced(&bench, 0), [true; 3]);
    bench.start(2, light);
    for _ in 0..20 {
        if bench.sampled().is_none() {
            bench.window(2);
        }
    }
    assert_eq!((bench.sampled(), announced(&bench, 0)), (Some(2), [true, false, false]));
    assert_eq!(bench.number(1, words::LLCMPKC.text()), Some(Q32::from_int(30)));
    bench.sample_all();
    assert_eq!((bench.sampled(), announced(&bench, 0)), (None, [true; 3]));
    // One class of service is one cluster for all.
    bench.machine(Llc { clos: 1, ..LLC });
    assert_eq!(announced(&bench, 0), [true, false, false]);
}

/// Gains a little by the third way, and by the ninth.
fn steps(ways: u32) -> Does {
    let ipc = if ways > 8 { 1000 } else { 960 + 25 * u64::from(ways > 2) };
    Does { ipc, llcmpkc: 40 - u64::from(ways), stalls: 100 }
}

/// Table 1's conditions hold with fewer ways of a cache that is smaller.
#[test]
fn the_pressure_of_a_streaming_program_is_announced_again_on_another_cache() {
    let mut bench = Bench::new(Parameters::default(), LLC);
    bench.start_known(0, steps);
    let class = bench.classes[&0];
    assert_eq!(class.0, "streaming");
    assert_eq!(bench.number(0, words::LLCMPKC.text()), Some(Q32::from_int(37)));
    bench.machine(Llc { ways: Ways::new(6).unwrap(), ..LLC });
    assert_eq!(bench.classes[&0], class);
    assert_eq!(bench.number(0, words::LLCMPKC.text()), Some(Q32::from_int(39)));
}
