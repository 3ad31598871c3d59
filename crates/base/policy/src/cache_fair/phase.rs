//! When the reconnaissance is repeated before its time (§4.3; decision cache-fair 11).
//!
//! "Standard techniques for phase detection can be used to detect when the workload has changed its
//! cache access patterns." A thread's misses depend on its co-runners, but how often it references
//! the last-level cache per instruction does not, as the caches above are its own. A program that
//! references it more or less often than in its reconnaissance counts as being in another phase.

use fairways_core::Counters;

/// References to the last-level cache and instructions: in a reconnaissance, and since.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Accesses {
    references: u64,
    instructions: u64,
    /// How many windows in a row differed.
    differed: u32,
}

/// How many windows in a row have to differ. Ours: one may be a passing burst (§4.3: "occasional
/// short-term variability").
const IN_A_ROW: u32 = 2;

impl Accesses {
    /// Adds a window of the reconnaissance.
    pub(super) fn learn(&mut self, counters: &Counters) {
        if let (Some(references), Some(instructions)) =
            (counters.llc_references, counters.instructions)
        {
            self.references = self.references.saturating_add(references);
            self.instructions = self.instructions.saturating_add(instructions);
        }
    }

    /// Whether a window after the reconnaissance shows that accesses have changed by `percent` or
    /// more; a window without the counters shows nothing.
    pub(super) fn changed(&mut self, counters: &Counters, percent: u32) -> bool {
        let (Some(references), Some(instructions)) =
            (counters.llc_references, counters.instructions)
        else {
            return false;
        };
        if percent == 0 || instructions == 0 || self.instructions == 0 {
            return false;
        }
        // references / instructions against those of the reconnaissance, over one denominator.
        let now = u128::from(references) * u128::from(self.instructions);
        let then = u128::from(self.references) * u128::from(instructions);
        let differs = now.abs_diff(then).saturating_mul(100) >= then.saturating_mul(percent.into());
        self.differed = if differs && now != then { self.differed + 1 } else { 0 };
        self.differed >= IN_A_ROW
    }
}
