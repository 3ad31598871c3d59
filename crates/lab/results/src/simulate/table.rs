//! The comparison as tables for people.

use std::io::Write;

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::partition::{bar, levels, members};
use fairways_command_kit::table::{STYLE, fit, fold};
use fairways_core::{BandwidthUnit, Partition, Ways};
use fairways_experiments::{LiveOutcome, PolicyOutcome, classes};
use fairways_profiles::{FairnessMetrics, Mix};

use super::{ComparedMixes, Results};

const LEGEND: &str = "\
unfairness  largest slowdown over smallest, 1 at best
STP         sum of 1 / slowdown, higher is better
ANTT        mean slowdown, lower is better
%           change against stock (no partitioning)
";

const SCORED_LEGEND: &str = "\
ways        each way, the highest first, as its cluster's letter
            ('#': several, '.': no cluster)
clusters    the programs of each cluster, by their numbers above
";

const LIVE_LEGEND: &str = "\
plans       partitions put in force
samplings   how often a program was sampled
sampling    share of the time in sampling mode
";

/// Columns beside the metrics, and how many of them have numbers.
const SCORED: (&[&str], usize) = (&["ways", "clusters"], 0);
const LIVE: (&[&str], usize) = (&["plans", "samplings", "sampling"], 3);

/// A mix under each policy.
struct Block<'a> {
    mix: &'a Mix,
    stock: &'a FairnessMetrics,
    rows: Vec<Row<'a>>,
}

/// A policy's metrics, and the cells beside them.
pub(crate) struct Row<'a> {
    pub(crate) policy: &'a str,
    pub(crate) metrics: FairnessMetrics,
    pub(crate) beside: Vec<String>,
}

/// Writes a table a mix, and for several mixes a summary.
///
/// # Errors
/// If it can't be written.
pub fn write(compared: &ComparedMixes<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let ComparedMixes { programs, ways, policies, results, .. } = compared;
    let (blocks, beside, legend): (Vec<Block<'_>>, _, _) = match results {
        Results::Scored(results) => {
            let blocks = results.iter().map(|(mix, comparison)| Block {
                mix,
                stock: &comparison.stock,
                rows: comparison.outcomes.iter().map(|outcome| scored(outcome, ways)).collect(),
            });
            (blocks.collect(), SCORED, SCORED_LEGEND)
        }
        Results::Live(results) => {
            let blocks = results.iter().map(|(mix, comparison)| Block {
                mix,
                stock: &comparison.stock,
                rows: comparison.outcomes.iter().map(live).collect(),
            });
            (blocks.collect(), LIVE, LIVE_LEGEND)
        }
    };
    let largest = ways.iter().copied().max().unwrap_or(programs.table().ways());
    let classes = classes(programs.table(), largest);
    for block in &blocks {
        let program = |(number, &program): (usize, &usize)| {
            let class = classes.get(program).map_or("phased", |class| class.name());
            format!("{number} {} ({class})", programs.name(program))
        };
        let mix: Vec<_> = block.mix.programs.iter().enumerate().map(program).collect();
        writeln!(out, "{}", fold(&format!("{}: {}", block.mix.name, mix.join(", ")), 4))?;
        writeln!(out, "{}\n", fit_metrics(metrics_table(&block.rows, block.stock, beside)))?;
    }
    if blocks.len() > 1 {
        writeln!(out, "All {} mixes, geometric means:", blocks.len())?;
        writeln!(out, "{}\n", fit_metrics(summary(policies, &blocks)))?;
    }
    write!(out, "{}{}", fold(LEGEND, 12), fold(legend, 12))?;
    Ok(())
}

fn scored<'a>(outcome: &'a PolicyOutcome, ways: &[Ways]) -> Row<'a> {
    let beside = vec![bars(&outcome.plans, ways), clusters(&outcome.plans)];
    Row { policy: outcome.policy, metrics: outcome.metrics, beside }
}

/// The ways of each cache.
pub(crate) fn bars(plans: &[Partition], ways: &[Ways]) -> String {
    let bars = plans.iter().zip(ways).map(|(plan, &ways)| bar(plan, ways));
    bars.collect::<Vec<_>>().join(" | ")
}

/// The programs of each cluster, and the levels of those that have one, cache by cache.
pub(crate) fn clusters(plans: &[Partition]) -> String {
    let clusters = plans.iter().map(|plan| match plan.clusters() {
        [] => "none".to_owned(),
        _ => members(plan) + &levels(plan, BandwidthUnit::Percent),
    });
    clusters.collect::<Vec<_>>().join(" | ")
}

fn live(outcome: &LiveOutcome) -> Row<'_> {
    let activity = &outcome.activity;
    let sampling = match activity.samplings {
        0 => String::new(),
        _ => format!("{:.2} %", 100.0 * activity.sampling_share()),
    };
    let samplings = activity.samplings.to_string();
    let beside = vec![activity.plans.to_string(), samplings, sampling];
    Row { policy: outcome.policy, metrics: outcome.metrics, beside }
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

/// The same as text that fits the terminal; the columns of fairness are dropped last.
pub(crate) fn fit_metrics(table: Table) -> String {
    fit(table, &["sampling", "samplings", "plans", "ANTT", "STP", "clusters", "ways"])
}

/// Policies, one a row, against stock. `beside` names columns beside the metrics, and how many of
/// them have numbers.
pub(crate) fn metrics_table(
    rows: &[Row<'_>],
    stock: &FairnessMetrics,
    (beside, numbers): (&[&str], usize),
) -> Table {
    let header = [&["policy", "unfairness", "%", "STP", "%", "ANTT", "%"], beside].concat();
    let mut table = table(&header, 7 + numbers);
    for row in rows {
        let ours = &row.metrics;
        let mut cells = vec![row.policy.to_owned()];
        for (value, stock) in
            [(ours.unfairness, stock.unfairness), (ours.stp, stock.stp), (ours.antt, stock.antt)]
        {
            cells.push(known(value, 3));
            cells.push(change(value / stock));
        }
        cells.extend(row.beside.iter().cloned());
        table.add_row(cells);
    }
    table
}

/// A number with so many digits behind the point; a dash for one that is not known.
pub(crate) fn known(value: f64, digits: usize) -> String {
    if value.is_nan() { "-".to_owned() } else { format!("{value:.digits$}") }
}

/// A ratio as a change in percent; nothing where nothing changed, or that is not known.
fn change(ratio: f64) -> String {
    if ratio.is_nan() {
        return String::new();
    }
    let percent = format!("{:+.1}", (ratio - 1.0) * 100.0);
    if matches!(percent.as_str(), "+0.0" | "-0.0") { String::new() } else { percent }
}

fn summary(policies: &[&str], blocks: &[Block<'_>]) -> Table {
    let header = ["policy", "unfairness", "%", "STP", "%", "ANTT", "%", "fairer than stock"];
    let mut table = table(&header, 8);
    for (index, policy) in policies.iter().enumerate() {
        let pairs = || blocks.iter().map(|block| (&block.rows[index].metrics, block.stock));
        let mut row = vec![(*policy).to_owned()];
        for metric in [
            (|m: &FairnessMetrics| m.unfairness) as fn(&FairnessMetrics) -> f64,
            |m: &FairnessMetrics| m.stp,
            |m: &FairnessMetrics| m.antt,
        ] {
            let ours = pairs().map(|(ours, _)| metric(ours));
            let ratios = pairs().map(|(ours, stock)| metric(ours) / metric(stock));
            row.push(known(geometric_mean(ours), 3));
            row.push(change(geometric_mean(ratios)));
        }
        let fairer = |&(ours, stock): &(&FairnessMetrics, &FairnessMetrics)| {
            ours.unfairness < stock.unfairness
        };
        row.push(format!("{} of {}", pairs().filter(fairer).count(), blocks.len()));
        table.add_row(row);
    }
    table
}

fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(f64::ln).sum::<f64>() / count).exp()
}
