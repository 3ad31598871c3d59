//! The lines that a thread used last, for each set of an L1.

/// The most sets.
pub(crate) const SETS: usize = 64;

/// For each set of an L1, the two lines used last.
///
/// References to them hit any L1 with at least as many sets and ways; in one that replaces the
/// least recently used line they change the order of these two at most. That order is reported
/// before a third line is.
#[derive(Debug)]
pub(crate) struct LastLines {
    last_set: u64,
    /// Whether the L1 has two ways or more.
    two: bool,
    /// The two lines, and in the lowest bit whether the line was written.
    last: [[u64; 2]; SETS],
    /// The sets whose two lines the reader has in the other order.
    swapped: u64,
}

/// The sets (a power of two) and ways of the part of an L1 that decides what a trace leaves out:
/// L1s that agree in it have the same trace.
#[must_use]
pub fn l1_filter((sets, ways): (u32, u32)) -> (u32, u32) {
    (sets.clamp(1, SETS as u32), ways.clamp(1, 2))
}

/// What a reader has to know of the use of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissReport {
    /// Nothing: it hits.
    Nothing,
    /// The line.
    Line,
    /// The line, after a load of this one.
    LineAfter(u64),
}

impl LastLines {
    /// No lines, for an L1 with a power of two of sets.
    pub(crate) fn new(l1: (u32, u32)) -> Self {
        let (sets, ways) = l1_filter(l1);
        let last_set = u64::from(sets) - 1;
        Self { last_set, two: ways > 1, last: [[u64::MAX; 2]; SETS], swapped: 0 }
    }

    #[inline]
    fn set(&self, line: u64) -> usize {
        (line & self.last_set) as usize % SETS
    }

    /// Whether a use of a line is like the last one of its set.
    #[inline]
    pub(crate) fn repeats(&self, line: u64, store: bool) -> bool {
        let [last, _] = self.last[self.set(line)];
        last == line << 1 | u64::from(store) || last == line << 1 | 1
    }

    /// Notes the use of a line that does not repeat the last one.
    #[inline(always)]
    pub(crate) fn touch(&mut self, line: u64, store: bool) -> MissReport {
        let (set, new) = (self.set(line), line << 1 | u64::from(store));
        let (bit, [last, before]) = (1 << set, self.last[set]);
        let mut report = MissReport::Line;
        if before >> 1 == line && self.two {
            self.last[set] = [before | new, last];
            if !store || before == new {
                self.swapped ^= bit;
                return MissReport::Nothing;
            }
        } else if last >> 1 == line {
            // It is written for the first time.
            self.last[set][0] = new;
        } else {
            if self.swapped & bit != 0 {
                report = MissReport::LineAfter(last >> 1);
            }
            self.last[set] = [new, last];
        }
        self.swapped &= !bit;
        report
    }
}
