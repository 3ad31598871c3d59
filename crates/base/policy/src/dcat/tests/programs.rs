//! Programs of which a table says what they do.

use fairways_core::Counters;

/// A quantity with one way and up; with more ways than it has entries it stays the last.
pub(super) type Table = &'static [u64];

/// What a program does in a phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Does {
    /// Instructions in 1000 cycles.
    pub(super) ipc: Table,
    /// LLC misses of 1000 references.
    pub(super) misses: Table,
    /// LLC references in 1000 instructions.
    pub(super) llc: u64,
    /// L1 references in 1000 instructions. 10 % more than 1250 is exact in binary, too.
    pub(super) l1: u64,
    pub(super) idle: bool,
    /// What can be counted of it.
    pub(super) shows: fn(Counters) -> Counters,
}

/// References the LLC, never misses and needs one way.
pub(super) const FITS: Does =
    Does { ipc: &[1000], misses: &[0], llc: 20, l1: 1250, idle: false, shows: |counters| counters };
/// Does nothing.
pub(super) const IDLE: Does = Does { idle: true, ..FITS };
/// Hardly references the LLC; of what it does reference, half misses.
pub(super) const QUIET: Does = Does { llc: 1, misses: &[500], ..FITS };
/// Misses, whatever it has.
pub(super) const STREAMING: Does = Does { misses: &[900], ..FITS };
/// Table 1, a little apart from the threshold; it goes on missing.
pub(super) const SENSITIVE: Does =
    Does { ipc: &[800, 900, 1000, 1160, 1260, 1320, 1320], misses: &[100], ..FITS };
/// Gains a tenth of what it does with three ways by every way.
pub(super) const HUNGRY: Does = Does {
    ipc: &[800, 900, 1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900, 2000, 2100],
    misses: &[100],
    ..FITS
};
