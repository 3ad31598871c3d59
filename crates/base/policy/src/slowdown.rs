//! Slowdown tables (LFOC §2.1, equation 2).

use fairways_core::{Curve, Q32, Ways};

use crate::parameter::choices;

/// The IPC that a program's slowdown is relative to (docs/decisions.md, LFOC 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reference {
    /// The best IPC at any way count, as in the published simulator; some programs are fastest with
    /// less than the whole cache.
    #[default]
    Best,
    /// The IPC with every way, as in the paper (§2.1, §2.3.1).
    WholeCache,
}

choices!(Reference { Best = "best", WholeCache = "whole-cache" });

impl Reference {
    /// The reference IPC in a cache of `ways` ways.
    #[must_use]
    pub fn ipc(self, ipc: &Curve, ways: Ways) -> Q32 {
        match self {
            Self::Best => {
                let within = ipc.values().iter().take(ways.get() as usize);
                within.copied().max().unwrap_or_default()
            }
            Self::WholeCache => ipc.at(ways.get()),
        }
    }
}

/// The slowdown at each way count of a cache of `ways` ways: the reference IPC over the IPC there,
/// rounded down.
///
/// A slowdown beyond [`Q32::MAX_IN_CURVE`] (an IPC of next to nothing) is limited to that.
#[must_use]
pub fn slowdown_table(ipc: &Curve, ways: Ways, reference: Reference) -> Curve {
    slowdowns_over(reference.ipc(ipc, ways), ipc, ways)
}

/// The same over an IPC that is known, such as that alone on a larger cache.
pub(crate) fn slowdowns_over(alone: Q32, ipc: &Curve, ways: Ways) -> Curve {
    let alone = alone.raw();
    Curve::from_fn(ways, |ways| Q32::ratio(alone, ipc.at(ways).raw()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_references_differ_where_a_program_peaks_early() {
        let ipc = Curve::new([1, 4, 2].map(Q32::from_int)).unwrap();
        let three = Ways::new(3).unwrap();
        let raw = |reference| slowdown_table(&ipc, three, reference).values().to_vec();
        assert_eq!(raw(Reference::Best), [4, 1, 2].map(Q32::from_int));
        let half = Q32::from_raw(1 << 31);
        assert_eq!(raw(Reference::WholeCache), [Q32::from_int(2), half, Q32::ONE]);
        // In a smaller cache, the peak is the best IPC in that cache.
        let one = slowdown_table(&ipc, Ways::new(1).unwrap(), Reference::Best);
        assert_eq!(one.values(), [Q32::ONE]);
    }
}
