//! `fairways simulate`: mixes under several policies, compared.

mod json;
mod partition;
mod settings;
mod table;

use std::io::Write;
use std::time::{Duration, Instant};

use fairways_lab::{CompareError, Comparison, compare};
use fairways_profiles::Mix;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use crate::BadInput;
use crate::args::Simulate;
use settings::Checked;

/// A run that takes longer than this shows how far it is.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs the command; everything is checked before anything is written.
pub(crate) fn run(args: &Simulate, out: &mut dyn Write) -> anyhow::Result<()> {
    let checked = Checked::new(args)?;
    let results = compare_all(&checked)?;
    if args.json {
        json::write(&checked, &results, out)
    } else {
        table::write(&checked, &results, out)
    }
}

fn compare_all(checked: &Checked) -> anyhow::Result<Vec<(&Mix, Comparison)>> {
    let start = Instant::now();
    let mut bar: Option<ProgressBar> = None;
    let mut results = Vec::with_capacity(checked.mixes.len());
    for mix in &checked.mixes {
        let policies = checked.policies.iter().filter_map(|name| fairways_policy::by_name(name));
        let comparison = compare(checked.table(), mix, &checked.settings, policies);
        results.push((mix, comparison.map_err(told)?));
        if start.elapsed() > PATIENCE {
            bar.get_or_insert_with(|| progress(checked.mixes.len()))
                .set_position(results.len() as u64);
        }
    }
    Ok(results)
}

/// Too little bandwidth for a mix was asked for; a policy without a plan is our own fault.
fn told(error: CompareError) -> anyhow::Error {
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
