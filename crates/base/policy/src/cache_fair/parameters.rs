//! The parameters of the cache-fair scheduler.

use core::time::Duration;

use fairways_core::Q32;

use crate::parameter::parameters;

parameters! {
    /// The parameters of the cache-fair scheduler. Decisions are those of docs/decisions.md.
    pub struct Parameters {
        /// How many points a reconnaissance has, at least.
        ///
        /// It ends once it has both these and `reconnaissance` (decision 3).
        data_points: u32 = 10, "points", "§4.1", most 64;

        /// How many instructions a reconnaissance has, at least.
        reconnaissance: u64 = 100_000_000, "instructions", "§4.3";

        /// Instructions between calibrations.
        calibration: u64 = 10_000_000, "instructions", "§4.3";

        /// Instructions from the end of a reconnaissance to the next.
        repetition: u64 = 1_000_000_000, "instructions", "§4.3";

        /// The time after which a reconnaissance ends with the points that it has.
        reconnaissance_limit: Duration = Duration::from_secs(10), "", "ours (decision 3)";

        /// Threads that ran together for less time give no point.
        ///
        /// They would show how the cache is filled. Half the machine's quantum, if that is less.
        shortest_point: Duration = Duration::from_millis(1), "", "ours (decision 3)";

        /// Whether a fair miss rate may lie outside the observed rates, as in the published form.
        extrapolates: bool = false, "", "§4.1 has no bound (decision 15)";

        /// Percent of its CPU time that may be taken from a best-effort thread over a second; 0 for
        /// no bound, which is the published form.
        penalty_limit: u32 = 10, "percent", "§5.4 suggests one (decision 6)";

        /// A thread is measured again when its LLC references per instruction differ by this
        /// percentage; 0 for never.
        ///
        /// References to the last-level cache per instruction, against those of its reconnaissance,
        /// in two windows in a row.
        phase_change: u32 = 25, "percent", "§4.3, no value (decision 11)";

        /// The least ideal CPI: 1 for a core that issues an instruction a cycle.
        ///
        /// The paper's core does; a wider core needs less.
        least_ideal_cpi: Q32 = Q32::ONE, "cycles per instruction", "Equations 3 to 6 (decision 9)";

        /// How many quanta a thread counts as ahead or behind at most.
        ///
        /// While no time is available, debts would grow without end, and be paid long after their
        /// cause.
        most_debt: u32 = 100, "quanta", "ours (decision 4)";
    }
}
