//! Performance counters.

use core::time::Duration;

use crate::Q32;

/// Each counter: its documentation (also its help text), its name in [`Counter`] and in
/// [`Counters`], and its unit.
macro_rules! counters {
    ($(
        $(#[doc = $doc:literal])*
        $(#[serde($($serde:tt)*)])?
        $Counter:ident, $field:ident, $unit:literal;
    )*) => {
        /// A quantity that performance counters count: one field of [`Counters`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Counter {
            $($(#[doc = $doc])* $Counter,)*
        }

        impl Counter {
            /// All counters, in the order of [`Counters`]' fields: a counter's index is its number.
            pub const ALL: [Self; [$(Self::$Counter),*].len()] = [$(Self::$Counter),*];

            /// The counter's name: that of its field in [`Counters`].
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Counter => stringify!($field),)*
                }
            }

            /// The unit that it counts.
            #[must_use]
            pub const fn unit(self) -> &'static str {
                match self {
                    $(Self::$Counter => $unit,)*
                }
            }

            /// One sentence that describes it.
            #[must_use]
            pub const fn help(self) -> &'static str {
                match self {
                    $(Self::$Counter => concat!($($doc),*).trim_ascii(),)*
                }
            }
        }

        /// Readings of performance counters. A counter that could not be read is `None`, never 0.
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
            /// Every counter at 0.
            pub const ZERO: Self = Self { $($field: Some(0),)* };

            /// The readings that `count` returns, one for each counter.
            #[inline]
            pub fn from_fn(mut count: impl FnMut(Counter) -> Option<u64>) -> Self {
                Self { $($field: count(Counter::$Counter),)* }
            }

            /// The reading of one counter.
            #[must_use]
            #[inline]
            pub const fn get(&self, counter: Counter) -> Option<u64> {
                match counter {
                    $(Counter::$Counter => self.$field,)*
                }
            }

            /// The reading of one counter, to be changed.
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
    /// References to the first-level cache: loads and stores, or the nearest that can be counted
    /// (dCat Table 2: hits and misses of loads).
    L1References, l1_references, "references";
    /// References to the last-level cache.
    LlcReferences, llc_references, "references";
    /// Misses of the last-level cache.
    LlcMisses, llc_misses, "misses";
    /// Cycles stalled while an L2 miss is outstanding (Intel's `CYCLE_ACTIVITY.STALLS_L2_MISS`,
    /// LFOC §4.2).
    StallsL2Miss, stalls_l2_miss, "cycles";
    /// Cycles stalled for memory: while a miss of the last-level cache is outstanding (Intel's
    /// `CYCLE_ACTIVITY.STALLS_L3_MISS`; cache-fair §3.2's memory stalls, the bus's delay among
    /// them). The whole wait counts, not only the part beyond a hit's.
    StallsLlcMiss, stalls_llc_miss, "cycles";
    /// Cycles stalled for room in the store buffer (Intel's `RESOURCE_STALLS.SB`; cache-fair §3.2).
    StallsStoreBuffer, stalls_store_buffer, "cycles";
    /// Bytes moved from and to memory (resctrl's `mbm_total_bytes`).
    MemoryBytes, memory_bytes, "bytes";
    /// Nanoseconds for which the program's threads were on CPUs, summed over them. `None` also
    /// where a program is one thread that is on a CPU all the time, as on the simulated machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    CpuNanos, cpu_nanos, "ns";
}

impl Counters {
    /// Instructions per cycle; `None` if a counter is missing or the program ran for no cycle.
    #[must_use]
    pub fn ipc(&self) -> Option<Q32> {
        self.per_cycle(self.instructions, 1)
    }

    /// LLC misses per 1000 cycles; `None` as for [`ipc`](Self::ipc).
    #[must_use]
    pub fn llcmpkc(&self) -> Option<Q32> {
        self.per_cycle(self.llc_misses, 1000)
    }

    /// The share of cycles stalled while an L2 miss is outstanding, 0 to 1; `None` as for
    /// [`ipc`](Self::ipc).
    #[must_use]
    pub fn stalls_l2_miss_share(&self) -> Option<Q32> {
        self.per_cycle(self.stalls_l2_miss, 1)
    }

    /// The mean number of the program's threads that were on CPUs at a time in a window of this
    /// length; `None` if the counter is missing.
    #[must_use]
    pub fn running_threads(&self, window: Duration) -> Option<Q32> {
        let nanos = u64::try_from(window.as_nanos()).ok().filter(|&nanos| nanos > 0)?;
        Some(Q32::ratio(self.cpu_nanos?, nanos))
    }

    /// Combines both readings, counter by counter.
    #[must_use]
    #[inline]
    pub fn zip_with(
        &self,
        other: &Self,
        mut both: impl FnMut(Option<u64>, Option<u64>) -> Option<u64>,
    ) -> Self {
        Self::from_fn(|counter| both(self.get(counter), other.get(counter)))
    }

    /// The sum of both. A counter that only one has keeps that reading; a counter that neither has
    /// is missing.
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
