//! Accesses, and their sources.

use std::time::Duration;

use rand_pcg::Pcg64Mcg;

/// The lines that a program can have: 2 GB.
pub const MOST_LINES: u64 = 1 << 25;

/// Accesses that are generated together.
pub(crate) const BATCH: usize = 256;

/// Consecutive accesses to a line: the first may miss, the others hit the L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The line, counted from the program's first; below [`MOST_LINES`].
    pub line: u32,
    /// Instructions from the access before up to these, themselves included; none for a further
    /// access of the same instruction.
    pub instructions: u32,
    /// Loads and stores among them.
    pub references: u16,
    /// Its kind.
    pub kind: AccessKind,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A load, through the private caches.
    Load,
    /// A store, through the private caches; it fetches the line.
    Store,
    /// A load that has missed the private caches.
    Missed,
    /// A fetch of instructions, through the first private cache of instructions where the chip has
    /// one; it is no reference.
    Fetch,
    /// A changed line that leaves the private caches; it is no reference, and nothing waits for it.
    WriteBack,
    /// References that missed the first private cache and hit the second; the line is their number.
    HitL2,
    /// None: all references hit the L1.
    None,
}

/// The result of asking a source for accesses.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Supply {
    /// At least one.
    More,
    /// None: the program waits for something outside of the chip.
    Asleep,
    /// None: the program has ended.
    Ended,
    /// None: the program has failed, with an error of one line.
    Failed(String),
}

/// A source of accesses.
pub trait Generate: Send {
    /// Appends some accesses.
    fn generate(&mut self, random: &mut Pcg64Mcg, accesses: &mut Vec<Access>) -> Supply;

    /// The same for several L1s ([`Accesses::source_for`]): some accesses for each of them. Most
    /// sources have the same ones for all.
    ///
    /// [`Accesses::source_for`]: super::Accesses
    fn generate_by_l1(&mut self, random: &mut Pcg64Mcg, by_l1: &mut [Vec<Access>]) -> Supply {
        self.generate(random, &mut by_l1[0])
    }

    /// Waits for a program that is asleep, in real time, at most `most`.
    fn wait(&mut self, _most: Duration) {}
}

/// A number below `count`, which is not 0.
pub(crate) fn below(random: &mut Pcg64Mcg, count: u32) -> u32 {
    use rand_core::Rng;
    // Multiply and shift (Lemire): the bias is below 2^-32 times the count.
    let picked = (u64::from(random.next_u32()) * u64::from(count)) >> 32;
    u32::try_from(picked).unwrap_or(0)
}
