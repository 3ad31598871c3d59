//! The properties of bucketization for any PCMRs (§4.3.1).

use alloc::vec;
use alloc::vec::Vec;

use fairways_core::Q32;
use proptest::prelude::*;

use crate::casc::buckets::{Assignment, allowed, assign};
use crate::casc::matching::keeps_busy;
use crate::casc::{Parameters, PenaltyRule};

fn pcmrs() -> impl Strategy<Value = Vec<Q32>> {
    let fraction = (0u64..=100 << 32).prop_map(Q32::from_raw);
    let rate = prop_oneof![
        (0u32..=100).prop_map(Q32::from_int),
        (0u32..20).prop_map(Q32::from_int),
        fraction
    ];
    prop::collection::vec(rate, 1..=40)
}

fn parameters() -> impl Strategy<Value = Parameters> {
    (0u32..=100, 0u32..4, any::<bool>(), 1u64..4).prop_map(|(threshold, m, in_bucket, finer)| {
        Parameters {
            threshold: Q32::from_int(threshold),
            m,
            penalty: if in_bucket { PenaltyRule::InBucket } else { PenaltyRule::Restricted },
            unit: Q32::ratio(1, finer),
            ..Parameters::default()
        }
    })
}

/// §4.3.1 step by step: from the top again for every threshold, counting threads one by one.
fn by_the_text(pcmrs: &[Q32], cpus: usize, parameters: &Parameters) -> Assignment {
    let mut threshold = parameters.threshold;
    loop {
        let mut max = vec![100u32; cpus];
        let (mut steps, mut is_reached) = (0, true);
        while max.iter().sum::<u32>() as u128 * (1 << 32)
            > u128::from(threshold.raw()) * cpus as u128
        {
            let candidates = (0..cpus).filter(|&cpu| {
                let mut then = max.clone();
                then[cpu] = match then[cpu].checked_sub(1) {
                    Some(less) => less,
                    None => return false,
                };
                pcmrs.iter().all(|&pcmr| then.iter().any(|&max| pcmr <= Q32::from_int(max)))
            });
            let restricted = |cpu: usize| {
                let (old, new) = (Q32::from_int(max[cpu]), Q32::from_int(max[cpu] - 1));
                pcmrs.iter().filter(|&&pcmr| new < pcmr && pcmr <= old).count()
            };
            // Each thread is in the bucket with the least MAX_PCMR that it may be in; of several,
            // the first.
            let in_bucket = |cpu: usize| {
                let bucket = |pcmr: Q32| {
                    (0..cpus)
                        .filter(|&cpu| pcmr <= Q32::from_int(max[cpu]))
                        .min_by_key(|&cpu| max[cpu])
                };
                pcmrs.iter().filter(|&&pcmr| bucket(pcmr) == Some(cpu)).count()
            };
            let penalty = |cpu: usize| match parameters.penalty {
                PenaltyRule::Restricted => restricted(cpu),
                PenaltyRule::InBucket => in_bucket(cpu),
            };
            let Some(cpu) =
                candidates.min_by_key(|&cpu| (penalty(cpu), 100 - max[cpu], cpus - cpu))
            else {
                is_reached = false;
                break;
            };
            max[cpu] -= 1;
            steps += 1;
        }
        let max_pcmrs: Vec<Q32> = max.into_iter().map(Q32::from_int).collect();
        if keeps_busy(&max_pcmrs, pcmrs, parameters.m) {
            return Assignment { max_pcmrs, threshold, is_reached, steps };
        }
        let raised =
            Q32::from_raw(threshold.raw() / 4 * 5).max(Q32::from_raw(threshold.raw() + (1 << 32)));
        threshold = raised.min(Q32::from_int(100));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 600, ..ProptestConfig::default()
    })]

    #[test]
    fn no_thread_is_stranded_and_no_cpu_idle(
        pcmrs in pcmrs(), cpus in 1usize..=16, parameters in parameters(),
    ) {
        let found = assign(&pcmrs, cpus, &parameters);
        prop_assert_eq!(found.max_pcmrs.len(), cpus);
        for &pcmr in &pcmrs {
            prop_assert!(allowed(&found.max_pcmrs, pcmr).next().is_some(), "{pcmr:?}: {found:?}");
        }
        prop_assert!(keeps_busy(&found.max_pcmrs, &pcmrs, parameters.m), "{found:?}");
        prop_assert!(found.threshold >= parameters.threshold);
        prop_assert_eq!(found.is_reached, found.projected() <= found.threshold);
        // An average is rounded down.
        prop_assert!(u64::from(found.steps) <= (100u64 << 32).div_ceil(parameters.unit.raw()) * cpus as u64);
    }

    /// The way down is walked once, and gives what starting over would.
    #[test]
    fn raising_the_threshold_step_by_step_finds_the_same(
        pcmrs in pcmrs(), cpus in 1usize..=12, threshold in 1u32..=100, m in 0u32..3,
        in_bucket in any::<bool>(),
    ) {
        let threshold = Q32::from_int(threshold);
        let penalty = if in_bucket { PenaltyRule::InBucket } else { PenaltyRule::Restricted };
        let parameters = Parameters { threshold, m, penalty, ..Parameters::default() };
        let (found, expected) =
            (assign(&pcmrs, cpus, &parameters), by_the_text(&pcmrs, cpus, &parameters));
        prop_assert_eq!(&found.max_pcmrs, &expected.max_pcmrs);
        prop_assert_eq!((found.steps, found.is_reached), (expected.steps, expected.is_reached));
        prop_assert!(found.threshold.raw().abs_diff(expected.threshold.raw()) < 64);
    }

    /// A lower threshold allows no thread anywhere that a higher one does not.
    #[test]
    fn a_lower_threshold_restricts_more(
        pcmrs in pcmrs(), cpus in 1usize..=12, low in 0u32..=100, high in 0u32..=100,
    ) {
        let at = |threshold| {
            let threshold = Q32::from_int(threshold);
            assign(&pcmrs, cpus, &Parameters { threshold, m: 0, ..Parameters::default() }).max_pcmrs
        };
        let (low, high) = (at(low.min(high)), at(low.max(high)));
        prop_assert!(low.iter().zip(&high).all(|(low, high)| low <= high), "{low:?} {high:?}");
    }

    /// §5.4.1: "if all threads are the same, there is no room for improvement", nor for loss: as
    /// many run at once as without CASC, and all may run on the same CPUs.
    #[test]
    fn threads_that_are_alike_gain_and_lose_nothing(
        pcmr in 0u32..=100, threads in 1usize..=40, cpus in 1usize..=16, threshold in 0u32..=100,
    ) {
        let pcmrs = vec![Q32::from_int(pcmr); threads];
        let threshold = Q32::from_int(threshold);
        let found = assign(&pcmrs, cpus, &Parameters { threshold, ..Parameters::default() });
        let allowed = allowed(&found.max_pcmrs, pcmrs[0]).count();
        prop_assert!(allowed >= threads.min(cpus), "{found:?}");
    }
}

#[test]
fn absurd_parameters_end_in_time() {
    for raw in [0, 1, u64::MAX] {
        let all = Parameters {
            threshold: Q32::from_raw(raw),
            threshold_factor: Q32::from_raw(raw),
            unit: Q32::from_raw(raw),
            m: u32::MAX,
            ..Parameters::default()
        };
        let found = assign(&[Q32::from_raw(u64::MAX), Q32::ONE], 64, &all);
        assert!(found.steps <= 64 * 1600);
        assert!(assign(&[Q32::ONE], 0, &all).max_pcmrs.is_empty());
    }
}
