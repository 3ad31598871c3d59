//! dCat (Xu et al., EuroSys 2018): its figures and tables, on the chip.
//!
//! The policy assumes that a round is a second; the chip runs [`Setting::time_scale`] times as
//! fast. In Figures 1, 2 and 5, where no policy decides, that only sets the length of a run.

mod benchmarks;
pub(super) mod claims;
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
use fairways_profiles::corpus::CorpusMachine;
use rayon::prelude::*;

use super::Findings;
use super::ground::corpus_table;
use benchmarks::SpecPrograms;
use setup::{CacheMode, DcatBench, FinishedRuns, among, tenant};
use spec::SpecOutcome;

pub use plots::Figures;
pub use spec::Length;

/// The paper's server (§5).
const CHIP: &str = "xeon-e5";

/// The parameters of the repetition.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The factor by which everything is shorter than dCat assumes.
    pub time_scale: u32,
    /// The same factor for Figure 17 and Tables 3 to 6, whose runs are the longest.
    pub tables_time_scale: u32,
    /// One in this many sets of the last-level cache is simulated.
    pub set_sampling: u32,
    /// The placements over which Figure 2 is a mean.
    pub placements: u64,
    /// Rounds of Figure 17 and Tables 3 to 6; `None`: they are left out, because shorter runs do
    /// not settle.
    pub rounds: Option<Length>,
    /// Whether to run cases without a claim, too: the stop that §3.4 prints, other grounds, and a
    /// case without a scale of time.
    pub besides: bool,
    /// The first seed.
    pub seed: u64,
    /// The number of seeds for all that depends on one; values are the first seed's.
    pub seeds: u64,
}

impl Setting {
    /// The full repetition; if `quick`, one seed, and less of what takes long.
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

    /// Runs all experiments. `progress` is called with the current experiment, the steps done, and
    /// all steps.
    ///
    /// # Errors
    /// If the chip is not possible.
    pub fn run(
        &self,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Findings, Figures), ChipError> {
        let Setting { time_scale, placements, seed, seeds, besides, .. } = self.setting;
        let finished = FinishedRuns::default();
        let bench = self.bench(time_scale, seed, &finished);
        let mut once = Findings::default();
        numbers::findings(&mut once);
        script::findings(&mut once);
        progress("Figures 2, 3 and 5", 0, 1);
        pages::conflicts(bench, placements, &mut once)?;
        pages::histogram(&mut once);
        pages::references(bench, &mut once)?;
        timelines::overhead(bench, &mut once)?;
        let others = || -> Result<Vec<Findings>, ChipError> {
            (seed + 1..seed + seeds)
                .into_par_iter()
                .map(|seed| -> Result<Findings, ChipError> {
                    let finished = FinishedRuns::default();
                    let bench = self.bench(time_scale, seed, &finished);
                    let mut findings = self.timelines(bench, progress)?.0;
                    findings.0.append(&mut self.tables(bench, progress)?.0.0);
                    Ok(findings)
                })
                .collect()
        };
        let first = || {
            let (mut findings, mut figures) = self.timelines(bench, progress)?;
            figures.thresholds = sweeps::run(bench, &mut findings)?;
            let (mut tables, spec) = self.tables(bench, progress)?;
            findings.0.append(&mut tables.0);
            figures.spec = spec;
            Ok::<_, ChipError>((findings, figures))
        };
        let (first, others) = rayon::join(first, others);
        let ((mut findings, figures), others) = (first?, others?);
        if besides {
            once.0.append(&mut self.besides(bench, &findings, &once, progress)?.0);
        }
        if !others.is_empty() {
            let mut seeds = vec![findings.clone()];
            seeds.extend(others);
            findings.note_seeds(&seeds);
        }
        findings.0.append(&mut once.0);
        Ok((findings, figures))
    }

    /// Runs Figure 17 and Table 3 with the benchmarks that live on as the corpus measured them
    /// behind the private caches of the paper's server; the others are the table's, if it has
    /// them.
    ///
    /// # Errors
    /// If the chip is not possible.
    pub fn run_on_corpus(
        &self,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<Findings, ChipError> {
        let Setting { time_scale, seed, seeds, rounds, .. } = self.setting;
        let Some(rounds) = rounds else { return Ok(Findings::default()) };
        let programs = SpecPrograms::on_corpus(corpus_table(CorpusMachine::Broadwell), self.table);
        let repeated: Vec<Findings> = (seed..seed + seeds)
            .into_par_iter()
            .map(|seed| -> Result<Findings, ChipError> {
                let finished = FinishedRuns::default();
                let bench = self.scaled_for_tables(self.bench(time_scale, seed, &finished));
                progress(&format!("seed {seed}, Figure 17 on the corpus"), 0, 1);
                let mut findings = Findings::default();
                spec::findings(&spec::run(bench, &programs, rounds)?, &mut findings);
                findings.0.retain(|found| programs.has_part_in(found));
                Ok(findings)
            })
            .collect::<Result<_, ChipError>>()?;
        let mut findings = repeated.first().cloned().unwrap_or_default();
        if repeated.len() > 1 {
            findings.note_seeds(&repeated);
        }
        findings.mark_partial(|found| programs.is_partial(found));
        Ok(findings)
    }

    fn bench<'e>(&self, time_scale: u32, seed: u64, finished: &'e FinishedRuns) -> DcatBench<'e> {
        let mut bench = DcatBench::new(CHIP, time_scale, seed, finished);
        bench.settings.set_sampling = self.setting.set_sampling;
        bench
    }

    fn scaled_for_tables<'e>(&self, bench: DcatBench<'e>) -> DcatBench<'e> {
        let time_scale = self.setting.tables_time_scale;
        DcatBench { settings: Settings { time_scale, ..bench.settings }, ..bench }
    }

    /// What depends on the seed: Figures 1 and 10 to 16.
    fn timelines(
        &self,
        bench: DcatBench<'_>,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Findings, Figures), ChipError> {
        let seed = bench.settings.seed;
        let mut findings = Findings::default();
        progress(&format!("seed {seed}, Figures 1 and 10 to 16"), 0, 1);
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
        bench: DcatBench<'_>,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Findings, Vec<SpecOutcome>), ChipError> {
        let mut findings = Findings::default();
        let Some(rounds) = self.setting.rounds else { return Ok((findings, Vec::new())) };
        let bench = self.scaled_for_tables(bench);
        progress(&format!("seed {}, Figure 17", bench.settings.seed), 0, 1);
        let spec = spec::run(bench, &SpecPrograms::of(self.table), rounds)?;
        spec::findings(&spec, &mut findings);
        progress(&format!("seed {}, Tables 4 to 6", bench.settings.seed), 0, 1);
        servers::run(bench, rounds, &mut findings)?;
        Ok((findings, spec))
    }

    /// Runs the cases without a claim. `findings` are the first seed's, `once` those without a
    /// seed.
    fn besides(
        &self,
        bench: DcatBench<'_>,
        findings: &Findings,
        once: &Findings,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<Findings, ChipError> {
        let mut beside = Findings::default();
        let stops = Parameters { receiver_stops_on_misses: true, ..bench.dcat };
        let printed = DcatBench { dcat: stops, ..bench };
        let mut under = self.timelines(printed, progress)?.0;
        sweeps::run(printed, &mut under)?;
        under.0.append(&mut self.tables(printed, progress)?.0.0);
        forms::compare(findings, &under, once, &mut beside);
        progress("other grounds", 0, 1);
        grounds::timelines(bench, &mut beside)?;
        if let Some(rounds) = self.setting.rounds {
            let programs = SpecPrograms::of(self.table);
            grounds::tables(self.scaled_for_tables(bench), &programs, rounds, &mut beside)?;
        }
        unscaled(bench, &mut beside)?;
        Ok(beside)
    }
}

/// MLR-8MB of Figure 10, at the speed of the paper's machine.
fn unscaled(bench: DcatBench<'_>, findings: &mut Findings) -> Result<(), ChipError> {
    let settings = Settings { time_scale: 1, ..bench.settings };
    let bench = DcatBench { settings, ..bench };
    let tenants = among(&[tenant("idle@1s+mlr:8M", 3)], 5, 3);
    let run = bench.run(&tenants, CacheMode::Dcat(bench.dcat), 12)?;
    let item = "Figure 10, unscaled";
    let (time, ways) = (run.seconds_to_enough(0) - 1.0, f64::from(run.final_ways(0)));
    findings.add_beside(item, "MLR-8MB, time to enough ways", "s", Some(time));
    findings.add_beside(item, "MLR-8MB settles at", "ways", Some(ways));
    let normalised = run.normalised(0, 3).last().copied();
    findings.add_beside(item, "MLR-8MB, IPC over that with 3 ways", "ratio", normalised);
    Ok(())
}
