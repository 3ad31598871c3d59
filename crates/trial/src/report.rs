//! The report of a trial.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::table::{STYLE, fit, fold};
use serde::Serialize;

use super::found::{Found, Measure};
use super::verdict::{Difference, Overall, Verdict, of_program};

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
    /// Number of programs in that mean.
    ipc_programs: usize,
    /// Whether it was ended before its time.
    interrupted: bool,
    /// Pairs of blocks in which all of them were measured.
    pairs: usize,
    /// Length of a block.
    block_seconds: f64,
    /// How often a program came or went meanwhile.
    others: u32,
    programs: Vec<Program>,
    /// Number of programs; one has an entry in `programs` for each domain.
    #[serde(skip)]
    ran: usize,
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
    pub(crate) fn new(policy: &str, found: &Found, block_seconds: f64, interrupted: bool) -> Self {
        let Overall { difference: ipc, programs: ipc_programs, of: ran, pairs } =
            Overall::new(found);
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
                programs.push(Program { program: found.name(app), domain, measures });
            }
        }
        Self {
            schema: SCHEMA,
            policy: policy.to_owned(),
            verdict: ipc.map_or(Verdict::Inconclusive, Difference::verdict),
            ipc,
            ipc_programs,
            interrupted,
            pairs,
            block_seconds,
            others: found.others(),
            programs,
            ran,
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
                let (ipc, Self { ipc_programs, ran, .. }) = (shown(ipc), self);
                let of = match ipc_programs == ran {
                    true => "all programs".to_owned(),
                    false => format!(
                        "{ipc_programs} of {ran} programs (the others were measured in fewer pairs)"
                    ),
                };
                format!("IPC {ipc}, the geometric mean of {of}, in {pairs} {blocks}")
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
            let times = match self.others {
                1 => "a program started or exited once".to_owned(),
                times => format!("programs started or exited {times} times"),
            };
            writeln!(out, "{times}; a pair of blocks counts only for programs that ran in both")?;
        }
        let harmed = |program: &&Program| {
            program.measures.iter().any(|measured| {
                ["IPC", "tail, ms"].contains(&measured.measure)
                    && measured.verdict == Verdict::DidHarm
            })
        };
        let harmed: Vec<String> =
            self.programs.iter().filter(harmed).map(|program| self.name(program)).collect();
        if !harmed.is_empty() {
            writeln!(out, "worse off: {}", harmed.join(", "))?;
        }
        let mut table = Table::new();
        table.load_style(STYLE);
        table.set_header(["program", "", "without", "with", "difference, 95 %", ""]);
        for program in &self.programs {
            let name = self.name(program);
            let mut name = name.as_str();
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

impl Report {
    /// A program's name, with its domain where there are several.
    fn name(&self, of: &Program) -> String {
        let Program { program, domain, .. } = of;
        match self.programs.iter().all(|other| other.domain == *domain) {
            true => program.clone(),
            false => format!("{program} (domain {domain})"),
        }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairways_core::{AppId, Counters, Sample};

    use super::*;
    use crate::found::Arm;

    /// What was found in pairs of blocks, each with what these programs did with the plan, and 1000
    /// instructions without: domain, program, instructions in 1000 cycles.
    fn found(pairs: &[&[(u32, u32, u64)]]) -> Found {
        let mut found = Found::default();
        for (pair, arm) in pairs.iter().flat_map(|&pair| [(pair, Arm::With), (pair, Arm::Without)])
        {
            [0, 1].into_iter().for_each(|domain| found.block(domain, arm));
            for &(domain, app, with) in pair {
                let instructions = Some(if arm == Arm::With { with } else { 1000 });
                let counters = Counters { instructions, cycles: Some(1000), ..Counters::default() };
                let sample = Sample {
                    app: AppId(app),
                    counters,
                    occupancy: None,
                    window: Duration::from_secs(1),
                    plan: None,
                    straddled: false,
                    occupancy_at_least: None,
                };
                found.sampled(domain, &sample);
            }
        }
        [0, 1].into_iter().for_each(|domain| found.ends(domain, None));
        found
    }

    fn text(report: &Report) -> String {
        let mut out = Vec::new();
        report.print(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// A program that lacks the second pair, and one that lacks the fourth: only the values of one
    /// pair are compared with each other.
    #[test]
    fn the_mean_is_of_the_same_pairs_of_every_program() {
        let (a, b) = ((0, 1, 1100), (0, 2, 1300));
        let found = found(&[&[a, b], &[a], &[a, b], &[b], &[a, b]]);
        let report = Report::new("lfoc", &found, 10.0, false);
        assert_eq!((report.pairs, report.ipc_programs), (3, 2));
        let ipc = report.ipc.unwrap();
        let mean = (1.1_f64 * 1.3).sqrt() - 1.0;
        assert!([ipc.by, ipc.low, ipc.high].iter().all(|part| (part - mean).abs() < 1e-9));
        assert!(text(&report).contains("mean of all programs, in 3 pairs"), "{}", text(&report));
    }

    #[test]
    fn a_program_measured_in_few_pairs_is_left_out_and_that_is_said() {
        let (a, b) = ((0, 1, 1100), (1, 2, 500));
        let found = found(&[&[a, b], &[a], &[a], &[a]]);
        let report = Report::new("lfoc", &found, 10.0, false);
        assert!((report.ipc.unwrap().by - 0.1).abs() < 1e-9);
        let text = text(&report).replace('\n', " ");
        assert!(text.contains("mean of 1 of 2 programs"), "{text}");
        assert!(text.contains("in 4 pairs"), "{text}");
    }

    /// A program that is started again is another one, in the pairs that the first lacks.
    #[test]
    fn programs_that_share_no_pair_are_not_averaged() {
        let (old, new) = ((0, 1, 1100), (0, 2, 1300));
        let found = found(&[&[old], &[old], &[old], &[new], &[new], &[new]]);
        let report = Report::new("lfoc", &found, 10.0, false);
        assert_eq!((report.pairs, report.ipc_programs, report.ran), (3, 1, 2));
        assert!((report.ipc.unwrap().by - 0.1).abs() < 1e-9);
    }

    /// On two caches a program has two rows, each with its domain, and counts once.
    #[test]
    fn rows_of_two_domains_differ() {
        let pair: &[(u32, u32, u64)] = &[(0, 1, 1100), (1, 1, 500)];
        let mut found = found(&[pair, pair, pair]);
        found.named(AppId(1), "web");
        [0, 1].into_iter().for_each(|domain| found.other(domain, AppId(3)));
        let report = Report::new("lfoc", &found, 10.0, false);
        assert_eq!((report.others, report.ipc_programs, report.ran), (1, 1, 1));
        let text = text(&report);
        assert!(text.contains("\nworse off: web (domain 1)\n"), "{text}");
        assert!(text.contains("web (domain 0)") && text.contains("exited once;"), "{text}");
    }
}
