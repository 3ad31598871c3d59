//! The parameters of LFOC and LFOC+.

use core::time::Duration;

use fairways_core::Q32;

use crate::parameter::{MILLISECOND, parameters};
use crate::slowdown::Reference;

parameters! {
    /// The parameters of LFOC under the paper's names, with the paper's defaults.
    ///
    /// Slowdowns are in percent: 103 is a slowdown of 1.03.
    pub struct Parameters {
        /// How many streaming programs fill a way.
        max_streaming_way: u32 = 5, "programs", "Algorithm 1, `max_streaming_way`";

        /// How many light programs take the room of a streaming one.
        gaps_per_streaming: u32 = 3, "programs", "Algorithm 1, `gaps_per_streaming`";

        /// How many ways are reserved for streaming programs at most.
        max_ways_streaming: u32 = 2, "ways", "Algorithm 1, `min(2, ...)`";

        /// Streaming, with some number of ways: slowdown at most.
        streaming_slowdown_percent: u32 = 103, "percent", "Table 1";

        /// Streaming, with the same number of ways: LLC misses per 1000 cycles at least.
        ///
        /// Decision LFOC 2: both conditions hold at the same way count; otherwise the 55 measured
        /// programs fall into the classes as 13/15/27.
        streaming_llcmpkc: Q32 = Q32::from_int(10), "misses per 1000 cycles", "Table 1";

        /// Streaming, with any number of ways: slowdown below.
        streaming_slowdown_bound_percent: u32 = 106, "percent", "Table 1";

        /// Sensitive: slowdown at least.
        sensitive_slowdown_percent: u32 = 105, "percent", "Table 1";

        /// Sensitive: from this many ways on.
        sensitive_from_ways: u32 = 2, "ways", "Table 1";

        /// The IPC that slowdown is relative to where profiles are known: `best` or `whole-cache`.
        ///
        /// The classes are the same either way.
        reference: Reference = Reference::Best, "", "Equation 2 (decision 1)";

        /// The IPC that slowdown is relative to where tables were sampled: `best` or `whole-cache`.
        sampled_reference: Reference = Reference::WholeCache, "", "Equation 2 (decision 1)";

        /// Whether sensitive programs may share ways in pairs where that is fairer: true for LFOC+,
        /// `lfoc-plus`.
        pair_clustering: bool = false, "", "LFOC+";

        /// LFOC+: how much more another program may lose than the slowest gains by one of its ways.
        help_cost_percent: u32 = 7, "percent", "LFOC+; the authors' code";

        /// Windows of a new program that are skipped.
        warm_up_intervals: u32 = 3, "windows", "§4.1";

        /// Instructions of a window in normal operation.
        normal_window: u64 = 100_000_000, "instructions", "§5.2", least 1;

        /// Instructions of a window in sampling mode.
        sampling_window: u64 = 10_000_000, "instructions", "§5.2", least 1;

        /// How often a refused plan is made again and sampling is checked for progress.
        decision_period: Duration = Duration::from_millis(500),
            "", "§4.1, §5.2 (decision 20)", least MILLISECOND;

        /// Memory-intensive: average LLC misses per 1000 cycles above.
        high_threshold: Q32 = Q32::from_int(10), "misses per 1000 cycles", "§4.2, `high_threshold`";

        /// No longer streaming: below this share of `high_threshold`.
        ///
        /// Below it, sampling stops early too (decision 10).
        low_threshold_percent: u32 = 30, "percent", "§4.2, `low_threshold`";

        /// Memory-intensive: average share of cycles stalled for memory above.
        stalls_percent: u32 = 25, "percent", "§4.2";

        /// Windows that are averaged.
        averaged_periods: u32 = 5, "windows", "§4.2";

        /// The critical size is where slowdown falls below.
        critical_slowdown_percent: u32 = 105, "percent", "§4.2";

        /// Whether sampling goes on for a program that misses little but waits much for memory:
        /// true for `lfoc-plus`.
        early_stop_checks_stalls: bool = false, "", "§4.2, first early stop (decision 10)";

        /// Sizes after which sampling stops for streaming.
        streaming_stop_sizes: u32 = 2, "sizes", "§4.2, second early stop, no value (decision 11)";

        /// Sampling stops for streaming after those sizes where slowdown so far is at most.
        streaming_stop_slowdown_percent: u32 = 103, "percent", "§4.2, second early stop, no value (decision 11)";

        /// Windows discarded after a program's ways changed.
        discarded_windows: u32 = 1, "windows", "ours (decision 17)";

        /// Windows discarded at most in sampling mode while occupancy changes.
        most_discarded_windows: u32 = 4, "windows", "ours (decision 17)";

        /// Occupancy changes if it moves by more than this share of a way.
        settled_percent: u32 = 5, "percent", "ours (decision 17)";

        /// Windows added up for each size: more where counters are noisy.
        windows_per_size: u32 = 1, "windows", "§4.2 has one";

        /// Decision periods without a usable window before sampling is given up.
        sampling_patience: u32 = 4, "decision periods", "ours (decision 18)";

        /// Windows that a signal that was found false has to last at most.
        most_persistence: u32 = 320, "windows", "ours (decision 19)";
    }
}

impl Parameters {
    /// The parameters of LFOC+: LFOC's, with `pair_clustering` and `early_stop_checks_stalls`.
    #[must_use]
    pub fn plus() -> Self {
        Self { pair_clustering: true, early_stop_checks_stalls: true, ..Self::default() }
    }

    /// `low_threshold`, misses per 1000 cycles.
    #[must_use]
    pub fn low_threshold(&self) -> Q32 {
        let raw = u128::from(self.high_threshold.raw()) * u128::from(self.low_threshold_percent);
        Q32::from_raw(u64::try_from(raw / 100).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_threshold_is_30_percent_of_high_threshold() {
        let default = Parameters::default();
        assert_eq!(default.low_threshold(), Q32::from_int(3));
        for (high, low_threshold_percent, low) in [(199, 1, 1), (u64::MAX, 101, u64::MAX)] {
            let high_threshold = Q32::from_raw(high);
            let p = Parameters { high_threshold, low_threshold_percent, ..default };
            assert_eq!(p.low_threshold(), Q32::from_raw(low));
        }
    }
}
