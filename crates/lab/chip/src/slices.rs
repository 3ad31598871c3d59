//! The part of a program that is looked at.

/// Slices of a program, of the same length and evenly spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices {
    /// Instructions before the first slice.
    pub skip: u64,
    /// Instructions of a slice; `None`: up to the program's end.
    pub length: Option<u64>,
    /// The number of slices, at least 1.
    pub count: u32,
    /// Instructions from the begin of a slice to that of the next, at least its length.
    pub apart: u64,
}

impl Slices {
    /// The whole program.
    pub const ALL: Self = Self { skip: 0, length: None, count: 1, apart: 0 };
}

/// How far a program is, and which slice is next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SliceCursor {
    slices: Slices,
    executed: u64,
    /// The slice under way or, between slices, the next one.
    pub(crate) slice: u32,
    start: u64,
    end: u64,
}

impl SliceCursor {
    pub(crate) fn new(slices: Slices) -> Self {
        let end = slices.length.map_or(u64::MAX, |length| slices.skip.saturating_add(length));
        Self { slices, executed: 0, slice: 0, start: slices.skip, end }
    }

    /// Lets the program run that many instructions. Returns how many of them are in slices, and
    /// whether the last one is. Without instructions, it is about the last one before.
    #[inline]
    pub(crate) fn advance(&mut self, instructions: u32) -> (u64, bool) {
        let from = self.executed;
        self.executed += u64::from(instructions);
        if from > self.start && self.executed <= self.end {
            return (u64::from(instructions), true);
        }
        self.advance_across(from)
    }

    /// The same, from there to where the program is now, at the edge of a slice or outside of any.
    #[inline(never)]
    fn advance_across(&mut self, from: u64) -> (u64, bool) {
        let mut counted = 0;
        loop {
            let first = from.max(self.start);
            counted += self.executed.min(self.end).saturating_sub(first);
            if self.executed <= self.end || self.is_over() {
                return (counted, self.executed > self.start && self.executed <= self.end);
            }
            self.slice += 1;
            if self.is_over() {
                return (counted, false);
            }
            self.start = self.start.saturating_add(self.slices.apart);
            self.end = self.start.saturating_add(self.slices.length.unwrap_or(u64::MAX));
        }
    }

    /// Whether the program has run beyond the last slice.
    pub(crate) fn is_over(&self) -> bool {
        self.slice >= self.slices.count
    }

    /// Whether all slices have been run, or the program has run to the end that was to be looked
    /// at.
    pub(crate) fn is_complete(&self) -> bool {
        let is_last = self.slice + 1 == self.slices.count;
        self.slices.length.is_none() || self.is_over() || (is_last && self.executed == self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(slices: Slices, steps: &[u32]) -> Vec<(u64, bool)> {
        let mut cursor = SliceCursor::new(slices);
        steps.iter().map(|&step| cursor.advance(step)).collect()
    }

    #[test]
    fn only_instructions_of_slices_count() {
        assert_eq!(counted(Slices::ALL, &[5, 0]), [(5, true), (0, true)]);
        let one = Slices { skip: 10, length: Some(5), ..Slices::ALL };
        let expected = [(0, false), (0, false), (1, true), (0, true), (4, true), (0, true)];
        assert_eq!(counted(one, &[10, 0, 1, 0, 4, 0]), expected);
        assert_eq!(counted(one, &[12, 4, 9]), [(2, true), (3, false), (0, false)]);
        assert_eq!(counted(one, &[40]), [(5, false)]);
        let three = Slices { skip: 10, length: Some(5), count: 3, apart: 20 };
        assert_eq!(counted(three, &[32, 40, 1]), [(7, true), (8, false), (0, false)]);
        assert_eq!(counted(three, &[1000]), [(15, false)]);
    }

    #[test]
    fn slices_are_complete_with_their_last_instruction() {
        let slices = Slices { skip: 10, length: Some(5), count: 2, apart: 5 };
        let mut cursor = SliceCursor::new(slices);
        cursor.advance(19);
        assert!(!cursor.is_complete());
        cursor.advance(1);
        assert!(cursor.is_complete() && !cursor.is_over());
        cursor.advance(1);
        assert!(cursor.is_complete() && cursor.is_over());
        assert!(SliceCursor::new(Slices::ALL).is_complete());
    }
}
