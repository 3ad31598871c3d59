//! The report of a trial.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::partition::{bar, letter};
use fairways_command_kit::table::{STYLE, fit, fold};
use fairways_core::AppId;
use serde::Serialize;

use super::found::{Arm, Found, Measure};
use super::plan::Attempt;
use super::verdict::{Difference, Overall, Verdict, of_program};

/// Changes when a field changes its meaning or goes; new fields do not change it.
pub(crate) const SCHEMA: u32 = 1;

const MEASURES: [Measure; 4] = [Measure::Ipc, Measure::Llcmpki, Measure::Traffic, Measure::Tail];

/// The results of a policy's trial.
#[derive(Serialize)]
pub(crate) struct Report {
    schema: u32,
    pub(crate) policy: String,
    /// The verdict on the IPC of all programs.
    pub(crate) verdict: Verdict,
    /// Why nothing was tried, if that is the verdict.
    pub(crate) since: Option<&'static str>,
    /// By domain.
    plan: Vec<TriedPlan>,
    /// The difference of the geometric mean of IPC; `None` if nothing was measured.
    pub(crate) ipc: Option<Difference>,
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
    /// The programs with lower IPC, or a longer tail.
    pub(crate) worse_off: Vec<String>,
    pub(crate) programs: Vec<Program>,
    /// Number of programs; one has an entry in `programs` for each domain.
    #[serde(skip)]
    ran: usize,
}

/// A policy's plan in a domain.
#[derive(Serialize)]
struct TriedPlan {
    domain: u32,
    /// Why it was not tried; `None` if it was.
    untried: Option<&'static str>,
    /// The policy's reason for it.
    reason: String,
    clusters: Vec<TriedCluster>,
    /// The ways as letters, the highest first.
    #[serde(skip)]
    bar: String,
}

#[derive(Serialize)]
struct TriedCluster {
    mask: String,
    ways: u32,
    /// Its limit of memory bandwidth, with the unit; `None` without one.
    bandwidth: Option<String>,
    programs: Vec<String>,
}

impl TriedPlan {
    fn new(domain: u32, attempt: &Attempt, found: &Found) -> Self {
        let mut clusters = Vec::new();
        for (number, mask) in (0..).zip(attempt.plan.masks()) {
            clusters.push(TriedCluster {
                mask: mask.to_string(),
                ways: mask.count(),
                bandwidth: attempt.level(clusters.len()),
                programs: attempt.plan.members(number).map(|app| found.name(app)).collect(),
            });
        }
        let llc = attempt.levers.map(|levers| levers.llc);
        Self {
            domain,
            untried: attempt.untried,
            reason: attempt.reason.clone(),
            clusters,
            bar: llc.map_or(String::new(), |llc| bar(&attempt.plan, llc.ways)),
        }
    }

    /// Prints which programs got which ways.
    fn print(&self, of: &str, out: &mut dyn Write) -> io::Result<()> {
        if self.clusters.is_empty() {
            return Ok(());
        }
        let Self { bar, reason, .. } = self;
        writeln!(out, "{}", fold(&format!("plan{of}  {bar}  {reason}"), 2))?;
        for (number, TriedCluster { ways, bandwidth, programs, .. }) in
            self.clusters.iter().enumerate()
        {
            let unit = if *ways == 1 { "way" } else { "ways" };
            let most = bandwidth.as_ref().map_or(String::new(), |most| format!(", at most {most}"));
            let (letter, programs) = (letter(number), programs.join(", "));
            writeln!(out, "{}", fold(&format!("  {letter}  {ways} {unit}{most}: {programs}"), 5))?;
        }
        Ok(())
    }
}

#[derive(Serialize)]
pub(crate) struct Program {
    #[serde(skip)]
    pub(crate) app: AppId,
    program: String,
    pub(crate) domain: u32,
    pub(crate) measures: Vec<Measured>,
}

/// A measure of a program, averaged over blocks.
#[derive(Serialize)]
pub(crate) struct Measured {
    pub(crate) measure: &'static str,
    pub(crate) without: f64,
    with: f64,
    #[serde(flatten)]
    pub(crate) difference: Option<Difference>,
    verdict: Verdict,
}

/// The measures by which a program is better or worse off.
pub(crate) const FELT: [&str; 2] = ["IPC", "tail, ms"];

impl Program {
    fn is_harmed(&self) -> bool {
        let mut measures = self.measures.iter();
        measures.any(|of| FELT.contains(&of.measure) && of.verdict == Verdict::DidHarm)
    }
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
    /// The report on the policy with this number.
    pub(crate) fn new(
        (number, policy): (usize, &str),
        found: &Found,
        block_seconds: f64,
        interrupted: bool,
    ) -> Self {
        let arms = [Arm::With(number), Arm::Without];
        let Overall { difference: ipc, programs: ipc_programs, of: ran, pairs } =
            Overall::new(found, arms);
        let (mut plan, mut programs) = (Vec::new(), Vec::new());
        for (&domain, of) in &found.domains {
            let attempt = of.attempts.get(number);
            plan.extend(attempt.map(|attempt| TriedPlan::new(domain, attempt, found)));
            for app in of.programs().into_iter().filter(|_| of.tries(arms)) {
                let measured = |measure: Measure| {
                    let pairs = of.pairs(app, measure, arms);
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
                programs.push(Program { app, program: found.name(app), domain, measures });
            }
        }
        // A domain in which nothing was tried is of no account where something was in another.
        let is_tried = plan.iter().any(|plan| plan.untried.is_none());
        let since = plan.iter().find_map(|plan| plan.untried).filter(|_| !is_tried);
        let verdict = match since {
            Some(_) => Verdict::NothingWasTried,
            None => ipc.map_or(Verdict::Inconclusive, Difference::verdict),
        };
        let mut report = Self {
            schema: SCHEMA,
            policy: policy.to_owned(),
            verdict,
            since,
            plan,
            ipc,
            ipc_programs,
            interrupted,
            pairs,
            block_seconds,
            others: found.others(),
            worse_off: Vec::new(),
            programs,
            ran,
        };
        let harmed = report.programs.iter().filter(|program| program.is_harmed());
        report.worse_off = harmed.map(|program| report.name(program)).collect();
        report
    }

    pub(crate) fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        writeln!(out)
    }

    /// Prints the verdict, and the programs' measures.
    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        self.print_verdict(out)?;
        if self.verdict == Verdict::NothingWasTried { Ok(()) } else { self.print_measures(out) }
    }

    /// Prints the verdict with the plan that it is about.
    pub(crate) fn print_verdict(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", fold(&self.heading(), 2))?;
        if self.verdict != Verdict::NothingWasTried {
            writeln!(out, "{}", fold(&self.measured(), 2))?;
        }
        let has_several = self.plan.len() > 1;
        for plan in &self.plan {
            let of =
                if has_several { format!(" of domain {}", plan.domain) } else { String::new() };
            plan.print(&of, out)?;
            if let (Some(why), None) = (plan.untried, self.since) {
                writeln!(out, "{}", fold(&format!("  nothing was tried, since {why}"), 2))?;
            }
        }
        if self.verdict == Verdict::NothingWasTried {
            return Ok(());
        }
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
        if !self.worse_off.is_empty() {
            writeln!(out, "worse off: {}", self.worse_off.join(", "))?;
        }
        Ok(())
    }

    fn print_measures(&self, out: &mut dyn Write) -> io::Result<()> {
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
                    Verdict::Inconclusive | Verdict::NothingWasTried => "inconclusive",
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
    /// The verdict, in a line.
    fn heading(&self) -> String {
        let Self { policy, .. } = self;
        match (self.verdict, self.since) {
            (Verdict::NothingWasTried, why) => {
                format!("{policy}: nothing was tried, since {}", why.unwrap_or_default())
            }
            (Verdict::Helped, _) => format!("{policy} helped"),
            (Verdict::DidNot, _) => {
                format!("{policy} did not help: there is no difference of 1 %")
            }
            (Verdict::DidHarm, _) => format!("{policy} did harm"),
            (Verdict::Inconclusive, _) => format!("{policy}: inconclusive"),
        }
    }

    /// The difference of IPC, and what it is of.
    fn measured(&self) -> String {
        let Self { pairs, block_seconds, ipc_programs, ran, .. } = self;
        let blocks = format!("pairs of blocks of {block_seconds} s");
        let Some(ipc) = &self.ipc else {
            return format!(
                "IPC was not measured in enough blocks: expected 3 {blocks} or more, found {pairs}"
            );
        };
        let of = match ipc_programs == ran {
            true => "all programs".to_owned(),
            false => format!(
                "{ipc_programs} of {ran} programs (the others were measured in fewer pairs)"
            ),
        };
        format!("IPC {}, the geometric mean of {of}, in {pairs} {blocks}", shown(ipc))
    }

    /// A program's name, with its domain where there are several.
    pub(crate) fn name(&self, of: &Program) -> String {
        let Program { program, domain, .. } = of;
        match self.programs.iter().all(|other| other.domain == *domain) {
            true => program.clone(),
            false => format!("{program} (domain {domain})"),
        }
    }
}

pub(crate) fn number(value: f64) -> String {
    format!("{value:.3}")
}

/// Such as `+12.1 % [+11.0, +13.2]`.
pub(crate) fn shown(difference: &Difference) -> String {
    let Difference { by, low, high } = difference;
    // Nothing has no sign but one.
    let percent = |part: f64| (part * 1000.0).round() / 10.0 + 0.0;
    format!("{:+.1} % [{:+.1}, {:+.1}]", percent(*by), percent(*low), percent(*high))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairways_core::{AppId, Counters, Sample};

    use super::super::found::Arm;
    use super::*;

    /// What was found in pairs of blocks, each with what these programs did with the plan, and 1000
    /// instructions without: domain, program, instructions in 1000 cycles.
    fn found(pairs: &[&[(u32, u32, u64)]]) -> Found {
        let mut found = Found::default();
        let arms = [Arm::With(0), Arm::Without];
        for domain in [0, 1] {
            found.begins(domain, 1);
            found.domains.get_mut(&domain).unwrap().attempts[0].untried = None;
        }
        for (round, pair, arm) in
            pairs.iter().enumerate().flat_map(|(round, &pair)| arms.map(|arm| (round, pair, arm)))
        {
            [0, 1].into_iter().for_each(|domain| found.block(domain, round, arm));
            for &(domain, app, with) in pair {
                let instructions = Some(if arm == Arm::Without { 1000 } else { with });
                let counters = Counters { instructions, cycles: Some(1000), ..Counters::default() };
                let sample = Sample::new(AppId(app), counters, Duration::from_secs(1));
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
        let report = Report::new((0, "lfoc"), &found, 10.0, false);
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
        let report = Report::new((0, "lfoc"), &found, 10.0, false);
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
        let report = Report::new((0, "lfoc"), &found, 10.0, false);
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
        let report = Report::new((0, "lfoc"), &found, 10.0, false);
        assert_eq!((report.others, report.ipc_programs, report.ran), (1, 1, 1));
        let text = text(&report);
        assert!(text.contains("\nworse off: web (domain 1)\n"), "{text}");
        assert!(text.contains("web (domain 0)") && text.contains("exited once;"), "{text}");
    }
}
