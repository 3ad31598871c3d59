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
        // In the order of the programs, which may have the same name.
        let mut places = Vec::new();
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (column, report) in tried.iter().enumerate() {
            for program in &report.programs {
                for of in program.measures.iter().filter(|of| FELT.contains(&of.measure)) {
                    let place = (program.app, program.domain, of.measure);
                    let known = places.iter().position(|known| *known == place);
                    let place = known.unwrap_or_else(|| {
                        places.push(place);
                        let name = report.name(program);
                        let first = [name, of.measure.to_owned(), number(of.without)];
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
            let is_named = place == 0 || places[place - 1].0 != places[place].0;
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
            let verdicts: Vec<Verdict> = self.policies.iter().map(|of| of.verdict).collect();
            let none = if verdicts.contains(&Verdict::Inconclusive) {
                "no policy is known to have helped"
            } else if verdicts.iter().all(|verdict| *verdict == Verdict::NothingWasTried) {
                "nothing was tried"
            } else {
                "no policy helped"
            };
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairways_core::{AppId, Counters, Sample};

    use super::*;

    /// Trials of three rounds: the instructions of a program in 1000 cycles under each policy, of
    /// 1000 without.
    fn compared(did: &[[u64; 3]]) -> PolicyComparison {
        let mut found = Found::default();
        found.begins(0, did.len());
        for attempt in &mut found.domains.get_mut(&0).unwrap().attempts {
            attempt.untried = None;
        }
        let with = (0..).map(Arm::With).zip(did.iter().copied());
        for (arm, did) in with.chain([(Arm::Without, [1000; 3])]) {
            for (round, did) in did.into_iter().enumerate() {
                found.block(0, round, arm);
                let instructions = Some(did);
                let counters = Counters { instructions, cycles: Some(1000), ..Counters::default() };
                found.sampled(0, &Sample::new(AppId(0), counters, Duration::from_secs(1)));
            }
        }
        found.ends(0, None);
        let names = ["lfoc", "dcat", "equal"].into_iter().enumerate().take(did.len());
        let reports = names.map(|of| Report::new(of, &found, 1.0, false)).collect();
        PolicyComparison::new(reports, &found)
    }

    #[test]
    fn programs_of_one_name_have_rows_of_their_own() {
        let mut found = Found::default();
        found.begins(0, 1);
        found.domains.get_mut(&0).unwrap().attempts[0].untried = None;
        for app in [0, 1] {
            found.named(AppId(app), "web");
        }
        for (round, arm) in (0..3).flat_map(|round| [(round, Arm::With(0)), (round, Arm::Without)])
        {
            found.block(0, round, arm);
            for app in [0, 1] {
                let instructions = Some(1000 + u64::from(app));
                let counters = Counters { instructions, cycles: Some(1000), ..Counters::default() };
                found.sampled(0, &Sample::new(AppId(app), counters, Duration::from_secs(1)));
            }
        }
        found.ends(0, None);
        let reports = vec![Report::new((0, "lfoc"), &found, 1.0, false)];
        let mut out = Vec::new();
        PolicyComparison::new(reports, &found).print_programs(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("web").count(), 2, "{text}");
    }

    /// One that may have raised IPC more, or lowered it, did not help for certain.
    #[test]
    fn the_best_policy_is_one_that_helped() {
        let all = compared(&[[1000, 1300, 1000], [1050, 1051, 1049], [1000, 1001, 999]]);
        assert_eq!(all.policies[0].verdict, Verdict::Inconclusive);
        let best = all.best.as_ref().unwrap();
        assert_eq!((&*best.policy, &*best.next.as_ref().unwrap().policy), ("dcat", "lfoc"));
        assert!(all.heading().starts_with("best: dcat, but lfoc may be as good"));
    }

    #[test]
    fn what_is_not_known_is_not_said_to_have_failed() {
        let unsure = compared(&[[1000, 1300, 1000], [1000, 1001, 999]]);
        assert_eq!(unsure.heading(), "no policy is known to have helped");
        assert_eq!(compared(&[[1000, 1001, 999]]).heading(), "no policy helped");
    }
}
