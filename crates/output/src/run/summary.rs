//! How the programs fared in the end.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::table::{STYLE, fit};
use fairways_core::Time;
use fairways_lab::ServiceSummary;
use fairways_policy::stock::Stock;
use fairways_profiles::FairnessMetrics;
use serde::Serialize;

use super::best::{Best, run_until};
use super::machine::Running;
use super::settings::Checked;
use crate::services::{self, Answers};

/// Changes when a field changes its meaning or goes; new fields do not change it.
const SCHEMA: u32 = 1;

/// How the programs fared, and how they would have without partitioning, unless the user had no
/// patience for that.
#[derive(Serialize)]
pub(super) struct Summary {
    schema: u32,
    policy: &'static str,
    seconds: f64,
    interrupted: bool,
    unfairness: f64,
    stp: f64,
    antt: f64,
    stock: Option<Compared>,
    programs: Vec<Program>,
}

#[derive(Clone, Copy, Serialize)]
struct Compared {
    unfairness: f64,
    stp: f64,
    antt: f64,
}

#[derive(Serialize)]
struct Program {
    program: String,
    runs: usize,
    slowdown: f64,
    stock_slowdown: Option<f64>,
    #[serde(flatten)]
    answers: Option<Service>,
}

/// How a service answered: under the policy, without partitioning, and by itself.
#[derive(Serialize)]
struct Service {
    service: Answers,
    stock_service: Option<Answers>,
    alone_service: Option<Answers>,
    #[serde(skip)]
    served: [Option<ServiceSummary>; 3],
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

impl Summary {
    /// Sums up a run that ended at `end`. Unless it was interrupted, this repeats it under `stock`.
    pub(super) fn new(checked: &Checked, machine: &Running, end: Time, stop: &AtomicBool) -> Self {
        let (names, best) = (checked.names(), Best::new(checked, end, stop));
        let ours = best.slowdowns(machine, names.len());
        let mut stock = checked.machine();
        let compared = !stop.load(Ordering::Relaxed)
            && run_until(&mut stock, &mut Stock::default(), end, stop);
        let theirs = compared.then(|| best.slowdowns(&stock, names.len()));
        let interrupted = stop.load(Ordering::Relaxed);
        let program = |(job, program): (usize, String)| Program {
            program,
            runs: machine.runs(job),
            slowdown: ours[job],
            stock_slowdown: theirs.as_ref().map(|theirs| theirs[job]),
            answers: machine.served(job).map(|ours| {
                let stock = theirs.is_some().then(|| stock.served(job)).flatten();
                Service::new(ours, stock, best.served(job))
            }),
        };
        let programs = names.into_iter().enumerate().map(program).collect();
        let compared = |slowdowns: &Vec<f64>| {
            let FairnessMetrics { unfairness, stp, antt, .. } =
                FairnessMetrics::from_slowdowns(slowdowns);
            Compared { unfairness, stp, antt }
        };
        let Compared { unfairness, stp, antt } = compared(&ours);
        Self {
            schema: SCHEMA,
            policy: checked.policy.name(),
            seconds: end.nanos() as f64 / 1e9,
            interrupted,
            unfairness,
            stp,
            antt,
            stock: theirs.as_ref().map(compared),
            programs,
        }
    }

    /// Writes one object and a newline.
    pub(super) fn json(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        Ok(writeln!(out)?)
    }

    /// Writes a table for people.
    pub(super) fn table(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut table = Table::new();
        let slowdown = format!("slowdown, {}", self.policy);
        table.load_style(STYLE).set_header(["program", "runs", &slowdown, "stock"]);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let number = |value: f64| {
            if value.is_nan() { "-".to_owned() } else { format!("{value:.3}") }
        };
        for program in &self.programs {
            table.add_row([
                program.program.clone(),
                program.runs.to_string(),
                number(program.slowdown),
                program.stock_slowdown.map_or_else(String::new, number),
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
            write!(out, "{name:10}  {}", number(ours))?;
            if let Some(stock) = stock.filter(|stock| stock.is_finite() && ours.is_finite()) {
                let change = 100.0 * (ours / stock - 1.0);
                write!(out, ", {change:+.1} % against stock ({stock:.3})")?;
            }
            writeln!(out)?;
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
