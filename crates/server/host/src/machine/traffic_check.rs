//! Whether counts of memory traffic are plausible.
//!
//! A hypervisor, an erratum of the processor or another tool may make resctrl's counts wrong.
//! Impossible counts are treated as missing: a policy that read them would limit the wrong program.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fairways_core::Counters;

use super::window_table::WindowKey;

/// More than the memory behind any last-level cache moves in a second: 2 TB.
const MOST_PER_SECOND: u64 = 2_000_000_000_000;

/// Counts up to this many times a host's measured memory bandwidth are possible, as the measurement
/// shows what one kind of access reaches.
const OVER_MEASURED: u64 = 2;

/// How long after a window's end its bytes may be read.
const LATE: Duration = Duration::from_millis(10);

/// With this many misses, some bytes must have been counted: those of 16 MiB, several times the
/// unit in which any processor counts bytes.
pub(super) const MANY_MISSES: u64 = 1 << 18;

/// Compares counts of memory traffic with the memory's bandwidth, and with misses.
#[derive(Debug, Default)]
pub(super) struct TrafficCheck {
    /// The misses of each program since its bytes last increased.
    misses_without_bytes: BTreeMap<WindowKey, u64>,
    /// The programs for which it was logged that they have too many bytes.
    exceeding: BTreeSet<WindowKey>,
}

impl TrafficCheck {
    /// Removes the bytes of a window of that length if they are impossible. `measured_mbps` is the
    /// memory's bandwidth, if it was measured, and `misses` is what hardware counted in the same
    /// window.
    pub(super) fn check(
        &mut self,
        key: WindowKey,
        counters: &mut Counters,
        length: Duration,
        measured_mbps: Option<u32>,
        misses: Option<u64>,
    ) {
        let Some(bytes) = counters.memory_bytes else { return };
        if bytes > most(length, measured_mbps) {
            let (domain, app) = key;
            if self.exceeding.insert(key) {
                tracing::warn!(
                    target: "fairways::machine", domain, app = app.0, bytes, ?length,
                    "more bytes in a window than memory can move: they are taken as missing, here and later"
                );
            }
            counters.memory_bytes = None;
            return;
        }
        if bytes > 0 {
            self.misses_without_bytes.remove(&key);
            return;
        }
        let before = self.misses_without_bytes.entry(key).or_default();
        *before = before.saturating_add(misses.unwrap_or(0));
        if *before >= MANY_MISSES {
            counters.memory_bytes = None;
        }
    }

    /// The programs whose bytes stay at 0 in spite of many misses, by domain.
    pub(super) fn silent(&self) -> impl Iterator<Item = WindowKey> {
        let silent = self.misses_without_bytes.iter().filter(|(_, misses)| **misses >= MANY_MISSES);
        silent.map(|(&key, _)| key)
    }

    /// Forgets a program in a domain.
    pub(super) fn forget(&mut self, key: WindowKey) {
        self.misses_without_bytes.remove(&key);
        self.exceeding.remove(&key);
    }

    /// Forgets a domain.
    pub(super) fn leave(&mut self, domain: u32) {
        self.misses_without_bytes.retain(|(of, _), _| *of != domain);
        self.exceeding.retain(|(of, _)| *of != domain);
    }
}

/// The most bytes that memory can have moved in a window.
fn most(length: Duration, measured_mbps: Option<u32>) -> u64 {
    let measured = measured_mbps.map(|mbps| u64::from(mbps) * 1_000_000 * OVER_MEASURED);
    let per_second = measured.map_or(MOST_PER_SECOND, |measured| measured.min(MOST_PER_SECOND));
    let bytes = u128::from(per_second) * (length + LATE).as_nanos() / 1_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use fairways_core::AppId;

    use super::*;

    const KEY: WindowKey = (0, AppId(1));

    /// The bytes of a window after the check.
    fn checked(
        check: &mut TrafficCheck,
        bytes: u64,
        misses: Option<u64>,
        millis: u64,
        measured_mbps: Option<u32>,
    ) -> Option<u64> {
        let mut counters = Counters { memory_bytes: Some(bytes), ..Counters::default() };
        let length = Duration::from_millis(millis);
        check.check(KEY, &mut counters, length, measured_mbps, misses);
        counters.memory_bytes
    }

    #[test]
    fn more_than_memory_can_move_is_missing() {
        let mut check = TrafficCheck::default();
        for (bytes, millis, measured, is_there) in [
            (100_000_000_000_000, 50, None, false),
            (110_000_000_000, 50, None, true),
            (130_000_000_000, 50, None, false),
            (20_000_000_000, 1000, Some(100_000), true),
            (190_000_000_000, 1000, Some(100_000), true),
            (210_000_000_000, 1000, Some(100_000), false),
            // Bytes that are read late.
            (1_000_000_000, 1, Some(100_000), true),
            (u64::MAX, 100_000, Some(u32::MAX), false),
        ] {
            let left = checked(&mut check, bytes, Some(1), millis, measured);
            assert_eq!(left.is_some(), is_there, "{bytes} in {millis} ms of {measured:?}");
        }
        assert_eq!(check.silent().count(), 0);
    }

    #[test]
    fn no_bytes_beside_many_misses_are_missing() {
        let mut check = TrafficCheck::default();
        let part = MANY_MISSES / 4;
        for _ in 0..3 {
            assert_eq!(checked(&mut check, 0, Some(part), 50, None), Some(0));
        }
        assert_eq!(check.silent().count(), 0);
        assert_eq!(checked(&mut check, 0, Some(part), 50, None), None);
        assert_eq!(checked(&mut check, 0, Some(0), 50, None), None, "still not");
        assert_eq!(check.silent().collect::<Vec<_>>(), [KEY]);
        assert_eq!(checked(&mut check, 64, Some(part), 50, None), Some(64));
        assert_eq!(check.silent().count(), 0, "they move again");
    }

    /// A program that hits the cache moves no bytes, and a missing count shows nothing.
    #[test]
    fn no_bytes_beside_few_misses_are_none() {
        let mut check = TrafficCheck::default();
        for misses in [None, Some(0), Some(MANY_MISSES - 1)] {
            assert_eq!(checked(&mut check, 0, misses, 50, None), Some(0));
        }
        check.forget(KEY);
        assert_eq!(checked(&mut check, 0, Some(1), 50, None), Some(0));
        check.leave(0);
        assert_eq!(check.silent().count(), 0);
    }
}
