//! Bytes moved from and to memory, by mark, for `mbm_total_bytes`, and cycles, for `core_energy`.

use std::collections::HashMap;

use crate::hardware::Hardware;

/// The count for each mark. A program's bytes go to the mark that it has had since the last look,
/// so that they stay there when it moves on.
#[derive(Debug, Default)]
pub(crate) struct MovedBytes {
    counts: HashMap<u16, [u64; 2]>,
    /// By program: its moved bytes and cycles at the last look.
    seen: Vec<[u64; 2]>,
}

impl MovedBytes {
    /// Adds what programs have moved, and how long they ran, since the last look; `mark` is each
    /// one's mark since.
    pub(crate) fn look(&mut self, hardware: &dyn Hardware, mark: impl Fn(usize) -> u16) {
        let programs = hardware.names().len();
        self.seen.resize(programs, [0; 2]);
        for program in 0..programs {
            let counters = hardware.counters(program);
            let all = [counters.memory_bytes.unwrap_or(0), counters.cycles.unwrap_or(0)];
            if all != self.seen[program] {
                let counts = self.counts.entry(mark(program)).or_default();
                for (at, all) in all.into_iter().enumerate() {
                    counts[at] += all.saturating_sub(self.seen[program][at]);
                }
                self.seen[program] = all;
            }
        }
    }

    /// The bytes of a mark, since the machine began.
    pub(crate) fn count(&self, mark: u16) -> u64 {
        self.counts.get(&mark).map_or(0, |[bytes, _]| *bytes)
    }

    /// The cycles of a mark, since the machine began; none before its first.
    pub(crate) fn cycles(&self, mark: u16) -> Option<u64> {
        self.counts.get(&mark).map(|[_, cycles]| *cycles).filter(|cycles| *cycles > 0)
    }
}
