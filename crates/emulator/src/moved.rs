//! Bytes moved from and to memory, by mark, for `mbm_total_bytes`.

use std::collections::HashMap;

use crate::hardware::Hardware;

/// The count for each mark. A program's bytes go to the mark that it has had since the last look,
/// so that they stay there when it moves on.
#[derive(Debug, Default)]
pub(crate) struct MovedBytes {
    bytes: HashMap<u16, u64>,
    /// By program: its moved bytes at the last look.
    seen: Vec<u64>,
}

impl MovedBytes {
    /// Adds the bytes that programs have moved since the last look; `mark` is the mark that each
    /// has had since.
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
    pub(crate) fn count(&self, mark: u16) -> u64 {
        self.bytes.get(&mark).copied().unwrap_or(0)
    }
}
