//! The parameters of CASC, by their names in the paper where it has one.

use core::time::Duration;

use fairways_core::Q32;

/// How many threads a CPU's bucket loses when its `MAX_PCMR` is decreased (§4.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Penalty {
    /// Threads that may no longer run on the CPU, as the text defines it.
    #[default]
    Restricted,
    /// Threads in the CPU's bucket, as the text's example has it; of CPUs with the same `MAX_PCMR` the
    /// lowest has them.
    InBucket,
}

/// The parameters of CASC. Decisions are those of docs/decisions.md. Miss rates, and what is compared with
/// them, are L2 misses per 100 references (§4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Parameters {
    /// `MIN_RUNLENGTH`: how long the intervals of a measurement are in sum, at least (§4.2.2.3: 2 ms).
    #[cfg_attr(feature = "serde", serde(with = "fairways_core::nanos"))]
    pub min_runlength: Duration,
    /// Shorter intervals are discarded (§5.3.2 prints 200 ms, a hundred times `min_runlength`; 200 us is
    /// meant: decision CASC 2).
    #[cfg_attr(feature = "serde", serde(with = "fairways_core::nanos"))]
    pub shortest_interval: Duration,
    /// How long a thread must have run before it is measured (§5.3.2: 0.5 ms), counted in the intervals
    /// that the machine tells.
    #[cfg_attr(feature = "serde", serde(with = "fairways_core::nanos"))]
    pub delay: Duration,
    /// The miss rate that the system is not to exceed, at first (§4.3.3: 15).
    pub threshold: Q32,
    /// By which it is raised while CPUs would be left idle (§4.3.1: geometrically; decision CASC 7).
    pub threshold_factor: Q32,
    /// By how much `MAX_PCMR` is decreased in a step (§4.3.1; decision CASC 5); held to 1/16 to 100.
    pub unit: Q32,
    /// `m`: threads that each CPU can run at all times, at least (§4.3.1: 1 for a load that is CPU-bound).
    pub m: u32,
    /// Which CPU's `MAX_PCMR` is decreased (§4.3.1; decision CASC 4).
    pub penalty: Penalty,
    /// After so long, the initial measurement gives threads up that did not run, or goes by the rows that it
    /// has (decisions CASC 9 and 10); without any, its threads are not raised for as long. A thread that has
    /// run on CPU 0 for so long and could not be measured may run everywhere. Ours: about three times as long as §4.2.2.1's took on average; 1 ms at least.
    #[cfg_attr(feature = "serde", serde(with = "fairways_core::nanos"))]
    pub initial_limit: Duration,
    /// A new phase: the miss rate of the groups that a thread runs in is off what is predicted by so many
    /// percent of that, and by more than 1, ... Ours; the text's worst case within a phase is 30 (§4.2).
    pub phase_margin_percent: u32,
    /// ... in so many measurements of `min_runlength` on end. 0: phases are not looked for, as in the paper
    /// (§4.2.1; decision CASC 14).
    pub phase_measurements: u32,
    /// How often the PCMR of one thread, each in its turn, is marked unknown; zero for never (§5.3.4: 250 ms
    /// to find the overhead, where the thread is drawn at random); otherwise 1 ms at least.
    #[cfg_attr(feature = "serde", serde(with = "fairways_core::nanos"))]
    pub remeasure_every: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            min_runlength: Duration::from_millis(2),
            shortest_interval: Duration::from_micros(200),
            delay: Duration::from_micros(500),
            threshold: Q32::from_int(15),
            threshold_factor: Q32::from_raw(5 << 30),
            unit: Q32::ONE,
            m: 1,
            penalty: Penalty::default(),
            initial_limit: Duration::from_secs(30),
            phase_margin_percent: 50,
            phase_measurements: 0,
            remeasure_every: Duration::ZERO,
        }
    }
}

impl Parameters {
    /// Those that follow phases, too: a thread whose groups are off for 25 measurements is measured again.
    #[must_use]
    pub fn following_phases() -> Self {
        Self { phase_measurements: 25, ..Self::default() }
    }
}
