//! LFOC (Garcia-Garcia et al., ICPP 2019): its figures and tables.

mod analysis;
pub(super) mod claims;
mod corpus;
mod cost;
mod memory;
mod numbers;
mod over_time;
mod plots;
mod statically;

use std::sync::atomic::{AtomicUsize, Ordering};

use fairways_core::{Llc, Ways};
use fairways_optimum::Impossible;
use fairways_policy::lfoc::{Class, Parameters, classify};
use fairways_profiles::{ProfileTable, ProfiledProgram, ProgramCatalog};
use thiserror::Error;

use super::figures::Line;
use super::{Findings, Ground};
use crate::compare::CompareError;
use crate::draw::draw_workloads;
use crate::live::LiveError;
use numbers::{parameters, phases, search_space};
use over_time::LiveScores;

pub use corpus::corpus_programs;
pub use plots::Figures;
pub use statically::ScoredMix;

/// The parameters of the repetition.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The cache; the paper's has 11 ways.
    pub llc: Llc,
    /// The machine over time, on which programs run; the static model uses the same memory
    /// (decision LFOC 21).
    pub machine: fairways_model::Settings,
    /// Mixes of each size (8, 12, 16) and kind (S, P); the paper's 36 are 6.
    pub workloads: usize,
    /// The mixes among them that run over time.
    pub live: usize,
    /// Mixes of each size for Figures 2 and 3.
    pub mixes: usize,
    /// The factor by which runs and phases over time are longer than the paper's.
    pub time_scale: f64,
    /// The seed of every mix.
    pub seed: u64,
    /// The number of seeds, from that one on; values are the first seed's.
    pub seeds: u64,
}

/// Ways of the paper's cache (§5).
const WAYS: u32 = 11;

impl Setting {
    /// The paper's numbers; if `quick`, fewer mixes and shorter runs.
    #[must_use]
    pub fn new(table: &ProfileTable, quick: bool) -> Self {
        let ways = Ways::new(table.ways().get().min(WAYS)).expect("a table has a way");
        let llc = Llc::with_ways(ways);
        Self {
            llc,
            machine: fairways_model::Settings::new(llc),
            workloads: 6,
            live: if quick { 2 } else { 6 },
            mixes: 20,
            time_scale: if quick { 0.2 } else { 1.0 },
            seed: 1,
            seeds: if quick { 1 } else { 5 },
        }
    }
}

/// Memory can't serve a mix.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum UnservedMix {
    /// Over time.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// By the static model.
    #[error(transparent)]
    Scored(#[from] CompareError),
    /// With any partition.
    #[error(transparent)]
    Best(#[from] Impossible),
}

/// The paper's experiments, one after the other.
#[derive(Debug)]
pub struct Lfoc<'a> {
    programs: &'a ProgramCatalog,
    setting: Setting,
    ground: Ground,
}

impl<'a> Lfoc<'a> {
    /// The experiments with these programs.
    #[must_use]
    pub fn new(programs: &'a ProgramCatalog, setting: Setting) -> Self {
        Self { programs, setting, ground: Ground::Models }
    }

    /// Those experiments in which programs have a part, with the corpus' ([`corpus_programs`]).
    #[must_use]
    pub fn on_corpus(setting: Setting) -> Lfoc<'static> {
        Lfoc { programs: corpus_programs(), setting, ground: Ground::Corpus }
    }

    /// Runs all experiments. `progress` is called with the current experiment, the steps done, and
    /// all steps.
    ///
    /// # Errors
    /// If memory has a limit and can't serve a mix.
    pub fn run(
        &self,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Findings, Figures), UnservedMix> {
        let Self { programs, setting, .. } = self;
        let (mut findings, mut figures) = self.run_seed(progress)?;
        if setting.seeds > 1 {
            let mut seeds = vec![findings.clone()];
            for seed in (setting.seed..).take(usize::try_from(setting.seeds).unwrap_or(1)).skip(1) {
                let another = Self { setting: Setting { seed, ..*setting }, ..*self };
                let seed_progress = |what: &str, done, count| {
                    progress(&format!("Seed {seed}, {what}"), done, count);
                };
                seeds.push(another.run_seed(&seed_progress)?.0);
            }
            findings.note_seeds(&seeds);
        }
        if self.ground == Ground::Corpus {
            return Ok((findings, figures));
        }
        if setting.live == setting.workloads {
            self.memories(&mut findings, progress);
        }
        progress("Table 2: decisions timed", 0, 1);
        figures.costs = cost::measure(programs.table(), setting.llc, setting.seed);
        cost::findings(&figures.costs, &mut findings);
        Ok((findings, figures))
    }

    /// Runs all experiments but the timed ones, with one seed.
    fn run_seed(
        &self,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Findings, Figures), UnservedMix> {
        let Self { programs, setting, .. } = self;
        let mut findings = Findings::default();
        if self.ground == Ground::Models {
            search_space(&mut findings);
            parameters(programs.table(), setting, &mut findings);
        }
        let phased = phases(programs, setting.llc.ways, &mut findings);
        let curves = self.curves(&mut findings);
        let (composition, ratios) = self.analysis(&mut findings, progress)?;
        let scored = self.score_statically(&mut findings, progress)?;
        let ran = self.run_over_time(&mut findings, progress)?;
        let costs = Vec::new();
        Ok((findings, Figures { curves, phased, composition, ratios, scored, ran, costs }))
    }

    /// Figure 6.
    fn score_statically(
        &self,
        findings: &mut Findings,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<Vec<ScoredMix>, UnservedMix> {
        let Self { programs, setting, .. } = self;
        let mut mixes = draw_workloads(programs, setting.llc.ways, setting.workloads, setting.seed);
        mixes.retain(|mix| mix.name.starts_with('S'));
        let step = step_reporter("Figure 6: mixes scored", mixes.len(), progress);
        let scored = statically::score(programs.table(), &mixes, setting, &step)?;
        statically::findings(&scored, findings);
        Ok(scored)
    }

    /// Figure 7.
    fn run_over_time(
        &self,
        findings: &mut Findings,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<LiveScores, LiveError> {
        let Self { programs, setting, .. } = self;
        let mut mixes = draw_workloads(programs, setting.llc.ways, setting.live, setting.seed);
        // Without phased programs, a P mix is another S mix.
        if programs.len() == programs.table().names().len() {
            mixes.retain(|mix| mix.name.starts_with('S'));
        }
        let step = step_reporter("Figure 7: mixes run", mixes.len(), progress);
        let ran = over_time::run(programs, &mixes, setting, &step)?;
        // A third of the mixes, and runs in which sampling weighs five times as much, give neither
        // means nor extremes.
        if setting.live == setting.workloads {
            findings.add(claims::WORKLOADS, mixes.len() as f64);
            over_time::findings(&ran, findings);
        }
        Ok(ran)
    }

    /// Figure 1.
    fn curves(&self, findings: &mut Findings) -> Vec<Line> {
        let (table, ways) = (self.programs.table(), self.setting.llc.ways);
        // The paper's programs, the embedded ones that are most like them, or their counterparts.
        let pairs = [
            ["lbm06", "xalancbmk06"].map(Some),
            ["lattice-flow", "graph-walk"].map(Some),
            ["lbm", "xalancbmk"].map(fairways_profiles::corpus::counterpart),
        ];
        let Some(pair) =
            pairs.iter().find_map(|names| Some([table.find(names[0]?)?, table.find(names[1]?)?]))
        else {
            return Vec::new();
        };
        let as_claimed = pair
            .map(|index| classify(&table.profile(index), ways, &Parameters::default()))
            == [Class::Streaming, Class::Sensitive];
        findings.add(claims::CLASSES_OF_TWO, f64::from(u8::from(as_claimed)));
        let lines = pair.map(|index| {
            let program = ProfiledProgram::new(table, index, ways);
            Line {
                name: table.names()[index].clone(),
                points: (1..=ways.get())
                    .map(|ways| (f64::from(ways), program.slowdown(f64::from(ways))))
                    .collect(),
            }
        });
        let rises = lines[1].points.windows(2).filter(|pair| pair[1].1 > pair[0].1 + 1e-9).count();
        findings.add(claims::XALANCBMK_RISES, rises as f64);
        lines.into()
    }
}

/// Returns a function that reports each of `count` steps as done.
fn step_reporter<'a>(
    what: &'a str,
    count: usize,
    progress: &'a (dyn Fn(&str, usize, usize) + Sync),
) -> impl Fn() + Sync + 'a {
    let done = AtomicUsize::new(0);
    move || progress(what, 1 + done.fetch_add(1, Ordering::Relaxed), count)
}
