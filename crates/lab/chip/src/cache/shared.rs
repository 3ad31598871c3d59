//! The last-level cache, whose ways are divided by masks.
//!
//! A mask limits the ways that a miss may fill, as with Intel's CAT (SDM volume 3, 18.19.1): a line
//! hits in any way, and a line outside a shrunk mask stays until a program that may fill its way
//! evicts it.

use fairways_core::WayMask;

use super::search::{ways_of_age, ways_with};
use super::sized::{SetsBySize, first_ages, make_youngest, sets_for, with_sets};
use super::{DIRTY, NONE, Tag};
use crate::geometry::Replacement;

/// The most ways of a set.
const MOST: usize = 32;

/// The ways that a program may fill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FillMask {
    /// The ways: all bits of their bytes.
    ways: [u8; MOST],
    /// The same, a bit each.
    mask: u32,
    /// The mark under which its lines are counted.
    mark: u16,
}

impl FillMask {
    pub(crate) fn new(mask: WayMask) -> Self {
        let mut fill = [0; MOST];
        let mut bits = 0;
        for (way, byte) in (0..).zip(&mut fill) {
            *byte = if mask.contains(way) { u8::MAX } else { 0 };
            bits |= u32::from(mask.contains(way)) << way;
        }
        Self { ways: fill, mask: bits, mark: 0 }
    }

    pub(crate) fn marked(self, mark: u16) -> Self {
        Self { mark, ..self }
    }
}

/// A set of at most `N` ways, padded so that loops over it have a length that is known.
///
/// Aligned, since a set of 24 ways is as large as two of this machine's cache lines.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct CacheSet<const N: usize> {
    lines: [Tag; N],
    /// [`Replacement::Lru`]: for each line, how many lines were used since; an empty way is the
    /// oldest.
    ages: [u8; N],
    /// [`Replacement::BitPlru`] and [`Replacement::Nru`]: the used ways, a bit each.
    used: u32,
    /// Likewise, the ways that have a line.
    filled: u32,
}

/// How the sets of a cache replace lines.
#[derive(Clone, Copy, Debug)]
struct ReplacementOrder {
    replacement: Replacement,
    ways: usize,
    /// The age of the line that was used longest ago.
    oldest: u8,
    /// [`Replacement::Nru`]: the way at which the search for a victim begins. Otherwise 0.
    pointer: usize,
}

type CacheSets = SetsBySize<CacheSet<16>, CacheSet<24>, CacheSet<32>>;

/// The mark under which each line was brought in, by set and way, and the lines of each mark.
#[derive(Clone, Debug)]
struct LineMarks {
    by_line: Vec<u16>,
    counts: Vec<u32>,
}

impl LineMarks {
    fn fill(&mut self, place: usize, mark: u16, made_room: bool) {
        let before = core::mem::replace(&mut self.by_line[place], mark);
        if made_room {
            self.counts[usize::from(before)] -= 1;
        }
        self.counts[usize::from(mark)] += 1;
    }
}

/// The last-level cache.
#[derive(Clone, Debug)]
pub(crate) struct SharedCache {
    sets: CacheSets,
    order: ReplacementOrder,
    /// Present once lines are counted by mark.
    marks: Option<Box<LineMarks>>,
}

/// The first of these ways (a bit each) from way `pointer` on, with wrap-around; 0 if there are
/// none.
fn first_from(ways: u32, pointer: usize) -> usize {
    let above = ways & (u32::MAX << pointer);
    let first = if above != 0 { above } else { ways };
    if first == 0 { 0 } else { first.trailing_zeros() as usize }
}

impl<const N: usize> CacheSet<N> {
    fn all(sets: usize, ways: usize) -> Vec<Self> {
        vec![Self { lines: [NONE; N], ages: first_ages(ways), used: 0, filled: 0 }; sets]
    }

    /// The way of a line.
    fn find(&self, line: Tag) -> Option<usize> {
        let found = ways_with(line, &self.lines);
        (found != 0).then(|| found.trailing_zeros() as usize)
    }

    fn touch(&mut self, way: usize, order: ReplacementOrder) {
        match order.replacement {
            Replacement::Lru => make_youngest(&mut self.ages, way),
            Replacement::BitPlru | Replacement::Nru => {
                self.used |= 1 << way;
                if self.used.count_ones() as usize == order.ways {
                    self.used = 1 << way;
                }
            }
        }
    }

    /// The way of `fill` that was used longest ago, as a bit; none if there are none.
    fn oldest_of(&self, fill: &FillMask) -> u32 {
        let mut oldest: u8 = 0;
        for (age, fill) in self.ages.iter().zip(&fill.ways) {
            oldest = oldest.max(age.wrapping_add(1) & fill);
        }
        ways_of_age(oldest.wrapping_sub(1), &self.ages) & fill.mask
    }

    /// The way of `fill` whose line makes room.
    fn victim(&self, fill: &FillMask, order: ReplacementOrder) -> usize {
        match order.replacement {
            Replacement::Lru => {
                // Ways have different ages, so at most one has this one.
                let oldest = ways_of_age(order.oldest, &self.ages) & fill.mask;
                let oldest = if oldest == 0 { self.oldest_of(fill) } else { oldest };
                first_from(oldest, 0)
            }
            Replacement::BitPlru | Replacement::Nru => {
                let (free, unused) = (fill.mask & !self.filled, fill.mask & !self.used);
                first_from(if free != 0 { free } else { unused }, order.pointer)
            }
        }
    }

    /// Clears the bits of the ways of `fill` once all of them were used, whatever the bits of other
    /// programs' ways. Otherwise a program that owns some of the ways would bring all its lines
    /// into one of them while the others are idle.
    fn renew(&mut self, fill: &FillMask) {
        if fill.mask & !self.used == 0 {
            self.used &= !fill.mask;
        }
    }

    /// Uses a line. If it is missing, returns the way that it was brought into, and the line that
    /// made room.
    fn access(
        &mut self,
        line: Tag,
        fill: &FillMask,
        order: ReplacementOrder,
    ) -> Option<(usize, Tag)> {
        if let Some(way) = self.find(line) {
            self.lines[way] |= line & DIRTY;
            self.touch(way, order);
            return None;
        }
        self.renew(fill);
        let way = self.victim(fill, order);
        let evicted = core::mem::replace(&mut self.lines[way], line);
        self.filled |= 1 << way;
        self.touch(way, order);
        Some((way, evicted))
    }

    /// Removes the lines for which `out` is true.
    fn remove(&mut self, ways: usize, out: &dyn Fn(Tag) -> bool) {
        for way in 0..ways {
            if self.lines[way] == NONE || !out(self.lines[way]) {
                continue;
            }
            self.lines[way] = NONE;
            self.used &= !(1 << way);
            self.filled &= !(1 << way);
            let age = self.ages[way];
            for other in &mut self.ages[..ways] {
                *other -= u8::from(*other > age);
            }
            self.ages[way] = u8::try_from(ways - 1).unwrap_or(u8::MAX);
        }
    }
}

impl SharedCache {
    /// An empty cache of 1 to 32 ways.
    pub(crate) fn new(sets: usize, ways: usize, replacement: Replacement) -> Self {
        let sets = sets_for!(ways, CacheSet::all(sets, ways));
        let oldest = u8::try_from(ways).map_or(u8::MAX, |ways| ways.saturating_sub(1));
        let order = ReplacementOrder { replacement, ways, oldest, pointer: 0 };
        Self { sets, order, marks: None }
    }

    /// Reads these sets into the caches of this machine; changes nothing.
    pub(crate) fn read_ahead(&self, sets: impl Iterator<Item = usize>) {
        with_sets!(&self.sets, all => {
            let mut read = 0;
            for set in sets {
                if let Some(set) = all.get(set) {
                    read ^= set.lines[0] ^ set.filled;
                }
            }
            core::hint::black_box(read);
        });
    }

    /// Uses a line. If it is missing, brings it into a way of `fill` and returns the line that made
    /// room.
    pub(crate) fn access(&mut self, set: usize, line: Tag, fill: &FillMask) -> Option<Tag> {
        let order = self.order;
        let (way, evicted) = with_sets!(&mut self.sets, all => all[set].access(line, fill, order))?;
        if order.replacement == Replacement::Nru {
            let next = order.pointer + 1;
            self.order.pointer = if next < order.ways { next } else { 0 };
        }
        if let Some(marks) = &mut self.marks {
            marks.fill(set * order.ways + way, fill.mark, evicted != NONE);
        }
        Some(evicted)
    }

    /// From now on lines are counted by mark; lines in the cache have mark 0.
    pub(crate) fn mark(&mut self) {
        if self.marks.is_none() {
            let sets = with_sets!(&self.sets, all => all.len());
            let counts = vec![0; 1 + usize::from(u16::MAX)];
            self.marks =
                Some(Box::new(LineMarks { by_line: vec![0; sets * self.order.ways], counts }));
            self.count_marks();
        }
    }

    /// The number of lines that were brought in under a mark.
    pub(crate) fn marked(&self, mark: u16) -> u32 {
        self.marks.as_ref().map_or(0, |marks| marks.counts[usize::from(mark)])
    }

    /// Counts the marks again, after lines were removed.
    pub(crate) fn count_marks(&mut self) {
        let Some(marks) = &mut self.marks else { return };
        marks.counts.fill(0);
        let ways = self.order.ways;
        with_sets!(&self.sets, all => {
            for (set, marks_of) in all.iter().zip(marks.by_line.chunks(ways)) {
                let there = set.lines.iter().zip(marks_of).filter(|(line, _)| **line != NONE);
                there.for_each(|(_, mark)| marks.counts[usize::from(*mark)] += 1);
            }
        });
    }

    /// Marks a line as newer than memory's copy; returns whether it is present.
    pub(crate) fn write_back(&mut self, set: usize, line: Tag) -> bool {
        with_sets!(&mut self.sets, all => {
            let way = all[set].find(line);
            if let Some(way) = way {
                all[set].lines[way] |= DIRTY;
            }
            way.is_some()
        })
    }

    /// Removes every line for which `out` is true.
    pub(crate) fn remove(&mut self, out: &dyn Fn(Tag) -> bool) {
        let ways = self.order.ways;
        with_sets!(&mut self.sets, all => {
            all.iter_mut().for_each(|set| set.remove(ways, out));
        });
    }

    /// The lines of a set, by way.
    #[cfg(test)]
    fn lines(&self, set: usize) -> Vec<Tag> {
        with_sets!(&self.sets, all => all[set].lines[..self.order.ways].to_vec())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A set in the plain way: the line of each way, and the ways in the order of their last use.
    struct Naive {
        lines: Vec<Option<(Tag, bool)>>,
        recent: Vec<usize>,
        used: Vec<bool>,
    }

    impl Naive {
        fn new(ways: usize) -> Self {
            Self { lines: vec![None; ways], recent: (0..ways).collect(), used: vec![false; ways] }
        }

        fn access(
            &mut self,
            line: Tag,
            dirty: bool,
            mask: WayMask,
            (replacement, pointer): (Replacement, usize),
        ) -> (bool, Option<(Tag, bool)>) {
            let hit = self.lines.iter().position(|here| here.is_some_and(|here| here.0 == line));
            let allowed = |way: &usize| mask.contains(u32::try_from(*way).unwrap());
            let way = hit.unwrap_or_else(|| match replacement {
                Replacement::Lru => {
                    let free = self.recent.iter().rev().copied().filter(allowed);
                    let free = free.clone().find(|&way| self.lines[way].is_none());
                    free.unwrap_or(*self.recent.iter().rev().find(|way| allowed(way)).unwrap())
                }
                Replacement::BitPlru | Replacement::Nru => {
                    let mut ways: Vec<usize> = (0..self.lines.len()).collect();
                    ways.rotate_left(pointer);
                    ways.retain(allowed);
                    if ways.iter().all(|&way| self.used[way]) {
                        ways.iter().for_each(|&way| self.used[way] = false);
                    }
                    let free = ways.iter().find(|&&way| self.lines[way].is_none());
                    *free.or(ways.iter().find(|&&way| !self.used[way])).unwrap()
                }
            });
            let before = self.lines[way];
            let dirty = dirty || (hit.is_some() && before.unwrap().1);
            self.lines[way] = Some((line, dirty));
            self.recent.retain(|&other| other != way);
            self.recent.insert(0, way);
            self.used[way] = true;
            if self.used.iter().all(|&used| used) {
                self.used.fill(false);
                self.used[way] = true;
            }
            (hit.is_some(), if hit.is_some() { None } else { before })
        }
    }

    /// A use of a line by a program, a change of a program's mask, or an exit.
    #[derive(Clone, Debug)]
    enum Step {
        Use { program: usize, line: u32, dirty: bool },
        Mask { program: usize, first: u32, count: u32 },
        Exit { program: usize },
    }

    fn steps() -> impl Strategy<Value = Step> {
        prop_oneof![
            40 => (0usize..3, 0u32..40, any::<bool>())
                .prop_map(|(program, line, dirty)| Step::Use { program, line, dirty }),
            2 => (0usize..3, 0u32..32, 1u32..=32)
                .prop_map(|(program, first, count)| Step::Mask { program, first, count }),
            1 => (0usize..3).prop_map(|program| Step::Exit { program }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None, cases: 400, ..ProptestConfig::default()
        })]

        /// Line by line, way by way.
        #[test]
        fn a_set_does_as_a_plain_one(
            ways in 1u32..=32,
            replacement in prop::sample::select(vec![
                Replacement::Lru, Replacement::BitPlru, Replacement::Nru,
            ]),
            steps in prop::collection::vec(steps(), 0..600),
        ) {
            let mut cache = SharedCache::new(2, ways as usize, replacement);
            let mut naive = [Naive::new(ways as usize), Naive::new(ways as usize)];
            let mut masks = [WayMask::span(0, ways); 3];
            let mut brought_in = 0;
            for step in steps {
                match step {
                    Step::Use { program, line, dirty } => {
                        let set = line as usize % 2;
                        let tag = (u32::try_from(program).unwrap() << 26) | line << 1;
                        let fill = FillMask::new(masks[program]);
                        let made = cache.access(set, tag | u32::from(dirty), &fill);
                        let pointer =
                            if replacement == Replacement::Nru { brought_in % ways as usize } else { 0 };
                        let (hit, evicted) =
                            naive[set].access(tag, dirty, masks[program], (replacement, pointer));
                        brought_in += usize::from(!hit);
                        let evicted = evicted.map_or(NONE, |(tag, dirty)| tag | u32::from(dirty));
                        prop_assert_eq!(made, (!hit).then_some(evicted));
                        let lines = naive[set].lines.iter();
                        let lines = lines.map(|here| here.map_or(NONE, |(t, d)| t | u32::from(d)));
                        prop_assert_eq!(cache.lines(set), lines.collect::<Vec<_>>());
                    }
                    Step::Mask { program, first, count } => {
                        let first = first % ways;
                        masks[program] = WayMask::span(first, count.min(ways - first));
                    }
                    Step::Exit { program } => {
                        let of = |tag: Tag| (tag >> 26) as usize == program;
                        cache.remove(&of);
                        for set in &mut naive {
                            for way in 0..set.lines.len() {
                                if set.lines[way].is_some_and(|(tag, _)| of(tag)) {
                                    set.lines[way] = None;
                                    set.used[way] = false;
                                    // A way without a line is the oldest.
                                    set.recent.retain(|&other| other != way);
                                    set.recent.push(way);
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn lines_outside_a_shrunk_mask_stay_and_hit() {
        let mut cache = SharedCache::new(1, 4, Replacement::Lru);
        let [all, low] = [WayMask::span(0, 4), WayMask::span(0, 1)].map(FillMask::new);
        for line in 0..4 {
            assert_eq!(cache.access(0, line << 1, &all), Some(NONE));
        }
        let alone: Vec<Option<Tag>> = (4..8).map(|line| cache.access(0, line << 1, &low)).collect();
        assert!(alone[1..].iter().zip(4u32..).all(|(out, line)| *out == Some(line << 1)));
        let stayed = (0..4).filter(|line| cache.lines(0).contains(&(line << 1)));
        for line in stayed.collect::<Vec<u32>>() {
            assert_eq!(cache.access(0, line << 1, &low), None);
        }
        assert!(cache.write_back(0, 7 << 1) && !cache.write_back(0, 9 << 1));
    }

    /// A stream of three times the lines that fit its ways hits none of them, whatever ways other
    /// programs own.
    #[test]
    fn a_stream_hits_nothing_in_a_part_of_the_ways() {
        for replacement in [Replacement::Lru, Replacement::BitPlru, Replacement::Nru] {
            for ways in 1..=10u32 {
                let mut cache = SharedCache::new(1, 20, replacement);
                let fill = FillMask::new(WayMask::span(5, ways));
                let stream = (0..3 * ways).cycle().take(60 * ways as usize);
                let hits = stream.filter(|line| cache.access(0, line << 1, &fill).is_none());
                assert_eq!(hits.count(), 0, "{replacement:?} {ways}");
            }
        }
    }
}
