//! Caches.

mod private;
mod search;
mod shared;
mod sized;
mod stacks;

pub(crate) use private::{HitLevel, PrivateCaches};
pub(crate) use shared::{FillMask, SharedCache};
pub(crate) use stacks::Stacks;

/// A line in a cache: its number, and in the lowest bit whether memory has an older copy.
pub(crate) type Tag = u32;

/// No line.
pub(crate) const NONE: Tag = Tag::MAX;

/// The bit of a [`Tag`] for a line that memory has an older copy of.
pub(crate) const DIRTY: Tag = 1;
