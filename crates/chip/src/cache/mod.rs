//! Caches.

mod private;
mod shared;

pub(crate) use private::{HitLevel, PrivateCaches};
pub(crate) use shared::{FillMask, SharedCache};

/// Bytes of a line.
pub const LINE: u64 = 64;

/// A line in a cache: its number, and in the lowest bit whether memory has an older copy.
pub(crate) type Tag = u32;

/// No line.
pub(crate) const NONE: Tag = Tag::MAX;

/// The bit of a [`Tag`] for a line that memory has an older copy of.
pub(crate) const DIRTY: Tag = 1;

/// The rule for which line makes room for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The line that was used longest ago.
    Lru,
    /// A line that was not used since all others were (bit-PLRU, also called MRU). Each line has a
    /// bit, set when it is used; once all bits are set, all others are cleared. A program that owns
    /// some of the ways clears their bits once all of them are set.
    BitPlru,
    /// Not recently used, as in the L2 of the UltraSPARC T1 and T2: the bits of bit-PLRU, but the
    /// search for a way begins at a pointer. All sets share the pointer, and it moves on by one way
    /// whenever a line is brought in (Kedzierski, Moreto, Cazorla and Valero, Adapting cache
    /// partitioning algorithms to pseudo-LRU replacement policies, IPDPS 2010, on NRU).
    Nru,
}
