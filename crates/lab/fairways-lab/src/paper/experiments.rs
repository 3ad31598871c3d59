//! The papers, and how the experiments of each are run.

use std::path::Path;

use fairways_experiments::paper::bandwidth::BandwidthTables;
use fairways_experiments::paper::cache_fair::{self, CacheFair};
use fairways_experiments::paper::casc::{self, Casc};
use fairways_experiments::paper::dcat::{self, Dcat};
use fairways_experiments::paper::fairways::{Evaluation, EvaluationSize};
use fairways_experiments::paper::full_bus::FullBus;
use fairways_experiments::paper::lfoc::{self, Lfoc};
use fairways_experiments::paper::locpart::{self, Locpart};
use fairways_experiments::paper::{self, Claim, FigureError, FigureFolder, Findings, Ground};
use fairways_profiles::ProgramCatalog;

/// A paper whose experiments can be repeated.
pub(crate) struct Paper {
    pub(crate) name: &'static str,
    /// Its authors, and its subject or place.
    pub(crate) summary: &'static str,
    pub(super) title: &'static str,
    /// Its claims, as CSV.
    pub(super) claims: &'static str,
    /// Whether programs of the corpus have a part in its experiments.
    pub(crate) has_corpus: bool,
    pub(super) run: fn(&Experiments<'_>) -> anyhow::Result<Findings>,
}

/// The papers, in the order in which they are repeated.
pub(crate) static PAPERS: [Paper; 7] = [
    Paper {
        name: "bandwidth",
        summary: "No paper: what the kernel's self-test and others measured of memory bandwidth",
        title: "Measured limits and latencies of memory bandwidth (docs/paper.md)",
        claims: paper::BANDWIDTH,
        has_corpus: false,
        run: bandwidth,
    },
    Paper {
        name: "cache-fair",
        summary: "Fedorova, Seltzer and Smith: the cache-fair scheduler",
        title: "Cache-fair thread scheduling for multicore processors",
        claims: paper::CACHE_FAIR,
        has_corpus: true,
        run: cache_fair,
    },
    Paper {
        name: "casc",
        summary: "Fedorova, Seltzer, Small and Nussbaum: the cache-aware scheduler",
        title: "CASC: cache-aware scheduling for chip multithreaded processors",
        claims: paper::CASC,
        has_corpus: true,
        run: casc,
    },
    Paper {
        name: "dcat",
        summary: "Xu et al., EuroSys 2018",
        title: "dCat: dynamic cache management for performance-sensitive IaaS (EuroSys 2018)",
        claims: paper::DCAT,
        has_corpus: true,
        run: dcat,
    },
    Paper {
        name: "fairways",
        summary: "No paper: the aims of the policy `fairways`, and all policies on the same mixes",
        title: "The aims of the policy fairways (docs/paper.md)",
        claims: paper::FAIRWAYS,
        has_corpus: false,
        run: fairways,
    },
    Paper {
        name: "lfoc",
        summary: "Garcia-Garcia et al., ICPP 2019",
        title: "LFOC: a lightweight fairness-oriented cache clustering policy (ICPP 2019)",
        claims: paper::LFOC,
        has_corpus: true,
        run: lfoc,
    },
    Paper {
        name: "locpart",
        summary: "Qin: latency-critical services beside batch programs",
        title: "Locpart: a latency optimized cache partitioning for cloud data centers",
        claims: paper::LOCPART,
        has_corpus: true,
        run: locpart,
    },
];

/// What the experiments of every paper get.
pub(super) struct Experiments<'a> {
    /// The models' programs.
    pub(super) programs: &'a ProgramCatalog,
    pub(super) ground: Ground,
    pub(super) seed: u64,
    pub(super) quick: bool,
    /// The folder for figures, which are those of the models.
    pub(super) figures: Option<&'a Path>,
    /// What the paper says, to be drawn beside them.
    pub(super) claims: &'a [Claim],
    /// Shows a step, and how many of how many are done.
    pub(super) show: &'a (dyn Fn(&str, usize, usize) + Sync),
}

impl Experiments<'_> {
    /// Draws figures, if they are wanted.
    fn draw(
        &self,
        findings: &Findings,
        draw: impl FnOnce(&FigureFolder<'_>) -> Result<(), FigureError>,
    ) -> Result<(), FigureError> {
        self.figures
            .map_or(Ok(()), |folder| draw(&FigureFolder::new(folder, self.claims, findings)))
    }
}

fn bandwidth(with: &Experiments<'_>) -> anyhow::Result<Findings> {
    let (mut findings, latencies) = BandwidthTables::new(with.quick).run(with.show)?;
    if !with.quick {
        let timelines =
            FullBus::new(with.programs.table(), with.seed).run(&mut findings, with.show)?;
        with.draw(&findings, |folder| timelines.draw(folder))?;
    }
    with.draw(&findings, |folder| latencies.draw(folder))?;
    Ok(findings)
}

fn cache_fair(with: &Experiments<'_>) -> anyhow::Result<Findings> {
    let setting = cache_fair::Setting {
        seed: with.seed,
        ..cache_fair::Setting::new(with.ground, with.quick)
    };
    let (findings, figures) = CacheFair::new(setting).run(with.show)?;
    with.draw(&findings, |folder| figures.draw(folder))?;
    Ok(findings)
}

fn casc(with: &Experiments<'_>) -> anyhow::Result<Findings> {
    let setting = casc::Setting { seed: with.seed, ..casc::Setting::new(with.ground, with.quick) };
    let (findings, figures) = Casc::new(setting).run(with.show)?;
    with.draw(&findings, |folder| figures.draw(folder))?;
    Ok(findings)
}

fn dcat(with: &Experiments<'_>) -> anyhow::Result<Findings> {
    let setting = dcat::Setting { seed: with.seed, ..dcat::Setting::new(with.quick) };
    let dcat = Dcat::new(with.programs.table(), setting);
    if with.ground == Ground::Corpus {
        return Ok(dcat.run_on_corpus(with.show)?);
    }
    let (findings, figures) = dcat.run(with.show)?;
    with.draw(&findings, |folder| figures.draw(folder))?;
    Ok(findings)
}

fn fairways(with: &Experiments<'_>) -> anyhow::Result<Findings> {
    let size = EvaluationSize { seed: with.seed, ..EvaluationSize::new(with.quick) };
    let (findings, figures) = Evaluation::new(with.programs, size).run(with.show)?;
    with.draw(&findings, |folder| figures.draw(folder))?;
    Ok(findings)
}

fn lfoc(with: &Experiments<'_>) -> anyhow::Result<Findings> {
    let programs = match with.ground {
        Ground::Models => with.programs,
        Ground::Corpus => lfoc::corpus_programs(),
    };
    let setting = lfoc::Setting::new(programs.table(), with.quick);
    let setting = lfoc::Setting { seed: with.seed, ..setting };
    let lfoc = match with.ground {
        Ground::Models => Lfoc::new(programs, setting),
        Ground::Corpus => Lfoc::on_corpus(setting),
    };
    let (findings, figures) = lfoc.run(with.show)?;
    with.draw(&findings, |folder| figures.draw(folder))?;
    Ok(findings)
}

fn locpart(with: &Experiments<'_>) -> anyhow::Result<Findings> {
    let setting = locpart::Setting { seed: with.seed, ..locpart::Setting::new(with.quick) };
    let locpart = Locpart::new(setting);
    if with.ground == Ground::Corpus {
        return Ok(locpart.run_on_corpus(with.show)?);
    }
    let (findings, figures) = locpart.run(with.show)?;
    with.draw(&findings, |folder| figures.draw(folder))?;
    Ok(findings)
}
