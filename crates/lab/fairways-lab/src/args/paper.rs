//! Flags of `fairways-lab paper`.

use std::io::Write;
use std::path::PathBuf;

use clap::ValueHint;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::whole;
use fairways_experiments::paper::Ground;

use super::use_threads;
use crate::paper::{self as repeated, PAPERS, Repetition};
use fairways_simulation::catalog::ProfileSource;

/// All papers, one after the other.
const ALL: &str = "all";

/// Reads the name of a paper.
fn paper() -> PossibleValuesParser {
    let all = PossibleValue::new(ALL).help("All of them, one after the other");
    let each = PAPERS.iter().map(|paper| PossibleValue::new(paper.name).help(paper.summary));
    std::iter::once(all).chain(each).into()
}

/// Reads the name of a ground.
fn ground() -> impl TypedValueParser<Value = Ground> {
    let help = [
        "Models of the papers' programs",
        "The models, and beside them the real programs of the corpus",
    ];
    let each = Ground::ALL.into_iter().zip(help);
    let names = each.map(|(ground, help)| PossibleValue::new(ground.name()).help(help));
    PossibleValuesParser::new(names).map(|name| {
        Ground::ALL.into_iter().find(|ground| ground.name() == name).unwrap_or(Ground::Models)
    })
}

/// Repeat a paper's experiments, and compare the results with its claims
///
/// Examples:
///   fairways-lab paper lfoc --quick
///   fairways-lab paper lfoc --programs corpus --out figures
///   fairways-lab paper all --json > papers.json
///
/// Each figure, table and number of the paper is a row: the published value, the
/// band within which a value counts as the same (set before anything was measured),
/// the measured value, and whether it lies within the band.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Paper {
    /// The paper
    #[arg(value_parser = paper())]
    pub(crate) name: String,

    /// Profiles of programs: skylake, broadwell or small (real programs), synthetic, or a CSV file
    ///
    /// [default: synthetic]
    ///
    /// skylake, broadwell and small are the real programs of the corpus, measured on 11 ways of 2.5
    /// MB, 20 ways of 2.25 MB and 32 ways of 48 KB. A file that has such a name needs ./ before it.
    #[arg(long, value_name = "PROFILES", value_hint = ValueHint::FilePath)]
    pub(crate) profiles: Option<ProfileSource>,

    /// Programs with phases, each phase with one of the profiles, as CSV (docs/profiles.md)
    /// [default: none, or eight with `--profiles synthetic`]
    #[arg(long, value_name = "FILE")]
    pub(crate) phases: Option<PathBuf>,

    /// Run the experiments on models only, or on real programs too [default: corpus, or models
    /// with `--profiles` or `--phases`]
    ///
    /// With `corpus` they run on both, and each row has both values: the programs of a paper that
    /// live on, as they were measured behind the caches of its machine (docs/paper.md). A row
    /// counts with these, but for one without such a program, or with models beside it: that counts
    /// with the models. Figures are of the models. Papers that name no programs run on none of
    /// these.
    #[arg(long, value_name = "GROUND", value_parser = ground())]
    pub(crate) programs: Option<Ground>,

    /// Run fewer of the long experiments, and shorter runs
    #[arg(long)]
    pub(crate) quick: bool,

    /// Write the figures to this folder, as SVG; with `all`, to a folder in it for each paper
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Threads to run on [default: as many as CPUs]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = whole(1, 1024_usize))]
    pub(crate) threads: Option<usize>,

    /// Seed for drawing mixes; the same seed draws the same mixes
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,

    /// Print one JSON object per paper instead of a table (docs/paper.md)
    #[arg(long)]
    pub(crate) json: bool,
}

impl Paper {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let has_programs = self.profiles.is_some() || self.phases.is_some();
        let by_default = if has_programs { Ground::Models } else { Ground::Corpus };
        let profiles = self.profiles.unwrap_or(ProfileSource::Synthetic);
        let programs = profiles.programs(self.phases.as_ref())?;
        use_threads(self.threads)?;
        let (ground, seed, quick) = (self.programs.unwrap_or(by_default), self.seed, self.quick);
        let repetition = Repetition { programs: &programs, ground, seed, quick, out: self.out };
        match PAPERS.iter().find(|paper| paper.name == self.name) {
            Some(repeated::Paper { name, has_corpus: false, .. })
                if self.programs == Some(Ground::Corpus) =>
            {
                let what = format!("--programs corpus: {name} runs no program of the corpus");
                Err(BadInput(what).into())
            }
            Some(paper) => repetition.one(paper, self.json, out),
            None => repetition.all(self.json, out),
        }
    }
}
