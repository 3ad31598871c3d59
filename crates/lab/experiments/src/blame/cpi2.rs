//! CPI²'s method, for comparison: the suspect whose use of the processor goes along with the
//! victim's cycles per instruction (Zhang, Tune, Hagmann, Jnagal, Gokhale and Wilkes, CPI²: CPU
//! performance isolation for shared compute clusters, EuroSys 2013, §4.2).
//!
//! For each window, with the victim's CPI `c` and a suspect's use `u` as a share of its use in all
//! windows, the correlation rises by `u (1 - limit / c)` if `c` is above the limit, and falls by
//! `u (1 - c / limit)` if it is not. The limit is an outlier of the CPI that the program usually
//! has; here the CPI alone is known, and is the limit.

use fairways_core::{AppId, Event};

/// What CPI² looks at: by program, a victim's CPI in each of its windows, and the suspects' use of
/// the processor in those.
#[derive(Clone, Debug, Default)]
pub(super) struct CpuUse {
    /// By program, cycles per nanosecond in its last window.
    used: Vec<f64>,
    /// By victim and window: its CPI, and the use of each program.
    windows: Vec<Vec<(f64, Vec<f64>)>>,
    /// By program, its misses.
    pub(super) misses: Vec<u64>,
}

impl CpuUse {
    pub(super) fn new(programs: usize) -> Self {
        let windows = vec![Vec::new(); programs];
        Self { used: vec![0.0; programs], windows, misses: vec![0; programs] }
    }

    /// Takes in an event; `is_counted` if it is in the span.
    pub(super) fn handle(&mut self, event: &Event, is_counted: bool) {
        let Event::Sampled(sample) = event else { return };
        let AppId(app) = sample.app;
        let Some(place) = usize::try_from(app).ok().filter(|&place| place < self.used.len()) else {
            return;
        };
        let counters = sample.counters;
        let (Some(cycles), Some(instructions)) = (counters.cycles, counters.instructions) else {
            return;
        };
        self.used[place] = cycles as f64 / sample.window.as_nanos() as f64;
        if is_counted && instructions > 0 {
            let cpi = cycles as f64 / instructions as f64;
            self.windows[place].push((cpi, self.used.clone()));
            self.misses[place] += counters.llc_misses.unwrap_or(0);
        }
    }

    /// The suspect that goes along with the victim's CPI most; the first of several.
    pub(super) fn suspect(&self, victim: usize, limit: f64) -> Option<usize> {
        let windows = &self.windows[victim];
        let mut most: Option<(usize, f64)> = None;
        for suspect in (0..self.used.len()).filter(|&suspect| suspect != victim) {
            let all: f64 = windows.iter().map(|(_, used)| used[suspect]).sum();
            let correlation = windows.iter().map(|(cpi, used)| {
                let share = used[suspect] / all;
                share * if *cpi > limit { 1.0 - limit / cpi } else { cpi / limit - 1.0 }
            });
            let correlation: f64 = correlation.sum();
            if most.is_none_or(|(_, before)| correlation > before + 1e-9) {
                most = Some((suspect, correlation));
            }
        }
        most.map(|(suspect, _)| suspect)
    }
}
