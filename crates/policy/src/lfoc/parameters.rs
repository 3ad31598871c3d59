//! LFOC's numbers.

use core::time::Duration;

use fairways_core::Q32;

use crate::slowdown::Reference;

/// The parameters of LFOC under the paper's names, with the paper's defaults.
///
/// Slowdowns are in percent: 103 is a slowdown of 1.03.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Parameters {
    /// How many streaming programs fill a way (Algorithm 1, `max_streaming_way`).
    pub max_streaming_way: u32,
    /// How many light programs take the room of one streaming program (Algorithm 1,
    /// `gaps_per_streaming`).
    pub gaps_per_streaming: u32,
    /// The most ways reserved for streaming programs (Algorithm 1, `min(2, ...)`).
    pub max_ways_streaming: u32,
    /// Streaming, in one way assignment: slowdown at most (Table 1).
    pub streaming_slowdown_percent: u32,
    /// Streaming, in the same way assignment: LLCMPKC at least (Table 1). Decision LFOC 2: both
    /// conditions hold at one way count, else the 55 measured programs fall 13/15/27.
    pub streaming_llcmpkc: Q32,
    /// Streaming, in every way assignment: slowdown below (Table 1).
    pub streaming_slowdown_bound_percent: u32,
    /// Sensitive: slowdown at least (Table 1).
    pub sensitive_slowdown_percent: u32,
    /// Sensitive: from this many ways on (Table 1).
    pub sensitive_from_ways: u32,
    /// What slowdown is relative to, in classes and in lookahead. Decision LFOC 1: of a known
    /// profile, the best way count; the classes are the same either way.
    pub reference: Reference,
    /// The same of a table that was sampled. Decision LFOC 1: the largest way count sampled, as
    /// the paper has it (§2.1).
    pub sampled_reference: Reference,

    /// LFOC+: whether sensitive programs may share ways in pairs where that is fairer.
    pub pair_clustering: bool,
    /// LFOC+: how much more the others may lose than the slowest program gains by a way, in hundredths of
    /// a slowdown.
    pub help_cost_percent: u32,

    /// Windows of a new program that tell nothing of it, for it starts cold (§4.1).
    pub warm_up_intervals: u32,
    /// Length of a window in normal operation, in instructions (§5.2).
    pub normal_window: u64,
    /// Length of a window in sampling mode, in instructions (§5.2).
    pub sampling_window: u64,
    /// How often Algorithm 1 is activated (§4.1, §5.2). Decision LFOC 20: where something has changed.
    #[cfg_attr(feature = "serde", serde(with = "fairways_core::nanos"))]
    pub decision_period: Duration,

    /// A memory-intensive phase: average LLCMPKC above (§4.2, `high_threshold`).
    pub high_threshold: Q32,
    /// No longer streaming: average LLCMPKC below this share of `high_threshold` (§4.2,
    /// `low_threshold`). Decision LFOC 10: below it, sampling stops early too.
    pub low_threshold_percent: u32,
    /// A memory-intensive phase: average share of cycles stalled for memory above (§4.2).
    pub stalls_percent: u32,
    /// Windows that are averaged before a change of class is signalled (§4.2). Decision LFOC 13:
    /// for all three rules.
    pub averaged_periods: u32,
    /// The critical size is where slowdown falls below this (§4.2).
    pub critical_slowdown_percent: u32,

    /// Whether sampling stops early for few misses only where the cycles that still wait for
    /// memory are too few to change its class or table; else the LLCMPKC alone is asked, as in
    /// §4.2. Decision LFOC 10.
    pub early_stop_heeds_stalls: bool,
    /// Sampling stops early for streaming after so many sizes. Decision LFOC 11.
    pub streaming_stop_sizes: u32,
    /// The same, where slowdown so far is at most. Decision LFOC 11.
    pub streaming_stop_slowdown_percent: u32,
    /// Windows discarded after a program's ways have changed, while its lines move. Decision
    /// LFOC 17.
    pub discarded_windows: u32,
    /// In sampling mode, up to so many are discarded while occupancy still changes. Decision LFOC
    /// 17.
    pub most_discarded_windows: u32,
    /// Occupancy still changes if it differs from that of the window before by more than this
    /// share of a way. Decision LFOC 17.
    pub settled_percent: u32,
    /// Windows that are added up for each size in sampling mode: more make the tables less noisy,
    /// and sampling longer. The paper speaks of one.
    pub windows_per_size: u32,
    /// Decision periods without a usable window after which sampling mode is left. Decision
    /// LFOC 18.
    pub sampling_patience: u32,
    /// A signal that sampling has found false has to persist for twice as many windows each time
    /// before it is heeded again, up to so many. Decision LFOC 19.
    pub most_persistence: u32,
}

impl Parameters {
    /// Those of LFOC+: LFOC's, with pair clustering and `early_stop_heeds_stalls`.
    #[must_use]
    pub fn plus() -> Self {
        Self { pair_clustering: true, early_stop_heeds_stalls: true, ..Self::default() }
    }

    /// `low_threshold`, misses per 1000 cycles.
    #[must_use]
    pub fn low_threshold(&self) -> Q32 {
        let raw = u128::from(self.high_threshold.raw()) * u128::from(self.low_threshold_percent);
        Q32::from_raw(u64::try_from(raw / 100).unwrap_or(u64::MAX))
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            max_streaming_way: 5,
            gaps_per_streaming: 3,
            max_ways_streaming: 2,
            streaming_slowdown_percent: 103,
            streaming_llcmpkc: Q32::from_int(10),
            streaming_slowdown_bound_percent: 106,
            sensitive_slowdown_percent: 105,
            sensitive_from_ways: 2,
            reference: Reference::Best,
            sampled_reference: Reference::WholeCache,
            pair_clustering: false,
            help_cost_percent: 7,
            warm_up_intervals: 3,
            normal_window: 100_000_000,
            sampling_window: 10_000_000,
            decision_period: Duration::from_millis(500),
            high_threshold: Q32::from_int(10),
            low_threshold_percent: 30,
            stalls_percent: 25,
            averaged_periods: 5,
            critical_slowdown_percent: 105,
            early_stop_heeds_stalls: false,
            streaming_stop_sizes: 2,
            streaming_stop_slowdown_percent: 103,
            discarded_windows: 1,
            most_discarded_windows: 4,
            settled_percent: 5,
            windows_per_size: 1,
            sampling_patience: 4,
            most_persistence: 320,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_threshold_is_30_percent_of_high_threshold() {
        let threshold = |high, low_threshold_percent| {
            Parameters { high_threshold: high, low_threshold_percent, ..Parameters::default() }
                .low_threshold()
        };
        assert_eq!(Parameters::default().low_threshold(), Q32::from_int(3));
        assert_eq!(threshold(Q32::from_raw(199), 1), Q32::from_raw(1));
        assert_eq!(threshold(Q32::from_raw(u64::MAX), 101), Q32::from_raw(u64::MAX));
    }
}
