//! Claims and findings as tables for people.

use std::io::Write;

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::table::{STYLE, fit};
use fairways_experiments::paper::{Claim, ClaimKind, ClaimResult, Ground, MeasuredValue};

use super::{PaperReport, tally};

/// Writes a table.
///
/// # Errors
/// If it can't be written.
pub fn table(report: &PaperReport, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(header(report));
    let numbers = if report.has_corpus { &[3, 4, 5, 8][..] } else { &[3, 4, 5] };
    for &place in numbers {
        if let Some(column) = table.column_mut(place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in &report.rows {
        table.add_row(cells(row, report.has_corpus));
    }
    let given_up = ["unit", "counts as", "by seed", "corpus by seed", "band"];
    writeln!(out, "{}\n\n{}\n", report.title, fit(table, &given_up))?;
    outcomes(report, out)?;
    let beside = ClaimKind::ALL.into_iter().skip(1).map(|of| {
        let (within, judged) = tally(report, of, on_better_ground);
        format!("{}: {within} of {judged}", of.name())
    });
    let open = report.rows.iter().filter(|row| on_better_ground(row).is_none()).count();
    let beside = beside.collect::<Vec<_>>().join(", ");
    writeln!(out, "not counted as outcomes: {beside}; not judged: {open} rows")?;
    match report.rows.iter().filter(|row| depends_on_the_seed(row)).count() {
        0 => {}
        1 => writeln!(out, "1 verdict depends on the seed")?,
        turned => writeln!(out, "{turned} verdicts depend on the seed")?,
    }
    Ok(())
}

fn header(report: &PaperReport) -> Vec<&'static str> {
    let claim = ["item", "case", "unit", "published", "band"];
    let grounds: &[&str] = if report.has_corpus {
        &["models", "", "by seed", "corpus", "", "corpus by seed"]
    } else {
        &["ours", "", "by seed"]
    };
    [&claim[..], grounds, &["counts as"]].concat()
}

fn cells(row: &ClaimResult, has_corpus: bool) -> Vec<String> {
    let Claim { item, case, unit, published, low, high, .. } = &row.claim;
    let band = match (low.is_empty(), low == high) {
        (true, _) => String::new(),
        (_, true) => low.clone(),
        _ => format!("{low} to {high}"),
    };
    let counts = match (on_better_ground(row), row.kind) {
        (None, _) | (_, ClaimKind::Outcome) => "",
        (_, counts) => counts.name(),
    };
    let mut cells = [item, case, unit, published, &band].map(Clone::clone).to_vec();
    let grounds = if has_corpus { &Ground::ALL[..] } else { &[Ground::Models] };
    for &ground in grounds {
        cells.extend(result(row, ground));
    }
    cells.push(counts.to_owned());
    cells
}

/// The value on a ground, its verdict, and what single seeds gave.
fn result(row: &ClaimResult, ground: Ground) -> [String; 3] {
    let found = row.on(ground);
    let mut value = match found.map(|found| &found.value) {
        None => "-".to_owned(),
        Some(MeasuredValue::Text(text)) => text.clone(),
        Some(MeasuredValue::Number(number)) => digits(*number),
    };
    if found.is_some_and(|found| found.is_partial) {
        value.push('*');
    }
    let verdict = match row.in_band(ground) {
        None => "",
        Some(true) => "within",
        Some(false) => "MISSES",
    };
    [value, verdict.to_owned(), by_seed(row, ground)]
}

/// Writes how many outcomes lie within their bands, by ground if there are two.
fn outcomes(report: &PaperReport, out: &mut dyn Write) -> anyhow::Result<()> {
    let (within, judged) = tally(report, ClaimKind::Outcome, on_better_ground);
    if !report.has_corpus {
        writeln!(out, "{within} of {judged} outcomes within their bands; {:.1} s", report.seconds)?;
        return Ok(());
    }
    let [models, corpus] = Ground::ALL.map(|ground| {
        let (within, judged) = tally(report, ClaimKind::Outcome, |row| row.in_band(ground));
        format!("{}: {within} of {judged}", ground.name())
    });
    writeln!(
        out,
        "outcomes within their bands: {models}, {corpus}, the better ground of each: {within} of \
         {judged}; {:.1} s",
        report.seconds
    )?;
    Ok(writeln!(
        out,
        "without a value on the corpus (-), or where models take part there too (*), a row counts \
             with models (docs/paper.md)"
    )?)
}

fn on_better_ground(row: &ClaimResult) -> Option<bool> {
    row.in_band(row.better_ground())
}

/// Whether some seeds lie within the band, and some do not.
fn depends_on_the_seed(row: &ClaimResult) -> bool {
    let ground = row.better_ground();
    let seeds = row.on(ground).map_or(0, |found| found.by_seed.len());
    row.seeds_in_band(ground).is_some_and(|within| (1..seeds).contains(&within))
}

/// Writes a line for each paper.
///
/// # Errors
/// If they can't be written.
pub fn summary(reports: &[PaperReport], out: &mut dyn Write) -> anyhow::Result<()> {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(["paper", "outcomes within", "of", "seconds"]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for report in reports {
        let (within, judged) = tally(report, ClaimKind::Outcome, on_better_ground);
        let seconds = format!("{:.0}", report.seconds);
        table.add_row([report.paper.to_owned(), within.to_string(), judged.to_string(), seconds]);
    }
    Ok(writeln!(out, "\n{table}")?)
}

/// The range of the values of single seeds, and how many of these lie within the band.
fn by_seed(row: &ClaimResult, ground: Ground) -> String {
    let values = row.on(ground).map_or(&[][..], |found| &found.by_seed);
    let least = values.iter().copied().reduce(f64::min);
    let Some((least, most)) = least.zip(values.iter().copied().reduce(f64::max)) else {
        return String::new();
    };
    let range =
        if least < most { format!("{} to {}", digits(least), digits(most)) } else { digits(least) };
    match row.seeds_in_band(ground) {
        Some(within) => format!("{range}; {within} of {}", values.len()),
        None => range,
    }
}

/// A number with enough digits to differ from its neighbours.
fn digits(number: f64) -> String {
    if number.fract() == 0.0 || number.abs() >= 100.0 {
        format!("{number:.0}")
    } else if number.abs() >= 0.1 {
        format!("{number:.3}")
    } else {
        format!("{number:.5}")
    }
}

#[cfg(test)]
mod tests {
    use fairways_experiments::paper::{Findings, GroundResult, claims, rows};

    use super::*;

    /// Both values stand beside the published one, and the tally has both grounds and the better
    /// one of each row.
    #[test]
    fn both_grounds_are_shown_and_counted() {
        let text = "item,case,unit,published,low,high,reproducible,why\n\
                    F,a,percent,5,4,6,shape,w\nF,b,percent,5,4,6,shape,w\n";
        let claims = claims(text).expect("claims");
        let mut rows = rows("none", claims, Findings::default(), Findings::default());
        fn measured(number: f64) -> Option<GroundResult> {
            let value = MeasuredValue::Number(number);
            Some(GroundResult { value, by_seed: Vec::new(), is_partial: false })
        }
        rows[0].models = measured(5.0);
        rows[0].corpus = measured(7.5);
        rows[1].models = measured(4.0);
        let (paper, title) = ("none", "A paper");
        let report = PaperReport { paper, title, seconds: 1.0, rows, has_corpus: true };
        fairways_command_kit::table::keep_whole();
        let mut out = Vec::new();
        table(&report, &mut out).expect("a table");
        let out = String::from_utf8(out).expect("text");
        fn cells(case: &str, out: &str) -> String {
            let line = out.lines().find(|line| line.split_whitespace().nth(1) == Some(case));
            line.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
        }
        assert_eq!(cells("a", &out), "F a percent 5 4 to 6 5 within 7.500 MISSES");
        assert_eq!(cells("b", &out), "F b percent 5 4 to 6 4 within -");
        let tally = "models: 2 of 2, corpus: 0 of 1, the better ground of each: 1 of 2; 1.0 s";
        assert!(out.contains(tally), "{out}");
    }
}
