//! dCat (Xu et al., EuroSys 2018): its figures and tables, on the chip.
//!
//! The policy is told that a round is a second; the chip runs so many times as fast
//! ([`Setting::time_scale`]); of Figures 1, 2 and 5, where nobody decides anything, that only says how long a
//! run is.

mod forms;
mod grounds;
mod host;
mod numbers;
mod pages;
mod plots;
mod script;
mod servers;
mod setup;
mod spec;
mod sweeps;
#[cfg(test)]
mod tests;
mod timelines;

use fairways_chip::{ChipError, Settings};
use fairways_policy::dcat::Parameters;
use fairways_profiles::ProfileTable;
use rayon::prelude::*;

use super::Findings;
use setup::{Bench, Ended, Under, among, tenant};
use spec::Fared;

pub use plots::Figures;
pub use spec::Length;

/// The paper's server (§5).
const CHIP: &str = "xeon-e5";

/// How the paper's experiments are repeated.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// How many times shorter everything takes than dCat is told.
    pub time_scale: u32,
    /// The same of Figure 17 and Tables 3 to 6, whose runs are the longest.
    pub tables_time_scale: u32,
    /// One of so many sets of the last-level cache is simulated.
    pub set_sampling: u32,
    /// The placements over which Figure 2 is a mean.
    pub placements: u64,
    /// Rounds of Figure 17 and Tables 3 to 6; `None`: they are left out, for shorter runs do not
    /// settle.
    pub rounds: Option<Length>,
    /// Whether what has no claim is run, too: the stop that §3.4 prints, other grounds, and a case
    /// without a scale of time.
    pub besides: bool,
    /// The seed of everything.
    pub seed: u64,
    /// Seeds, from that one on, with which all that depends on one is run; values are the first's.
    pub seeds: u64,
}

impl Setting {
    /// All of it; if `quick`, one seed, and less of what takes long.
    #[must_use]
    pub fn new(quick: bool) -> Self {
        Self {
            time_scale: 40,
            tables_time_scale: 80,
            set_sampling: 4,
            placements: if quick { 2 } else { 8 },
            rounds: (!quick).then_some(Length { dcat: 30, fixed: 6, counted: 3 }),
            besides: !quick,
            seed: 1,
            seeds: if quick { 1 } else { 5 },
        }
    }
}

/// The paper's experiments.
#[derive(Debug)]
pub struct Dcat<'a> {
    table: &'a ProfileTable,
    setting: Setting,
}

impl<'a> Dcat<'a> {
    /// The experiments; Figure 17's programs are of this table.
    #[must_use]
    pub fn new(table: &'a ProfileTable, setting: Setting) -> Self {
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
        let Setting { time_scale, placements, seed, seeds, besides, .. } = self.setting;
        let ended = Ended::default();
        let bench = self.bench(time_scale, seed, &ended);
        let mut once = Findings::default();
        numbers::findings(&mut once);
        script::findings(&mut once);
        told("Figures 2, 3 and 5", 0, 1);
        pages::conflicts(bench, placements, &mut once)?;
        pages::histogram(&mut once);
        pages::references(bench, &mut once)?;
        timelines::overhead(bench, &mut once)?;
        let other = |seed| -> Result<Findings, ChipError> {
            let ended = Ended::default();
            let bench = self.bench(time_scale, seed, &ended);
            let mut findings = self.timelines(bench, told)?.0;
            findings.0.append(&mut self.tables(bench, told)?.0.0);
            Ok(findings)
        };
        let others = || -> Result<Vec<Findings>, ChipError> {
            (seed + 1..seed + seeds).into_par_iter().map(other).collect()
        };
        let first = || {
            let (mut findings, mut figures) = self.timelines(bench, told)?;
            figures.thresholds = sweeps::run(bench, &mut findings)?;
            let (mut tables, spec) = self.tables(bench, told)?;
            findings.0.append(&mut tables.0);
            figures.spec = spec;
            Ok::<_, ChipError>((findings, figures))
        };
        let (first, others) = rayon::join(first, others);
        let ((mut findings, figures), others) = (first?, others?);
        if besides {
            once.0.append(&mut self.besides(bench, &findings, &once, told)?.0);
        }
        if !others.is_empty() {
            let mut seeds = vec![findings.clone()];
            seeds.extend(others);
            findings.note_seeds(&seeds);
        }
        findings.0.append(&mut once.0);
        Ok((findings, figures))
    }

    fn bench<'e>(&self, time_scale: u32, seed: u64, ended: &'e Ended) -> Bench<'e> {
        let mut bench = Bench::new(CHIP, time_scale, seed, ended);
        bench.settings.set_sampling = self.setting.set_sampling;
        bench
    }

    fn scaled_for_tables<'e>(&self, bench: Bench<'e>) -> Bench<'e> {
        let time_scale = self.setting.tables_time_scale;
        Bench { settings: Settings { time_scale, ..bench.settings }, ..bench }
    }

    /// What depends on the seed: Figures 1 and 10 to 16.
    fn timelines(
        &self,
        bench: Bench<'_>,
        told: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Findings, Figures), ChipError> {
        let seed = bench.settings.seed;
        let mut findings = Findings::default();
        told(&format!("seed {seed}, Figures 1 and 10 to 16"), 0, 1);
        let interference = pages::interference(bench, &mut findings)?;
        let (mut timelines, sizes) = timelines::sizes(bench, &mut findings)?;
        timelines.extend(timelines::run(bench, &mut findings)?);
        let latencies = timelines::latencies(bench, &mut findings)?;
        let (thresholds, spec) = (Vec::new(), Vec::new());
        Ok((findings, Figures { interference, thresholds, sizes, timelines, latencies, spec }))
    }

    /// What depends on the seed: Figure 17 and Tables 3 to 6.
    fn tables(
        &self,
        bench: Bench<'_>,
        told: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Findings, Vec<Fared>), ChipError> {
        let mut findings = Findings::default();
        let Some(rounds) = self.setting.rounds else { return Ok((findings, Vec::new())) };
        let bench = self.scaled_for_tables(bench);
        told(&format!("seed {}, Figure 17", bench.settings.seed), 0, 1);
        let spec = spec::run(bench, self.table, rounds)?;
        spec::findings(&spec, &mut findings);
        told(&format!("seed {}, Tables 4 to 6", bench.settings.seed), 0, 1);
        servers::run(bench, rounds, &mut findings)?;
        Ok((findings, spec))
    }

    /// What has no claim. `findings` are the first seed's, `once` what has no seed.
    fn besides(
        &self,
        bench: Bench<'_>,
        findings: &Findings,
        once: &Findings,
        told: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<Findings, ChipError> {
        let mut beside = Findings::default();
        let stops = Parameters { receiver_stops_on_misses: true, ..bench.dcat };
        let printed = Bench { dcat: stops, ..bench };
        let mut under = self.timelines(printed, told)?.0;
        sweeps::run(printed, &mut under)?;
        under.0.append(&mut self.tables(printed, told)?.0.0);
        forms::compare(findings, &under, once, &mut beside);
        told("other grounds", 0, 1);
        grounds::timelines(bench, &mut beside)?;
        if let Some(rounds) = self.setting.rounds {
            grounds::tables(self.scaled_for_tables(bench), self.table, rounds, &mut beside)?;
        }
        unscaled(bench, &mut beside)?;
        Ok(beside)
    }
}

/// MLR-8MB of Figure 10, at the speed of the paper's machine.
fn unscaled(bench: Bench<'_>, findings: &mut Findings) -> Result<(), ChipError> {
    let settings = Settings { time_scale: 1, ..bench.settings };
    let bench = Bench { settings, ..bench };
    let tenants = among(&[tenant("idle@1s+mlr:8M", 3)], 5, 3);
    let run = bench.run(&tenants, Under::Dcat(bench.dcat), 12)?;
    let item = "Figure 10, unscaled";
    let (time, ways) = (run.enough(0) - 1.0, f64::from(run.final_ways(0)));
    findings.add_beside(item, "MLR-8MB, time to enough ways", "s", Some(time));
    findings.add_beside(item, "MLR-8MB settles at", "ways", Some(ways));
    let normalised = run.normalised(0, 3).last().copied();
    findings.add_beside(item, "MLR-8MB, IPC over that with 3 ways", "ratio", normalised);
    Ok(())
}
