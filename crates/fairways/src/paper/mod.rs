//! `fairways paper`: a paper's claims, row by row.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use clap::ValueEnum;
use fairways_command_kit::BadInput;
use fairways_lab::paper::bandwidth::BandwidthTables;
use fairways_lab::paper::cache_fair::{self, CacheFair};
use fairways_lab::paper::casc::{self, Casc};
use fairways_lab::paper::dcat::{self, Dcat};
use fairways_lab::paper::fairways::{Evaluation, EvaluationSize};
use fairways_lab::paper::lfoc::{self, Lfoc};
use fairways_lab::paper::locpart::{self, Locpart};
use fairways_lab::paper::{self, claims, rows};
use fairways_output::paper::{self as output, PaperReport};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use crate::args::{self, Name, Paper};
use crate::world::World;

/// Runs the command.
pub(crate) fn run(args: &Paper, out: &mut dyn Write) -> anyhow::Result<()> {
    let world = world(args)?;
    if let Some(threads) = args.threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    let is_asked_for = |name: &Name| match args.name {
        Name::All => *name != Name::All,
        one => *name == one,
    };
    let names: Vec<Name> = Name::value_variants().iter().copied().filter(is_asked_for).collect();
    let folder = |name: Name| {
        let folder = args.out.as_ref()?;
        let own = name.to_possible_value().filter(|_| args.name == Name::All);
        Some(own.map_or_else(|| folder.clone(), |own| folder.join(own.get_name())))
    };
    // Before anything runs for minutes.
    for folder in names.iter().filter_map(|&name| folder(name)) {
        std::fs::create_dir_all(&folder)
            .map_err(|error| BadInput(format!("--out: {}: {error}", folder.display())))?;
    }
    let mut reports = Vec::new();
    for name in names {
        let report = report(name, args.quick, folder(name).as_deref(), &world)?;
        if args.json {
            output::json(&report, out)?
        } else {
            output::table(&report, out)?
        }
        out.flush()?;
        reports.push(report);
    }
    if args.name == Name::All && !args.json {
        output::summary(&reports, out)?
    }
    Ok(())
}

/// Runs a paper's experiments, and draws their figures into a folder if one is given.
fn report(
    name: Name,
    quick: bool,
    out: Option<&Path>,
    world: &World,
) -> anyhow::Result<PaperReport> {
    let start = Instant::now();
    let seed = world.seed;
    let bar = progress();
    let show = show_progress(&bar);
    let (paper, title, text, findings) = match name {
        Name::All => unreachable!("each paper by itself"),
        Name::Bandwidth => {
            let (findings, latencies) = BandwidthTables::new(quick).run(&show)?;
            out.map_or(Ok(()), |folder| latencies.draw(folder))?;
            let title = "Measured limits and latencies of memory bandwidth (docs/paper.md)";
            ("bandwidth", title, paper::BANDWIDTH, findings)
        }
        Name::CacheFair => {
            let setting = cache_fair::Setting { seed, ..cache_fair::Setting::new(quick) };
            let (findings, figures) = CacheFair::new(setting).run(&show)?;
            out.map_or(Ok(()), |folder| figures.draw(folder))?;
            let title = "Cache-fair thread scheduling for multicore processors";
            ("cache-fair", title, paper::CACHE_FAIR, findings)
        }
        Name::Casc => {
            let setting = casc::Setting { seed, ..casc::Setting::new(quick) };
            let (findings, figures) = Casc::new(setting).run(&show)?;
            out.map_or(Ok(()), |folder| figures.draw(folder))?;
            let title = "CASC: cache-aware scheduling for chip multithreaded processors";
            ("casc", title, paper::CASC, findings)
        }
        Name::Dcat => {
            let setting = dcat::Setting { seed, ..dcat::Setting::new(quick) };
            let (findings, figures) = Dcat::new(world.programs().table(), setting).run(&show)?;
            out.map_or(Ok(()), |folder| figures.draw(folder))?;
            let title =
                "dCat: dynamic cache management for performance-sensitive IaaS (EuroSys 2018)";
            ("dcat", title, paper::DCAT, findings)
        }
        Name::Fairways => {
            let size = EvaluationSize { seed, ..EvaluationSize::new(quick) };
            let (findings, figures) = Evaluation::new(world.programs(), size).run(&show)?;
            out.map_or(Ok(()), |folder| figures.draw(folder))?;
            let title = "The aims of the policy fairways (docs/paper.md)";
            ("fairways", title, paper::FAIRWAYS, findings)
        }
        Name::Lfoc => {
            let table = world.programs().table();
            let setting = lfoc::Setting { seed, ..lfoc::Setting::new(table, quick) };
            let (findings, figures) = Lfoc::new(world.programs(), setting).run(&show)?;
            out.map_or(Ok(()), |folder| figures.draw(folder))?;
            let title = "LFOC: a lightweight fairness-oriented cache clustering policy (ICPP 2019)";
            ("lfoc", title, paper::LFOC, findings)
        }
        Name::Locpart => {
            let setting = locpart::Setting { seed, ..locpart::Setting::new(quick) };
            let (findings, figures) = Locpart::new(setting).run(&show)?;
            out.map_or(Ok(()), |folder| figures.draw(folder))?;
            let title = "Locpart: a latency optimized cache partitioning for cloud data centers";
            ("locpart", title, paper::LOCPART, findings)
        }
    };
    bar.finish_and_clear();
    let claims = claims(text).with_context(|| format!("the claims of the paper {paper}"))?;
    let rows = rows(paper, claims, findings);
    Ok(PaperReport { paper, title, seconds: start.elapsed().as_secs_f64(), rows })
}

/// Shows the current step on the bar, with how much of it is done.
fn show_progress(bar: &ProgressBar) -> impl Fn(&str, usize, usize) + Sync + '_ {
    |what, done, count| {
        bar.set_length(count as u64);
        bar.set_position(done as u64);
        bar.set_message(what.to_owned());
    }
}

/// The programs that the flags describe.
fn world(args: &Paper) -> Result<World, BadInput> {
    World::new(&args::World {
        profiles: args.profiles.clone(),
        phases: args.phases.clone(),
        seed: args.seed,
        ..args::World::default()
    })
}

/// A line on standard error, if that is a terminal; it goes when it is dropped.
fn progress() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {msg}: {pos} of {len}, {elapsed}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(1).with_style(style).with_finish(ProgressFinish::AndClear)
}
