//! How services answered, as a table and as JSON.

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::table::{STYLE, fit};
use fairways_core::Objective;
use fairways_experiments::{ObjectiveOutcome, ServiceSummary};
use serde::Serialize;

/// How a service answered; docs/chip.md describes it.
#[derive(Debug, Serialize)]
pub(crate) struct Answers {
    requests: u64,
    per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_second_of_alone: Option<f64>,
    mean_ms: Option<f64>,
    median_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
    #[serde(flatten)]
    kept: Option<Against>,
}

/// How well the objective was met.
#[derive(Debug, Serialize)]
struct Against {
    slo_ms: Option<f64>,
    percentile: Option<f64>,
    tail_ms: Option<f64>,
    windows: u32,
    windows_held: u32,
}

impl Answers {
    /// Compares with the service alone, if `alone` is known.
    pub(crate) fn of(served: &ServiceSummary, alone: Option<&ServiceSummary>) -> Self {
        let latency = served.latency;
        Self {
            requests: served.requests,
            per_second: served.per_second,
            per_second_of_alone: alone.map(|alone| served.per_second / alone.per_second),
            mean_ms: latency.map(|latency| latency.mean_ms),
            median_ms: latency.map(|latency| latency.median_ms),
            p95_ms: latency.map(|latency| latency.p95_ms),
            p99_ms: latency.map(|latency| latency.p99_ms),
            kept: served.objective.map(
                |ObjectiveOutcome { objective, tail_ms, windows, windows_met: held }| Against {
                    slo_ms: objective.map(slo_ms),
                    percentile: objective.map(percentile),
                    tail_ms,
                    windows,
                    windows_held: held,
                },
            ),
        }
    }
}

/// A service under a policy, or by itself.
pub(crate) struct Row<'a> {
    pub(crate) under: &'a str,
    pub(crate) service: &'a str,
    pub(crate) served: ServiceSummary,
    pub(crate) alone: Option<ServiceSummary>,
}

/// Services, one a row, as text that fits the terminal.
pub(crate) fn table(rows: &[Row<'_>]) -> String {
    let header = [
        "policy",
        "service",
        "requests/s",
        "of alone",
        "mean",
        "median",
        "p95",
        "p99",
        "tail",
        "SLO",
        "windows held",
    ];
    let mut table = Table::new();
    table.load_style(STYLE).set_header(header);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for Row { under, service, served, alone } in rows {
        let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.3}"));
        let latency = served.latency;
        let ratio = alone.map(|alone| served.per_second / alone.per_second);
        let mut cells = vec![
            (*under).to_owned(),
            (*service).to_owned(),
            format!("{:.1}", served.per_second),
            ms(ratio.filter(|ratio| ratio.is_finite())),
            ms(latency.map(|latency| latency.mean_ms)),
            ms(latency.map(|latency| latency.median_ms)),
            ms(latency.map(|latency| latency.p95_ms)),
            ms(latency.map(|latency| latency.p99_ms)),
        ];
        cells.extend(kept(served.objective, ms));
        table.add_row(cells);
    }
    fit(table, &["median", "p99", "p95", "of alone", "mean", "requests/s"])
}

/// The tail, the objective, and the windows that held.
fn kept(kept: Option<ObjectiveOutcome>, ms: impl Fn(Option<f64>) -> String) -> [String; 3] {
    let Some(ObjectiveOutcome { objective, tail_ms, windows, windows_met: held }) = kept else {
        return ["-"; 3].map(str::to_owned);
    };
    let percent = 100.0 * f64::from(held) / f64::from(windows);
    [
        ms(tail_ms),
        objective.map_or_else(|| "-".to_owned(), |objective| objective.to_string()),
        if windows == 0 { "-".to_owned() } else { format!("{percent:.1} % of {windows}") },
    ]
}

fn slo_ms(objective: Objective) -> f64 {
    objective.slo.as_secs_f64() * 1e3
}

/// The percentile as it was written; it is stored in fractions of 2^32.
fn percentile(objective: Objective) -> f64 {
    (objective.percentile.raw() as f64 / (1_u64 << 32) as f64 * 1e6).round() / 1e6
}

/// What the columns mean.
pub(crate) const LEGEND: &str = "\
services    latencies in ms; the slowdown is the mean latency over the mean latency
            alone, under the same load
of alone    requests a second over those alone
tail        at the percentile of the objective (SLO)
windows held   of 500 ms, whose tail is within the objective; a window of fewer
            than 100 requests is judged with the next
";
