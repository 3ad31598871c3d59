//! `fairways-lab simulate`: mixes under several policies, compared.

mod comparison;
mod promises;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use fairways_command_kit::BadInput;
use fairways_core::Policy;
use fairways_experiments::{CompareError, compare, compare_live, compare_placed, compare_settled};
use fairways_profiles::Mix;
use fairways_results::ResultFormat;
use fairways_results::simulate::{ComparedMixes, Results, csv, drawing, json, table};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

pub(crate) use comparison::{Comparison, How};

/// A run that takes longer than this shows how far it is.
const PATIENCE: Duration = Duration::from_secs(1);

/// Compares the policies, and prints how each did; draws it to the file `plot`, too.
pub(crate) fn run(
    comparison: &Comparison,
    format: ResultFormat,
    plot: Option<&Path>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let results = compare_all(comparison)?;
    if let Results::Scored(scored) = &results {
        let not_kept = promises::not_kept(comparison, scored);
        not_kept.iter().for_each(|line| fairways_command_kit::warn(line));
    }
    let (programs, ways) = (comparison.programs(), comparison.world.ways());
    let is_settled = matches!(comparison.how, How::ScoreSettled(..));
    let policies = &comparison.policies;
    let ways = &ways[..];
    let compared = ComparedMixes { programs, ways, policies, results, is_settled };
    crate::plot::plot(plot, ways, || drawing::drawn(&compared))?;
    match format {
        ResultFormat::Json => json::write(&compared, out),
        ResultFormat::Csv => csv::write(&compared, out),
        ResultFormat::Table => table::write(&compared, out),
    }
}

fn compare_all(compared: &Comparison) -> anyhow::Result<Results<'_>> {
    let programs = compared.programs();
    Ok(match &compared.how {
        How::Score(settings) => Results::Scored(each(&compared.mixes, |mix| {
            compare(programs.table(), mix, settings, compared.policies(mix)?).map_err(blamed)
        })?),
        How::ScorePlaced(settings) => Results::Scored(each(&compared.mixes, |mix| {
            let (table, policies) = (programs.table(), &compared.policies);
            let make: &dyn Fn(&str) -> Box<dyn Policy> =
                &|name| compared.set.make(name).expect("a name that was looked up");
            compare_placed(table, mix, settings, policies, make).map_err(blamed)
        })?),
        How::ScoreSettled(settings, machine, span) => {
            Results::Scored(each(&compared.mixes, |mix| {
                let (table, policies) = (programs.table(), compared.policies(mix)?);
                compare_settled(table, mix, settings, machine, *span, policies).map_err(blamed)
            })?)
        }
        How::Live(settings, protocol) => Results::Live(each(&compared.mixes, |mix| {
            let policies = compared.policies(mix)?;
            let comparison = compare_live(programs, mix, settings, protocol, policies);
            comparison.map_err(|error| BadInput(error.to_string()).into())
        })?),
    })
}

/// Compares mix after mix, and shows the progress.
fn each<C>(
    mixes: &[Mix],
    compare: impl Fn(&Mix) -> anyhow::Result<C>,
) -> anyhow::Result<Vec<(&Mix, C)>> {
    let start = Instant::now();
    let mut bar: Option<ProgressBar> = None;
    let mut results = Vec::with_capacity(mixes.len());
    for mix in mixes {
        results.push((mix, compare(mix)?));
        if start.elapsed() > PATIENCE {
            bar.get_or_insert_with(|| progress(mixes.len())).set_position(results.len() as u64);
        }
    }
    Ok(results)
}

/// Too little bandwidth for a mix is the user's error; a policy without a plan is ours.
fn blamed(error: CompareError) -> anyhow::Error {
    match error {
        CompareError::NoPlan { .. } => error.into(),
        _ => BadInput(error.to_string()).into(),
    }
}

/// A progress bar on standard error, if that is a terminal; it goes when it is dropped.
fn progress(mixes: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} mixes, {eta} left");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(mixes as u64).with_style(style).with_finish(ProgressFinish::AndClear)
}
