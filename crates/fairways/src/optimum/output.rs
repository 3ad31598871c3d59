//! What was found, as a table and as JSON.

use std::io::Write;

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::partition::{bar, members};
use fairways_command_kit::table::{STYLE, fit, fold};
use fairways_core::Ways;
use serde::Serialize;

use super::Found;
use crate::args::Objective;
use crate::simulate::json::{PolicyReport, decided};
use crate::world::World;

/// Changes when a field changes its meaning or goes; new fields do not change it.
const SCHEMA: u32 = 1;
const REASON: &str = "the best there is";
const LATE: &str = "the best that was found in time";

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    ways: u32,
    mixes: Vec<MixReport<'a>>,
}

#[derive(Serialize)]
struct MixReport<'a> {
    mix: &'a str,
    apps: Vec<&'a str>,
    policies: [Optimum<'a>; 1],
}

#[derive(Serialize)]
struct Optimum<'a> {
    #[serde(flatten)]
    report: PolicyReport<'a>,
    seconds: f64,
    proven: bool,
    bound: f64,
}

/// Writes one object and a newline.
pub(super) fn json(
    world: &World,
    ways: Ways,
    found: &[Found],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let programs = world.programs();
    let mixes = found.iter().map(|Found { mix, solution, seconds }| {
        let reason = if solution.is_proven { REASON } else { LATE };
        let (metrics, slowdowns) = (&solution.metrics, &solution.slowdowns);
        let report = decided("optimum", &solution.partition, reason, metrics, slowdowns);
        let (proven, bound) = (solution.is_proven, solution.bound);
        MixReport {
            mix: &mix.name,
            apps: mix.programs.iter().map(|&program| programs.name(program)).collect(),
            policies: [Optimum { report, seconds: *seconds, proven, bound }],
        }
    });
    let report = Report { schema: SCHEMA, ways: ways.get(), mixes: mixes.collect() };
    serde_json::to_writer(&mut *out, &report)?;
    Ok(writeln!(out)?)
}

/// Writes a table for people.
pub(super) fn table(
    world: &World,
    ways: Ways,
    objective: Objective,
    found: &[Found],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut table = Table::new();
    let header =
        ["mix", "unfairness", "STP", "ANTT", "none better than", "seconds", "ways", "clusters"];
    table.load_style(STYLE).set_header(header);
    for column in table.column_iter_mut().skip(1).take(5) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for Found { mix, solution, seconds } in found {
        let programs = mix.programs.iter().enumerate();
        let programs = programs.map(|(n, &index)| format!("{n} {}", world.programs().name(index)));
        let programs = programs.collect::<Vec<_>>().join(", ");
        writeln!(out, "{}", fold(&format!("{}: {programs}", mix.name), 4))?;
        let metrics = &solution.metrics;
        let bound = format!("{:.6}", solution.bound);
        let bound = if solution.is_proven { "proven".into() } else { bound };
        table.add_row([
            mix.name.clone(),
            format!("{:.6}", metrics.unfairness),
            format!("{:.6}", metrics.stp),
            format!("{:.6}", metrics.antt),
            bound,
            format!("{seconds:.4}"),
            bar(&solution.partition, ways),
            members(&solution.partition),
        ]);
    }
    let best = match objective {
        Objective::Unfairness => "the least unfairness; of equals, the highest STP",
        Objective::Stp => "the highest STP",
        Objective::MaxSlowdown => "the least largest slowdown; of equals, the highest STP",
        Objective::Antt => "the least ANTT",
    };
    writeln!(
        out,
        "\n{}\n{}",
        fold(&format!("Best: {best}."), 2),
        fit(table, &["seconds", "ANTT", "none better than", "STP", "ways"])
    )?;
    Ok(())
}
