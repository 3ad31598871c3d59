//! The parameters of dCat, by their names in the paper.

use core::time::Duration;

use fairways_core::Q32;

/// What spare ways are given away for (§3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Objective {
    /// As many workloads as can gain: spare ways are divided evenly, whatever they bring.
    #[default]
    MaxFairness,
    /// The largest sum of normalised IPC that the performance tables promise.
    MaxPerformance,
}

/// The parameters of dCat. Decisions are those of docs/decisions.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Parameters {
    /// How long a round is (§4: 1 s).
    #[cfg_attr(feature = "serde", serde(with = "fairways_core::nanos"))]
    pub period: Duration,
    /// What spare ways are given away for (§3.5).
    pub objective: Objective,
    /// A workload hardly uses the LLC: LLC references per 1000 instructions at most (§3.4 names it,
    /// without a value: decision dCat 2).
    pub llc_ref_thr: Q32,
    /// Misses are not trivial: percent of LLC references above (§5.1).
    pub llc_miss_rate_thr: Q32,
    /// IPC improves: percent of the baseline's, at least (§5.1; decision dCat 18). A workload that
    /// has given ways away loses too much at four fifths of this (decision dCat 1).
    pub ipc_imp_thr: Q32,
    /// A new phase: L1 references per instruction differ by percent, at least (§3.3).
    pub phase_change_thr: Q32,
    /// Streaming: no gain with so many times the baseline's ways (§3.4).
    pub streaming_thr: u32,
    /// Idle: fewer cycles in a microsecond. Ours: a core that only does its system's chores is idle,
    /// whatever these look like.
    pub idle_mhz: u32,
    /// Whether a Receiver stops once its misses are trivial, though IPC still improves, as §3.4 prints
    /// it. §3.5 and the evaluation have it go on (decision dCat 19).
    pub receiver_stops_on_misses: bool,
    /// Whether it is a new phase, too, if with the same ways IPC changes by `ipc_imp_thr`, LLC references
    /// per instruction by `phase_change_thr`, or LLC misses by half. Ours: it finds phases whose L1
    /// references are alike, and takes for one what neighbours do to memory.
    pub reclaim_on_ipc: bool,
    /// Whether a promise that does not fit is refused, and not only warned of (decision dCat 9).
    pub refuse_overcommitment: bool,
    /// Phases that are remembered of a workload; the one that was seen longest ago is forgotten
    /// first (decision dCat 10).
    pub most_phases: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            period: Duration::from_secs(1),
            objective: Objective::default(),
            llc_ref_thr: Q32::from_int(1),
            llc_miss_rate_thr: Q32::from_int(3),
            ipc_imp_thr: Q32::from_int(5),
            phase_change_thr: Q32::from_int(10),
            streaming_thr: 3,
            idle_mhz: 10,
            receiver_stops_on_misses: false,
            reclaim_on_ipc: false,
            refuse_overcommitment: false,
            most_phases: 16,
        }
    }
}

/// Whether `part`, a difference of quotients that were rounded down, is at least `percent` percent of
/// `whole`.
pub(super) fn reaches(part: Q32, percent: Q32, whole: Q32) -> bool {
    const HUNDRED: u128 = 100 << 32;
    let rounded_up = u128::from(part.raw()) + 1;
    rounded_up * HUNDRED >= u128::from(percent.raw()) * u128::from(whole.raw())
}

/// `a` - `b`; nothing if that is less.
pub(super) fn over(a: Q32, b: Q32) -> Q32 {
    Q32::from_raw(a.raw().saturating_sub(b.raw()))
}
