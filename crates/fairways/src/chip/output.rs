//! The comparison on a chip, as tables and as JSON.

use std::io::Write;

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::table::{STYLE, fit};
use fairways_lab::{ChipComparison, ChipOutcome, SoloRun as ByItself};
use serde::Serialize;

use super::Checked;
use crate::services::{self, Answers};
use crate::simulate::json::{Did, How, PolicyReport, SCHEMA, lived, policy};
use crate::simulate::table::{Row, fit_metrics, metrics_table};

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
pub(super) fn json(
    checked: &Checked,
    found: &ChipComparison,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let Checked { world, protocol, .. } = checked;
    let programs = world.names.iter().zip(&found.alone);
    let report = Report {
        schema: SCHEMA,
        machine: format!("chip:{}", world.preset),
        ways: world.settings.chip.llc.ways.get(),
        set_sampling: world.settings.set_sampling,
        time_scale: 1.0 / f64::from(world.settings.time_scale),
        seconds: protocol.span.as_secs_f64(),
        programs: programs
            .map(|(program, alone)| Alone { program, alone: by_itself(alone) })
            .collect(),
        policies: found.outcomes.iter().map(|of| outcome(of, &found.alone)).collect(),
    };
    serde_json::to_writer(&mut *out, &report)?;
    Ok(writeln!(out)?)
}

fn by_itself(alone: &ByItself) -> Did {
    let service = alone.service.as_ref().map(|served| Answers::of(served, None));
    Did::of(&alone.rate, None, service)
}

fn outcome<'a>(outcome: &'a ChipOutcome, alone: &[ByItself]) -> PolicyReport<'a> {
    let fares = outcome.programs.iter().zip(alone).map(|(fare, alone)| {
        let served = fare.service.as_ref();
        let service = served.map(|served| Answers::of(served, alone.service.as_ref()));
        let mut did = Did::of(&fare.rate, Some(fare.occupancy), service);
        did.not_comparable = !fare.is_comparable(alone);
        did
    });
    let how = How::Chip { activity: lived(&outcome.activity), programs: fares.collect() };
    policy(outcome.policy, &outcome.metrics, how, &outcome.slowdowns)
}

/// Writes tables for people.
pub(super) fn table(
    checked: &Checked,
    found: &ChipComparison,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let Checked { world, protocol, .. } = checked;
    let (settings, scale) = (&world.settings, 1.0 / f64::from(world.settings.time_scale));
    writeln!(
        out,
        "chip:{}, {} ways; {} s after {} s; one of {} sets simulated, time scale {scale}",
        world.preset,
        settings.chip.llc.ways,
        protocol.span.as_secs_f64(),
        protocol.warm_up.as_secs_f64(),
        settings.set_sampling,
    )?;
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
    for (job, (name, ByItself { rate, .. })) in world.names.iter().zip(&found.alone).enumerate() {
        let mut cells =
            vec![name.clone(), format!("{:.3}", rate.ipc), format!("{:.2}", rate.llcmpki)];
        cells.extend(found.outcomes.iter().map(|outcome| {
            let program = &outcome.programs[job];
            let is_comparable = program.is_comparable(&found.alone[job]);
            let remark = if is_comparable { "" } else { ", not comparable" };
            format!("{:.3} ({:.1}){remark}", outcome.slowdowns[job], program.occupancy)
        }));
        table.add_row(cells);
    }
    writeln!(
        out,
        "Slowdowns, and in brackets the ways held in the end:\n{}\n",
        fit(table, &["MPKI alone", "IPC alone"])
    )?;
    let rows = answers(&world.names, found);
    if !rows.is_empty() {
        writeln!(out, "Services:\n{}\n", services::table(&rows))?;
    }
    out.write_all(LEGEND.as_bytes())?;
    if !rows.is_empty() {
        out.write_all(services::LEGEND.as_bytes())?;
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

const LEGEND: &str = "\
slowdown    instructions alone in the same time, over those beside the others
plans, samplings   of the whole run, the warm-up included
unfairness  largest slowdown over smallest, 1 at best
STP         sum of 1 / slowdown, higher is better
ANTT        mean slowdown, lower is better
%           change against stock (no partitioning)
";
