//! Flags of `fairways paper`.

use std::path::PathBuf;

use clap::ValueEnum;
use fairways_command_kit::input::whole;

/// Repeat a paper's experiments, and compare the results with its claims
///
/// Examples:
///   fairways paper lfoc --quick
///   fairways paper dcat --out figures
///   fairways paper all --json > papers.json
///
/// Each figure, table and number of the paper is a row: the published value, the
/// band within which a value counts as the same (set before anything was measured),
/// the measured value, and whether it lies within the band.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Paper {
    /// The paper
    pub(crate) name: Name,

    /// Profiles of programs, as CSV [default: the embedded ones]
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,

    /// Programs with phases, each phase with one of the profiles, as CSV (docs/profiles.md)
    /// [default: embedded ones, or none with --profiles]
    #[arg(long, value_name = "FILE")]
    pub(crate) phases: Option<PathBuf>,

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

/// The papers whose experiments can be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// All of them, one after the other
    All,
    /// No paper: what the kernel's self-test and others measured of memory bandwidth
    Bandwidth,
    /// Fedorova, Seltzer and Smith: the cache-fair scheduler
    CacheFair,
    /// Fedorova, Seltzer, Small and Nussbaum: the cache-aware scheduler
    Casc,
    /// Xu et al., EuroSys 2018
    Dcat,
    /// No paper: the aims of the policy `fairways`, and all policies on the same mixes
    Fairways,
    /// Garcia-Garcia et al., ICPP 2019
    Lfoc,
    /// Qin: latency-critical services beside batch programs
    Locpart,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Model {
    /// The bandwidth of all programs is cut to fit, and their performance with it
    Simple,
    /// Memory is a shared server: only the cycles that wait for it increase
    Stalls,
}
