//! Bytes moved from and to memory, by mark: what `mbm_total_bytes` counts.

use std::collections::HashMap;

use crate::hardware::Hardware;

/// What each mark has counted. A program's bytes go to the mark that it has had since they were last looked at, so that
/// they stay where they were when it moves on.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    bytes: HashMap<u16, u64>,
    /// By program: what it had moved when last looked at.
    seen: Vec<u64>,
}

impl Moved {
    /// Counts what programs have moved since the last look; `mark` is what each has had since.
    pub(crate) fn look(&mut self, hardware: &dyn Hardware, mark: impl Fn(usize) -> u16) {
        let programs = hardware.names().len();
        self.seen.resize(programs, 0);
        for program in 0..programs {
            let all = hardware.counters(program).memory_bytes.unwrap_or(0);
            let new = all.saturating_sub(self.seen[program]);
            if new > 0 {
                *self.bytes.entry(mark(program)).or_default() += new;
                self.seen[program] = all;
            }
        }
    }

    /// The bytes of a mark, since the machine began.
    pub(crate) fn of(&self, mark: u16) -> u64 {
        self.bytes.get(&mark).copied().unwrap_or(0)
    }
}
