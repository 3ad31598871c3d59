//! What is learned of a program that comes without a profile.

use alloc::collections::VecDeque;

use fairways_core::{AppId, Curve, Llc, Q32};

/// What was measured of a program that started without a profile.
#[derive(Clone, Debug)]
pub(super) struct Profiler {
    pub(super) app: AppId,
    /// MPKI and IPC, the latest first.
    pub(super) measured: VecDeque<(Curve, Curve)>,
    /// Measurements that were given up since one succeeded.
    pub(super) failures: u32,
    /// Decision periods until it is tried again.
    pub(super) wait: u32,
}

/// After this many measurements that were given up, waiting grows no more.
pub(super) const MOST_FAILURES: u32 = 6;

impl Profiler {
    pub(super) fn new(app: AppId) -> Self {
        Self { app, measured: VecDeque::new(), failures: 0, wait: 0 }
    }

    /// The mean of what was measured.
    pub(super) fn tables(&self, llc: &Llc) -> Option<(Curve, Curve)> {
        let count = self.measured.len() as u64;
        let mean = |part: fn(&(Curve, Curve)) -> &Curve| {
            Curve::from_fn(llc.ways, |ways| {
                let sum: u64 = self.measured.iter().map(|both| part(both).at(ways).raw()).sum();
                Q32::from_raw(sum / count)
            })
        };
        (count > 0).then(|| (mean(|both| &both.0), mean(|both| &both.1)))
    }
}
