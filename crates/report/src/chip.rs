//! What `simulate --machine chip:PRESET --json` prints.

use fairways_core::Ways;
use fairways_lab::report::{Block, Cell, Column, Fact, Part, Section, Table};
use serde::Deserialize;

use super::policies::{Policy, best, side_by_side, slowdowns};
use super::services::{self, Answers};
use super::simulate::slowdown_bars;

/// The object.
#[derive(Debug, Deserialize)]
pub(super) struct Results {
    machine: String,
    ways: Ways,
    set_sampling: u64,
    time_scale: f64,
    seconds: f64,
    programs: Vec<Alone>,
    policies: Vec<Executed>,
}

#[derive(Debug, Deserialize)]
struct Alone {
    program: String,
    #[serde(flatten)]
    did: Did,
}

#[derive(Debug, Deserialize)]
struct Executed {
    #[serde(flatten)]
    policy: Policy,
    programs: Vec<Did>,
}

/// What a program did.
#[derive(Debug, Deserialize)]
struct Did {
    ipc: Option<f64>,
    llcrpki: Option<f64>,
    llcmpki: Option<f64>,
    bandwidth_mbps: Option<f64>,
    occupancy_ways: Option<f64>,
    service: Option<Answers>,
}

/// Shows it.
pub(super) fn section(results: &Results) -> Result<Section, String> {
    let count = results.programs.len();
    for Executed { policy, programs } in &results.policies {
        if [policy.slowdowns.len(), programs.len()] != [count; 2] {
            let name = &policy.policy;
            return Err(format!(
                "policy {name:?}: expected what {count} programs did, found another number"
            ));
        }
    }
    let policies: Vec<Policy> = results.policies.iter().map(|of| of.policy.clone()).collect();
    let names: Vec<String> = results.programs.iter().map(|of| of.program.clone()).collect();
    let numbered = names.iter().enumerate().map(|(n, name)| format!("{n} {name}"));
    let figure = slowdown_bars(&numbered.collect::<Vec<_>>(), &policies);
    let mut blocks = vec![
        Block::Table(side_by_side(&policies)),
        Block::Figures(vec![figure]),
        Block::Table(slowdowns(&names, &policies)),
        Block::Table(did(results)),
    ];
    let alone = results.programs.iter();
    let alone =
        alone.filter_map(|of| Some(("alone", of.program.as_str(), of.did.service.as_ref()?)));
    let under = results.policies.iter().flat_map(|of| {
        let programs = names.iter().zip(&of.programs);
        programs.filter_map(|(name, did)| {
            Some((of.policy.policy.as_str(), name.as_str(), did.service.as_ref()?))
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
        kind: "fairways simulate --machine chip".into(),
        headline: best(&policies),
        facts,
        parts: vec![Part { blocks, ..Part::default() }],
        ..Section::default()
    })
}

/// What each program did, by itself and under each policy.
fn did(results: &Results) -> Table {
    let mut columns = vec![Column::words("program"), Column::words("under")];
    columns.extend([
        Column::numbers("IPC", ""),
        Column::numbers("references", "per 1000 instructions"),
        Column::numbers("MPKI", "misses per 1000 instructions"),
        Column::numbers("memory", "MB/s"),
        Column::numbers("holds", "ways, in the end"),
    ]);
    let row = |name: &str, under: &str, did: &Did| {
        vec![
            Cell::words(name),
            Cell::words(under),
            Cell::number(did.ipc, 3),
            Cell::number(did.llcrpki, 3),
            Cell::number(did.llcmpki, 3),
            Cell::number(did.bandwidth_mbps, 1),
            Cell::number(did.occupancy_ways, 2),
        ]
    };
    let rows = results.programs.iter().enumerate().flat_map(|(n, of)| {
        let alone = row(&of.program, "alone", &of.did);
        let under = results.policies.iter();
        let under = under.map(move |by| row(&of.program, &by.policy.policy, &by.programs[n]));
        std::iter::once(alone).chain(under)
    });
    let caption = "What each program did".to_owned();
    Table { caption, columns, rows: rows.collect(), folded: true }
}
