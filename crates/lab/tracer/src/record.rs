//! A thread's records: an access to a line, or only its progress.

/// A use of a line, in 64 bits.
///
/// | bits | of an access | of a gap |
/// |---|---|---|
/// | 63 | 0 | 1 |
/// | 21 to 62 | the line: address / 64 | |
/// | 20 | whether it is a store | |
/// | 12 to 19 | loads and stores since the record before, this one included | |
/// | 0 to 11 | instructions since the record before | |
/// | 32 to 62 | | instructions since the record before |
/// | 31 | | whether a further gap, or an access without counts, belongs to it |
/// | 0 to 30 | | loads and stores since then |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record(pub(crate) u64);

/// The content of a [`Record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// The line that may miss the L1; `None`: all references hit it.
    pub line: Option<Line>,
    /// Instructions since the record before, approximately: whole blocks of code are counted as
    /// they begin.
    pub instructions: u32,
    /// Loads and stores among them.
    pub references: u32,
}

/// A line that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The virtual address / 64.
    pub number: u64,
    /// Whether it is written.
    pub store: bool,
}

/// Bytes of a line, as a power of two.
pub const LINE_SHIFT: u32 = 6;

const GAP: u64 = 1 << 63;
const LINE: u32 = 21;
const STORE: u32 = 20;
const REFERENCES: u32 = 12;
const CONTINUES: u32 = 31;

/// The most of each that an access can record.
pub(crate) const MOST_REFERENCES: u32 = (1 << (STORE - REFERENCES)) - 1;
pub(crate) const MOST_INSTRUCTIONS: u32 = (1 << REFERENCES) - 1;

impl Record {
    /// At most [`MOST_INSTRUCTIONS`] and [`MOST_REFERENCES`].
    pub(crate) fn access(line: u64, store: bool, instructions: u32, references: u32) -> Self {
        // Addresses of programs have 48 bits, of which the highest is 0.
        let line = (line << LINE) & !GAP;
        let counts = u64::from(references << REFERENCES | instructions);
        Self(line | u64::from(store) << STORE | counts)
    }

    /// At most 2^31 - 1 instructions, and as many references. `continues`: the record
    /// after it belongs to it.
    pub(crate) fn gap(instructions: u32, references: u32, continues: bool) -> Self {
        let counts = u64::from(instructions) << 32 | u64::from(references);
        Self(GAP | counts | u64::from(continues) << CONTINUES)
    }

    /// Whether it is a gap that the record after it belongs to.
    #[cfg(feature = "launch")]
    pub(crate) fn continues(self) -> bool {
        self.0 & GAP != 0 && self.0 >> CONTINUES & 1 != 0
    }

    /// Its content.
    #[must_use]
    #[inline]
    pub fn decode(self) -> TraceEntry {
        if self.0 & GAP != 0 {
            let (instructions, references) = (low(self.0 >> 32, 31), low(self.0, CONTINUES));
            return TraceEntry { line: None, instructions, references };
        }
        TraceEntry {
            line: Some(Line { number: self.0 >> LINE, store: self.0 >> STORE & 1 != 0 }),
            instructions: low(self.0, REFERENCES),
            references: low(self.0 >> REFERENCES, STORE - REFERENCES),
        }
    }
}

/// The lowest `count` bits.
const fn low(bits: u64, count: u32) -> u32 {
    (bits & ((1 << count) - 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_decodes_to_its_content() {
        for number in [0, 1, 0x1ff_ffff_ffff] {
            for store in [false, true] {
                for (instructions, references) in [(0, 1), (MOST_INSTRUCTIONS, MOST_REFERENCES)] {
                    let entry = Record::access(number, store, instructions, references).decode();
                    let line = Some(Line { number, store });
                    assert_eq!(entry, TraceEntry { line, instructions, references });
                }
            }
        }
        for (count, continues) in [(0, true), (i32::MAX as u32, true), (i32::MAX as u32, false)] {
            let gap = Record::gap(count, count, continues);
            let expected = TraceEntry { line: None, instructions: count, references: count };
            assert_eq!((gap.decode(), gap.continues()), (expected, continues));
        }
    }
}
