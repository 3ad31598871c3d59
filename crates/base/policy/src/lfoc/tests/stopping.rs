//! When sampling stops early (§4.2).

use super::bench::{Does, light, streaming};
use super::sampling::{about_to, sizes};
use crate::lfoc::{Class, Parameters};

/// Both forms of the first early stop: as published, and with stalls.
const FORMS: [bool; 2] = [false, true];

fn of_form(early_stop_checks_stalls: bool) -> Parameters {
    Parameters { early_stop_checks_stalls, ..Parameters::default() }
}

/// §4.2: "the LLC miss rate falls below a certain low threshold".
#[test]
fn decision_10_sampling_stops_where_little_is_missed() {
    // Below low_threshold, 3, from the fourth way on.
    fn falling(ways: u32) -> Does {
        let few = u64::from(4_u32.saturating_sub(ways));
        Does { ipc: 1000 - 10 * few, llcmpkc: 2 + 2 * few, stalls: 20 }
    }
    for form in FORMS.map(of_form) {
        assert_eq!(sizes(&mut about_to(form, light), 0), [1]);
        assert_eq!(sizes(&mut about_to(form, falling), 0), [1, 2, 3, 4]);
    }
}

/// Decision 10: as published by default, and with stalls in LFOC+.
#[test]
fn decision_10_what_is_waited_for_counts_if_asked() {
    assert_eq!(
        [Parameters::default(), Parameters::plus()].map(|p| p.early_stop_checks_stalls),
        FORMS
    );
    // It misses little and waits for it, gains by every way, and is sensitive.
    fn waiting(ways: u32) -> Does {
        let few = u64::from(6_u32.saturating_sub(ways));
        Does { ipc: 1000 - 20 * few, llcmpkc: 2, stalls: 20 + 20 * few }
    }
    let mut bench = about_to(of_form(false), waiting);
    assert_eq!(sizes(&mut bench, 0), [1]);
    assert_eq!(bench.class(0), Some(Class::Light));
    let mut bench = about_to(of_form(true), waiting);
    assert_eq!(sizes(&mut bench, 0), [1, 2, 3, 4, 5]);
    assert_eq!(bench.class(0), Some(Class::Sensitive));
}

/// Decision 10: "sampling goes on while 1 / (1 - s) could make its table 5 % faster, or could make
/// a sensitive program of it".
#[test]
fn decision_10_what_is_waited_for_may_change_table_or_class() {
    // Sensitive with three ways, it still waits for a fifth of the time.
    fn table(ways: u32) -> Does {
        let few = u64::from(6_u32.saturating_sub(ways));
        Does { ipc: 1100 - 100 * few, llcmpkc: 2, stalls: 20 + 80 * few }
    }
    assert_eq!(sizes(&mut about_to(of_form(true), table), 0), [1, 2, 3, 4, 5, 6]);
    // With three ways it can gain 4 % at most, and has gained 3 % since two.
    fn class(ways: u32) -> Does {
        let few = u64::from(4_u32.saturating_sub(ways));
        Does { ipc: 1020 - 30 * few, llcmpkc: 2, stalls: 10 + 30 * few }
    }
    let mut bench = about_to(of_form(true), class);
    assert_eq!(sizes(&mut bench, 0), [1, 2, 3, 4]);
    assert_eq!(bench.class(0), Some(Class::Sensitive));
}

/// §4.2, the second early stop; decision 11.
#[test]
fn decision_11_sampling_stops_for_streaming_after_two_sizes() {
    let mut bench = about_to(Parameters::default(), streaming);
    assert_eq!(sizes(&mut bench, 0), [1, 2]);
    assert_eq!(bench.class(0), Some(Class::Streaming));
    let four = Parameters { streaming_stop_sizes: 4, ..Parameters::default() };
    assert_eq!(sizes(&mut about_to(four, streaming), 0), [1, 2, 3, 4]);
    // 5 % faster with the second way: not "a very low increase".
    fn faster(ways: u32) -> Does {
        Does { ipc: 1000 + 50 * u64::from(ways.min(2)), llcmpkc: 30, stalls: 100 }
    }
    assert_eq!(sizes(&mut about_to(Parameters::default(), faster), 0).len(), 10);
}
