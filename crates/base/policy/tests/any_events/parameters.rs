//! Sensible parameters, and absurd ones.

use std::time::Duration;

use fairways_core::Q32;
use fairways_policy::{Reference, cache_fair, casc, dcat, fairways, lfoc, locpart};
use proptest::prelude::*;

pub(crate) fn spans() -> impl Strategy<Value = Duration> {
    prop_oneof![
        6 => (0u64..40).prop_map(Duration::from_millis),
        2 => any::<u64>().prop_map(Duration::from_nanos),
        1 => Just(Duration::MAX),
    ]
}

pub(crate) fn numbers() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0u32..8, 2 => 90u32..120, 1 => Just(u32::MAX)]
}

pub(crate) fn locpart() -> impl Strategy<Value = locpart::Parameters> {
    let util_th = prop_oneof![3 => 0u64..1 << 32, 1 => any::<u64>()];
    (spans(), util_th, any::<[bool; 2]>(), prop::array::uniform5(numbers())).prop_map(
        |(t_sched, util_th, [margin, sliding], n)| locpart::Parameters {
            t_sched,
            w: n[0],
            util_th: Q32::from_raw(util_th),
            rule: if margin { locpart::GivingRule::Margin } else { locpart::GivingRule::Published },
            window: if sliding {
                locpart::TailWindow::Sliding
            } else {
                locpart::TailWindow::PastInterval
            },
            least_requests: n[1],
            longest_window: n[2],
            hold: n[3],
            memory: n[4],
        },
    )
}

pub(crate) fn casc() -> impl Strategy<Value = casc::Parameters> {
    let long = prop_oneof![3 => 0u64..5 << 32, 1 => any::<u64>()];
    (prop::array::uniform4(spans()), prop::array::uniform3(long), any::<bool>(), numbers())
        .prop_map(|(spans, long, in_bucket, number)| casc::Parameters {
            min_runlength: spans[0],
            shortest_interval: spans[1] / 64,
            delay: spans[2] / 64,
            threshold: Q32::from_raw(long[0]),
            threshold_factor: Q32::from_raw(long[1]),
            unit: Q32::from_raw(long[2]),
            m: number,
            penalty: if in_bucket {
                casc::PenaltyRule::InBucket
            } else {
                casc::PenaltyRule::Restricted
            },
            initial_limit: spans[3],
            phase_margin_percent: number,
            phase_measurements: number,
            remeasure_every: spans[3],
        })
}

pub(crate) fn cache_fair() -> impl Strategy<Value = cache_fair::Parameters> {
    let spans = prop::array::uniform2(spans());
    (any::<[u64; 4]>(), any::<bool>(), prop::array::uniform4(numbers()), spans).prop_map(
        |(long, extrapolates, n, [reconnaissance_limit, shortest_point])| cache_fair::Parameters {
            data_points: n[0],
            // Of a length that is reached.
            reconnaissance: long[0] >> 32,
            calibration: long[1],
            repetition: long[2] >> 32,
            reconnaissance_limit,
            shortest_point,
            extrapolates,
            penalty_limit: n[1],
            phase_change: n[2],
            least_ideal_cpi: Q32::from_raw(long[3]),
            most_debt: n[3],
        },
    )
}

pub(crate) fn dcat() -> impl Strategy<Value = dcat::Parameters> {
    (any::<[u64; 5]>(), any::<[bool; 4]>(), prop::array::uniform3(numbers())).prop_map(
        |(long, [fair, stops, ipc, refuse], [streaming_thr, idle_mhz, most_phases])| {
            dcat::Parameters {
                period: Duration::from_nanos(long[0]),
                objective: if fair {
                    dcat::SpareWaysGoal::MaxFairness
                } else {
                    dcat::SpareWaysGoal::MaxPerformance
                },
                llc_ref_thr: Q32::from_raw(long[1]),
                llc_miss_rate_thr: Q32::from_raw(long[2] >> 20),
                ipc_imp_thr: Q32::from_raw(long[3] >> 20),
                phase_change_thr: Q32::from_raw(long[4] >> 20),
                streaming_thr,
                idle_mhz,
                receiver_stops_on_misses: stops,
                reclaim_on_ipc: ipc,
                refuse_overcommitment: refuse,
                most_phases,
            }
        },
    )
}

pub(crate) fn lfoc() -> impl Strategy<Value = lfoc::Parameters> {
    (prop::array::uniform21(numbers()), any::<[u64; 4]>(), any::<[bool; 2]>()).prop_map(
        |(n, long, [early_stop_checks_stalls, pair_clustering])| lfoc::Parameters {
            max_streaming_way: n[0],
            gaps_per_streaming: n[1],
            max_ways_streaming: n[2],
            streaming_slowdown_percent: n[3],
            streaming_slowdown_bound_percent: n[4],
            sensitive_slowdown_percent: n[5],
            sensitive_from_ways: n[6],
            warm_up_intervals: n[7],
            low_threshold_percent: n[8],
            stalls_percent: n[9],
            averaged_periods: n[10],
            critical_slowdown_percent: n[11],
            streaming_stop_sizes: n[12],
            streaming_stop_slowdown_percent: n[13],
            discarded_windows: n[14],
            most_discarded_windows: n[15],
            settled_percent: n[16],
            windows_per_size: n[17],
            sampling_patience: n[18],
            most_persistence: n[19],
            help_cost_percent: n[20],
            normal_window: long[0],
            sampling_window: long[1],
            high_threshold: Q32::from_raw(long[2]),
            streaming_llcmpkc: Q32::from_raw(long[2]),
            decision_period: Duration::from_nanos(long[3]),
            early_stop_checks_stalls,
            pair_clustering,
            ..lfoc::Parameters::default()
        },
    )
}

pub(crate) fn fairways() -> impl Strategy<Value = fairways::Parameters> {
    let objectives = prop::sample::select(&[
        fairways::Objective::Unfairness,
        fairways::Objective::Stp,
        fairways::Objective::MaxSlowdown,
        fairways::Objective::Weighted,
    ]);
    let spans = prop::array::uniform5(spans());
    let switches = any::<[bool; 3]>();
    (objectives, switches, prop::array::uniform8(numbers()), spans).prop_map(
        |(objective, [whole_cache, limit_bandwidth, compensate_cpu], n, spans)| {
            let [decision_period, normal_window, sampling_window, limit_period, limit_retry] =
                spans;
            fairways::Parameters {
                objective,
                reference: if whole_cache { Reference::WholeCache } else { Reference::Best },
                // A search in a debug build is slow.
                trials: n[0].min(1000),
                move_cost_percent: n[1],
                tolerance_percent: n[2],
                fairness_tolerance_percent: n[4],
                decision_period,
                normal_window,
                sampling_window,
                first_windows: n[3],
                full_windows: n[4],
                still_windows: n[5],
                most_windows: n[6],
                sampling_percent: n[7],
                stake_percent: n[1],
                limit_bandwidth,
                full_percent: n[1],
                free_percent: n[2],
                gate_spans: n[3],
                limit_period,
                judge_spans: n[4],
                limit_gain_percent: n[5],
                limit_floor_percent: n[6],
                limit_retry,
                compensate_cpu,
                penalty_limit: n[3],
            }
        },
    )
}
