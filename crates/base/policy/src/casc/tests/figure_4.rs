//! Figure 4 and what §4.3 says of it.

use alloc::vec::Vec;

use fairways_core::Q32;

use crate::casc::buckets::{allowed, assign, average};
use crate::casc::matching::keeps_busy;
use crate::casc::{Parameters, PenaltyRule};

fn int(values: &[u32]) -> Vec<Q32> {
    values.iter().map(|&value| Q32::from_int(value)).collect()
}

/// t0 to t8. The text gives t0 1, t2 3, t5 12; that t4 to t6 fit bucket 3 only; and that under 1,
/// 1, 1, 17 only t0 and t8 are off CPU 3. The others are ours.
const PCMRS: [u32; 9] = [1, 4, 3, 8, 17, 12, 14, 9, 1];
const MAX_PCMRS: [u32; 4] = [1, 5, 11, 17];

#[test]
fn the_system_as_a_whole_never_exceeds_the_average() {
    assert_eq!(average(&int(&MAX_PCMRS)), Q32::from_raw(17 << 31));
}

#[test]
fn a_thread_runs_where_max_pcmr_is_its_pcmr_at_least() {
    fn cpus(thread: usize) -> Vec<u32> {
        allowed(&int(&MAX_PCMRS), Q32::from_int(PCMRS[thread])).collect()
    }
    // Decision CASC 3: PCMR 1 is in bucket 0, whose MAX_PCMR is 1.
    assert_eq!(cpus(0), [0, 1, 2, 3]);
    assert_eq!(cpus(2), [1, 2, 3]);
    for greedy in [4, 5, 6] {
        assert_eq!(cpus(greedy), [3]);
    }
}

#[test]
fn a_threshold_of_3_can_not_be_satisfied() {
    // §4.3.1 does not look at idle CPUs yet: m = 0.
    for penalty in [PenaltyRule::Restricted, PenaltyRule::InBucket] {
        let parameters =
            Parameters { threshold: Q32::from_int(3), m: 0, penalty, ..Parameters::default() };
        let found = assign(&int(&PCMRS), 4, &parameters);
        assert!(!found.is_reached, "{found:?}");
        assert_eq!(found.threshold, parameters.threshold);
        // As low as it gets: one CPU for all.
        let mut max_pcmrs = found.max_pcmrs.clone();
        max_pcmrs.sort_unstable();
        assert_eq!(max_pcmrs, int(&[0, 0, 0, 17]));
        // With 17/4 or more it can.
        let threshold = Q32::from_raw(17 << 30);
        assert!(assign(&int(&PCMRS), 4, &Parameters { threshold, ..parameters }).is_reached);
    }
}

#[test]
fn three_cpus_for_two_frugal_threads_are_refused() {
    let bad = int(&[1, 1, 1, 17]);
    assert_eq!(average(&bad), Q32::from_int(5));
    assert!(!keeps_busy(&bad, &int(&PCMRS), 1));
    // Counting per CPU does not find it: two may run on each.
    assert!(bad.iter().all(|&max| int(&PCMRS).iter().filter(|&&pcmr| pcmr <= max).count() >= 2));
    assert!(keeps_busy(&int(&MAX_PCMRS), &int(&PCMRS), 1));
}

#[test]
fn the_threshold_is_raised_until_no_cpu_is_idle() {
    let parameters = Parameters { threshold: Q32::from_int(5), ..Parameters::default() };
    let found = assign(&int(&PCMRS), 4, &parameters);
    assert!(found.threshold > parameters.threshold && found.is_reached, "{found:?}");
    assert!(keeps_busy(&found.max_pcmrs, &int(&PCMRS), 1));
    assert!(found.projected() <= found.threshold);
    // The threshold before it would have left one idle.
    let before = Q32::from_raw(found.threshold.raw() / 5 * 4);
    let idle = assign(&int(&PCMRS), 4, &Parameters { threshold: before, m: 0, ..parameters });
    assert!(!keeps_busy(&idle.max_pcmrs, &int(&PCMRS), 1), "{idle:?}");
}

#[test]
fn at_most_800_steps_on_8_cpus() {
    let parameters = Parameters { threshold: Q32::default(), m: 0, ..Parameters::default() };
    // All of them, if no thread can be stranded.
    assert_eq!(assign(&[], 8, &parameters).steps, 800);
    assert!(assign(&int(&PCMRS), 8, &parameters).steps < 800);
}

#[test]
fn the_cpu_where_the_fewest_are_restricted_and_of_several_the_largest_and_last() {
    // Decision CASC 4. Down to 50, no thread is restricted: all CPUs go down, the last first. Then
    // each loses one thread at 50 and two at 40: CPU 2 goes first, and down to 41 costs nothing
    // more.
    let pcmrs = int(&[50, 40, 40, 10]);
    let at = |sum: u64| {
        // A ratio is rounded down.
        let threshold = Q32::from_raw(Q32::ratio(sum, 3).raw() + 1);
        assign(&pcmrs, 3, &Parameters { threshold, m: 0, ..Parameters::default() }).max_pcmrs
    };
    assert_eq!(at(299), int(&[100, 100, 99]));
    assert_eq!(at(298), int(&[100, 99, 99]));
    assert_eq!(at(150), int(&[50, 50, 50]));
    assert_eq!(at(149), int(&[50, 50, 49]));
    assert_eq!(at(140), int(&[50, 50, 40]));
    // One thread on CPU 1, not two on CPU 2.
    assert_eq!(at(139), int(&[50, 49, 40]));
    assert_eq!(at(130), int(&[50, 40, 40]));
    // CPU 0 keeps the greediest.
    assert_eq!(at(129), int(&[50, 40, 39]));
}
