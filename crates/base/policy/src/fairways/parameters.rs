//! The parameters of `fairways`.

use core::time::Duration;

use super::objective::Objective;
use crate::parameter::{MILLISECOND, parameters};
use crate::slowdown::Reference;

parameters! {
    /// The parameters of `fairways`.
    pub struct Parameters {
        /// What a plan is to make best: `unfairness`, `stp`, `max-slowdown` or `weighted`.
        objective: Objective = Objective::Unfairness, "", "LFOC §2.1";

        /// How much worse the objective may be than the best found, where throughput makes up for
        /// it: among such plans the least unfairness, or largest slowdown, over STP; 0 for the best
        /// by the objective alone.
        fairness_tolerance_percent: u32 = 1, "percent", "ours (decision Fairways 7)", most 100;

        /// What slowdown is relative to: `best` or `whole-cache`.
        reference: Reference = Reference::Best, "", "LFOC, equation 2 (decision LFOC 1)";

        /// Clusterings that a decision tries at most; the best so far is the plan.
        trials: u32 = 20_000, "clusterings", "ours", least 1;

        /// The gain that a plan must bring if every line moves and it lasts a second; in proportion
        /// if fewer move, or if phases last longer.
        move_cost_percent: u32 = 1, "percent", "ours";

        /// How much slower a promised program may be where it shares ways than alone with its own.
        tolerance_percent: u32 = 2, "percent", "ours; dCat §3.1";

        /// How often it decides on what was observed.
        decision_period: Duration = Duration::from_millis(250), "", "ours", least MILLISECOND;

        /// How long a window is in normal operation.
        normal_window: Duration = Duration::from_millis(50), "", "ours", least MILLISECOND;

        /// How long a window is after a start and while sampling.
        sampling_window: Duration = Duration::from_millis(1), "", "ours", least MILLISECOND;

        /// Short windows after a program's start.
        first_windows: u32 = 10, "windows", "ours", least 1;

        /// Sampling ends after this many windows with the partition full.
        full_windows: u32 = 4, "windows", "ours", least 1;

        /// Sampling ends after this many windows in a row with few misses and hardly a moved line.
        still_windows: u32 = 5, "windows", "ours", least 1;

        /// Sampling ends after this many windows; where ways were still being filled, the next one
        /// after up to eight times as many.
        most_windows: u32 = 80, "windows", "ours", least 1;

        /// The share of the time in which a program may be sampled, beyond the first second.
        sampling_percent: u32 = 5, "percent", "ours";

        /// A program is sampled if it could be slower than the slowest by more than this.
        stake_percent: u32 = 1, "percent", "ours";

        /// Whether it limits memory bandwidth, where the machine can and its capacity is known.
        limit_bandwidth: bool = true, "", "ours";

        /// The use of memory's capacity from which on memory is full.
        full_percent: u32 = 90, "percent", "Heracles, as reimplemented", most 100;

        /// The use of memory's capacity below which memory has room.
        free_percent: u32 = 75, "percent", "ours", most 100;

        /// Spans in a row that must be full before a limit is lowered, or have room before one is
        /// raised.
        gate_spans: u32 = 3, "spans", "ours", least 1;

        /// How long a span is: how often it decides on limits of memory bandwidth.
        limit_period: Duration = Duration::from_millis(500), "", "PARTIES §4", least MILLISECOND;

        /// After this many spans a lower limit is judged.
        judge_spans: u32 = 2, "spans", "ours", least 1;

        /// What a limit must gain: of the objective where all programs have profiles, else of
        /// speed.
        limit_gain_percent: u32 = 1, "percent", "ours";

        /// The least speed of a limited program, of that without a limit.
        limit_floor_percent: u32 = 60, "percent", "ours", most 100;

        /// How long a limit that did not help is not tried again; twice as long each time.
        limit_retry: Duration = Duration::from_secs(30), "", "ours", least MILLISECOND;

        /// Whether turns are made longer and shorter for what the ways leave unfair, where threads
        /// take turns and some are best-effort.
        compensate_cpu: bool = true, "", "ours";

        /// Percent of its CPU time that may be taken from a best-effort thread over a second; 0 for
        /// no bound.
        penalty_limit: u32 = 10, "percent", "cache-fair §5.4, decision 6";
    }
}
