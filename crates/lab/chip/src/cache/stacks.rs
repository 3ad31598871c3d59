//! Every number of ways at once: the lines of each set, by the order of their last use.
//!
//! A line found at depth `d` (from 0, the line used last) hits in a cache of the same sets and more
//! than `d` ways that replaces the line used longest ago, and misses in all smaller ones (Mattson
//! et al., 1970).

use fairways_core::MAX_WAYS;

use super::search::{ways_of_age, ways_with};
use super::sized::{SetsBySize, first_ages, make_youngest, sets_for, with_sets};
use super::{NONE, Tag};

/// Unchanged with every number of ways.
const CLEAN: u8 = u8::MAX;

/// The lines of each set, to a depth of the most ways.
pub(crate) struct Stacks {
    ways: usize,
    sets: SizedStacks,
    counts: StackCounts,
}

/// What was counted in all sets.
struct StackCounts {
    /// Uses by the depth at which they found their line; the last entry: at none.
    uses_by_depth: [u64; MAX_WAYS + 1],
    /// Lines written to memory with `w` ways, at index `w`, as differences.
    written: [i64; MAX_WAYS + 2],
}

type SizedStacks = SetsBySize<StackSet<16>, StackSet<24>, StackSet<32>>;

/// A set: lines keep their places, and only depths change.
#[derive(Clone, Debug)]
#[repr(align(32))]
struct StackSet<const N: usize> {
    lines: [Tag; N],
    /// For each place, how many other lines were used since its own: empty places come after all
    /// lines, and places beyond the ways have the largest number.
    depths: [u8; N],
    /// For each line, the smallest number of ways with which it has changes that memory lacks.
    changed: [u8; N],
}

impl StackCounts {
    /// Counts a line that caches of `from` to `to` ways write to memory.
    #[inline]
    fn write(&mut self, from: usize, to: usize) {
        if from <= to {
            self.written[from] += 1;
            self.written[to + 1] -= 1;
        }
    }

    /// Notes that a line leaves the caches of up to `ways` ways; those with changes write it to
    /// memory. Returns the new `changed`.
    #[inline]
    fn write_if_changed(&mut self, changed: u8, ways: usize) -> u8 {
        if changed == CLEAN {
            return CLEAN;
        }
        self.write(usize::from(changed), ways);
        changed.max(u8::try_from(ways + 1).unwrap_or(CLEAN))
    }
}

impl<const N: usize> StackSet<N> {
    fn all(sets: usize, ways: usize) -> Vec<Self> {
        vec![Self { lines: [NONE; N], depths: first_ages(ways), changed: [CLEAN; N] }; sets]
    }

    /// The place and the depth of a line.
    #[inline]
    fn find(&self, line: Tag) -> Option<(usize, u8)> {
        let found = ways_with(line, &self.lines);
        let place = found.trailing_zeros() as usize % N;
        (found != 0).then(|| (place, self.depths[place]))
    }

    #[inline]
    fn access(&mut self, line: Tag, ways: usize, counts: &mut StackCounts) {
        let place = if let Some((place, depth)) = self.find(line) {
            let depth = usize::from(depth);
            counts.uses_by_depth[depth % MAX_WAYS] += 1;
            self.changed[place] = counts.write_if_changed(self.changed[place], depth);
            place
        } else {
            let deepest = u8::try_from(ways - 1).unwrap_or(u8::MAX);
            let place = ways_of_age(deepest, &self.depths).trailing_zeros() as usize % N;
            counts.uses_by_depth[MAX_WAYS] += 1;
            counts.write_if_changed(self.changed[place], ways);
            (self.lines[place], self.changed[place]) = (line, CLEAN);
            place
        };
        make_youngest(&mut self.depths, place);
    }

    #[inline]
    fn write_back(&mut self, line: Tag, ways: usize, counts: &mut StackCounts) {
        let Some((place, depth)) = self.find(line) else { return counts.write(1, ways) };
        // Caches of more ways than its depth have it.
        let without = usize::from(depth);
        counts.write(1, without);
        counts.write_if_changed(self.changed[place], without);
        self.changed[place] = depth + 1;
    }
}

impl Stacks {
    /// Sets without lines; 1 to 32 ways.
    pub(crate) fn new(sets: usize, ways: usize) -> Self {
        let sets = sets_for!(ways, StackSet::all(sets, ways));
        let (uses_by_depth, written) = ([0; MAX_WAYS + 1], [0; MAX_WAYS + 2]);
        Self { ways, sets, counts: StackCounts { uses_by_depth, written } }
    }

    /// The most ways.
    pub(crate) fn ways(&self) -> usize {
        self.ways
    }

    /// Reads these sets into the caches of this machine; changes nothing.
    pub(crate) fn read_ahead(&self, sets: impl Iterator<Item = usize>) {
        with_sets!(&self.sets, all => {
            let mut read = 0;
            for set in sets {
                if let Some(set) = all.get(set) {
                    // In each line of this machine's cache.
                    read ^= set.lines[0] ^ set.lines[set.lines.len() - 1];
                    read ^= Tag::from(set.depths[0] ^ set.changed[0]);
                }
            }
            core::hint::black_box(read);
        });
    }

    /// Uses a line.
    #[inline]
    pub(crate) fn access(&mut self, set: usize, line: Tag) {
        let ways = self.ways;
        with_sets!(&mut self.sets, all => all[set].access(line, ways, &mut self.counts));
    }

    /// Handles a changed line that leaves the private caches.
    #[inline]
    pub(crate) fn write_back(&mut self, set: usize, line: Tag) {
        let ways = self.ways;
        with_sets!(&mut self.sets, all => all[set].write_back(line, ways, &mut self.counts));
    }

    /// All uses.
    pub(crate) fn uses(&self) -> u64 {
        self.counts.uses_by_depth.iter().sum()
    }

    /// Uses that hit in a cache of `ways` ways.
    pub(crate) fn hits(&self, ways: usize) -> u64 {
        self.counts.uses_by_depth[..ways].iter().sum()
    }

    /// Lines that a cache of `ways` ways has written to memory, including lines that have left it
    /// by now and were not used since.
    pub(crate) fn written(&self, ways: usize) -> u64 {
        let written_since: i64 = self.counts.written[..=ways].iter().sum();
        let still_changed = with_sets!(&self.sets, all => all
            .iter()
            .flat_map(|set| set.depths.iter().zip(&set.changed))
            .filter(|(depth, changed)| {
                usize::from(**depth) >= ways && usize::from(**changed) <= ways
            })
            .count());
        written_since.unsigned_abs() + still_changed as u64
    }

    /// Lines that a cache of `ways` ways has now.
    pub(crate) fn lines_held(&self, ways: usize) -> u64 {
        with_sets!(&self.sets, all => all
            .iter()
            .flat_map(|set| set.depths.iter().zip(&set.lines))
            .filter(|(depth, line)| usize::from(**depth) < ways && **line != NONE)
            .count()) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a set of a cache with these ways counts: hits, lines written and lines held.
    fn alone(uses: &[(bool, Tag)], ways: usize) -> [u64; 3] {
        let (mut set, mut hits, mut written) = (Vec::<(Tag, bool)>::new(), 0, 0);
        for &(is_write_back, line) in uses {
            let place = set.iter().position(|&(other, _)| other == line);
            match (is_write_back, place) {
                (true, Some(place)) => set[place].1 = true,
                (true, None) => written += 1,
                (false, Some(place)) => {
                    hits += 1;
                    set[..=place].rotate_right(1);
                }
                (false, None) => {
                    if set.len() == ways {
                        written += u64::from(set.pop().is_some_and(|(_, is_changed)| is_changed));
                    }
                    set.insert(0, (line, false));
                }
            }
        }
        [hits, written, set.len() as u64]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_number_of_ways_counts_as_a_cache_of_its_own_does(
            uses in prop::collection::vec((any::<bool>(), 0u32..48), 0..600),
            most in prop::sample::select(vec![1usize, 11, 16, 17, 20, 24, 25, 32]),
        ) {
            let mut stacks = Stacks::new(2, most);
            for &(is_write_back, line) in &uses {
                match is_write_back {
                    true => stacks.write_back(1, line << 1),
                    false => stacks.access(1, line << 1),
                }
            }
            for ways in 1..=most {
                let found = [stacks.hits(ways), stacks.written(ways), stacks.lines_held(ways)];
                prop_assert_eq!(found, alone(&uses, ways));
            }
        }
    }
}
