//! Compares policies.

use fairways_page::{Cell, Column, Table, change};
use serde::Deserialize;

/// The results of a policy, as far as a file has them.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct PolicyResult {
    pub(super) policy: String,
    pub(super) unfairness: Option<f64>,
    pub(super) stp: Option<f64>,
    pub(super) antt: Option<f64>,
    pub(super) jain: Option<f64>,
    #[serde(flatten)]
    pub(super) activity: Activity,
    #[serde(default)]
    pub(super) slowdowns: Vec<Option<f64>>,
}

/// The policy's activity, over time or in a search.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Activity {
    seconds: Option<f64>,
    plans: Option<u64>,
    refused: Option<u64>,
    samplings: Option<u64>,
    sampling_share: Option<f64>,
    sampling_instructions_share: Option<f64>,
    sampling_loss: Option<f64>,
    proven: Option<bool>,
    bound: Option<f64>,
}

/// The policy with which others are compared.
pub(super) const STOCK: &str = "stock";

pub(super) fn stock(policies: &[PolicyResult]) -> Option<&PolicyResult> {
    policies.iter().find(|policy| policy.policy == STOCK)
}

type Metric = fn(&PolicyResult) -> Option<f64>;
type Getter = fn(&PolicyResult) -> Cell;
type Has = fn(&PolicyResult) -> bool;

/// Columns that are shown if any policy has a value.
const MORE: [(&str, Has, Getter); 10] = [
    ("Jain", |p| p.jain.is_some(), |p| Cell::number(p.jain, 4)),
    ("plans", |p| p.activity.plans.is_some(), |p| Cell::count(p.activity.plans)),
    ("refused", |p| p.activity.refused.is_some(), |p| Cell::count(p.activity.refused)),
    ("samplings", |p| p.activity.samplings.is_some(), |p| Cell::count(p.activity.samplings)),
    (
        "sampling, share of time",
        |p| p.activity.sampling_share.is_some(),
        |p| Cell::number(p.activity.sampling_share, 4),
    ),
    (
        "of instructions",
        |p| p.activity.sampling_instructions_share.is_some(),
        |p| Cell::number(p.activity.sampling_instructions_share, 4),
    ),
    (
        "of STP lost",
        |p| p.activity.sampling_loss.is_some(),
        |p| Cell::number(p.activity.sampling_loss, 4),
    ),
    ("seconds", |p| p.activity.seconds.is_some(), |p| Cell::number(p.activity.seconds, 4)),
    ("proven", |p| p.activity.proven.is_some(), |p| Cell::holds(p.activity.proven)),
    ("none better than", |p| p.activity.bound.is_some(), |p| Cell::number(p.activity.bound, 4)),
];

/// A row for each policy: its metrics, and their changes against `stock`.
pub(super) fn side_by_side(policies: &[PolicyResult]) -> Table {
    let stock = stock(policies);
    let mut columns = vec![Column::words("policy")];
    for (name, hint) in [
        ("unfairness", "lower is better"),
        ("STP", "higher is better"),
        ("ANTT", "lower is better"),
    ] {
        columns.push(Column::numbers(name, hint));
        if stock.is_some() {
            columns.push(Column::numbers("%", "against stock"));
        }
    }
    let more: Vec<_> = MORE.iter().filter(|(_, has, _)| policies.iter().any(has)).collect();
    columns.extend(more.iter().map(|(name, ..)| Column::numbers(name, "")));
    Table {
        caption: "Policies side by side".into(),
        columns,
        rows: policies
            .iter()
            .map(|policy: &PolicyResult| {
                let mut row = vec![Cell::words(&policy.policy)];
                let metrics: [(Metric, bool); 3] =
                    [(|p| p.unfairness, true), (|p| p.stp, false), (|p| p.antt, true)];
                for (get, less_is_better) in metrics {
                    row.push(Cell::number(get(policy), 3));
                    if let Some(stock) = stock {
                        row.push(match policy.policy.as_str() {
                            STOCK => Cell::nothing(),
                            _ => Cell::change(get(policy), get(stock), less_is_better),
                        });
                    }
                }
                row.extend(more.iter().map(|(.., get)| get(policy)));
                row
            })
            .collect(),
        folded: false,
    }
}

/// A row for each program, a column for each policy.
pub(super) fn slowdowns(apps: &[String], policies: &[PolicyResult]) -> Table {
    let mut columns = vec![Column::words("program")];
    columns.extend(policies.iter().map(|policy| Column::numbers(&policy.policy, "")));
    let rows = apps
        .iter()
        .enumerate()
        .map(|(app, name): (usize, &String)| {
            let mut row = vec![Cell::words(format!("{app} {name}"))];
            row.extend(policies.iter().map(|policy: &PolicyResult| {
                Cell::number(policy.slowdowns.get(app).copied().flatten(), 3)
            }));
            row
        })
        .collect();
    Table { caption: "Slowdowns as numbers".into(), columns, rows, folded: true }
}

/// The change against `stock`, in parentheses; empty without a change.
pub(super) fn against_stock(ours: Option<f64>, stock: Option<f64>) -> String {
    match change(ours, stock).filter(|change| change.abs() >= 0.05) {
        Some(change) => {
            let change = format!("{change:+.1}\u{a0}%").replace('-', "\u{2212}");
            format!(" ({change} against stock)")
        }
        None => String::new(),
    }
}

/// The policy with the least unfairness; among equals, the first.
pub(super) fn fairest(policies: &[PolicyResult]) -> Option<&PolicyResult> {
    least(policies, |p| p.unfairness)
}

fn least(policies: &[PolicyResult], get: Metric) -> Option<&PolicyResult> {
    let known = policies.iter().filter_map(|policy| Some((policy, get(policy)?)));
    known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(policy, _)| policy)
}

/// A sentence on the fairest policy, and one on the highest throughput.
pub(super) fn best(policies: &[PolicyResult]) -> String {
    if let [PolicyResult { policy, unfairness: Some(unfairness), stp: Some(stp), .. }] = policies {
        return format!("Under {policy}, unfairness is {unfairness:.3}, and STP {stp:.3}.");
    }
    let (fairest, fastest) = (fairest(policies), least(policies, |p| p.stp.map(|stp| -stp)));
    let stock = stock(policies);
    let mut sentences = Vec::new();
    if let Some(PolicyResult { policy, unfairness: Some(value), .. }) = fairest {
        let change = against_stock(Some(*value), stock.and_then(|stock| stock.unfairness));
        sentences.push(format!("Fairest is {policy}, unfairness {value:.3}{change}."));
    }
    if let Some(PolicyResult { policy, stp: Some(value), .. }) = fastest {
        let change = against_stock(Some(*value), stock.and_then(|stock| stock.stp));
        sentences.push(format!("The highest throughput is {policy}'s, STP {value:.3}{change}."));
    }
    sentences.join(" ")
}
