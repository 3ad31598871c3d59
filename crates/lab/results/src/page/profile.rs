//! The JSON of `profile --json`, and profiles as CSV: programs with every number of ways.

use std::collections::HashSet;

use fairways_page::{Block, Cell, Column, Fact, Part, Section, Table, curve};
use fairways_profiles::{ProfileMetric, ProfileTable as Profiles};
use serde::Deserialize;

/// The whole object.
#[derive(Debug, Deserialize)]
pub(super) struct ProfileResults {
    program: String,
    machine: String,
    ways: u32,
    set_sampling: Option<u64>,
    seconds: Option<f64>,
    exit_code: Option<i64>,
    #[serde(default)]
    remarks: Vec<String>,
    instructions: Option<u64>,
    l1_references: Option<u64>,
    l1_misses: Option<u64>,
    llc_references: Option<u64>,
    by_ways: Vec<WaysRow>,
}

#[derive(Debug, Deserialize)]
struct WaysRow {
    ways: u32,
    llc_misses: Option<u64>,
    ipc: Option<f64>,
    llcmpki: Option<f64>,
    llcmpkc: Option<f64>,
    bandwidth_mbps: Option<f64>,
    stalls_l2_miss: Option<f64>,
    llc_usage_kb: Option<f64>,
}

const MPKI: &str = "MPKI";
const SLOWDOWN: &str = "slowdown";
const LEGEND: &str =
    "MPKI is LLC misses per 1000 instructions; a slowdown is its best IPC over its IPC.";

/// Further metrics of a profile file, and their captions.
const OTHERS: [(ProfileMetric, &str); 10] = [
    (ProfileMetric::Llcmpkc, "Misses per 1000 cycles (MPKC)"),
    (ProfileMetric::Llcrpki, "LLC references per 1000 instructions"),
    (ProfileMetric::Llcrpkc, "LLC references per 1000 cycles"),
    (ProfileMetric::LlcUsageKb, "LLC occupancy, KB"),
    (ProfileMetric::BandwidthMbps, "Memory bandwidth, MB/s"),
    (ProfileMetric::LlcmBandwidth, "Bandwidth of LLC misses, MB/s"),
    (ProfileMetric::StallsL2Miss, "Share of cycles stalled while an L2 miss is outstanding"),
    (ProfileMetric::StallsL3Miss, "Share of cycles stalled while an L3 miss is outstanding"),
    (ProfileMetric::StallsTotal, "Share of cycles stalled for any reason"),
    (ProfileMetric::StallsStoreBuf, "Share of cycles stalled because the store buffer is full"),
];

/// Makes the section of a profile that was just measured.
pub(super) fn section(results: &ProfileResults) -> Result<Section, String> {
    let ProfileResults { program, by_ways, .. } = results;
    let mut seen = HashSet::new();
    if let Some(row) =
        by_ways.iter().find(|row| !(1..=results.ways).contains(&row.ways) || !seen.insert(row.ways))
    {
        let (most, found) = (results.ways, row.ways);
        return Err(format!("by_ways: expected each of 1 to {most} ways once, found {found}"));
    }
    let mut by_ways: Vec<&WaysRow> = by_ways.iter().collect();
    by_ways.sort_by_key(|row| row.ways);
    // A number of ways that was not measured breaks the curve.
    fn all(get: fn(&WaysRow) -> Option<f64>, by_ways: &[&WaysRow]) -> Vec<Option<f64>> {
        (1..=by_ways.last().map_or(0, |row| row.ways))
            .map(|ways| by_ways.iter().find(|row| row.ways == ways).and_then(|row| get(row)))
            .collect()
    }
    let mpki = all(|row| row.llcmpki, &by_ways);
    let slowdown = slowdowns(&all(|row| row.ipc, &by_ways));
    let columns = vec![
        Column::words("ways"),
        Column::numbers("IPC", ""),
        Column::numbers("slowdown", ""),
        Column::numbers("misses", ""),
        Column::numbers("MPKI", "per 1000 instructions"),
        Column::numbers("MPKC", "per 1000 cycles"),
        Column::numbers("memory", "MB/s"),
        Column::numbers("stalls", "share of cycles"),
        Column::numbers("occupancy", "KB"),
    ];
    let rows = by_ways
        .iter()
        .map(|row: &&WaysRow| {
            vec![
                Cell::words(row.ways.to_string()),
                Cell::number(row.ipc, 3),
                Cell::number(slowdown[row.ways as usize - 1], 3),
                Cell::count(row.llc_misses),
                Cell::number(row.llcmpki, 3),
                Cell::number(row.llcmpkc, 3),
                Cell::number(row.bandwidth_mbps, 0),
                Cell::number(row.stalls_l2_miss, 3),
                Cell::number(row.llc_usage_kb, 0),
            ]
        })
        .collect();
    let caption = "What it does with every number of ways".into();
    let table = Table { caption, columns, rows, folded: false };
    let figures = vec![curve(program, MPKI, 0.0, &mpki), curve(program, SLOWDOWN, 1.0, &slowdown)];
    let mut facts =
        vec![Fact::words("machine", &results.machine), Fact::number("ways", results.ways, "")];
    facts.extend(
        results.set_sampling.map(|sets| Fact::words("sets simulated", format!("1 of {sets}"))),
    );
    facts.extend(results.seconds.map(|seconds| Fact::number("took", seconds, "s")));
    let counts = [
        ("instructions", results.instructions),
        ("L1 references", results.l1_references),
        ("L1 misses", results.l1_misses),
        ("LLC references", results.llc_references),
    ];
    facts.extend(
        counts.into_iter().filter_map(|(name, count)| Some(Fact::number(name, count?, ""))),
    );
    facts.extend(results.exit_code.map(|code| Fact::number("exit code", code, "")));
    let blocks = vec![Block::Words(LEGEND.into()), Block::Figures(figures), Block::Table(table)];
    let headline = match (mpki.first().copied().flatten(), mpki.last().copied().flatten()) {
        (Some(first), Some(last)) => {
            format!("MPKI is {first:.2} with 1 way, and {last:.2} with {}.", mpki.len())
        }
        _ => String::new(),
    };
    Ok(Section {
        heading: format!("Profile of {program}"),
        kind: "fairways-lab profile".into(),
        headline,
        warnings: results.remarks.clone(),
        facts,
        parts: vec![Part { blocks, ..Part::default() }],
        ..Section::default()
    })
}

/// Makes the section of a file of profiles.
pub(super) fn table(profiles: &Profiles) -> Section {
    let (names, ways) = (profiles.names(), profiles.ways());
    fn values(
        metric: ProfileMetric,
        names: &[String],
        profiles: &Profiles,
    ) -> Vec<Vec<Option<f64>>> {
        (0..names.len())
            .map(|program| profiles.values(program, metric).map(Some).collect())
            .collect()
    }
    let (mpki, ipc) = (
        values(ProfileMetric::Llcmpki, names, profiles),
        values(ProfileMetric::Ipc, names, profiles),
    );
    let slowdown: Vec<_> = ipc.iter().map(|ipc| slowdowns(ipc)).collect();
    let figures =
        names.iter().zip(&mpki).map(|(name, mpki)| curve(name, MPKI, 0.0, mpki)).collect();
    let mut blocks = vec![
        Block::Words(LEGEND.into()),
        Block::Figures(figures),
        Block::Table(by_ways("Misses per 1000 instructions (MPKI)", names, &mpki)),
        Block::Table(by_ways("Slowdown", names, &slowdown)),
        Block::Table(by_ways("Instructions per cycle (IPC)", names, &ipc)),
    ];
    let others = OTHERS
        .iter()
        .map(|(metric, caption)| by_ways(caption, names, &values(*metric, names, profiles)));
    blocks.extend(others.map(Block::Table));
    let references: Vec<_> = (0..names.len()).map(|program| profiles.l1rpki(program)).collect();
    if references.iter().any(Option::is_some) {
        blocks.push(Block::Table(Table {
            caption: "L1 references".into(),
            columns: vec![
                Column::words("program"),
                Column::numbers("L1 references", "per 1000 instructions"),
            ],
            rows: names
                .iter()
                .zip(&references)
                .map(|(name, value): (&String, &Option<f64>)| {
                    vec![Cell::words(name), Cell::number(*value, 3)]
                })
                .collect(),
            folded: true,
        }));
    }
    let heading = match names {
        [one] => format!("Profile of {one}"),
        several => format!("Profiles of {} programs", several.len()),
    };
    Section {
        heading,
        kind: "profiles".into(),
        headline: format!("What counters show of each program alone, with 1 to {ways} ways."),
        facts: vec![Fact::number("programs", names.len(), ""), Fact::number("ways", ways, "")],
        parts: vec![Part { heading: "Misses by ways".into(), folded: false, blocks }],
        ..Section::default()
    }
}

/// The best IPC over each IPC; `None` where the IPC is not known.
fn slowdowns(ipc: &[Option<f64>]) -> Vec<Option<f64>> {
    let best = ipc.iter().flatten().copied().fold(0.0, f64::max);
    ipc.iter().map(|ipc| ipc.filter(|ipc| *ipc > 0.0).map(|ipc| best / ipc)).collect()
}

/// A row for each program, a column for each number of ways.
fn by_ways(caption: &str, names: &[String], values: &[Vec<Option<f64>>]) -> Table {
    let most = values.iter().map(Vec::len).max().unwrap_or_default();
    let mut columns = vec![Column::words("program")];
    columns.extend((1..=most).map(|ways| Column::numbers(&ways.to_string(), "")));
    Table {
        caption: format!("{caption}, by ways"),
        columns,
        rows: names
            .iter()
            .zip(values)
            .map(|(name, values): (&String, &Vec<Option<f64>>)| {
                let cells = values.iter().map(|value| Cell::number(*value, 3));
                std::iter::once(Cell::words(name)).chain(cells).collect()
            })
            .collect(),
        folded: true,
    }
}
