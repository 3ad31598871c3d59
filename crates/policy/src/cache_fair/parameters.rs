//! The parameters of the cache-fair scheduler.

use core::time::Duration;

use fairways_core::Q32;

/// The parameters of the cache-fair scheduler. Decisions are those of docs/decisions.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Parameters {
    /// Data points at the end of a reconnaissance, at least (§4.1: approximately ten); at most
    /// [`MOST_POINTS`](super::MOST_POINTS).
    pub data_points: u32,
    /// Instructions of a reconnaissance, at least (§4.3: 100 million). It ends once it has both (decision
    /// cache-fair 3).
    pub reconnaissance: u64,
    /// Instructions between calibrations (§4.3: ten million).
    pub calibration: u64,
    /// Instructions from the end of a reconnaissance to the next (§4.3: one billion).
    pub repetition: u64,
    /// A reconnaissance ends after so long with what there is (decision cache-fair 3; ours).
    #[cfg_attr(feature = "serde", serde(with = "fairways_core::nanos"))]
    pub reconnaissance_limit: Duration,
    /// Threads that ran together for less give no data point: what they show is the cache being filled.
    /// Half the machine's quantum, if that is less. Ours.
    #[cfg_attr(feature = "serde", serde(with = "fairways_core::nanos"))]
    pub shortest_point: Duration,
    /// Whether a fair miss rate may lie outside what was observed beside any group of co-runners, as it may in the
    /// form that was published (§4.1 says no bound; decision cache-fair 15). By default it may not.
    pub extrapolates: bool,
    /// Percent of a best-effort thread's entitled CPU time that may be taken from it over a sliding second;
    /// 0 for no bound, which is the form that was published (§5.4 suggests one; decision cache-fair 6).
    pub penalty_limit: u32,
    /// A thread's cache accesses have changed: references to the last-level cache per instruction differ from
    /// those of its reconnaissance by percent, at least, in two windows in a row; 0 for never (§4.3 suggests
    /// it; decision cache-fair 11). Ours.
    pub phase_change: u32,
    /// The least IdealCPI, cycles per instruction: 1 for a core that issues one instruction a cycle, as the
    /// paper's does (decision cache-fair 9). A wider core needs less.
    pub least_ideal_cpi: Q32,
    /// The most CPU time that a thread is held to be ahead or behind, in quanta. Ours: while time is not to be
    /// had, debts would grow without end, and be paid long after what caused them.
    pub most_debt: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            data_points: 10,
            reconnaissance: 100_000_000,
            calibration: 10_000_000,
            repetition: 1_000_000_000,
            reconnaissance_limit: Duration::from_secs(10),
            shortest_point: Duration::from_millis(1),
            extrapolates: false,
            penalty_limit: 10,
            phase_change: 25,
            least_ideal_cpi: Q32::ONE,
            most_debt: 100,
        }
    }
}
