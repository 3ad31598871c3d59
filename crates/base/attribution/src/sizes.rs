//! The miss ratio (misses per reference) at every occupancy ever seen, and at larger ones.
//!
//! While a program fills the cache line by line, it misses at each occupancy as often as it would
//! if it always had that much, as long as lines are replaced least recently used first (Xiang,
//! Ding, Luo and Bao, HOTL, ASPLOS 2013). So a window counts for the occupancy that it was measured
//! at. Without lines everything misses.

use fairways_core::{MAX_WAYS, Q32};

/// The resolution of sizes: parts in a way.
pub(crate) const PER_WAY: u32 = 4;

pub(crate) const SIZES: usize = PER_WAY as usize * MAX_WAYS + 1;

/// A size remembers roughly this many of its last windows.
const REMEMBERED: u64 = 16;

const ONE: u64 = Q32::ONE.raw();

/// What was seen at a size.
#[derive(Clone, Copy, Debug, Default)]
struct SeenSize {
    windows: u64,
    references: u64,
    misses: u64,
}

/// The miss ratio at each size.
#[derive(Clone, Debug)]
pub(crate) struct MissShares {
    sizes: [SeenSize; SIZES],
}

impl Default for MissShares {
    fn default() -> Self {
        Self { sizes: [SeenSize::default(); SIZES] }
    }
}

impl MissShares {
    /// Adds a window at this size.
    pub(crate) fn add(&mut self, place: usize, references: u64, misses: u64) {
        let size = &mut self.sizes[place];
        if size.windows == REMEMBERED {
            size.references -= size.references / REMEMBERED;
            size.misses -= size.misses / REMEMBERED;
        } else {
            size.windows += 1;
        }
        size.references = size.references.saturating_add(references);
        size.misses = size.misses.saturating_add(misses.min(references));
    }

    /// The sizes seen, with the miss ratio at each, times 2^32.
    fn seen(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        self.sizes
            .iter()
            .enumerate()
            .filter(|(_, size)| size.references > 0)
            .map(|(place, size)| (place as u64, Q32::ratio(size.misses, size.references).raw()))
    }

    /// The largest size seen.
    pub(crate) fn largest(&self) -> Option<u64> {
        self.seen().next_back().map(|(place, _)| place)
    }

    /// The miss ratio at a size up to the largest seen, times 2^32, interpolated.
    fn at(&self, place: u64) -> u64 {
        let (below, low) =
            self.seen().take_while(|&(one, _)| one <= place).last().unwrap_or((0, ONE));
        let Some((above, high)) = self.seen().find(|&(one, _)| one > place) else { return low };
        let (whole, part) = (u128::from(above - below), u128::from(place - below));
        let line = u128::from(low) * (whole - part) + u128::from(high) * part;
        u64::try_from(line / whole).unwrap_or(ONE)
    }

    /// The part of the misses at a size that would be left at a larger size, times 2^32: at most,
    /// likely, at least.
    pub(crate) fn left(&self, from: u64, to: u64) -> [u64; 3] {
        let Some((largest, end)) = self.seen().next_back() else { return [ONE, ONE, 0] };
        let now = self.at(from.min(largest));
        if now == 0 {
            return [ONE; 3];
        }
        let then = if to < largest + u64::from(PER_WAY) {
            [self.at(to.min(largest)); 3]
        } else {
            self.beyond(largest, end, to)
        };
        then.map(|then| Q32::ratio(then.min(now), now).raw())
    }

    /// The miss ratio at a size beyond the largest seen: at most, likely, at least. It is
    /// extrapolated from how it fell over the larger half of the sizes seen. If the program uses
    /// some lines far more often than others, it falls by the same factor with each doubling; if it
    /// uses all lines alike, by the same amount with each way. The likely value lies between the
    /// two, nearer to the first if more of the cache was seen.
    fn beyond(&self, largest: u64, end: u64, to: u64) -> [u64; 3] {
        let half = self.at(largest / 2).max(end).max(1);
        let doubling = fall(end, largest.max(1), to, Q32::ratio(end, half).raw());
        let span = u128::from((largest - largest / 2).max(1));
        let falls = u128::from(half - end) * u128::from(to - largest) / span;
        let even = u64::try_from(u128::from(end).saturating_sub(falls)).unwrap_or(0);
        let unseen = Q32::ratio(to - largest, to).raw();
        let weight = times(times(unseen, unseen), times(unseen, unseen));
        let likely = doubling - times(doubling.saturating_sub(even), weight);
        let least = even.saturating_sub(end / 2);
        // With less than a way, all that was seen is that everything misses without lines.
        let has_a_way = largest >= u64::from(PER_WAY);
        let most = if has_a_way { end - (end - likely) / 4 } else { end };
        [most, likely, least]
    }
}

/// The size that an occupancy counts as.
pub(crate) fn size_of(occupancy: Q32) -> usize {
    let parts = occupancy.raw().saturating_mul(PER_WAY.into());
    usize::try_from(parts.saturating_add(1 << 31) >> 32)
        .map_or(SIZES - 1, |place| place.min(SIZES - 1))
}

/// The miss ratio after growing from one size to another, if each doubling multiplies it by
/// `falls`.
fn fall(mut share: u64, mut from: u64, to: u64, falls: u64) -> u64 {
    while 2 * from <= to {
        share = times(share, falls);
        from *= 2;
    }
    let part = Q32::ratio(to.saturating_sub(from), from).raw();
    times(share, ONE - times(part, ONE - falls))
}

/// The product of two numbers in units of 2^-32.
pub(crate) fn times(one: u64, other: u64) -> u64 {
    u64::try_from((u128::from(one) * u128::from(other)) >> 32).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The miss ratios from misses per 1000 references at sizes in quarters of a way.
    fn shares(seen: &[(usize, u64)]) -> MissShares {
        let mut shares = MissShares::default();
        seen.iter().for_each(|&(place, misses)| shares.add(place, 1000, misses));
        shares
    }

    /// How many of 1000 misses are left.
    fn left(shares: &MissShares, from: u64, to: u64) -> [u64; 3] {
        shares.left(from, to).map(|left| (left * 1000 + (1 << 31)) >> 32)
    }

    #[test]
    fn within_what_was_seen_misses_lie_on_a_line() {
        let shares = shares(&[(4, 800), (12, 400), (44, 400)]);
        assert_eq!(left(&shares, 4, 12), [500; 3]);
        assert_eq!(left(&shares, 4, 8), [750; 3]);
        // Without lines everything misses.
        assert_eq!(left(&shares, 2, 4), [889; 3]);
        // A size that is missing but a way from the end is as good as seen.
        assert_eq!(left(&shares, 12, 47), [1000; 3]);
    }

    #[test]
    fn a_program_that_streams_gains_nothing_likely_and_perhaps_much() {
        let shares = shares(&[(4, 1000), (8, 1000)]);
        assert_eq!(left(&shares, 8, 44), [1000, 1000, 500]);
    }

    /// It uses all its lines alike: seen with a tenth of them, then with a fifth.
    #[test]
    fn with_little_seen_misses_fall_as_much_with_each_way() {
        let shares = shares(&[(4, 900), (8, 800)]);
        let [most, likely, least] = left(&shares, 8, 40);
        assert!(
            least == 0 && (400..500).contains(&likely) && most > 800,
            "{most} {likely} {least}"
        );
    }

    /// Twice the cache, 0.7 of the misses.
    #[test]
    fn with_much_seen_misses_fall_as_much_with_each_doubling() {
        let shares = shares(&[(10, 500), (20, 350)]);
        let [_, likely, _] = left(&shares, 20, 40);
        assert!((660..=700).contains(&likely), "{likely}");
    }

    #[test]
    fn what_was_never_seen_is_not_known() {
        let all = MissShares::default();
        assert_eq!(left(&all, 8, 44), [1000, 1000, 0]);
        assert_eq!(left(&shares(&[(4, 0)]), 4, 44), [1000; 3]);
    }

    #[test]
    fn a_size_forgets() {
        let mut shares = shares(&[(4, 1000)]);
        (0..200).for_each(|_| shares.add(4, 1000, 500));
        assert!(left(&shares, 0, 4)[1] <= 501);
    }
}
