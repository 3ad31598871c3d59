//! The parameters of CASC, by their names in the paper where it has one.

use core::time::Duration;

use fairways_core::Q32;

use crate::parameter::{choices, parameters};

/// How many threads a CPU's bucket loses when its `MAX_PCMR` is decreased (§4.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PenaltyRule {
    /// Threads that may no longer run on the CPU, as the text defines it.
    #[default]
    Restricted,
    /// Threads in the CPU's bucket, as the text's example has it; of CPUs with the same `MAX_PCMR` the
    /// lowest has them.
    InBucket,
}

choices!(PenaltyRule { Restricted = "restricted", InBucket = "in-bucket" });

parameters! {
    /// The parameters of CASC. Decisions are those of docs/decisions.md. Miss rates, and what is
    /// compared with them, are L2 misses per 100 references (§4.2).
    pub struct Parameters {
        /// How long the intervals of a measurement are in sum, at least.
        min_runlength: Duration = Duration::from_millis(2), "", "§4.2.2.3, `MIN_RUNLENGTH`";

        /// Shorter intervals are discarded.
        shortest_interval: Duration = Duration::from_micros(200), "", "§5.3.2 (decision 2)";

        /// How long a thread must have run before it is measured.
        ///
        /// Counted in the intervals that the machine tells.
        delay: Duration = Duration::from_micros(500), "", "§5.3.2";

        /// The miss rate that is not to be exceeded, at first.
        threshold: Q32 = Q32::from_int(15), "misses per 100 references", "§4.3.3";

        /// By which `threshold` is raised while CPUs would be left idle.
        threshold_factor: Q32 = Q32::from_raw(5 << 30), "", "§4.3.1, no value (decision 7)";

        /// By how much `MAX_PCMR` is decreased in a step, 1/16 to 100.
        unit: Q32 = Q32::ONE,
            "misses per 100 references", "§4.3.1 (decision 5)", least 1 << 28, most 100 << 32;

        /// Threads that each CPU can run at all times, at least.
        m: u32 = 1, "threads", "§4.3.1, `m`";

        /// Which CPU's `MAX_PCMR` is decreased: the one where fewest threads are newly restricted,
        /// or fewest are `in-bucket`.
        penalty: PenaltyRule = PenaltyRule::default(), "", "§4.3.1 (decision 4)";

        /// After so long the initial measurement gives up threads and rows that do not run.
        ///
        /// Without any row, its threads are not raised for as long. A thread that has run on CPU 0
        /// for so long and could not be measured may run everywhere. About three times as long as
        /// §4.2.2.1's took on average; 1 ms at least.
        initial_limit: Duration = Duration::from_secs(30), "", "ours (decisions 9 and 10)";

        /// A new phase: groups are off the prediction by more than so many percent of it, and more
        /// than 1.
        ///
        /// The text's worst case within a phase is 30 (§4.2).
        phase_margin_percent: u32 = 50, "percent", "§4.2.1, future work (decision 14)";

        /// A new phase: groups are off the prediction in so many measurements of `min_runlength` on
        /// end; 0 for never, as in the paper.
        phase_measurements: u32 = 0, "measurements", "§4.2.1, future work (decision 14)";

        /// How often one thread, each in its turn, is measured again; 0 for never.
        ///
        /// It is to find the overhead, where the thread is drawn at random; if not zero, 1 ms at
        /// least.
        remeasure_every: Duration = Duration::ZERO, "", "§5.3.4 (decision 15)";
    }
}

impl Parameters {
    /// Those that follow phases, too: a thread whose groups are off for 25 measurements is measured again.
    #[must_use]
    pub fn following_phases() -> Self {
        Self { phase_measurements: 25, ..Self::default() }
    }
}
