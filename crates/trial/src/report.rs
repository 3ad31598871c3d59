//! The report of a trial.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::table::{STYLE, fit, fold};
use fairways_core::AppId;
use serde::Serialize;

use super::found::{Found, Measure};
use super::verdict::{Difference, Verdict, of_all, of_program};

/// Changes when a field changes its meaning or goes; new fields do not change it.
const SCHEMA: u32 = 1;

const MEASURES: [Measure; 4] = [Measure::Ipc, Measure::Llcmpki, Measure::Traffic, Measure::Tail];

/// The results of a trial.
#[derive(Serialize)]
pub(crate) struct Report {
    schema: u32,
    policy: String,
    /// The verdict on the IPC of all programs.
    pub(crate) verdict: Verdict,
    /// The difference of the geometric mean of IPC; `None` if nothing was measured.
    ipc: Option<Difference>,
    /// Whether it was ended before its time.
    interrupted: bool,
    /// Pairs of blocks that were compared.
    pairs: usize,
    /// Length of a block.
    block_seconds: f64,
    /// How often a program came or went meanwhile.
    others: u32,
    programs: Vec<Program>,
}

#[derive(Serialize)]
struct Program {
    program: String,
    domain: u32,
    measures: Vec<Measured>,
}

/// A measure of a program, averaged over blocks.
#[derive(Serialize)]
struct Measured {
    measure: &'static str,
    without: f64,
    with: f64,
    #[serde(flatten)]
    difference: Option<Difference>,
    verdict: Verdict,
}

impl Measure {
    const fn name(self) -> &'static str {
        match self {
            Self::Ipc => "IPC",
            Self::Llcmpki => "LLCMPKI",
            Self::Traffic => "GB/s",
            Self::Tail => "tail, ms",
        }
    }

    /// Factor from its own unit to the unit shown.
    const fn scale(self) -> f64 {
        match self {
            Self::Ipc | Self::Llcmpki => 1.0,
            Self::Traffic => 1e-9,
            Self::Tail => 1e-6,
        }
    }

    /// More IPC is better; less is better for the other measures.
    fn verdict(self, pairs: &[(f64, f64)]) -> Verdict {
        let better_over_worse = pairs.iter().map(|&(with, without)| match self {
            Self::Ipc => (with, without),
            _ => (without, with),
        });
        of_program(&better_over_worse.collect::<Vec<_>>())
            .map_or(Verdict::Inconclusive, Difference::verdict)
    }
}

impl Report {
    pub(crate) fn new(
        policy: &str,
        found: &Found,
        block_seconds: f64,
        interrupted: bool,
        name: &dyn Fn(u32, AppId) -> String,
    ) -> Self {
        let ipc = of_all(found.domains.values());
        let mut pairs = 0;
        let mut programs = Vec::new();
        for (&domain, of) in &found.domains {
            for app in of.programs() {
                let measured = |measure: Measure| {
                    let pairs = of.pairs(app, measure);
                    let count = pairs.len() as f64;
                    let mean = |value: &dyn Fn(&(f64, f64)) -> f64| {
                        pairs.iter().map(value).sum::<f64>() / count * measure.scale()
                    };
                    (!pairs.is_empty()).then(|| Measured {
                        measure: measure.name(),
                        with: mean(&|pair| pair.0),
                        without: mean(&|pair| pair.1),
                        difference: of_program(&pairs),
                        verdict: measure.verdict(&pairs),
                    })
                };
                let measures: Vec<Measured> = MEASURES.into_iter().filter_map(measured).collect();
                pairs = pairs.max(of.pairs(app, Measure::Ipc).len());
                programs.push(Program { program: name(domain, app), domain, measures });
            }
        }
        Self {
            schema: SCHEMA,
            policy: policy.to_owned(),
            verdict: ipc.map_or(Verdict::Inconclusive, Difference::verdict),
            ipc,
            interrupted,
            pairs,
            block_seconds,
            others: found.domains.values().map(|of| of.others).sum(),
            programs,
        }
    }

    pub(crate) fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        writeln!(out)
    }

    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { policy, pairs, block_seconds, .. } = self;
        let verdict = match self.verdict {
            Verdict::Helped => " helped",
            Verdict::DidNot => " did not help: there is no difference of 1 %",
            Verdict::DidHarm => " did harm",
            Verdict::Inconclusive => ": inconclusive",
        };
        writeln!(out, "{policy}{verdict}")?;
        let blocks = format!("pairs of blocks of {block_seconds} s");
        let found = match &self.ipc {
            Some(ipc) => {
                let ipc = shown(ipc);
                format!("IPC {ipc}, the geometric mean of all programs, in {pairs} {blocks}")
            }
            None => format!(
                "IPC was not measured in enough blocks: expected 3 {blocks} or more, found {pairs}"
            ),
        };
        writeln!(out, "{}", fold(&found, 2))?;
        if self.verdict == Verdict::Inconclusive && self.ipc.is_some() {
            writeln!(out, "a longer --duration narrows the interval")?;
        }
        if self.others > 0 {
            writeln!(
                out,
                "programs started or exited {} times; a pair of blocks counts only for programs that ran in both",
                self.others
            )?;
        }
        let harmed = |program: &&Program| {
            program.measures.iter().any(|measured| {
                ["IPC", "tail, ms"].contains(&measured.measure)
                    && measured.verdict == Verdict::DidHarm
            })
        };
        let harmed: Vec<&str> =
            self.programs.iter().filter(harmed).map(|program| &*program.program).collect();
        if !harmed.is_empty() {
            writeln!(out, "worse off: {}", harmed.join(", "))?;
        }
        let mut table = Table::new();
        table.load_style(STYLE);
        table.set_header(["program", "", "without", "with", "difference, 95 %", ""]);
        for program in &self.programs {
            let mut name = program.program.as_str();
            if program.measures.is_empty() {
                table.add_row([name, "not measured", "-", "-", "-", ""]);
            }
            for measured in &program.measures {
                let difference = measured.difference.as_ref().map_or("-".to_owned(), shown);
                let verdict = match measured.verdict {
                    Verdict::Helped => "better",
                    Verdict::DidNot => "the same",
                    Verdict::DidHarm => "worse",
                    Verdict::Inconclusive => "inconclusive",
                };
                let (without, with) = (number(measured.without), number(measured.with));
                table.add_row([name, measured.measure, &without, &with, &difference, verdict]);
                name = "";
            }
        }
        for column in [2, 3, 4] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        writeln!(out, "\n{}", fit(table, &["without", "with"]))
    }
}

fn number(value: f64) -> String {
    format!("{value:.3}")
}

/// Such as `+12.1 % [+11.0, +13.2]`.
fn shown(difference: &Difference) -> String {
    let Difference { by, low, high } = difference;
    // Nothing has no sign but one.
    let percent = |part: f64| (part * 1000.0).round() / 10.0 + 0.0;
    format!("{:+.1} % [{:+.1}, {:+.1}]", percent(*by), percent(*low), percent(*high))
}
