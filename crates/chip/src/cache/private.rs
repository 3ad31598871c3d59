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

    /// Takes a line out, if it is there.
    pub(crate) fn invalidate(&mut self, index: usize, line: Tag) -> Option<Tag> {
        let set = self.set(index);
        let place = set.iter().position(|&here| here | DIRTY == line | DIRTY)?;
        let here = set[place];
        set[place..].rotate_left(1);
        set[set.len() - 1] = NONE;
        Some(here)
    }

    pub(crate) fn clear(&mut self) {
        self.lines.fill(NONE);
    }
}

/// The private caches of a core.
#[derive(Clone, Debug)]
pub(crate) struct Caches {
    pub(crate) l1: Private,
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
        Self { l1: private(chip.l1), l2: chip.l2.map(private) }
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
        assert_eq!(cache.access(1, 40), Some(NONE));
    }
}
