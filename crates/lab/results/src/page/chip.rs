//! The JSON of `simulate --machine chip:PRESET --json`.

use fairways_core::Ways;
use fairways_page::{Block, Cell, Column, Fact, Part, Section, Table};
use serde::Deserialize;

use super::policies::{PolicyResult, best, side_by_side, slowdowns};
use super::services::{self, Answers};
use super::simulate::slowdown_bars;

/// The whole object.
#[derive(Debug, Deserialize)]
pub(super) struct ChipResults {
    machine: String,
    ways: Ways,
    set_sampling: u64,
    time_scale: f64,
    seconds: f64,
    programs: Vec<AloneProgram>,
    policies: Vec<ChipPolicy>,
}

#[derive(Debug, Deserialize)]
struct AloneProgram {
    program: String,
    #[serde(flatten)]
    counts: ProgramCounts,
}

#[derive(Debug, Deserialize)]
struct ChipPolicy {
    #[serde(flatten)]
    policy: PolicyResult,
    programs: Vec<ProgramCounts>,
}

/// What was counted of a program.
#[derive(Debug, Deserialize)]
struct ProgramCounts {
    ipc: Option<f64>,
    llcrpki: Option<f64>,
    llcmpki: Option<f64>,
    bandwidth_mbps: Option<f64>,
    occupancy_ways: Option<f64>,
    service: Option<Answers>,
}

/// Makes the section.
pub(super) fn section(results: &ChipResults) -> Result<Section, String> {
    let count = results.programs.len();
    for ChipPolicy { policy, programs } in &results.policies {
        if [policy.slowdowns.len(), programs.len()] != [count; 2] {
            let name = &policy.policy;
            return Err(format!(
                "policy {name:?}: expected the counts of {count} programs, found another number"
            ));
        }
    }
    let policies: Vec<PolicyResult> =
        results.policies.iter().map(|executed| executed.policy.clone()).collect();
    let names: Vec<String> = results.programs.iter().map(|alone| alone.program.clone()).collect();
    let numbered = names.iter().enumerate().map(|(n, name)| format!("{n} {name}"));
    let figure = slowdown_bars(&numbered.collect::<Vec<_>>(), &policies);
    let mut blocks = vec![
        Block::Table(side_by_side(&policies)),
        Block::Figures(vec![figure]),
        Block::Table(slowdowns(&names, &policies)),
        Block::Table(programs_table(results)),
    ];
    let alone = results.programs.iter();
    let alone = alone.filter_map(|alone| {
        Some(("alone", alone.program.as_str(), alone.counts.service.as_ref()?))
    });
    let under = results.policies.iter().flat_map(|executed| {
        let programs = names.iter().zip(&executed.programs);
        programs.filter_map(|(name, did)| {
            Some((executed.policy.policy.as_str(), name.as_str(), did.service.as_ref()?))
        })
    });
    blocks.extend(services::table(alone.chain(under)).map(Block::Table));
    let facts = vec![
        Fact::words("machine", &results.machine),
        Fact::number("ways of the cache", results.ways, ""),
        Fact::number("counted", results.seconds, "s").note("on the policy's clock"),
        Fact::words("sets simulated", format!("1 of {}", results.set_sampling)),
        Fact::number("time scale", results.time_scale, ""),
    ];
    Ok(Section {
        heading: format!("{} on {}", names.join(", "), results.machine),
        kind: "fairways-lab simulate --machine chip".into(),
        headline: best(&policies),
        facts,
        parts: vec![Part { blocks, ..Part::default() }],
        ..Section::default()
    })
}

/// The counts of each program, alone and under each policy.
fn programs_table(results: &ChipResults) -> Table {
    let mut columns = vec![Column::words("program"), Column::words("under")];
    columns.extend([
        Column::numbers("IPC", ""),
        Column::numbers("references", "per 1000 instructions"),
        Column::numbers("MPKI", "misses per 1000 instructions"),
        Column::numbers("memory", "MB/s"),
        Column::numbers("occupancy", "ways, at the end"),
    ]);
    fn row(name: &str, under: &str, did: &ProgramCounts) -> Vec<Cell> {
        vec![
            Cell::words(name),
            Cell::words(under),
            Cell::number(did.ipc, 3),
            Cell::number(did.llcrpki, 3),
            Cell::number(did.llcmpki, 3),
            Cell::number(did.bandwidth_mbps, 1),
            Cell::number(did.occupancy_ways, 2),
        ]
    }
    let rows = results.programs.iter().enumerate().flat_map(|(n, program)| {
        let alone = row(&program.program, "alone", &program.counts);
        let under = results.policies.iter();
        let under = under.map(move |by| row(&program.program, &by.policy.policy, &by.programs[n]));
        std::iter::once(alone).chain(under)
    });
    let caption = "What each program did".to_owned();
    Table { caption, columns, rows: rows.collect(), folded: true }
}
