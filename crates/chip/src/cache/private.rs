//! A cache of one core: the line used longest ago makes room.

use super::{DIRTY, NONE, Tag};
use crate::geometry::{Geometry, Shape};

/// Sets of lines, in each the line used last first.
#[derive(Clone, Debug)]
pub(crate) struct Private {
    lines: Vec<Tag>,
    ways: usize,
    set_of: usize,
}

impl Private {
    /// An empty cache; the number of sets is a power of two.
    pub(crate) fn new(sets: usize, ways: usize) -> Self {
        Self { lines: vec![NONE; sets * ways], ways, set_of: sets - 1 }
    }

    fn set(&mut self, index: usize) -> &mut [Tag] {
        let first = (index & self.set_of) * self.ways;
        &mut self.lines[first..first + self.ways]
    }

    /// Uses a line, which is brought in if it is not there: then, the line that made room.
    pub(crate) fn access(&mut self, index: usize, line: Tag) -> Option<Tag> {
        let mut carried = line;
        let set = self.set(index);
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

    /// Uses a line if it is there.
    pub(crate) fn touch(&mut self, index: usize, line: Tag) -> bool {
        let set = self.set(index);
        let Some(place) = set.iter().position(|&here| here | DIRTY == line | DIRTY) else {
            return false;
        };
        set[..=place].rotate_right(1);
        true
    }

    /// Takes out every line that is `out`.
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

    /// Takes a line out, if it is there.
    pub(crate) fn invalidate(&mut self, index: usize, line: Tag) -> Option<Tag> {
        let set = self.set(index);
        let place = set.iter().position(|&here| here | DIRTY == line | DIRTY)?;
        let here = set[place];
        set[place..].rotate_left(1);
        set[set.len() - 1] = NONE;
        Some(here)
    }
}

/// The private caches of a core.
#[derive(Clone, Debug)]
pub(crate) struct Caches {
    pub(crate) l1: Private,
    pub(crate) l1i: Option<Private>,
    pub(crate) l2: Option<Private>,
}

/// Where a line was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    L1,
    L2,
    /// In neither; it is in both from now on.
    Beyond,
}

impl Caches {
    pub(crate) fn new(chip: &Geometry) -> Self {
        let private = |shape: Shape| Private::new(shape.sets as usize, shape.ways as usize);
        Self { l1: private(chip.l1), l1i: chip.l1i.map(private), l2: chip.l2.map(private) }
    }

    /// All of them.
    pub(crate) fn all(&mut self) -> impl Iterator<Item = &mut Private> {
        [Some(&mut self.l1), self.l1i.as_mut(), self.l2.as_mut()].into_iter().flatten()
    }

    /// Fetches instructions from a line of this set of the last-level cache; `None`: there is no cache of
    /// instructions, and this costs nothing. A line that leaves for good with changes is told, or [`NONE`].
    pub(crate) fn fetch(&mut self, set: usize, line: Tag) -> Option<(Level, Tag)> {
        if self.l1i.as_mut()?.access(set, line).is_none() {
            return Some((Level::L1, NONE));
        }
        let Some(l2) = &mut self.l2 else { return Some((Level::Beyond, NONE)) };
        Some(match l2.access(set, line) {
            None => (Level::L2, NONE),
            Some(out) if out & DIRTY != 0 => (Level::Beyond, out),
            Some(_) => (Level::Beyond, NONE),
        })
    }

    /// Uses a line of this set of the last-level cache. Lines that leave for good with changes are told, or
    /// [`NONE`].
    #[inline]
    pub(crate) fn access(
        &mut self,
        set: usize,
        line: Tag,
        mut set_of: impl FnMut(Tag) -> usize,
    ) -> (Level, [Tag; 2]) {
        let changed = |tag: Tag| if tag & DIRTY != 0 { tag } else { NONE };
        let Some(evicted) = self.l1.access(set, line) else { return (Level::L1, [NONE; 2]) };
        let evicted = changed(evicted);
        let Some(l2) = &mut self.l2 else { return (Level::Beyond, [evicted, NONE]) };
        let mut first = NONE;
        if evicted != NONE
            && let Some(out) = l2.access(set_of(evicted), evicted)
        {
            first = changed(out);
        }
        match l2.access(set, line & !DIRTY) {
            None => (Level::L2, [first, NONE]),
            Some(out) => (Level::Beyond, [first, changed(out)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_used_longest_ago_makes_room_and_takes_its_dirt_along() {
        let mut cache = Private::new(2, 2);
        assert_eq!(cache.access(0, 10), Some(NONE));
        assert_eq!(cache.access(2, 20 | DIRTY), Some(NONE));
        assert_eq!(cache.access(0, 10), None);
        assert_eq!(cache.access(4, 30), Some(20 | DIRTY));
        // The other set has been idle; clean uses leave dirt.
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
