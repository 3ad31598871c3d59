//! A cache of one core: the line used longest ago makes room.

use super::search::ways_with;
use super::{DIRTY, NONE, Tag};
use crate::geometry::{CacheShape, Geometry};

/// Sets with fewer ways are searched one after the other, with an early exit.
const VECTOR: usize = 8;

/// Sets of lines, in each the line used last first.
#[derive(Clone, Debug)]
pub(crate) struct PrivateCache {
    lines: Vec<Tag>,
    ways: usize,
    set_mask: usize,
}

impl PrivateCache {
    /// An empty cache; the number of sets is a power of two.
    pub(crate) fn new(sets: usize, ways: usize) -> Self {
        Self { lines: vec![NONE; sets * ways], ways, set_mask: sets - 1 }
    }

    fn set(&mut self, index: usize) -> &mut [Tag] {
        let first = (index & self.set_mask) * self.ways;
        &mut self.lines[first..first + self.ways]
    }

    /// Uses a line. If it is missing, brings it in and returns the line that made room.
    pub(crate) fn access(&mut self, index: usize, line: Tag) -> Option<Tag> {
        let set = self.set(index);
        if set[0] | DIRTY == line | DIRTY {
            set[0] |= line & DIRTY;
            return None;
        }
        if let Ok(eight) = <&mut [Tag; 8]>::try_from(&mut *set) {
            return access_at_once(line, eight);
        }
        if let Ok(sixteen) = <&mut [Tag; 16]>::try_from(&mut *set) {
            return access_at_once(line, sixteen);
        }
        if set.len() < VECTOR {
            return access_in_turn(line, set);
        }
        let found = ways_with(line, set);
        if found == 0 {
            return Some(shift_in(line, set));
        }
        let place = found.trailing_zeros() as usize;
        let here = shift_in(line, &mut set[..=place]);
        set[0] |= here & DIRTY;
        None
    }

    /// Uses a line if it is present; returns whether it is.
    pub(crate) fn touch(&mut self, index: usize, line: Tag) -> bool {
        let set = self.set(index);
        let found = ways_with(line, set);
        if found != 0 {
            set[..=found.trailing_zeros() as usize].rotate_right(1);
        }
        found != 0
    }

    /// Removes every line for which `out` is true.
    pub(crate) fn remove(&mut self, out: &dyn Fn(Tag) -> bool) {
        for set in self.lines.chunks_mut(self.ways) {
            let mut kept = 0;
            for place in 0..set.len() {
                if set[place] != NONE && !out(set[place]) {
                    set.swap(kept, place);
                    kept += 1;
                }
            }
            set[kept..].fill(NONE);
        }
    }

    /// Removes a line, if it is present.
    pub(crate) fn invalidate(&mut self, index: usize, line: Tag) -> Option<Tag> {
        let set = self.set(index);
        let found = ways_with(line, set);
        if found == 0 {
            return None;
        }
        let place = found.trailing_zeros() as usize;
        let here = set[place];
        set[place..].rotate_left(1);
        set[set.len() - 1] = NONE;
        Some(here)
    }
}

/// Uses a line of a small set, as [`PrivateCache::access`] does.
fn access_in_turn(line: Tag, set: &mut [Tag]) -> Option<Tag> {
    let mut carried = line;
    for place in 0..set.len() {
        let here = core::mem::replace(&mut set[place], carried);
        if here | DIRTY == line | DIRTY {
            set[0] |= here & DIRTY;
            return None;
        }
        carried = here;
    }
    Some(carried)
}

/// Uses a line of a set of a usual size, as [`PrivateCache::access`] does: of a length that is
/// known, moves are vectors, and no branch depends on the line's place.
#[inline]
fn access_at_once<const N: usize>(line: Tag, set: &mut [Tag; N]) -> Option<Tag> {
    // Indexed by no variable, so that it stays in registers.
    let before = *set;
    let found = ways_with(line, set);
    if found == 0 {
        set[0] = line;
        for (here, before) in set[1..].iter_mut().zip(&before) {
            *here = *before;
        }
        return Some(before[N - 1]);
    }
    let place = found.trailing_zeros() as usize % N;
    let here = set[place];
    for way in 1..N {
        set[way] = if way <= place { before[way - 1] } else { before[way] };
    }
    set[0] = line | here & DIRTY;
    None
}

/// Puts a line before others; returns the last one, which falls out.
fn shift_in(line: Tag, lines: &mut [Tag]) -> Tag {
    lines.iter_mut().fold(line, |carried, here| core::mem::replace(here, carried))
}

/// The line if memory has an older copy of it, or [`NONE`].
fn changed(tag: Tag) -> Tag {
    if tag & DIRTY != 0 { tag } else { NONE }
}

/// The private caches of a core.
#[derive(Clone, Debug)]
pub(crate) struct PrivateCaches {
    pub(crate) l1: PrivateCache,
    pub(crate) l1i: Option<PrivateCache>,
    pub(crate) l2: Option<PrivateCache>,
    /// Whether any line was ever brought in.
    is_used: bool,
}

/// Where a line was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HitLevel {
    L1,
    L2,
    /// In neither; from now on it is in both.
    Beyond,
}

impl PrivateCaches {
    pub(crate) fn new(chip: &Geometry) -> Self {
        let private =
            |shape: CacheShape| PrivateCache::new(shape.sets as usize, shape.ways as usize);
        let [l1i, l2] = [chip.l1i, chip.l2].map(|shape| shape.map(private));
        Self { l1: private(chip.l1), l1i, l2, is_used: false }
    }

    /// All caches of the core.
    pub(crate) fn all(&mut self) -> impl Iterator<Item = &mut PrivateCache> {
        [Some(&mut self.l1), self.l1i.as_mut(), self.l2.as_mut()].into_iter().flatten()
    }

    /// Removes a line; returns whether memory has an older copy of it.
    #[inline]
    pub(crate) fn invalidate(&mut self, set: usize, line: Tag) -> bool {
        // Programs whose accesses have missed the private caches bring nothing into them.
        if !self.is_used {
            return false;
        }
        let mut removed = self.l1.invalidate(set, line).unwrap_or(0);
        for cache in [&mut self.l1i, &mut self.l2].into_iter().flatten() {
            removed |= cache.invalidate(set, line).unwrap_or(0);
        }
        removed & DIRTY != 0
    }

    /// Fetches instructions from a line of this set of the last-level cache. `None`: the core has
    /// no instruction cache, and fetches cost nothing. The tag is a changed line that leaves the
    /// private caches, or [`NONE`].
    pub(crate) fn fetch(&mut self, set: usize, line: Tag) -> Option<(HitLevel, Tag)> {
        self.is_used = true;
        if self.l1i.as_mut()?.access(set, line).is_none() {
            return Some((HitLevel::L1, NONE));
        }
        let Some(l2) = &mut self.l2 else { return Some((HitLevel::Beyond, NONE)) };
        Some(match l2.access(set, line) {
            None => (HitLevel::L2, NONE),
            Some(out) if out & DIRTY != 0 => (HitLevel::Beyond, out),
            Some(_) => (HitLevel::Beyond, NONE),
        })
    }

    /// Uses a line of this set of the last-level cache. The tags are changed lines that leave the
    /// private caches, or [`NONE`].
    #[inline]
    pub(crate) fn access(
        &mut self,
        set: usize,
        line: Tag,
        mut set_of: impl FnMut(Tag) -> usize,
    ) -> (HitLevel, [Tag; 2]) {
        self.is_used = true;
        let Some(evicted) = self.l1.access(set, line) else { return (HitLevel::L1, [NONE; 2]) };
        let evicted = changed(evicted);
        let Some(l2) = &mut self.l2 else { return (HitLevel::Beyond, [evicted, NONE]) };
        let mut first = NONE;
        if evicted != NONE
            && let Some(out) = l2.access(set_of(evicted), evicted)
        {
            first = changed(out);
        }
        match l2.access(set, line & !DIRTY) {
            None => (HitLevel::L2, [first, NONE]),
            Some(out) => (HitLevel::Beyond, [first, changed(out)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_used_longest_ago_makes_room_and_takes_its_dirt_along() {
        let mut cache = PrivateCache::new(2, 2);
        assert_eq!(cache.access(0, 10), Some(NONE));
        assert_eq!(cache.access(2, 20 | DIRTY), Some(NONE));
        assert_eq!(cache.access(0, 10), None);
        assert_eq!(cache.access(4, 30), Some(20 | DIRTY));
        // The other set has not changed; a clean use keeps a line dirty.
        assert_eq!(cache.access(1, 40 | DIRTY), Some(NONE));
        assert_eq!((cache.access(1, 40), cache.invalidate(1, 40)), (None, Some(40 | DIRTY)));
        assert_eq!(cache.invalidate(1, 40), None);
        assert_eq!(cache.access(1, 50), Some(NONE));
        assert_eq!(cache.access(1, 60), Some(NONE));
        assert!(cache.touch(1, 50) && !cache.touch(1, 70));
        cache.remove(&|line| line == 50);
        assert_eq!((cache.access(1, 80), cache.access(1, 90)), (Some(NONE), Some(60)));
        assert_eq!(cache.invalidate(1, 80), Some(80));
        assert_eq!(cache.access(1, 40), Some(NONE));
    }
}
