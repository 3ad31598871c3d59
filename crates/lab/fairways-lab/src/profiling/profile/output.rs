//! A profile as a file, a plot, a table and JSON.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use comfy_table::CellAlignment;
use fairways_chip::Profiler;
use fairways_command_kit::table::{STYLE, fit};
use fairways_command_kit::whole;
use fairways_experiments::paper::{Line, lines};
use fairways_profiles::{MeasuredRun, ProfileMetric, ProfileTable, write_table};
use serde::Serialize;

use super::settings::{Checked, Output, ProfiledChip, others};

/// The results to show.
pub(super) struct Measured<'a> {
    pub(super) chip: &'a ProfiledChip,
    pub(super) profiler: &'a Profiler,
    pub(super) table: &'a ProfileTable,
    pub(super) seconds: f64,
}

/// Writes the profile; with `--append`, keeps the profiles of other programs.
pub(super) fn write(
    checked: &Checked,
    chip: &ProfiledChip,
    table: ProfileTable,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let all = match &chip.output {
        Output::File(path) if checked.append && path.exists() => {
            let mut all = others(path, &chip.chip)?;
            all.put(table);
            all
        }
        _ => table,
    };
    let text = write_table(&all);
    match &chip.output {
        Output::Standard => Ok(out.write_all(text.as_bytes())?),
        Output::File(path) => {
            let old = (!checked.append).then_some(".old");
            let failed = || format!("{}: can't write it", path.display());
            whole::write(path, text.as_bytes(), old).with_context(failed)
        }
    }
}

/// Draws misses and IPC by ways.
pub(super) fn plot(path: &Path, name: &str, table: &ProfileTable) -> anyhow::Result<()> {
    let line = |name: &str, metric, scale: f64| {
        let values = table.values(0, metric).map(|value| value * scale);
        Line { name: name.to_owned(), points: (1..).map(f64::from).zip(values).collect() }
    };
    let most = |metric| table.values(0, metric).fold(0.0, f64::max).max(1e-9);
    let best = most(ProfileMetric::Ipc);
    let of_misses = 100.0 / most(ProfileMetric::Llcmpki);
    let drawn = [
        line("IPC, % of the best", ProfileMetric::Ipc, 100.0 / best),
        line("LLC misses, % of the most", ProfileMetric::Llcmpki, of_misses),
    ];
    Ok(lines(path, name, ["ways", "%"], &drawn)?)
}

/// The longest bar of misses, in letters.
const BAR: usize = 40;

/// Writes a table for people.
pub(super) fn table(
    checked: &Checked,
    measured: &Measured<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let Measured { chip, profiler, table, seconds } = measured;
    let settings = profiler.settings();
    let all = profiler.account(1);
    let per_second = all.l1_references as f64 / seconds / 1e6;
    writeln!(
        out,
        "{}: {} instructions, {} loads and stores in {seconds:.1} s ({per_second:.0} M/s)",
        checked.subject.name, all.instructions, all.l1_references
    )?;
    writeln!(
        out,
        "{}, {} ways of {} KB; one of {} sets simulated",
        chip.chip.name,
        settings.chip.llc.ways,
        settings.chip.way_bytes() / 1024,
        settings.set_sampling
    )?;
    let mut shown = comfy_table::Table::new();
    let names = ["ways", "IPC", "slowdown", "misses", "MPKI", "MB/s", "MPKI, the most full length"];
    shown.load_style(STYLE).set_header(names);
    for column in shown.column_iter_mut().take(6) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let of = |metric| table.values(0, metric).collect::<Vec<f64>>();
    let (ipc, mpki, mbps) =
        (of(ProfileMetric::Ipc), of(ProfileMetric::Llcmpki), of(ProfileMetric::BandwidthMbps));
    let best = ipc.iter().copied().fold(0.0, f64::max);
    let most = mpki.iter().copied().fold(0.0, f64::max);
    for (place, ways) in (0..ipc.len()).zip(1..) {
        shown.add_row([
            ways.to_string(),
            format!("{:.3}", ipc[place]),
            format!("{:.3}", best / ipc[place]),
            profiler.account(ways).llc_misses.to_string(),
            format!("{:.3}", mpki[place]),
            format!("{:.0}", mbps[place]),
            bar(mpki[place] / most.max(1e-9)),
        ]);
    }
    writeln!(out, "{}", fit(shown, &["MPKI, the most full length", "misses", "MB/s"]))?;
    if let Output::File(path) = &chip.output {
        let path = path.display();
        writeln!(out, "\nwritten to {path}: fairways-lab simulate --profiles {path}")?;
    }
    Ok(())
}

fn bar(share: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to BAR")]
    let letters = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    "█".repeat(letters)
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    program: &'a str,
    machine: String,
    ways: u32,
    set_sampling: u32,
    seconds: f64,
    exit_code: Option<i32>,
    remarks: Vec<String>,
    run: Option<&'a MeasuredRun>,
    instructions: u64,
    l1_references: u64,
    l1_misses: u64,
    llc_references: u64,
    by_ways: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    ways: u32,
    llc_misses: u64,
    ipc: f64,
    llcmpki: f64,
    llcmpkc: f64,
    bandwidth_mbps: f64,
    stalls_l2_miss: f64,
    llc_usage_kb: f64,
}

/// Writes one object and a newline.
pub(super) fn json(
    checked: &Checked,
    measured: &Measured<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let Measured { chip, profiler, table, seconds } = measured;
    let ways = profiler.settings().chip.llc.ways.get();
    let value = |metric, ways: u32| table.values(0, metric).nth(ways as usize - 1).unwrap_or(0.0);
    let row = |ways| Row {
        ways,
        llc_misses: profiler.account(ways).llc_misses,
        ipc: value(ProfileMetric::Ipc, ways),
        llcmpki: value(ProfileMetric::Llcmpki, ways),
        llcmpkc: value(ProfileMetric::Llcmpkc, ways),
        bandwidth_mbps: value(ProfileMetric::BandwidthMbps, ways),
        stalls_l2_miss: value(ProfileMetric::StallsL2Miss, ways),
        llc_usage_kb: value(ProfileMetric::LlcUsageKb, ways),
    };
    let all = profiler.account(1);
    let report = Report {
        schema: 1,
        program: &checked.subject.name,
        machine: chip.chip.name.clone(),
        ways,
        set_sampling: profiler.settings().set_sampling,
        seconds: *seconds,
        exit_code: checked.subject.exit_code(*profiler),
        remarks: checked.subject.remarks(),
        run: table.run(0),
        instructions: all.instructions,
        l1_references: all.l1_references,
        l1_misses: all.l1_misses,
        llc_references: all.llc_references,
        by_ways: (1..=ways).map(row).collect(),
    };
    serde_json::to_writer(&mut *out, &report)?;
    Ok(writeln!(out)?)
}
