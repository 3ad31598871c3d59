//! One run for several L1s: the entries for a larger one, from those for the smallest.

use crate::last_lines::{LastLines, MissReport};
use crate::record::{Line, MOST_INSTRUCTIONS, MOST_REFERENCES, TraceEntry};

/// The entries of a thread for an L1 with at least as many sets and ways as the records are for.
///
/// Every use that the records leave out is left out here, too, so these entries are the same as if
/// the records were for this L1: the last lines here change with what is recorded only.
#[derive(Debug)]
pub(crate) struct LargerL1 {
    lines: LastLines,
    /// Instructions and references since the last entry.
    instructions: u64,
    references: u64,
}

impl LargerL1 {
    pub(crate) fn new(l1: (u32, u32)) -> Self {
        Self { lines: LastLines::new(l1), instructions: 0, references: 0 }
    }

    /// Takes an entry for the smaller L1. `continues`: it is a gap that the entry after it
    /// belongs to.
    pub(crate) fn take(
        &mut self,
        entry: TraceEntry,
        continues: bool,
        each: &mut impl FnMut(TraceEntry),
    ) {
        self.instructions += u64::from(entry.instructions);
        self.references += u64::from(entry.references);
        let Some(line) = entry.line else {
            if !continues {
                self.push_gap(each);
            }
            return;
        };
        let Line { number, store } = line;
        if self.lines.repeats(number, store) {
            return;
        }
        match self.lines.touch(number, store) {
            MissReport::Nothing => return,
            MissReport::Line => {}
            MissReport::LineAfter(before) => {
                self.push(Line { number: before, store: false }, each);
            }
        }
        self.push(line, each);
    }

    fn push(&mut self, line: Line, each: &mut impl FnMut(TraceEntry)) {
        if self.instructions > MOST_INSTRUCTIONS.into() || self.references > MOST_REFERENCES.into()
        {
            self.push_gap(each);
        }
        self.push_entry(Some(line), each);
    }

    /// As much as fits an entry at a time, as the program's side does.
    fn push_gap(&mut self, each: &mut impl FnMut(TraceEntry)) {
        loop {
            self.push_entry(None, each);
            if self.instructions == 0 && self.references == 0 {
                return;
            }
        }
    }

    fn push_entry(&mut self, line: Option<Line>, each: &mut impl FnMut(TraceEntry)) {
        const MOST: u64 = i32::MAX as u64;
        let (instructions, references) = (self.instructions.min(MOST), self.references.min(MOST));
        self.instructions -= instructions;
        self.references -= references;
        each(TraceEntry {
            line,
            instructions: u32::try_from(instructions).unwrap_or(0),
            references: u32::try_from(references).unwrap_or(0),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the program's side does with a use: the entries for an L1.
    struct Direct {
        lines: LastLines,
        instructions: u32,
        references: u32,
    }

    impl Direct {
        fn new(l1: (u32, u32)) -> Self {
            Self { lines: LastLines::new(l1), instructions: 0, references: 0 }
        }

        fn take(&mut self, line: Line, instructions: u32, entries: &mut Vec<(TraceEntry, bool)>) {
            self.instructions += instructions;
            self.references += 1;
            if self.lines.repeats(line.number, line.store) {
                return;
            }
            let report = self.lines.touch(line.number, line.store);
            if let MissReport::LineAfter(number) = report {
                self.push(Line { number, store: false }, entries);
            }
            if report != MissReport::Nothing {
                self.push(line, entries);
            }
        }

        fn push(&mut self, line: Line, entries: &mut Vec<(TraceEntry, bool)>) {
            if self.instructions > MOST_INSTRUCTIONS || self.references > MOST_REFERENCES {
                self.gap(true, entries);
            }
            let (instructions, references) = (self.instructions, self.references);
            entries.push((TraceEntry { line: Some(line), instructions, references }, false));
            (self.instructions, self.references) = (0, 0);
        }

        fn gap(&mut self, continues: bool, entries: &mut Vec<(TraceEntry, bool)>) {
            let (instructions, references) = (self.instructions, self.references);
            entries.push((TraceEntry { line: None, instructions, references }, continues));
            (self.instructions, self.references) = (0, 0);
        }
    }

    #[test]
    fn entries_for_a_larger_l1_are_those_of_a_run_with_it() {
        let l1s = [(1, 1), (4, 1), (32, 1), (4, 2), (32, 4), (64, 8)];
        for (small, large) in l1s.into_iter().flat_map(|one| l1s.map(|other| (one, other))) {
            if small.0 > large.0 || small.1 > large.1 {
                continue;
            }
            let (mut narrow, mut wide) = (Direct::new(small), Direct::new(large));
            let (mut entries, mut expected) = (Vec::new(), Vec::new());
            let mut state = 7u64;
            for step in 0..100_000u32 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step.into());
                // Few lines at a time, some of one set, and runs of many repetitions.
                let number = state >> 33 & 7 | (state >> 40 & 3) << 5 | (state >> 50 & 1) << 6;
                let is_quiet = step / 1000 % 3 == 0;
                let number = if is_quiet { u64::from(step & 1) << 7 } else { number };
                let line = Line { number, store: !is_quiet && state >> 60 & 3 == 0 };
                for (side, entries) in [(&mut narrow, &mut entries), (&mut wide, &mut expected)] {
                    side.take(line, step % 17, entries);
                    if step % 4999 == 0 {
                        side.gap(false, entries);
                    }
                }
            }
            let mut larger = LargerL1::new(large);
            let mut found = Vec::new();
            for (entry, continues) in entries {
                larger.take(entry, continues, &mut |entry| found.push(entry));
            }
            let expected: Vec<TraceEntry> = expected.into_iter().map(|(entry, _)| entry).collect();
            let has_order = expected.iter().any(|entry| entry.references == 0);
            assert!(has_order || large.1 == 1, "{small:?} {large:?}");
            assert_eq!(found.len(), expected.len(), "{small:?} {large:?}");
            assert_eq!(found, expected, "{small:?} {large:?}");
        }
    }
}
