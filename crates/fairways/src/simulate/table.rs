//! The comparison as tables for people.

use std::io::Write;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle, presets};
use fairways_core::Ways;
use fairways_lab::{Comparison, Outcome, classes};
use fairways_profiles::{Metrics, Mix};

use super::partition::{bar, members};
use super::settings::Checked;

const LEGEND: &str = "\
unfairness  largest slowdown over smallest, 1 at best     STP   sum of 1 / slowdown, higher is better
ANTT        mean slowdown, lower is better                 %    change against stock (no partitioning)
ways        each way, the highest first, as its cluster's letter ('#': several, '.': nobody)
clusters    the programs of each cluster, by their numbers above
";

const STYLE: TableStyle = presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none());

/// Writes a table a mix, and for several mixes a summary.
pub(super) fn write(
    checked: &Checked,
    results: &[(&Mix, Comparison)],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let ways = checked.settings.llc.ways;
    let names = checked.table().names();
    let classes = classes(checked.table(), ways);
    for (mix, comparison) in results {
        let program = |(number, &program): (usize, &usize)| {
            format!("{number} {} ({})", names[program], classes[program].name())
        };
        let programs: Vec<_> = mix.programs.iter().enumerate().map(program).collect();
        writeln!(out, "{}: {}", mix.name, programs.join(", "))?;
        writeln!(out, "{}\n", comparison_table(comparison, ways).trim_fmt())?;
    }
    if results.len() > 1 {
        writeln!(out, "All {} mixes, geometric means:", results.len())?;
        writeln!(out, "{}\n", summary(checked, results).trim_fmt())?;
    }
    out.write_all(LEGEND.as_bytes())?;
    Ok(())
}

/// A table whose columns of numbers are right-aligned: all but the first and those from `text` on.
fn table(header: &[&str], text: usize) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(header);
    for column in table.column_iter_mut().skip(1).take(text - 1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn comparison_table(comparison: &Comparison, ways: Ways) -> Table {
    let header = ["policy", "unfairness", "%", "STP", "%", "ANTT", "%", "ways", "clusters"];
    let mut table = table(&header, 7);
    for outcome in &comparison.outcomes {
        let (ours, stock) = (&outcome.metrics, &comparison.stock);
        let mut row = vec![outcome.policy.to_owned()];
        for (value, stock) in
            [(ours.unfairness, stock.unfairness), (ours.stp, stock.stp), (ours.antt, stock.antt)]
        {
            row.push(format!("{value:.3}"));
            row.push(change(value / stock));
        }
        row.push(bar(&outcome.partition, ways));
        row.push(members(&outcome.partition));
        table.add_row(row);
    }
    table
}

/// A ratio as a change in percent; nothing where nothing changed.
fn change(ratio: f64) -> String {
    let percent = format!("{:+.1}", (ratio - 1.0) * 100.0);
    if matches!(percent.as_str(), "+0.0" | "-0.0") { String::new() } else { percent }
}

fn summary(checked: &Checked, results: &[(&Mix, Comparison)]) -> Table {
    let header = ["policy", "unfairness", "%", "STP", "%", "ANTT", "%", "fairer than stock"];
    let mut table = table(&header, 8);
    for (index, policy) in checked.policies.iter().enumerate() {
        let pairs = || results.iter().map(|(_, c)| (&c.outcomes[index], &c.stock));
        let mut row = vec![(*policy).to_owned()];
        for metric in [
            (|m: &Metrics| m.unfairness) as fn(&Metrics) -> f64,
            |m: &Metrics| m.stp,
            |m: &Metrics| m.antt,
        ] {
            let ours = pairs().map(|(outcome, _)| metric(&outcome.metrics));
            let ratios = pairs().map(|(outcome, stock)| metric(&outcome.metrics) / metric(stock));
            row.push(format!("{:.3}", geometric_mean(ours)));
            row.push(change(geometric_mean(ratios)));
        }
        let fairer = |&(outcome, stock): &(&Outcome, &Metrics)| {
            outcome.metrics.unfairness < stock.unfairness
        };
        row.push(format!("{} of {}", pairs().filter(fairer).count(), results.len()));
        table.add_row(row);
    }
    table
}

fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(f64::ln).sum::<f64>() / count).exp()
}
