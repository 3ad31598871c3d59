//! The report of a trial of several policies.

use std::cmp::Ordering;
use std::io::{self, Write};

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::table::{STYLE, fit, fold};
use serde::Serialize;

use super::found::{Arm, Found};
use super::report::{FELT, Report, SCHEMA, number, shown};
use super::verdict::{Difference, Overall, Verdict};

/// The policies of a trial, compared.
#[derive(Serialize)]
pub(crate) struct PolicyComparison {
    schema: u32,
    /// `None` if no policy helped.
    best: Option<BestPolicy>,
    /// In the order in which they were requested.
    pub(crate) policies: Vec<Report>,
}

/// The policy that raised IPC most.
#[derive(Serialize)]
struct BestPolicy {
    policy: String,
    /// The next one; `None` if nothing was measured of any other.
    next: Option<NextPolicy>,
}

/// How the best policy compares with the next one.
#[derive(Serialize)]
struct NextPolicy {
    policy: String,
    /// The IPC of the best over its; `None` if they share too few rounds.
    ipc: Option<Difference>,
    /// Whether the best is better than it.
    verdict: Verdict,
}

impl PolicyComparison {
    pub(crate) fn new(policies: Vec<Report>, found: &Found) -> Self {
        let mut order: Vec<(usize, f64)> = (0..)
            .zip(&policies)
            .filter_map(|(number, report)| Some((number, report.ipc?.by)))
            .collect();
        order.sort_by(|(_, one), (_, other)| other.partial_cmp(one).unwrap_or(Ordering::Equal));
        let order: Vec<usize> = order.into_iter().map(|(number, _)| number).collect();
        let helped = order.iter().find(|number| policies[**number].verdict == Verdict::Helped);
        let best = helped.map(|&best| {
            let next = order.iter().find(|number| **number != best).map(|&next| {
                let arms = [Arm::With(best), Arm::With(next)];
                let ipc = Overall::new(found, arms).difference;
                let verdict = ipc.map_or(Verdict::Inconclusive, Difference::verdict);
                NextPolicy { policy: policies[next].policy.clone(), ipc, verdict }
            });
            BestPolicy { policy: policies[best].policy.clone(), next }
        });
        Self { schema: SCHEMA, best, policies }
    }

    pub(crate) fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        writeln!(out)
    }

    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", fold(&self.heading(), 2))?;
        let mut table = Table::new();
        table.load_style(STYLE);
        table.set_header(["policy", "verdict", "IPC, 95 %", "worse off"]);
        for report in &self.policies {
            let ipc = report.ipc.as_ref().map_or("-".to_owned(), shown);
            let verdict = report.verdict.words();
            table.add_row([&report.policy, verdict, &ipc, &report.worse_off.join(", ")]);
        }
        writeln!(out, "\n{}", fit(table, &["worse off"]))?;
        for report in &self.policies {
            writeln!(out)?;
            report.print_verdict(out)?;
        }
        self.print_programs(out)
    }

    /// Prints the programs' differences under each plan that was tried.
    fn print_programs(&self, out: &mut dyn Write) -> io::Result<()> {
        let tried: Vec<&Report> = self.policies.iter().filter(|of| of.since.is_none()).collect();
        // In the order of the programs.
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (column, report) in tried.iter().enumerate() {
            for program in &report.programs {
                for of in program.measures.iter().filter(|of| FELT.contains(&of.measure)) {
                    let first = [report.name(program), of.measure.to_owned(), number(of.without)];
                    let place = rows.iter().position(|row| row[..2] == first[..2]);
                    let place = place.unwrap_or_else(|| {
                        let none = std::iter::repeat_n("-".to_owned(), tried.len());
                        rows.push(first.into_iter().chain(none).collect());
                        rows.len() - 1
                    });
                    rows[place][column + 3] = of.difference.as_ref().map_or("-".to_owned(), shown);
                }
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        let mut table = Table::new();
        table.load_style(STYLE);
        let first = ["program", "", "without"].into_iter();
        table.set_header(first.chain(tried.iter().map(|report| &*report.policy)));
        for (place, row) in rows.iter().enumerate() {
            let is_named = place == 0 || rows[place - 1][0] != row[0];
            let name = if is_named { row[0].as_str() } else { "" };
            table.add_row(std::iter::once(name).chain(row[1..].iter().map(String::as_str)));
        }
        for place in 2..tried.len() + 3 {
            if let Some(column) = table.column_mut(place) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        writeln!(out, "\n{}", fit(table, &["without"]))
    }

    fn heading(&self) -> String {
        let Some(BestPolicy { policy, next }) = &self.best else {
            let has_tried =
                self.policies.iter().any(|report| report.verdict != Verdict::NothingWasTried);
            let none = if has_tried { "no policy helped" } else { "nothing was tried" };
            return none.to_owned();
        };
        let Some(NextPolicy { policy: other, ipc: Some(ipc), verdict }) = next else {
            return format!("best: {policy}");
        };
        let ipc = shown(ipc);
        match verdict {
            Verdict::Helped => format!("best: {policy}, with IPC {ipc} over {other}, the next"),
            Verdict::DidNot => {
                format!("best: {policy} and {other}; IPC differs by less than 1 %, {ipc}")
            }
            _ => format!("best: {policy}, but {other} may be as good: IPC {ipc} over it"),
        }
    }
}
