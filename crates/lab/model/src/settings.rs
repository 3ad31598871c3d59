//! Settings of the machine.

use fairways_core::{Levers, Llc};
use fairways_profiles::MemoryBandwidth;

/// The machine, and how well it can be observed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The cache.
    pub llc: Llc,
    /// Bytes of a way.
    pub way_bytes: f64,
    /// Core clock, MHz.
    pub mhz: f64,
    /// The memory's bandwidth limit, if it has one. Plans can then limit clusters to levels of it.
    pub bandwidth: Option<MemoryBandwidth>,
    /// The most that changes hands in one step of time, in ways.
    pub step: f64,
    /// How far a counter or an occupancy may be off, up or down: 0.02 is up to 2 %, each value
    /// equally likely, each reading on its own. Instructions are exact: windows are made of them.
    pub noise: f64,
    /// The share of windows whose counters are lost, and the share of occupancies that are, 0 to 1.
    pub lost: f64,
    /// How many times longer a window is than requested, at least 1.
    pub overshoot: f64,
    /// The share of plans of more than one cluster that are refused because classes of service have
    /// run out, 0 to 1.
    pub refusals: f64,
    /// The seed of everything random.
    pub seed: u64,
}

impl Settings {
    /// The LFOC paper's machine (§5: 2 GHz, 27.5 MB of last-level cache) with this cache, memory
    /// without limit, and perfect observation.
    #[must_use]
    pub fn new(llc: Llc) -> Self {
        Self {
            llc,
            way_bytes: 27.5 * 1024.0 * 1024.0 / f64::from(llc.ways.get()),
            mhz: 2000.0,
            bandwidth: None,
            step: 1.0 / 32.0,
            noise: 0.0,
            lost: 0.0,
            overshoot: 1.0,
            refusals: 0.0,
            seed: 1,
        }
    }

    /// What a policy can set on this machine.
    #[must_use]
    pub fn levers(&self) -> Levers {
        let bandwidth = self.bandwidth.and_then(MemoryBandwidth::lever);
        Levers { llc: self.llc, bandwidth }
    }
}
