//! How the programs fared in the end.

use std::io::Write;

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::table::{STYLE, fit, fold};
use fairways_core::Time;
use fairways_experiments::ServiceSummary;
use fairways_profiles::FairnessMetrics;
use serde::Serialize;

use crate::chip::NOT_COMPARABLE;
use crate::services::{self, Answers};
use crate::simulate::table::known;

/// Changes when a field changes its meaning or goes; new fields do not change it.
const SCHEMA: u32 = 1;

/// How the programs fared, and how they would have without partitioning, unless the user had no
/// patience for that.
#[derive(Debug, Serialize)]
pub struct Summary {
    schema: u32,
    policy: &'static str,
    seconds: f64,
    interrupted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    least_time_scale: Option<f64>,
    unfairness: f64,
    stp: f64,
    antt: f64,
    stock: Option<Compared>,
    programs: Vec<Program>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Compared {
    unfairness: f64,
    stp: f64,
    antt: f64,
}

impl Compared {
    fn of(slowdowns: &[f64]) -> Self {
        let FairnessMetrics { unfairness, stp, antt, .. } =
            FairnessMetrics::from_slowdowns(slowdowns);
        Self { unfairness, stp, antt }
    }
}

#[derive(Debug, Serialize)]
struct Program {
    program: String,
    runs: usize,
    slowdown: f64,
    stock_slowdown: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    not_comparable: bool,
    #[serde(flatten)]
    answers: Option<Service>,
}

/// How a service answered: under the policy, without partitioning, and by itself.
#[derive(Debug, Serialize)]
struct Service {
    service: Answers,
    stock_service: Option<Answers>,
    alone_service: Option<Answers>,
    #[serde(skip)]
    served: [Option<ServiceSummary>; 3],
}

impl From<RunOfProgram> for Program {
    fn from(run: RunOfProgram) -> Self {
        let RunOfProgram { name, runs, slowdown, stock_slowdown, not_comparable, .. } = run;
        let answers = run.served.map(|ours| Service::new(ours, run.stock_served, run.alone_served));
        Self { program: name, runs, slowdown, stock_slowdown, not_comparable, answers }
    }
}

impl Program {
    /// What follows its slowdown in a table.
    fn remark(&self) -> &'static str {
        if self.not_comparable { ", not comparable" } else { "" }
    }
}

impl Service {
    fn new(
        ours: ServiceSummary,
        stock: Option<ServiceSummary>,
        alone: Option<ServiceSummary>,
    ) -> Self {
        let of = |served: &ServiceSummary| Answers::of(served, alone.as_ref());
        Self {
            service: of(&ours),
            stock_service: stock.as_ref().map(of),
            alone_service: alone.map(|alone| Answers::of(&alone, None)),
            served: [alone, Some(ours), stock],
        }
    }
}

/// How a program of a run fared.
#[derive(Debug)]
pub struct RunOfProgram {
    /// Its name.
    pub name: String,
    /// How many of its runs have ended.
    pub runs: usize,
    /// How many times slower than at its best it ran; NaN where that is not known.
    pub slowdown: f64,
    /// The same without partitioning; `None` if that was not tried.
    pub stock_slowdown: Option<f64>,
    /// Whether it is a stream or a real program of which these are not of the same instructions, or
    /// depend on how busy this machine was.
    pub not_comparable: bool,
    /// How it answered, if it is a service.
    pub served: Option<ServiceSummary>,
    /// The same without partitioning.
    pub stock_served: Option<ServiceSummary>,
    /// The same by itself.
    pub alone_served: Option<ServiceSummary>,
}

impl Summary {
    /// Sums up a run under a policy that ended at `end`, for all programs.
    #[must_use]
    pub fn new(
        policy: &'static str,
        end: Time,
        interrupted: bool,
        programs: Vec<RunOfProgram>,
    ) -> Self {
        let ours: Vec<f64> = programs.iter().map(|program| program.slowdown).collect();
        let theirs: Option<Vec<f64>> =
            programs.iter().map(|program| program.stock_slowdown).collect();
        let Compared { unfairness, stp, antt } = Compared::of(&ours);
        Self {
            schema: SCHEMA,
            policy,
            seconds: end.nanos() as f64 / 1e9,
            interrupted,
            least_time_scale: None,
            unfairness,
            stp,
            antt,
            stock: theirs.as_deref().map(Compared::of),
            programs: programs.into_iter().map(Program::from).collect(),
        }
    }

    /// The same with the policy's least time scale, if it has one.
    #[must_use]
    pub fn with_least_time_scale(self, least_time_scale: Option<f64>) -> Self {
        Self { least_time_scale, ..self }
    }

    /// Writes one object and a newline.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn json(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        Ok(writeln!(out)?)
    }

    /// Writes a table for people.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn table(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut table = Table::new();
        let slowdown = format!("slowdown, {}", self.policy);
        table.load_style(STYLE).set_header(["program", "runs", &slowdown, "stock"]);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for program in &self.programs {
            table.add_row([
                program.program.clone(),
                program.runs.to_string(),
                known(program.slowdown, 3) + program.remark(),
                program.stock_slowdown.map_or_else(String::new, |slowdown| known(slowdown, 3)),
            ]);
        }
        writeln!(out, "\nAfter {:.3} s:\n{}\n", self.seconds, fit(table, &["runs", "stock"]))?;
        let rows = self.answers();
        if !rows.is_empty() {
            writeln!(out, "{}\n", services::table(&rows))?;
        }
        for (name, ours, stock) in [
            ("unfairness", self.unfairness, self.stock.map(|stock| stock.unfairness)),
            ("STP", self.stp, self.stock.map(|stock| stock.stp)),
            ("ANTT", self.antt, self.stock.map(|stock| stock.antt)),
        ] {
            write!(out, "{name:10}  {}", known(ours, 3))?;
            if let Some(stock) = stock.filter(|stock| stock.is_finite() && ours.is_finite()) {
                let change = 100.0 * (ours / stock - 1.0);
                write!(out, ", {change:+.1} % against stock ({stock:.3})")?;
            }
            writeln!(out)?;
        }
        if self.programs.iter().any(|program| program.not_comparable) {
            write!(out, "\n{}", fold(NOT_COMPARABLE, 12))?;
        }
        Ok(())
    }

    /// The services by themselves, under the policy, and without partitioning.
    fn answers(&self) -> Vec<services::Row<'_>> {
        let mut rows = Vec::new();
        for (which, under) in ["alone", self.policy, "stock"].into_iter().enumerate() {
            for Program { program: service, answers, .. } in &self.programs {
                let Some(Service { served: all, .. }) = answers else { continue };
                let Some(served) = all[which] else { continue };
                rows.push(services::Row { under, service, served, alone: all[0] });
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use fairways_command_kit::table::keep_whole;

    use super::*;

    fn table(not_comparable: bool) -> String {
        keep_whole();
        let program = RunOfProgram {
            name: "live:awk".to_owned(),
            runs: 0,
            slowdown: 1.5,
            stock_slowdown: Some(2.0),
            not_comparable,
            served: None,
            stock_served: None,
            alone_served: None,
        };
        let mut out = Vec::new();
        let summary = Summary::new("equal", Time::ZERO, false, vec![program]);
        summary.table(&mut out).expect("memory takes it");
        String::from_utf8(out).expect("a text")
    }

    #[test]
    fn a_slowdown_that_is_not_comparable_is_explained() {
        // A narrow terminal has no room for the column after it.
        let text = table(true);
        assert!(text.contains("1.500, not comparable   2.000\n"), "{text}");
        assert!(text.ends_with(NOT_COMPARABLE), "{text}");
        assert!(!table(false).contains("not comparable"));
    }
}
