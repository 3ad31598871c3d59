//! A program's totals: sums over its windows.

use fairways_core::{Counters, Sample};

/// The totals of a program in a domain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProgramTotals {
    /// Windows that ended.
    pub windows: u64,
    /// The total length of the windows, ns.
    pub window_ns: u64,
    /// Sums over the windows in which each was counted.
    pub counters: Counters,
    ipc: Ratio,
    misses: Ratio,
    occupancy: Ratio,
    traffic: Ratio,
    misses_over_time: Ratio,
    /// Requests answered; `None` if no window reported any.
    pub requests: Option<u64>,
    /// Windows in which the objective was met.
    pub met: u64,
    /// Windows in which the objective was missed.
    pub missed: u64,
}

/// The ratio of two readings, summed over the windows that have both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ratio {
    over: f64,
    denominator: f64,
}

impl Ratio {
    fn add(&mut self, over: Option<f64>, under: Option<f64>) {
        if let (Some(over), Some(under)) = (over, under) {
            self.over += over;
            self.denominator += under;
        }
    }

    fn get(self) -> Option<f64> {
        (self.denominator > 0.0).then_some(self.over / self.denominator)
    }
}

impl ProgramTotals {
    /// Adds a window.
    pub fn add_window(&mut self, sample: &Sample) {
        let counters = &sample.counters;
        self.windows += 1;
        let length = u64::try_from(sample.window.as_nanos()).unwrap_or(u64::MAX);
        self.window_ns = self.window_ns.saturating_add(length);
        self.counters = self.counters.plus(counters);
        fn number(count: Option<u64>) -> Option<f64> {
            count.map(|count| count as f64)
        }
        let instructions = number(counters.instructions);
        self.ipc.add(instructions, number(counters.cycles));
        self.misses.add(number(counters.llc_misses), instructions);
        let seconds = sample.window.as_secs_f64();
        let occupancy = sample.occupancy.map(|ways| ways.raw() as f64 / (1_u64 << 32) as f64);
        self.occupancy.add(occupancy.map(|held| held * seconds), Some(seconds));
        self.traffic.add(number(counters.memory_bytes), Some(seconds));
        self.misses_over_time.add(number(counters.llc_misses), Some(seconds));
    }

    /// Instructions per cycle.
    pub fn ipc(&self) -> Option<f64> {
        self.ipc.get()
    }

    /// Misses of the last-level cache per 1000 instructions.
    pub fn mpki(&self) -> Option<f64> {
        self.misses.get().map(|misses| misses * 1000.0)
    }

    /// Bytes from and to memory per second, over the windows in which they were counted.
    pub fn memory_bytes_per_second(&self) -> Option<f64> {
        self.traffic.get()
    }

    /// Misses of the last-level cache per second, over the windows in which they were counted.
    pub fn llc_misses_per_second(&self) -> Option<f64> {
        self.misses_over_time.get()
    }

    /// The ways occupied, averaged over time.
    pub fn occupancy(&self) -> Option<f64> {
        self.occupancy.get()
    }
}
