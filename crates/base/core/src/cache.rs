//! The caches of a machine that has several.

use crate::Llc;

/// A last-level cache, and the CPUs that share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineCache {
    /// Its ways, and the rules for its masks.
    pub llc: Llc,
    /// Its CPUs.
    pub cpus: u32,
}
