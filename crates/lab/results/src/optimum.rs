//! The best plans of mixes.

use std::io::Write;

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::table::{STYLE, fit, fold};
use fairways_core::Ways;
use fairways_experiments::{DrawnMix, DrawnPlan};
use fairways_optimum::{Goal, Solution};
use fairways_profiles::{Mix, ProgramCatalog};
use serde::Serialize;

use crate::simulate::json::{PolicyReport, decided, ways_of};
use crate::simulate::table::{bars, clusters};
use crate::tidy::{PolicyScore, Proof, TidyWriter};

/// Changes when a field changes its meaning or goes; new fields do not change it.
const SCHEMA: u32 = 1;
const REASON: &str = "the best there is";
const LATE: &str = "the best that was found in time";

/// A mix, its best plan, and how long the search took.
#[derive(Debug)]
pub struct SolvedMix {
    /// The mix.
    pub mix: Mix,
    /// The plan of each cache.
    pub solution: Solution,
    /// How long the search took, in seconds.
    pub seconds: f64,
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    ways: u32,
    /// The ways of each cache, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    caches: Vec<u32>,
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
///
/// # Errors
/// If it can't be written.
pub fn json(
    programs: &ProgramCatalog,
    ways: &[Ways],
    solved: &[SolvedMix],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mixes = solved.iter().map(|SolvedMix { mix, solution, seconds }| {
        let reason = if solution.is_proven { REASON } else { LATE };
        let (metrics, slowdowns) = (&solution.metrics, &solution.slowdowns);
        let report = decided("optimum", &solution.plans, reason, metrics, slowdowns);
        let (proven, bound) = (solution.is_proven, solution.bound);
        MixReport {
            mix: &mix.name,
            apps: mix.programs.iter().map(|&program| programs.name(program)).collect(),
            policies: [Optimum { report, seconds: *seconds, proven, bound }],
        }
    });
    let (ways, caches) = ways_of(ways);
    let report = Report { schema: SCHEMA, ways, caches, mixes: mixes.collect() };
    serde_json::to_writer(&mut *out, &report)?;
    Ok(writeln!(out)?)
}

/// Writes a row for each program of each mix, as CSV.
///
/// # Errors
/// If it can't be written.
pub fn csv(
    catalog: &ProgramCatalog,
    solved: &[SolvedMix],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut rows = TidyWriter::new(out);
    for SolvedMix { mix, solution, .. } in solved {
        let (metrics, slowdowns) = (&solution.metrics, &*solution.slowdowns);
        let proof = Some(Proof { is_complete: solution.is_proven, bound: solution.bound });
        let result = PolicyScore { mix: &mix.name, policy: "optimum", metrics, slowdowns, proof };
        rows.write(result, &catalog.names_of(mix), &solution.plans, &[])?;
    }
    Ok(())
}

/// Each mix with its best plan, to be drawn.
#[must_use]
pub fn drawn(catalog: &ProgramCatalog, solved: &[SolvedMix]) -> Vec<DrawnMix> {
    let mixes = solved.iter().map(|SolvedMix { mix, solution, .. }| DrawnMix {
        name: mix.name.clone(),
        programs: catalog.names_of(mix).into_iter().map(str::to_owned).collect(),
        plans: vec![DrawnPlan {
            policy: "optimum".to_owned(),
            plans: Some(solution.plans.clone()),
            unfairness: solution.metrics.unfairness,
            slowdowns: solution.slowdowns.clone(),
        }],
    });
    mixes.collect()
}

/// Writes a table for people; the goal may be exceeded by a part of it, the tolerance.
///
/// # Errors
/// If it can't be written.
pub fn table(
    catalog: &ProgramCatalog,
    ways: &[Ways],
    (goal, tolerance): (Goal, f64),
    solved: &[SolvedMix],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut table = Table::new();
    let header =
        ["mix", "unfairness", "STP", "ANTT", "none better than", "seconds", "ways", "clusters"];
    table.load_style(STYLE).set_header(header);
    for column in table.column_iter_mut().skip(1).take(5) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for SolvedMix { mix, solution, seconds } in solved {
        let programs = mix.programs.iter().enumerate();
        let programs = programs.map(|(n, &index)| format!("{n} {}", catalog.name(index)));
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
            bars(&solution.plans, ways),
            clusters(&solution.plans),
        ]);
    }
    let best = match goal {
        Goal::Unfairness if tolerance > 0.0 => {
            "of plans hardly less fair than the fairest (--tolerance), the least unfairness over STP"
        }
        Goal::MaxSlowdown if tolerance > 0.0 => {
            "of plans whose largest slowdown is hardly above the least (--tolerance), the least of it \
             over STP"
        }
        Goal::Unfairness => "the least unfairness; of equals, the highest STP",
        Goal::Stp => "the highest STP",
        Goal::MaxSlowdown => "the least largest slowdown; of equals, the highest STP",
        Goal::Antt => "the least ANTT",
    };
    writeln!(
        out,
        "\n{}\n{}",
        fold(&format!("Best: {best}."), 2),
        fit(table, &["seconds", "ANTT", "none better than", "STP", "ways"])
    )?;
    Ok(())
}
