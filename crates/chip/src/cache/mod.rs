//! Caches.

mod private;
mod shared;

pub(crate) use private::{Caches, Level};
pub(crate) use shared::{Fill, Shared};

/// Bytes of a line.
pub const LINE: u64 = 64;

/// A line in a cache: which, and in the lowest bit whether memory has an older copy of it.
pub(crate) type Tag = u32;

/// No line.
pub(crate) const NONE: Tag = Tag::MAX;

/// The bit of a [`Tag`] that says so.
pub(crate) const DIRTY: Tag = 1;

/// Which line makes room for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The one that was used longest ago.
    Lru,
    /// One that was not used since all others were (bit-PLRU, also called MRU): a bit a line, set when
    /// it is used; when all are set, all others are cleared. A program that owns some of the ways
    /// clears the bits of these once all of them are set.
    BitPlru,
    /// Not recently used, as in the L2 of the UltraSPARC T1 and T2: the bits of bit-PLRU, but the
    /// search for a way begins at a pointer. All sets share the pointer, and it moves on by one way
    /// whenever a line is brought in (Kedzierski, Moreto, Cazorla and Valero, Adapting cache
    /// partitioning algorithms to pseudo-LRU replacement policies, IPDPS 2010, on NRU).
    Nru,
}
