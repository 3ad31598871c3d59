//! The flags of `programs`.

use std::io::Write;
use std::path::PathBuf;

use fairways_simulation::catalog::ProfileSource;

/// List the programs that simulations can name, and what each is
///
/// Examples:
///   fairways-lab programs
///   fairways-lab programs --profiles synthetic
///   fairways-lab programs --profiles mine.csv --json
///
/// For each program: its class, how fast it is with the whole cache, its misses with
/// one way and with all, and how much slower it is with one way. Programs of the
/// corpus have the package that they are from, and the benchmarks of papers that they
/// stand for.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ProgramList {
    /// Profiles of programs: skylake, broadwell or small (real programs), synthetic, or a CSV file
    #[arg(long, value_name = "PROFILES", default_value = "skylake")]
    pub(crate) profiles: ProfileSource,

    /// Programs with phases, each phase with one of the profiles, as CSV (docs/profiles.md)
    /// [default: none, or eight with `--profiles synthetic`]
    #[arg(long, value_name = "FILE")]
    pub(crate) phases: Option<PathBuf>,

    /// Print one JSON object instead of a table (docs/profiles.md)
    #[arg(long)]
    pub(crate) json: bool,
}

impl ProgramList {
    /// Runs the command.
    pub(crate) fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let catalog = self.profiles.programs_to_score(self.phases.as_ref())?;
        let is_corpus = matches!(self.profiles, ProfileSource::Corpus(_));
        let name = self.profiles.name();
        fairways_results::programs::print(&catalog, &name, is_corpus, self.json, out)
    }
}
