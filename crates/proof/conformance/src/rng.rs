//! Random numbers.

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): enough to take turns at random.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    /// A number below `limit`, which is at least 1.
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((z ^ (z >> 31)) % u64::from(limit)).unwrap_or(0)
    }

    /// One element of a slice that is not empty.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(u32::try_from(from.len()).unwrap_or(u32::MAX)) as usize]
    }
}
