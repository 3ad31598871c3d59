//! dCat (Xu et al., EuroSys 2018): its figures and tables, on the chip.
//!
//! The policy is told that a round is a second; the chip runs so many times as fast
//! ([`Setting::time_scale`]); of Figures 1, 2 and 5, where nobody decides anything, that only says how long a
//! run is.

mod numbers;
mod pages;
mod plots;
mod script;
mod servers;
mod setup;
mod spec;
mod sweeps;
mod timelines;

use std::sync::atomic::{AtomicUsize, Ordering};

use fairways_chip::ChipError;
use fairways_profiles::Table;

use super::Findings;
use setup::{Bench, Under, among, tenant};

pub use plots::Figures;
pub use spec::Length;

/// How the paper's experiments are repeated.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// How many times shorter everything takes than dCat is told.
    pub time_scale: u32,
    /// The placements over which Figure 2 is a mean.
    pub placements: u64,
    /// Of the 20 rows of Figure 17, how many.
    pub benchmarks: usize,
    /// Rounds of a run in which tenants do the same all the time.
    pub rounds: Length,
    /// Whether one case is run without a scale of time, too.
    pub unscaled: bool,
    /// The seed of everything.
    pub seed: u64,
}

impl Setting {
    /// All of it; if `quick`, on a shorter scale, and less of what takes long.
    #[must_use]
    pub fn new(quick: bool) -> Self {
        Self {
            time_scale: if quick { 40 } else { 10 },
            placements: if quick { 2 } else { 8 },
            benchmarks: if quick { 2 } else { 20 },
            rounds: if quick {
                Length { dcat: 16, fixed: 5, counted: 2 }
            } else {
                Length { dcat: 30, fixed: 8, counted: 4 }
            },
            unscaled: !quick,
            seed: 1,
        }
    }
}

/// The paper's experiments.
#[derive(Debug)]
pub struct Dcat<'a> {
    table: &'a Table,
    setting: Setting,
}

impl<'a> Dcat<'a> {
    /// The experiments; Figure 17's programs are of this table.
    #[must_use]
    pub fn new(table: &'a Table, setting: Setting) -> Self {
        Self { table, setting }
    }

    /// Runs them all. `told` hears what is at hand, how much of it is done, and how much there is.
    ///
    /// # Errors
    /// If there can't be such a chip.
    pub fn run(
        &self,
        told: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Findings, Figures), ChipError> {
        let Setting { time_scale, placements, benchmarks, rounds, unscaled, seed } = self.setting;
        let mut findings = Findings::default();
        let (scaled, whole) =
            (Bench::new("xeon-e5", time_scale, seed), Bench::new("xeon-e5", 10, seed));
        numbers::findings(&mut findings);
        script::findings(&mut findings);
        told("Figures 1 to 3 and 5", 0, 4);
        let interference = pages::interference(whole, &mut findings)?;
        told("Figures 1 to 3 and 5", 1, 4);
        pages::conflicts(whole, placements, &mut findings)?;
        told("Figures 1 to 3 and 5", 2, 4);
        pages::histogram(&mut findings);
        told("Figures 1 to 3 and 5", 3, 4);
        pages::references(scaled, &mut findings)?;
        told("Figures 8 and 9", 0, 1);
        let thresholds = sweeps::run(scaled, rounds.dcat, &mut findings)?;
        told("Figures 10 to 16", 0, 3);
        let (mut timelines, sizes) = timelines::sizes(scaled, &mut findings)?;
        told("Figures 10 to 16", 1, 3);
        timelines.extend(timelines::run(scaled, &mut findings)?);
        told("Figures 10 to 16", 2, 3);
        let latencies = timelines::latencies(scaled, &mut findings)?;
        timelines::overhead(scaled, &mut findings)?;
        if unscaled {
            told("Figure 10, unscaled", 0, 1);
            self.unscaled(&mut findings)?;
        }
        let done = AtomicUsize::new(0);
        let step = || told("Figure 17", 1 + done.fetch_add(1, Ordering::Relaxed), benchmarks);
        let spec = spec::run(scaled, self.table, rounds, benchmarks, &step)?;
        spec::findings(&spec, &mut findings);
        told("Tables 4 to 6", 0, 1);
        servers::run(scaled, rounds, &mut findings)?;
        Ok((findings, Figures { interference, thresholds, sizes, timelines, latencies, spec }))
    }

    /// MLR-8MB of Figure 10, at the speed of the paper's machine.
    fn unscaled(&self, findings: &mut Findings) -> Result<(), ChipError> {
        let bench = Bench::new("xeon-e5", 1, self.setting.seed);
        let tenants = among(&[tenant("idle@1s+mlr:8M", 3)], 5, 3);
        let run =
            bench.run(&tenants, Under::Dcat(fairways_policy::dcat::Parameters::default()), 12)?;
        let item = "Figure 10, unscaled";
        let (time, ways) = (run.enough(0) - 1.0, f64::from(run.final_ways(0)));
        findings.add_beside(item, "MLR-8MB, time to enough ways", "s", Some(time));
        findings.add_beside(item, "MLR-8MB settles at", "ways", Some(ways));
        let normalised = run.normalised(0, 3).last().copied();
        findings.add_beside(item, "MLR-8MB, IPC over that with 3 ways", "ratio", normalised);
        Ok(())
    }
}
