//! The parameters of dCat, under the paper's names.

use core::time::Duration;

use fairways_core::Q32;

use crate::parameter::{MILLISECOND, choices, parameters};

/// The goal of dividing spare ways (§3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpareWaysGoal {
    /// Fairness: spare ways are divided evenly among the workloads that gain, however much each
    /// gains.
    #[default]
    MaxFairness,
    /// Performance: the largest sum of normalised IPC by the performance tables.
    MaxPerformance,
}

choices!(SpareWaysGoal { MaxFairness = "max-fairness", MaxPerformance = "max-performance" });

parameters! {
    /// The parameters of dCat. Decisions are those of docs/decisions.md.
    pub struct Parameters {
        /// The length of a round.
        period: Duration = Duration::from_secs(1), "", "§4", least MILLISECOND;

        /// The goal of dividing spare ways: `max-fairness`, evenly among all programs that gain;
        /// `max-performance`, for the largest sum of normalised IPC.
        objective: SpareWaysGoal = SpareWaysGoal::default(), "", "§3.5";

        /// Hardly references the LLC: references per 1000 instructions at most.
        llc_ref_thr: Q32 = Q32::from_int(1),
            "references per 1000 instructions", "§3.4, `llc_ref_thr`, no value (decision 2)";

        /// Misses are not trivial: percent of LLC references above.
        llc_miss_rate_thr: Q32 = Q32::from_int(3), "percent", "§5.1, `llc_miss_rate_thr`";

        /// IPC improves: percent of the baseline's IPC, at least.
        ///
        /// A workload that has given ways away loses too much at four fifths of this (decision 1).
        ipc_imp_thr: Q32 = Q32::from_int(5), "percent", "§5.1, `ipc_imp_thr`";

        /// A new phase: L1 references per instruction differ by percent, at least.
        phase_change_thr: Q32 = Q32::from_int(10), "percent", "§3.3";

        /// Streaming: no gain with this multiple of the baseline.
        streaming_thr: u32 = 3, "times the baseline", "§3.4";

        /// Idle: fewer cycles in a microsecond.
        ///
        /// A core that only runs the system's housekeeping is idle.
        idle_mhz: u32 = 10, "MHz", "ours";

        /// Whether a Receiver stops once its misses are trivial, though IPC still improves, as §3.4
        /// prints it.
        ///
        /// By §3.5 and the evaluation, it goes on.
        receiver_stops_on_misses: bool = false, "", "§3.4 against §3.5 (decision 19)";

        /// Whether a phase also ends if, with the same ways, IPC changes by `ipc_imp_thr`, LLC
        /// references per instruction by `phase_change_thr`, or LLC misses by half.
        ///
        /// It finds phases whose L1 references are alike, but mistakes for a phase how neighbours
        /// load the memory.
        reclaim_on_ipc: bool = false, "", "ours";

        /// Whether a promise that does not fit is refused, instead of causing a warning.
        refuse_overcommitment: bool = false, "", "ours (decision 9)";

        /// How many phases of a workload are remembered.
        ///
        /// The phase that was seen longest ago is forgotten first (decision 10).
        most_phases: u32 = 16, "phases", "ours";
    }
}

/// Whether `part`, a difference of quotients that were rounded down, is at least `percent` percent
/// of `whole`.
pub(super) fn reaches(part: Q32, percent: Q32, whole: Q32) -> bool {
    const HUNDRED: u128 = 100 << 32;
    let rounded_up = u128::from(part.raw()) + 1;
    rounded_up * HUNDRED >= u128::from(percent.raw()) * u128::from(whole.raw())
}

/// `a` - `b`; 0 if `b` is larger.
pub(super) fn over(a: Q32, b: Q32) -> Q32 {
    Q32::from_raw(a.raw().saturating_sub(b.raw()))
}
