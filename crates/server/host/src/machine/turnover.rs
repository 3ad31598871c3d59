//! Whether resctrl counts all of a program's lines.
//!
//! A line counts for the monitoring group of the thread that brought it in, and hits do not change
//! that (Intel SDM 3B, 17.18.5.2). So a group that begins while its program runs counts 0 at first,
//! and the program hits lines that count for its previous group. Only lines that it brings in again
//! count for the new group. Once these are 1.5 times the group's count, few of the older lines are
//! left, except those that it hits so often that nothing replaces them. A program that hardly
//! misses may never get that far.

use std::collections::{BTreeMap, BTreeSet};

use fairways_core::{AppId, Counters};

use super::window_table::WindowKey;

/// Bytes of a line.
const LINE: u64 = 64;

/// The least number of ways whose lines a program has to bring in: small occupancies are counted in
/// coarse units, and lines may stay in a private cache before they reach this one.
const LEAST_WAYS: u64 = 2;

/// The bytes that programs brought in since their groups began.
#[derive(Debug, Default)]
pub(super) struct TurnoverCheck {
    /// Programs that had not run before their groups began.
    whole: BTreeSet<AppId>,
    of: BTreeMap<WindowKey, BroughtIn>,
}

/// The bytes that a program brought in since its group began.
#[derive(Clone, Copy, Debug)]
struct BroughtIn {
    /// The number of the group that counts it.
    group: u32,
    bytes: u64,
    has_turned_over: bool,
}

impl TurnoverCheck {
    /// Adds a program that has not run yet: its group will count all its lines.
    pub(super) fn begin_whole(&mut self, app: AppId) {
        self.whole.insert(app);
    }

    /// Adds a window, at the end of which the program's group of this number counted `occupied`
    /// bytes, where a way has `way` bytes. Returns whether these are all that the program occupies.
    pub(super) fn is_all(
        &mut self,
        key: WindowKey,
        group: u32,
        (occupied, way): (u64, u64),
        counters: &Counters,
    ) -> bool {
        let (_, app) = key;
        // Its first group has the number 0.
        let is_whole = group == 0 && self.whole.contains(&app);
        let new = BroughtIn { group, bytes: 0, has_turned_over: is_whole };
        let of = self.of.entry(key).or_insert(new);
        if of.group != group {
            *of = BroughtIn { group, bytes: 0, has_turned_over: false };
        }
        // Without counts of misses, half of its traffic: the rest may be lines written back.
        let misses = counters.llc_misses.map(|misses| misses.saturating_mul(LINE));
        let brought = misses.or_else(|| counters.memory_bytes.map(|bytes| bytes / 2));
        of.bytes = of.bytes.saturating_add(brought.unwrap_or(0));
        let is_enough = of.bytes >= way.saturating_mul(LEAST_WAYS);
        of.has_turned_over |= is_enough && of.bytes / 3 >= occupied / 2;
        of.has_turned_over
    }

    /// Forgets a program in a domain.
    pub(super) fn forget(&mut self, key: WindowKey) {
        self.of.remove(&key);
    }

    /// Forgets a program that has ended.
    pub(super) fn end(&mut self, app: AppId) {
        self.whole.remove(&app);
    }

    /// Forgets a domain.
    pub(super) fn leave(&mut self, domain: u32) {
        self.of.retain(|(of, _), _| *of != domain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: WindowKey = (0, AppId(3));

    fn counted(llc_misses: Option<u64>, memory_bytes: Option<u64>) -> Counters {
        Counters { llc_misses, memory_bytes, ..Counters::default() }
    }

    fn missed(misses: u64) -> Counters {
        counted(Some(misses), None)
    }

    const WAY: u64 = 32_000;

    #[test]
    fn what_is_counted_is_all_once_half_as_many_lines_again_were_brought_in() {
        let mut check = TurnoverCheck::default();
        assert!(!check.is_all(KEY, 0, (0, WAY), &missed(0)));
        assert!(!check.is_all(KEY, 0, (64_000, WAY), &missed(1000)));
        assert!(!check.is_all(KEY, 0, (96_000, WAY), &missed(1200)));
        assert!(check.is_all(KEY, 0, (96_000, WAY), &missed(51)));
        // From then on, however much it holds.
        assert!(check.is_all(KEY, 0, (9_000_000, WAY), &missed(0)));
        assert!(!check.is_all((1, AppId(3)), 0, (64, WAY), &missed(0)), "of another cache");
    }

    /// It reads 0 but has missed: the unit is coarse, or its lines went to a private cache.
    #[test]
    fn few_lines_show_nothing() {
        let mut check = TurnoverCheck::default();
        assert!(!check.is_all(KEY, 0, (0, WAY), &missed(1)));
        assert!(!check.is_all(KEY, 0, (0, WAY), &missed(998)));
        assert!(check.is_all(KEY, 0, (0, WAY), &missed(1)));
    }

    #[test]
    fn a_new_group_begins_again() {
        let mut check = TurnoverCheck::default();
        assert!(check.is_all(KEY, 0, (64, WAY), &missed(1000)));
        assert!(!check.is_all(KEY, 1, (64_000, WAY), &missed(1)));
        assert!(check.is_all(KEY, 1, (64_000, WAY), &missed(1500)));
    }

    #[test]
    fn a_program_that_never_ran_elsewhere_holds_what_is_counted() {
        let mut check = TurnoverCheck::default();
        check.begin_whole(AppId(3));
        assert!(check.is_all(KEY, 0, (640_000, WAY), &missed(0)));
        // Only until its group is made again, whether or not that was seen.
        assert!(!check.is_all(KEY, 1, (640, WAY), &missed(0)));
        check.forget(KEY);
        assert!(!check.is_all(KEY, 1, (640, WAY), &missed(0)));
        assert!(!check.is_all((1, AppId(3)), 2, (640, WAY), &missed(0)));
        check.end(AppId(3));
        check.leave(0);
        assert!(!check.is_all(KEY, 0, (640, WAY), &missed(0)));
    }

    #[test]
    fn without_misses_what_it_moved_shows_it() {
        let mut check = TurnoverCheck::default();
        assert!(!check.is_all(KEY, 0, (64_000, WAY), &counted(None, Some(128_000))));
        assert!(check.is_all(KEY, 0, (64_000, WAY), &counted(None, Some(64_002))));
        assert!(!check.is_all((1, AppId(3)), 0, (0, WAY), &counted(None, None)));
    }
}
