//! A machine on which nothing runs.

use fairways_core::{Counters, LatencyBin, Time};

use super::{CpuClass, Hardware, Until};

/// Nothing runs, and every counter stays at 0: for clients that look at the files only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Idle {
    now: Time,
}

impl Hardware for Idle {
    fn names(&self) -> &[String] {
        &[]
    }

    fn now(&self) -> Time {
        self.now
    }

    fn advance(&mut self, until: &Until) -> bool {
        self.now = self.now.max(until.to.min(until.about));
        false
    }

    fn runs(&self, _: usize) -> bool {
        false
    }

    fn kill(&mut self, _: usize) {}

    fn cpu(&self, _: usize) -> Option<u32> {
        None
    }

    fn set_classes(&mut self, _: usize, _: Vec<CpuClass>) {}

    fn counters(&self, _: usize) -> Counters {
        Counters::default()
    }

    fn latencies(&mut self, _: usize) -> Option<Vec<LatencyBin>> {
        None
    }

    fn occupancy_bytes(&self, _: u16) -> u64 {
        0
    }

    fn failure(&self) -> Option<String> {
        None
    }
}
