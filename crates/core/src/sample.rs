//! What was counted while a program ran.

use core::time::Duration;

use crate::{AppId, PlanId, Q32};

/// How long a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum Every {
    /// As long as the program takes for this many instructions, at least 1.
    Instructions(u64),
    /// This long, whatever the program does; at least a nanosecond.
    Time(#[cfg_attr(feature = "serde", serde(with = "crate::nanos"))] Duration),
}

/// A window of one program that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Sample {
    /// The program.
    pub app: AppId,
    /// What it did in the window.
    pub counters: Counters,
    /// The ways' worth of lines that it held at the window's end (resctrl's `llc_occupancy` over
    /// the bytes of a way); `None` if that could not be read.
    pub occupancy: Option<Q32>,
    /// How long the window was, as measured: it may be longer than asked for.
    #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
    pub window: Duration,
    /// The plan in force at the window's end; `None` before the first.
    pub plan: Option<PlanId>,
    /// Whether a plan was carried out during the window, so that it tells of two.
    pub straddled: bool,
}

/// What performance counters showed; a counter that could not be read is `None`, never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Counters {
    /// Instructions retired.
    pub instructions: Option<u64>,
    /// Core cycles that the program ran.
    pub cycles: Option<u64>,
    /// References to the first-level cache: loads and stores, or the nearest that can be counted (dCat
    /// Table 2: hits and misses of loads).
    pub l1_references: Option<u64>,
    /// References to the last-level cache.
    pub llc_references: Option<u64>,
    /// Misses of the last-level cache.
    pub llc_misses: Option<u64>,
    /// Cycles stalled while an L2 miss is outstanding (Intel's `CYCLE_ACTIVITY.STALLS_L2_MISS`,
    /// LFOC §4.2).
    pub stalls_l2_miss: Option<u64>,
    /// Cycles stalled for memory: while a miss of the last-level cache is outstanding (Intel's
    /// `CYCLE_ACTIVITY.STALLS_L3_MISS`; cache-fair §3.2's memory stalls, the bus's delay among them). The whole wait, not what it is
    /// longer than a hit's.
    pub stalls_llc_miss: Option<u64>,
    /// Cycles stalled for room in the store buffer (Intel's `RESOURCE_STALLS.SB`; cache-fair §3.2).
    pub stalls_store_buffer: Option<u64>,
    /// Bytes moved from and to memory (resctrl's `mbm_total_bytes`).
    pub memory_bytes: Option<u64>,
    /// Nanoseconds for which the program's threads were on CPUs, summed over them. `None` also where
    /// a program is one thread that is on a CPU all the time, as on the simulated machines.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub cpu_nanos: Option<u64>,
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
    fn threads_that_run_at_a_time_are_cpu_time_by_time() {
        let counters = Counters { cpu_nanos: Some(3_500), ..Counters::default() };
        let running = counters.running_threads(Duration::from_nanos(1000));
        assert_eq!(running, Some(Q32::from_raw(7 << 31)));
        assert_eq!(counters.running_threads(Duration::ZERO), None);
    }
}
