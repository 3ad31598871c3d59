//! What KPart learns about a program without a profile.

use alloc::collections::VecDeque;

use fairways_core::{AppId, Curve, Llc, Q32};

/// The measurements of a program that started without a profile.
#[derive(Clone, Debug)]
pub(super) struct Profiler {
    pub(super) app: AppId,
    /// MPKI and IPC, the latest first.
    pub(super) measured: VecDeque<(Curve, Curve)>,
    /// Measurements that were given up since the last success.
    pub(super) failures: u32,
    /// Decision periods until it is tried again.
    pub(super) wait: u32,
}

/// After this many given-up measurements, the waiting time grows no more.
pub(super) const MOST_FAILURES: u32 = 6;

impl Profiler {
    pub(super) fn new(app: AppId) -> Self {
        Self { app, measured: VecDeque::new(), failures: 0, wait: 0 }
    }

    /// The mean MPKI and IPC of the measurements; `None` if there is none.
    pub(super) fn tables(&self, llc: &Llc) -> Option<(Curve, Curve)> {
        let count = self.measured.len() as u64;
        if count == 0 {
            return None;
        }
        let llcmpki = Curve::from_fn(llc.ways, |ways| {
            let sum: u64 = self.measured.iter().map(|(llcmpki, _)| llcmpki.at(ways).raw()).sum();
            Q32::from_raw(sum / count)
        });
        let ipc = Curve::from_fn(llc.ways, |ways| {
            let sum: u64 = self.measured.iter().map(|(_, ipc)| ipc.at(ways).raw()).sum();
            Q32::from_raw(sum / count)
        });
        Some((llcmpki, ipc))
    }
}
