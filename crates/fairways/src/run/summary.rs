//! How the programs fared in the end.

use std::io::Write;

use comfy_table::{CellAlignment, Table};
use fairways_core::{Time, run};
use fairways_model::Model;
use fairways_policy::stock::Stock;
use fairways_profiles::Metrics;
use serde::Serialize;

use super::settings::Checked;
use crate::table::STYLE;

/// Changes when a field changes its meaning or goes; new fields do not change it.
const SCHEMA: u32 = 1;

/// How the programs fared, and how they would have without partitioning.
#[derive(Serialize)]
pub(super) struct Summary {
    schema: u32,
    policy: &'static str,
    seconds: f64,
    unfairness: f64,
    stp: f64,
    antt: f64,
    stock: Compared,
    programs: Vec<Program>,
}

#[derive(Serialize)]
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
    stock_slowdown: f64,
}

impl Summary {
    /// Of a run that ended at `end`; the same under `stock` is run for it.
    pub(super) fn new(checked: &Checked, model: &Model, end: Time) -> Self {
        let mut stock = checked.model();
        stock.stop_at(end);
        run(&mut stock, &mut Stock::default());
        let jobs = 0..checked.mix.programs.len();
        let slowdowns = |model: &Model| -> Vec<f64> {
            jobs.clone().map(|job| model.progress(job)).map(|(ran, best)| ran / best).collect()
        };
        let (ours, theirs) = (slowdowns(model), slowdowns(&stock));
        let program = |(job, &index): (usize, &usize)| Program {
            program: checked.programs().name(index).to_owned(),
            runs: model.completions(job).len(),
            slowdown: ours[job],
            stock_slowdown: theirs[job],
        };
        let programs = checked.mix.programs.iter().enumerate().map(program).collect();
        let Metrics { unfairness, stp, antt, .. } = Metrics::of(&ours);
        let stock = Metrics::of(&theirs);
        Self {
            schema: SCHEMA,
            policy: checked.policy.name(),
            seconds: end.nanos() as f64 / 1e9,
            unfairness,
            stp,
            antt,
            stock: Compared { unfairness: stock.unfairness, stp: stock.stp, antt: stock.antt },
            programs,
        }
    }

    /// Writes one object and a newline.
    pub(super) fn json(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        Ok(writeln!(out)?)
    }

    /// Writes a table a person reads.
    pub(super) fn table(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut table = Table::new();
        let slowdown = format!("slowdown, {}", self.policy);
        table.load_style(STYLE).set_header(["program", "runs", &slowdown, "stock"]);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for program in &self.programs {
            let numbers = [program.slowdown, program.stock_slowdown].map(|s| format!("{s:.3}"));
            let [ours, stock] = numbers;
            table.add_row([program.program.clone(), program.runs.to_string(), ours, stock]);
        }
        writeln!(out, "\nAfter {:.3} s:\n{}\n", self.seconds, table.trim_fmt())?;
        let Compared { unfairness, stp, antt } = self.stock;
        for (name, ours, stock) in [
            ("unfairness", self.unfairness, unfairness),
            ("STP", self.stp, stp),
            ("ANTT", self.antt, antt),
        ] {
            let change = 100.0 * (ours / stock - 1.0);
            writeln!(out, "{name:10}  {ours:.3}, {change:+.1} % against stock ({stock:.3})")?;
        }
        Ok(())
    }
}
