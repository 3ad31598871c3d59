//! How services answered.

use fairways_page::{Cell, Column, Table};
use serde::Deserialize;

/// The results of a service; docs/chip.md describes them.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Answers {
    requests: Option<u64>,
    per_second: Option<f64>,
    per_second_of_alone: Option<f64>,
    mean_ms: Option<f64>,
    median_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
    slo_ms: Option<f64>,
    percentile: Option<f64>,
    tail_ms: Option<f64>,
    windows: Option<u64>,
    windows_held: Option<u64>,
}

/// A row for each service and policy; `None` without services.
pub(super) fn table<'a>(
    rows: impl IntoIterator<Item = (&'a str, &'a str, &'a Answers)>,
) -> Option<Table> {
    fn row((under, service, answers): (&str, &str, &Answers)) -> Vec<Cell> {
        let objective = match (answers.percentile, answers.slo_ms) {
            (Some(percentile), Some(slo)) => format!("p{percentile} {slo} ms"),
            _ => String::new(),
        };
        vec![
            Cell::words(format!("{service}, {under}")),
            Cell::count(answers.requests),
            Cell::number(answers.per_second, 1),
            Cell::number(answers.per_second_of_alone, 3),
            Cell::number(answers.mean_ms, 3),
            Cell::number(answers.median_ms, 3),
            Cell::number(answers.p95_ms, 3),
            Cell::number(answers.p99_ms, 3),
            Cell::words(objective),
            Cell::number(answers.tail_ms, 3),
            Cell::count(answers.windows),
            Cell::count(answers.windows_held),
        ]
    }
    let rows: Vec<_> = rows.into_iter().map(row).collect();
    let mut columns = vec![Column::words("service"), Column::numbers("requests", "")];
    columns.extend([
        Column::numbers("a second", "higher is better"),
        Column::numbers("of alone", ""),
        Column::numbers("mean", "ms"),
        Column::numbers("median", "ms"),
        Column::numbers("p95", "ms"),
        Column::numbers("p99", "ms"),
        Column::words("objective"),
        Column::numbers("tail", "ms"),
        Column::numbers("windows", "judged"),
        Column::numbers("within", ""),
    ]);
    let caption = "Services: how many requests they answered, and how long that took".to_owned();
    (!rows.is_empty()).then_some(Table { caption, columns, rows, folded: false })
}
