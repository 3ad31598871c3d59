//! What performance counters count.

use core::time::Duration;

use crate::Q32;

/// The counters: of each its documentation, which is its help, its name in [`Counter`] and in
/// [`Counters`], and its unit.
macro_rules! counters {
    ($(
        $(#[doc = $doc:literal])*
        $(#[serde($($serde:tt)*)])?
        $Counter:ident, $field:ident, $unit:literal;
    )*) => {
        /// One of [`Counters`]' numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Counter {
            $($(#[doc = $doc])* $Counter,)*
        }

        impl Counter {
            /// All of them, in [`Counters`]' order: the place of each is its number.
            pub const ALL: [Self; [$(Self::$Counter),*].len()] = [$(Self::$Counter),*];

            /// Its name, which is the field's of [`Counters`].
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Counter => stringify!($field),)*
                }
            }

            /// What it counts.
            #[must_use]
            pub const fn unit(self) -> &'static str {
                match self {
                    $(Self::$Counter => $unit,)*
                }
            }

            /// What it is.
            #[must_use]
            pub const fn help(self) -> &'static str {
                match self {
                    $(Self::$Counter => concat!($($doc),*).trim_ascii(),)*
                }
            }
        }

        /// What performance counters showed; a counter that could not be read is `None`, never 0.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct Counters {
            $(
                $(#[doc = $doc])*
                $(#[cfg_attr(feature = "serde", serde($($serde)*))])?
                pub $field: Option<u64>,
            )*
        }

        impl Counters {
            /// Nothing was counted, of everything.
            pub const ZERO: Self = Self { $($field: Some(0),)* };

            /// What `count` says of each.
            pub fn from_fn(mut count: impl FnMut(Counter) -> Option<u64>) -> Self {
                Self { $($field: count(Counter::$Counter),)* }
            }

            /// What was counted of one.
            #[must_use]
            pub const fn get(&self, counter: Counter) -> Option<u64> {
                match counter {
                    $(Counter::$Counter => self.$field,)*
                }
            }

            /// Where it stands.
            pub const fn get_mut(&mut self, counter: Counter) -> &mut Option<u64> {
                match counter {
                    $(Counter::$Counter => &mut self.$field,)*
                }
            }
        }
    };
}

counters! {
    /// Instructions retired.
    Instructions, instructions, "instructions";
    /// Core cycles that the program ran.
    Cycles, cycles, "cycles";
    /// References to the first-level cache: loads and stores, or the nearest that can be counted (dCat
    /// Table 2: hits and misses of loads).
    L1References, l1_references, "references";
    /// References to the last-level cache.
    LlcReferences, llc_references, "references";
    /// Misses of the last-level cache.
    LlcMisses, llc_misses, "misses";
    /// Cycles stalled while an L2 miss is outstanding (Intel's `CYCLE_ACTIVITY.STALLS_L2_MISS`,
    /// LFOC §4.2).
    StallsL2Miss, stalls_l2_miss, "cycles";
    /// Cycles stalled for memory: while a miss of the last-level cache is outstanding (Intel's
    /// `CYCLE_ACTIVITY.STALLS_L3_MISS`; cache-fair §3.2's memory stalls, the bus's delay among them).
    /// The whole wait, not what it is longer than a hit's.
    StallsLlcMiss, stalls_llc_miss, "cycles";
    /// Cycles stalled for room in the store buffer (Intel's `RESOURCE_STALLS.SB`; cache-fair §3.2).
    StallsStoreBuffer, stalls_store_buffer, "cycles";
    /// Bytes moved from and to memory (resctrl's `mbm_total_bytes`).
    MemoryBytes, memory_bytes, "bytes";
    /// Nanoseconds for which the program's threads were on CPUs, summed over them. `None` also where
    /// a program is one thread that is on a CPU all the time, as on the simulated machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    CpuNanos, cpu_nanos, "ns";
}

impl Counters {
    /// Instructions per cycle; `None` if a counter is missing or no cycle ran.
    #[must_use]
    pub fn ipc(&self) -> Option<Q32> {
        self.per_cycle(self.instructions, 1)
    }

    /// LLC misses per 1000 cycles; `None` likewise.
    #[must_use]
    pub fn llcmpkc(&self) -> Option<Q32> {
        self.per_cycle(self.llc_misses, 1000)
    }

    /// The share of cycles stalled while an L2 miss is outstanding, 0 to 1; `None` likewise.
    #[must_use]
    pub fn stalls_l2_miss_share(&self) -> Option<Q32> {
        self.per_cycle(self.stalls_l2_miss, 1)
    }

    /// How many of the program's threads were on CPUs at a time in a window of this length, in the
    /// mean; `None` if that was not counted.
    #[must_use]
    pub fn running_threads(&self, window: Duration) -> Option<Q32> {
        let nanos = u64::try_from(window.as_nanos()).ok().filter(|&nanos| nanos > 0)?;
        Some(Q32::ratio(self.cpu_nanos?, nanos))
    }

    /// Both as one, counter by counter.
    #[must_use]
    pub fn zip_with(
        &self,
        other: &Self,
        mut both: impl FnMut(Option<u64>, Option<u64>) -> Option<u64>,
    ) -> Self {
        Self::from_fn(|counter| both(self.get(counter), other.get(counter)))
    }

    /// The sum of both: what only one has is that one's, what none has is missing.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.zip_with(other, |one, other| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        })
    }

    fn per_cycle(&self, count: Option<u64>, scale: u64) -> Option<Q32> {
        let cycles = self.cycles.filter(|&cycles| cycles > 0)?;
        Some(Q32::ratio(count?.saturating_mul(scale), cycles))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_not_zero() {
        let counters = Counters {
            instructions: Some(3000),
            cycles: Some(2000),
            llc_misses: Some(7),
            ..Counters::default()
        };
        assert_eq!(counters.ipc(), Some(Q32::from_raw(3 << 31)));
        assert_eq!(counters.llcmpkc(), Some(Q32::from_raw(7 << 31)));
        assert_eq!(counters.stalls_l2_miss_share(), None);
        assert_eq!(Counters { cycles: None, ..counters }.ipc(), None);
        assert_eq!(Counters { cycles: Some(0), ..counters }.ipc(), None);
        assert_eq!(counters.running_threads(Duration::from_secs(1)), None);
    }

    #[test]
    fn a_sum_has_what_either_has() {
        let one = Counters { instructions: Some(3), cycles: Some(u64::MAX), ..Counters::default() };
        let other = Counters { cycles: Some(1), llc_misses: Some(0), ..Counters::default() };
        let sum = Counters { llc_misses: Some(0), ..one };
        assert_eq!((one.plus(&other), other.plus(&one)), (sum, sum));
    }

    #[test]
    fn each_counter_is_in_its_place() {
        let mut counters = Counters::from_fn(|counter| Some(counter as u64));
        for (place, counter) in (0..).zip(Counter::ALL) {
            assert_eq!(counters.get(counter), Some(place));
            *counters.get_mut(counter) = None;
            assert!(!counter.help().is_empty() && !counter.unit().is_empty());
        }
        assert_eq!(counters, Counters::default());
        assert_eq!(Counter::MemoryBytes.name(), "memory_bytes");
        assert_eq!(Counter::Instructions.help(), "Instructions retired.");
    }

    #[test]
    fn threads_that_run_at_a_time_are_cpu_time_by_time() {
        let counters = Counters { cpu_nanos: Some(3_500), ..Counters::default() };
        let running = counters.running_threads(Duration::from_nanos(1000));
        assert_eq!(running, Some(Q32::from_raw(7 << 31)));
        assert_eq!(counters.running_threads(Duration::ZERO), None);
    }
}
