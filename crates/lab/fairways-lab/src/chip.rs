//! `fairways-lab simulate --machine chip:PRESET`: programs on a chip that executes them.

use std::io::Write;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fairways_chip::ChipError;
use fairways_command_kit::{BadInput, exit};
use fairways_exec_policy::policies::SharedParameters;
use fairways_experiments::{ChipComparison, ChipProtocol, compare_on_chip};
use fairways_results::ResultFormat;
use fairways_results::chip::{self, ComparedOnChip};
use fairways_simulation::chip::World;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};

/// A run that takes longer than this shows how far it is.
const PATIENCE: Duration = Duration::from_secs(1);

/// Compares policies on a chip, and prints how its programs fare; draws it to the file `plot`, too.
pub(crate) fn simulate(
    world: &World,
    protocol: &ChipProtocol,
    policies: &[&'static str],
    set: &SharedParameters,
    format: ResultFormat,
    plot: Option<&Path>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    if world.has_live() {
        end_all_on_signals()?;
    }
    let found = compare(world, protocol, policies, set)?;
    let World { preset, settings, names, .. } = world;
    let least_time_scales = &world.least_scales();
    let compared =
        ComparedOnChip { preset, settings, names, protocol, found: &found, least_time_scales };
    let ways = [settings.chip.llc.ways];
    crate::plot::plot(plot, &ways, || vec![chip::drawn(&compared)])?;
    match format {
        ResultFormat::Json => chip::json(&compared, out),
        ResultFormat::Csv => chip::csv(&compared, out),
        ResultFormat::Table => chip::table(&compared, out),
    }
}

/// Lets SIGINT and SIGTERM end this process and the processes that it started.
fn end_all_on_signals() -> anyhow::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            fairways_tracer::kill_all();
            process::exit(exit::INTERRUPTED.into());
        }
    });
    Ok(())
}

fn compare(
    world: &World,
    protocol: &ChipProtocol,
    policies: &[&'static str],
    set: &SharedParameters,
) -> anyhow::Result<ChipComparison> {
    let runs = protocol.runs(world.jobs.len(), policies) as u64;
    let (start, ended) = (Instant::now(), AtomicU64::new(0));
    let bar = ProgressBar::hidden();
    let done = || {
        let ended = 1 + ended.fetch_add(1, Ordering::Relaxed);
        if start.elapsed() > PATIENCE && bar.is_hidden() {
            bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        }
        bar.set_position(ended);
    };
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} runs, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_length(runs);
    let bar = bar.clone().with_finish(ProgressFinish::AndClear);
    let found = compare_on_chip(
        world.settings,
        &world.jobs,
        protocol,
        policies,
        &|name| set.make(name),
        &done,
    );
    bar.finish_and_clear();
    world.remark();
    found.map_err(|why| match why {
        ChipError::Failed(_) => why.into(),
        why => BadInput(why.to_string()).into(),
    })
}
