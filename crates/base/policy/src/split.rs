//! Dividing ways evenly, and laying clusters side by side.

use fairways_core::{Llc, WayMask};

/// Splits `ways` into `parts` even parts; the first parts get one way more if it does not divide
/// evenly.
pub(crate) fn evenly(ways: u32, parts: u32) -> impl Iterator<Item = u32> {
    let (each, left) = (ways / parts.max(1), ways % parts.max(1));
    (0..parts).map(move |part| each + u32::from(part < left))
}

/// Hands out neighbouring, disjoint masks from the top way downward.
pub(crate) struct Stack {
    free: u32,
}

impl Stack {
    pub(crate) const fn new(llc: &Llc) -> Self {
        Self { free: llc.ways.get() }
    }

    /// The next `ways` ways.
    pub(crate) fn next(&mut self, ways: u32) -> WayMask {
        debug_assert!(ways <= self.free, "more ways handed out than there are");
        self.free = self.free.saturating_sub(ways);
        WayMask::span(self.free, ways)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn the_first_parts_are_the_larger_ones() {
        assert_eq!(evenly(11, 6).collect::<Vec<_>>(), [2, 2, 2, 2, 2, 1]);
        assert_eq!(evenly(3, 3).collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!(evenly(3, 0).count(), 0);
    }
}
