//! The parameters of CASC, under the paper's names where it has one.

use core::time::Duration;

use fairways_core::Q32;

use crate::parameter::{choices, parameters};

/// How the penalty of decreasing a CPU's `MAX_PCMR` is counted (§4.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PenaltyRule {
    /// The threads that may no longer run on the CPU, as the text defines it.
    #[default]
    Restricted,
    /// The threads in the CPU's bucket, as in the text's example; of CPUs with the same `MAX_PCMR`,
    /// the lowest one has them.
    InBucket,
}

choices!(PenaltyRule { Restricted = "restricted", InBucket = "in-bucket" });

parameters! {
    /// The parameters of CASC. Decisions are those of docs/decisions.md. Miss rates, and what is
    /// compared with them, are L2 misses per 100 references (§4.2).
    pub struct Parameters {
        /// The least total length of the intervals of a measurement.
        min_runlength: Duration = Duration::from_millis(2), "", "§4.2.2.3, `MIN_RUNLENGTH`";

        /// Shorter intervals are discarded.
        shortest_interval: Duration = Duration::from_micros(200), "", "§5.3.2 (decision 2)";

        /// How long a thread must have run before it is measured.
        ///
        /// Counted in the intervals that the machine reports.
        delay: Duration = Duration::from_micros(500), "", "§5.3.2";

        /// The miss rate that is not to be exceeded, before it is raised.
        threshold: Q32 = Q32::from_int(15), "misses per 100 references", "§4.3.3";

        /// The factor by which `threshold` is raised while CPUs would be left idle.
        threshold_factor: Q32 = Q32::from_raw(5 << 30), "", "§4.3.1, no value (decision 7)";

        /// By how much `MAX_PCMR` is decreased in a step, 1/16 to 100.
        unit: Q32 = Q32::ONE,
            "misses per 100 references", "§4.3.1 (decision 5)", least 1 << 28, most 100 << 32;

        /// How many threads each CPU can run at all times, at least.
        m: u32 = 1, "threads", "§4.3.1, `m`";

        /// Which CPU's `MAX_PCMR` is decreased: the one where fewest threads are newly restricted,
        /// or fewest are `in-bucket`.
        penalty: PenaltyRule = PenaltyRule::default(), "", "§4.3.1 (decision 4)";

        /// The time after which the initial measurement gives up threads and rows that do not run.
        ///
        /// Without any row, its threads are then not raised for the same time. A thread that has
        /// run on CPU 0 for this time without being measured may run everywhere. About three times
        /// as long as §4.2.2.1's took on average; at least 1 ms.
        initial_limit: Duration = Duration::from_secs(30), "", "ours (decisions 9 and 10)";

        /// A new phase: groups are off the prediction by more than this percentage of it, and by
        /// more than 1.
        ///
        /// The text's worst case within a phase is 30 (§4.2).
        phase_margin_percent: u32 = 50, "percent", "§4.2.1, future work (decision 14)";

        /// A new phase: groups are off the prediction in this many measurements of `min_runlength`
        /// in a row; 0 for never, as in the paper.
        phase_measurements: u32 = 0, "measurements", "§4.2.1, future work (decision 14)";

        /// How often one thread, each in its turn, is measured again; 0 for never.
        ///
        /// The paper draws the thread at random and measures the overhead; at least 1 ms if not 0.
        remeasure_every: Duration = Duration::ZERO, "", "§5.3.4 (decision 15)";
    }
}

impl Parameters {
    /// The parameters for following phases: a thread whose groups are off for 25 measurements is
    /// measured again.
    #[must_use]
    pub fn following_phases() -> Self {
        Self { phase_measurements: 25, ..Self::default() }
    }
}
