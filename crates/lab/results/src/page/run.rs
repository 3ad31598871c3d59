//! The JSON of `run --json`.

use fairways_page::{Bar, BarGroup, Block, Cell, Column, Fact, Part, Section, Table, bars};
use serde::Deserialize;

use super::policies::against_stock;
use super::services::{self, Answers};

/// The whole object.
#[derive(Debug, Deserialize)]
pub(super) struct RunResults {
    policy: String,
    seconds: f64,
    #[serde(default)]
    interrupted: bool,
    #[serde(flatten)]
    ours: Metrics,
    stock: Option<Metrics>,
    programs: Vec<RunProgram>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Metrics {
    unfairness: Option<f64>,
    stp: Option<f64>,
    antt: Option<f64>,
}

type Metric = fn(&Metrics) -> Option<f64>;

#[derive(Debug, Deserialize)]
struct RunProgram {
    program: String,
    runs: Option<u64>,
    slowdown: Option<f64>,
    stock_slowdown: Option<f64>,
    service: Option<Answers>,
    stock_service: Option<Answers>,
    alone_service: Option<Answers>,
}

/// Makes the section.
pub(super) fn section(results: &RunResults) -> Section {
    let RunResults { policy, seconds, interrupted, ours, stock, programs } = results;
    fn stock_of(get: Metric, stock: &Option<Metrics>) -> Option<f64> {
        stock.as_ref().and_then(get)
    }
    let metrics: [(&str, &str, Metric, bool); 3] = [
        ("unfairness", "lower is better", |m| m.unfairness, true),
        ("STP", "higher is better", |m| m.stp, false),
        ("ANTT", "lower is better", |m| m.antt, true),
    ];
    let columns = vec![
        Column::words("metric"),
        Column::numbers(policy, ""),
        Column::numbers("stock", ""),
        Column::numbers("%", "against stock"),
        Column::words(""),
    ];
    let rows = metrics.iter().map(|&(name, hint, get, less_is_better)| {
        vec![
            Cell::words(name),
            Cell::number(get(ours), 3),
            Cell::number(stock_of(get, stock), 3),
            Cell::change(get(ours), stock_of(get, stock), less_is_better),
            Cell::words(hint),
        ]
    });
    let caption = format!("{policy} beside no partitioning");
    let side_by_side = Table { caption, columns, rows: rows.collect(), folded: false };
    let groups: Vec<BarGroup> = programs
        .iter()
        .enumerate()
        .map(|(n, program): (usize, &RunProgram)| {
            fn bar(name: &str, value: Option<f64>) -> Bar {
                Bar { name: name.into(), value }
            }
            let name = format!("{n} {}", program.program);
            let ours = bar(policy, program.slowdown);
            BarGroup { name, bars: vec![bar("stock", program.stock_slowdown), ours] }
        })
        .collect();
    let caption = "The time that the program ran, over the time of the same work at its best.";
    let figure = bars("Slowdowns", caption, &groups);
    let mut blocks = vec![
        Block::Table(side_by_side),
        Block::Figures(vec![figure]),
        Block::Table(programs_table(results)),
    ];
    let services = programs.iter().flat_map(|program| {
        let under = [
            ("alone", &program.alone_service),
            ("stock", &program.stock_service),
            (policy, &program.service),
        ];
        under.into_iter().filter_map(|(under, answers)| {
            Some((under, program.program.as_str(), answers.as_ref()?))
        })
    });
    blocks.extend(services::table(services).map(Block::Table));
    let headline = match (ours.unfairness, stock_of(|m| m.unfairness, stock)) {
        (Some(ours), Some(stock)) => {
            let change = against_stock(Some(ours), Some(stock));
            format!("Under {policy}, unfairness is {ours:.3}{change}.")
        }
        (Some(ours), None) => format!("Under {policy}, unfairness is {ours:.3}."),
        (None, _) => format!("Under {policy}, unfairness is not known."),
    };
    let warnings =
        interrupted.then(|| "The run was interrupted: what did not run is missing.".into());
    Section {
        heading: format!("A run under {policy}"),
        kind: "fairways-lab run".into(),
        headline,
        warnings: warnings.into_iter().collect(),
        facts: vec![
            Fact::words("policy", policy),
            Fact::number("programs", programs.len(), ""),
            Fact::number("time", seconds, "s"),
        ],
        parts: vec![Part { blocks, ..Part::default() }],
        ..Section::default()
    }
}

/// The runs and slowdowns of the programs.
fn programs_table(results: &RunResults) -> Table {
    let columns = vec![
        Column::words("program"),
        Column::numbers("runs", "finished"),
        Column::numbers(&format!("slowdown, {}", results.policy), ""),
        Column::numbers("slowdown, stock", ""),
        Column::numbers("%", "against stock"),
    ];
    let rows = results
        .programs
        .iter()
        .enumerate()
        .map(|(n, program): (usize, &RunProgram)| {
            vec![
                Cell::words(format!("{n} {}", program.program)),
                Cell::count(program.runs),
                Cell::number(program.slowdown, 3),
                Cell::number(program.stock_slowdown, 3),
                Cell::change(program.slowdown, program.stock_slowdown, true),
            ]
        })
        .collect();
    Table { caption: "How the programs fared".into(), columns, rows, folded: false }
}
