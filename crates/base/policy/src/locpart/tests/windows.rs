//! GetTL: percentiles and windows (decision 5).

use core::time::Duration;

use fairways_core::{AppId, Latencies, LatencyBin, Q32, Time};

use super::bench::objective;
use crate::locpart::parameters::{Parameters, TailWindow};
use crate::locpart::tail::{TailOf, Tails, percentile};

const MS: Duration = Duration::from_millis(1);
const PERIOD: Duration = Duration::from_millis(500);

fn at(periods: u32) -> Time {
    Time::ZERO.after(PERIOD * periods)
}

/// So many requests of each latency, in milliseconds.
fn latencies(answered: &[(u32, u64)]) -> Latencies {
    let each = answered.iter().map(|&(ms, requests)| LatencyBin { latency: MS * ms, requests });
    Latencies { app: AppId(0), window: PERIOD, answered: each.collect() }
}

/// What is pushed at the end of each period.
fn tails(windows: &[&[(u32, u64)]]) -> (Tails, Time) {
    let mut tails = Tails::default();
    let mut now = Time::ZERO;
    for (index, window) in (1..).zip(windows) {
        now = at(index);
        tails.push(now, &latencies(window), Parameters::default().reach());
    }
    (tails, now)
}

fn of(windows: &[&[(u32, u64)]], of: TailOf, parameters: Parameters) -> Option<u64> {
    let (mut tails, now) = tails(windows);
    tails.tail(now, objective(90, 1), of, &parameters).map(|tail| tail / 1_000_000)
}

fn sliding(windows: &[&[(u32, u64)]]) -> Option<u64> {
    of(windows, TailOf::All, Parameters::default())
}

#[test]
fn the_tail_is_the_least_that_enough_requests_did_not_exceed() {
    let ranks: alloc::vec::Vec<(u64, u64)> = (1..=200).map(|rank| (rank * 10, 1)).collect();
    let tail = |percent: u64, hundredths: u64, requests: usize| {
        let p = Q32::ratio(percent * 100 + hundredths, 100);
        percentile(&ranks[..requests], requests as u64, p)
    };
    assert_eq!(tail(99, 0, 100), Some(990));
    assert_eq!(tail(99, 0, 101), Some(1000));
    assert_eq!(tail(95, 0, 200), Some(1900));
    assert_eq!(tail(99, 90, 200), Some(2000));
    assert_eq!(tail(100, 0, 200), Some(2000));
    // Neither is one.
    assert_eq!(tail(0, 0, 200), Some(10));
    assert_eq!(tail(500, 0, 200), Some(2000));
    assert_eq!(percentile(&[], 0, Q32::from_int(99)), None);
    assert_eq!(percentile(&[(7, u64::MAX), (8, 5)], u64::MAX, Q32::from_raw(u64::MAX)), Some(7));
}

#[test]
fn a_sliding_window_reaches_back_to_a_hundred_requests() {
    assert_eq!(sliding(&[&[(9, 60)], &[(1, 40)]]), Some(9));
    assert_eq!(sliding(&[&[(9, 60)], &[(1, 100)]]), Some(1));
    assert_eq!(sliding(&[&[(9, 60)], &[], &[(1, 40)]]), Some(9));
    assert_eq!(sliding(&[&[(9, 60)], &[], &[(1, 39)]]), None);
    // Nothing new.
    assert_eq!(sliding(&[&[(9, 60)], &[(1, 100)], &[]]), None);
}

#[test]
fn it_reaches_back_ten_periods() {
    let mut windows: [&[(u32, u64)]; 11] = [&[]; 11];
    windows[10] = &[(1, 1)];
    windows[1] = &[(9, 100)];
    assert_eq!(sliding(&windows), Some(9));
    windows.swap(0, 1);
    assert_eq!(sliding(&windows), None);
}

#[test]
fn the_past_interval_is_all_there_is() {
    let past = Parameters::published();
    assert_eq!(past.window, TailWindow::PastInterval);
    assert_eq!(of(&[&[(9, 200)], &[(1, 1)]], TailOf::All, past), Some(1));
    assert_eq!(of(&[&[(9, 200)], &[]], TailOf::All, past), None);
    let (mut late, now) = tails(&[&[(9, 200)]]);
    assert_eq!(late.tail(now.after(PERIOD), objective(90, 1), TailOf::All, &past), None);
}

/// A change in the midst of the second window.
#[test]
fn requests_from_before_a_change_do_not_count() {
    let change = at(1).after(PERIOD / 2);
    let windows: [&[(u32, u64)]; 3] = [&[(9, 200)], &[(8, 200)], &[(600, 50), (751, 50), (7, 100)]];
    let came = |settles| of(&windows, TailOf::CameSince(change, settles), Parameters::default());
    assert_eq!(came(MS), Some(600));
    assert_eq!(came(MS * 750), Some(600));
    assert_eq!(came(MS * 751), None);
    assert_eq!(of(&windows, TailOf::AnsweredSince(change), Parameters::default()), Some(751));
    let later = TailOf::AnsweredSince(change.after(PERIOD));
    assert_eq!(of(&windows, later, Parameters::default()), None);
}

#[test]
fn memory_is_bounded_and_what_ends_twice_counts_once() {
    let mut tails = Tails::default();
    let reach = Duration::MAX;
    for _ in 0..1000 {
        tails.push(at(1), &latencies(&[(9, 60)]), reach);
    }
    let parameters = Parameters::default();
    assert_eq!(tails.tail(at(1), objective(99, 1), TailOf::All, &parameters), None);
    let long = Parameters { longest_window: u32::MAX, least_requests: 6500, ..parameters };
    for period in 2..1000 {
        tails.push(at(period), &latencies(&[(9, 100)]), reach);
    }
    assert_eq!(tails.tail(at(999), objective(99, 1), TailOf::All, &long), None);
    let fewer = Parameters { least_requests: 6400, ..long };
    assert_eq!(tails.tail(at(999), objective(99, 1), TailOf::All, &fewer), Some(9_000_000));
}
