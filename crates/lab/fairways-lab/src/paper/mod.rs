//! `fairways-lab paper`: a paper's claims, row by row.

mod experiments;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use fairways_command_kit::BadInput;
use fairways_experiments::paper::{Findings, Ground, claims, rows};
use fairways_profiles::ProgramCatalog;
use fairways_results::paper::{self as output, PaperReport};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use experiments::Experiments;
pub(crate) use experiments::{PAPERS, Paper};

/// How experiments are repeated.
pub(crate) struct Repetition<'a> {
    /// The models' programs.
    pub(crate) programs: &'a ProgramCatalog,
    /// Whether the experiments run on the corpus too.
    pub(crate) ground: Ground,
    pub(crate) seed: u64,
    /// Whether the experiments are fewer and shorter.
    pub(crate) quick: bool,
    /// The folder for figures.
    pub(crate) out: Option<PathBuf>,
}

impl Repetition<'_> {
    /// Repeats the experiments of a paper.
    pub(crate) fn one(
        &self,
        paper: &Paper,
        is_json: bool,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        self.out.iter().try_for_each(|folder| make(folder))?;
        self.print(paper, self.out.as_deref(), is_json, out).map(|_| ())
    }

    /// Repeats the experiments of all papers, with a folder of figures for each.
    pub(crate) fn all(&self, is_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
        let folder = |paper: &Paper| self.out.as_ref().map(|folder| folder.join(paper.name));
        // Before anything runs for minutes.
        PAPERS.iter().filter_map(folder).try_for_each(|folder| make(&folder))?;
        let mut reports = Vec::new();
        for paper in &PAPERS {
            reports.push(self.print(paper, folder(paper).as_deref(), is_json, out)?);
        }
        if is_json { Ok(()) } else { output::summary(&reports, out) }
    }

    /// Runs a paper's experiments, draws their figures into a folder if one is given, and prints
    /// the results.
    fn print(
        &self,
        paper: &Paper,
        figures: Option<&Path>,
        is_json: bool,
        out: &mut dyn Write,
    ) -> anyhow::Result<PaperReport> {
        let start = Instant::now();
        let models = self.run(paper, Ground::Models, figures)?;
        let has_corpus = self.ground == Ground::Corpus && paper.has_corpus;
        let corpus =
            if has_corpus { self.run(paper, Ground::Corpus, None)? } else { Findings::default() };
        let Paper { name, title, .. } = *paper;
        let claims =
            claims(paper.claims).with_context(|| format!("the claims of the paper {name}"))?;
        let rows = rows(name, claims, models, corpus);
        let seconds = start.elapsed().as_secs_f64();
        let report = PaperReport { paper: name, title, seconds, rows, has_corpus };
        if is_json {
            output::json(&report, out)?
        } else {
            output::table(&report, out)?
        }
        out.flush()?;
        Ok(report)
    }

    /// Runs a paper's experiments on a ground.
    fn run(
        &self,
        paper: &Paper,
        ground: Ground,
        figures: Option<&Path>,
    ) -> anyhow::Result<Findings> {
        let bar = progress();
        let (programs, seed, quick) = (self.programs, self.seed, self.quick);
        let show = show_progress(&bar);
        let claims = &claims(paper.claims)?;
        let with = Experiments { programs, ground, seed, quick, figures, claims, show: &show };
        let findings = (paper.run)(&with)?;
        bar.finish_and_clear();
        Ok(findings)
    }
}

/// Makes a folder for figures.
fn make(folder: &Path) -> Result<(), BadInput> {
    std::fs::create_dir_all(folder)
        .map_err(|error| BadInput(format!("--out: {}: {error}", folder.display())))
}

/// Shows the current step on the bar, with how much of it is done.
fn show_progress(bar: &ProgressBar) -> impl Fn(&str, usize, usize) + Sync + '_ {
    |what, done, count| {
        bar.set_length(count as u64);
        bar.set_position(done as u64);
        bar.set_message(what.to_owned());
    }
}

/// A line on standard error, if that is a terminal; it goes when it is dropped.
fn progress() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {msg}: {pos} of {len}, {elapsed}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(1).with_style(style).with_finish(ProgressFinish::AndClear)
}
