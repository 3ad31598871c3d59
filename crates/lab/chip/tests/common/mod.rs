//! A chip for programs by themselves.

use fairways_chip::{CacheShape, Geometry, preset};

/// 16,384 lines: 1 MB.
pub(crate) const MB: u32 = 1 << 14;

/// A chip on which some lines of a program stay in the L1 and the L2, and whose last-level cache
/// removes nothing from these.
pub(crate) fn chip() -> Geometry {
    Geometry {
        l1: CacheShape::from_kb(8, 4),
        l2: Some(CacheShape::from_kb(64, 4)),
        sets: 1024,
        inclusive: false,
        // No program waits for the bus.
        bandwidth_mbps: 1e9,
        ..preset::preset("skylake").unwrap()
    }
}
