//! `fairways simulate`: mixes under several policies, compared.

mod comparison;

use std::io::Write;
use std::time::{Duration, Instant};

use fairways_command_kit::BadInput;
use fairways_lab::{CompareError, compare, compare_live};
use fairways_output::simulate::{ComparedMixes, Results, json, table};
use fairways_profiles::Mix;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use crate::args::Simulate;
use comparison::{Checked, How};

/// A run that takes longer than this shows how far it is.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs the command; everything is checked before anything is written.
pub(crate) fn run(args: &Simulate, out: &mut dyn Write) -> anyhow::Result<()> {
    let checked = Checked::new(args)?;
    let results = compare_all(&checked)?;
    let (programs, ways, policies) = (checked.programs(), checked.ways(), &*checked.policies);
    let compared = ComparedMixes { programs, ways, policies, results };
    if args.json { json::write(&compared, out) } else { table::write(&compared, out) }
}

fn compare_all(checked: &Checked) -> anyhow::Result<Results<'_>> {
    let programs = checked.programs();
    Ok(match &checked.how {
        How::Score(settings) => Results::Scored(each(&checked.mixes, |mix| {
            compare(programs.table(), mix, settings, checked.policies(mix)?).map_err(blamed)
        })?),
        How::Live(settings, protocol) => Results::Live(each(&checked.mixes, |mix| {
            let policies = checked.policies(mix)?;
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
        CompareError::Demand { .. } => BadInput(error.to_string()).into(),
        CompareError::NoPlan { .. } => error.into(),
    }
}

/// A progress bar on standard error, if that is a terminal; it goes when it is dropped.
fn progress(mixes: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} mixes, {eta} left");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(mixes as u64).with_style(style).with_finish(ProgressFinish::AndClear)
}
