//! The comparison on a chip, as tables and as JSON.

use std::collections::BTreeMap;
use std::io::Write;

use comfy_table::{CellAlignment, Table};
use fairways_chip::Settings;
use fairways_command_kit::table::{STYLE, fit, fold};
use fairways_experiments::{
    ChipComparison, ChipOutcome, ChipProtocol, DrawnMix, DrawnPlan, Rate, SoloRun as ByItself,
};
use serde::Serialize;

use crate::services::{self, Answers};
use crate::simulate::json::{Did, How, PolicyReport, SCHEMA, lived, policy};
use crate::simulate::table::{Row, fit_metrics, known, metrics_table};
use crate::tidy::{PolicyScore, TidyWriter};

/// Programs on a chip under several policies.
#[derive(Debug)]
pub struct ComparedOnChip<'a> {
    /// The name of the chip's preset.
    pub preset: &'a str,
    /// The chip.
    pub settings: &'a Settings,
    /// The programs, as they were written.
    pub names: &'a [String],
    /// How they were compared.
    pub protocol: &'a ChipProtocol,
    /// How they fare.
    pub found: &'a ChipComparison,
    /// The least time scale of each policy that has one.
    pub least_time_scales: &'a BTreeMap<String, f64>,
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    machine: String,
    ways: u32,
    set_sampling: u32,
    time_scale: f64,
    seconds: f64,
    programs: Vec<Alone<'a>>,
    policies: Vec<PolicyReport<'a>>,
}

#[derive(Serialize)]
struct Alone<'a> {
    program: &'a str,
    #[serde(flatten)]
    alone: Did,
}

/// Writes one object and a newline.
///
/// # Errors
/// If it can't be written.
pub fn json(compared: &ComparedOnChip<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let ComparedOnChip { preset, settings, names, protocol, found, least_time_scales } = *compared;
    let programs = names.iter().zip(&found.alone);
    let report = Report {
        schema: SCHEMA,
        machine: format!("chip:{preset}"),
        ways: settings.chip.llc.ways.get(),
        set_sampling: settings.set_sampling,
        time_scale: 1.0 / f64::from(settings.time_scale),
        seconds: protocol.span.as_secs_f64(),
        programs: programs
            .map(|(program, alone)| Alone { program, alone: by_itself(alone) })
            .collect(),
        policies: found
            .outcomes
            .iter()
            .map(|of| outcome(of, &found.alone, least_time_scales.get(of.policy).copied()))
            .collect(),
    };
    serde_json::to_writer(&mut *out, &report)?;
    Ok(writeln!(out)?)
}

/// Writes a row for each program under each policy, as CSV.
///
/// # Errors
/// If it can't be written.
pub fn csv(compared: &ComparedOnChip<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let programs: Vec<&str> = compared.names.iter().map(String::as_str).collect();
    let mix = programs.join(" ");
    let mut rows = TidyWriter::new(out);
    for of in &compared.found.outcomes {
        let (metrics, slowdowns) = (&of.metrics, &*of.slowdowns);
        let rates: Vec<Rate> = of.programs.iter().map(|program| program.rate).collect();
        let (policy, proof) = (of.policy, None);
        let result = PolicyScore { mix: &mix, policy, metrics, slowdowns, proof };
        rows.write(result, &programs, &[], &rates)?;
    }
    Ok(())
}

/// The programs under each policy, to be drawn.
#[must_use]
pub fn drawn(compared: &ComparedOnChip<'_>) -> DrawnMix {
    let plan = |of: &ChipOutcome| {
        let fares = of.slowdowns.iter().zip(of.programs.iter().zip(&compared.found.alone));
        let slowdowns = fares.map(|(&slowdown, (fare, alone))| match fare.is_comparable(alone) {
            true => slowdown,
            false => f64::NAN,
        });
        let (policy, unfairness) = (of.policy.to_owned(), of.metrics.unfairness);
        DrawnPlan { policy, plans: None, unfairness, slowdowns: slowdowns.collect() }
    };
    DrawnMix {
        name: format!("chip:{}", compared.preset),
        programs: compared.names.to_vec(),
        plans: compared.found.outcomes.iter().map(plan).collect(),
    }
}

fn by_itself(alone: &ByItself) -> Did {
    let service = alone.service.as_ref().map(|served| Answers::of(served, None));
    Did::of(&alone.rate, None, service)
}

fn outcome<'a>(
    outcome: &'a ChipOutcome,
    alone: &[ByItself],
    least_time_scale: Option<f64>,
) -> PolicyReport<'a> {
    let fares = outcome.programs.iter().zip(alone).map(|(fare, alone)| {
        let served = fare.service.as_ref();
        let service = served.map(|served| Answers::of(served, alone.service.as_ref()));
        let mut did = Did::of(&fare.rate, Some(fare.occupancy), service);
        did.not_comparable = !fare.is_comparable(alone);
        did
    });
    let (activity, programs) = (lived(&outcome.activity), fares.collect());
    let how = How::Chip { activity, least_time_scale, programs };
    policy(outcome.policy, &outcome.metrics, how, &outcome.slowdowns)
}

/// Writes tables for people.
///
/// # Errors
/// If it can't be written.
pub fn table(compared: &ComparedOnChip<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let ComparedOnChip { preset, settings, names, protocol, found, .. } = *compared;
    let scale = 1.0 / f64::from(settings.time_scale);
    let setting = format!(
        "chip:{preset}, {} ways; {} s after {} s; one of {} sets simulated, time scale {scale}",
        settings.chip.llc.ways,
        protocol.span.as_secs_f64(),
        protocol.warm_up.as_secs_f64(),
        settings.set_sampling,
    );
    writeln!(out, "{}", fold(&setting, 2))?;
    let row = |outcome: &'_ ChipOutcome| {
        let activity = &outcome.activity;
        let beside = vec![activity.plans.to_string(), activity.samplings.to_string()];
        Row { policy: outcome.policy, metrics: outcome.metrics, beside }
    };
    let rows: Vec<Row<'_>> = found.outcomes.iter().map(row).collect();
    let beside = (&["plans", "samplings"][..], 2);
    writeln!(out, "{}\n", fit_metrics(metrics_table(&rows, &found.stock, beside)))?;
    let mut table = Table::new();
    let mut header = vec!["program", "IPC alone", "MPKI alone"];
    header.extend(found.outcomes.iter().map(|outcome| outcome.policy));
    table.load_style(STYLE).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for (job, (name, ByItself { rate, .. })) in names.iter().zip(&found.alone).enumerate() {
        let mut cells = vec![name.clone(), known(rate.ipc, 3), known(rate.llcmpki, 2)];
        cells.extend(found.outcomes.iter().map(|outcome| {
            let program = &outcome.programs[job];
            let is_comparable = program.is_comparable(&found.alone[job]);
            let remark = if is_comparable { "" } else { ", not comparable" };
            let slowdown = known(outcome.slowdowns[job], 3);
            format!("{slowdown} ({:.1}){remark}", program.occupancy)
        }));
        table.add_row(cells);
    }
    writeln!(
        out,
        "{}\n{}\n",
        fold("Slowdowns, and in brackets the ways that are filled at the end:", 2),
        fit(table, &["MPKI alone", "IPC alone"])
    )?;
    let rows = answers(names, found);
    if !rows.is_empty() {
        writeln!(out, "Services:\n{}\n", services::table(&rows))?;
    }
    write!(out, "{}", fold(LEGEND, 12))?;
    if names.iter().any(|name| name.starts_with("stream:") || name.starts_with("live:")) {
        write!(out, "{}{}", fold(BY_WORK, 12), fold(NOT_COMPARABLE, 12))?;
    }
    if !rows.is_empty() {
        write!(out, "{}", fold(services::LEGEND, 12))?;
    }
    Ok(())
}

/// The services by themselves, and under each policy.
fn answers<'a>(names: &'a [String], found: &'a ChipComparison) -> Vec<services::Row<'a>> {
    let row = |under, job: usize, served| services::Row {
        under,
        service: &names[job],
        served,
        alone: found.alone[job].service,
    };
    let alone = found.alone.iter().enumerate();
    let alone = alone.filter_map(|(job, alone)| Some(row("alone", job, alone.service?)));
    let under = found.outcomes.iter().flat_map(|outcome| {
        let fares = outcome.programs.iter().enumerate();
        fares.filter_map(move |(job, fare)| Some(row(outcome.policy, job, fare.service?)))
    });
    alone.chain(under).collect()
}

/// How slowdowns of streams and real programs are measured instead (docs/chip.md).
const BY_WORK: &str = "            of streams and real programs, the time beside the others over the \
                       time alone, for the same instructions\n";

/// Why a slowdown is not comparable.
pub(crate) const NOT_COMPARABLE: &str = "not comparable   it did not get that far alone, or slept \
                                         for more than 5 % of the time, here or alone\n";

const LEGEND: &str = "\
slowdown    instructions alone in the same time, over those beside the others
plans, samplings   of the whole run, the warm-up included
unfairness  largest slowdown over smallest, 1 at best
STP         sum of 1 / slowdown, higher is better
ANTT        mean slowdown, lower is better
%           change against stock (no partitioning)
";
