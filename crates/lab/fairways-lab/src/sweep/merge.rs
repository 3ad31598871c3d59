//! All results of a sweep as one table, in the plan's order.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use fairways_command_kit::input::shown;
use fairways_command_kit::{BadInput, whole};

use crate::sweep::folder::SweepFolder;
use crate::sweep::point::last_line;
use crate::sweep::running::MOST_SHOWN;
use crate::sweep::{blamed, columns};

/// Writes the results of all points into a file, as Parquet if its name ends so, else as CSV; `-`
/// is standard output. Each row has the point's labels before it, where the results have no column
/// of the axis' name. Returns the number of rows.
///
/// # Errors
/// If a point has no result, unless `is_partial`; if a result is damaged; if the file can't be
/// written.
pub(crate) fn merge(
    dir: &Path,
    to: &Path,
    is_partial: bool,
    out: &mut dyn Write,
) -> anyhow::Result<usize> {
    let folder = SweepFolder::open(dir)?;
    if to.as_os_str() != "-" && folder.owns(to) {
        return Err(blamed(to, "expected a file that is not the sweep's own").into());
    }
    let there = folder.there()?;
    let points = &folder.index.points;
    let (done, missing): (Vec<_>, Vec<_>) =
        points.iter().partition(|one| folder.is_done(one, &there));
    if let Some(first) = missing.first().filter(|_| !is_partial) {
        let (count, all) = (missing.len(), points.len());
        let place = folder.named(first);
        return Err(BadInput(format!(
            "{}: {count} of {all} points have no whole result, the first is {place}run them, or use --partial",
            shown(dir)
        ))
        .into());
    }
    let mut merged = MergedRows::new(&folder.index.axes);
    let mut damaged = BTreeSet::new();
    for point in done {
        if let Err(why) = merged.add(&folder.result(&point.name), &point.labels) {
            damaged.insert(format!("results/{}.csv: {why}", point.name));
        }
    }
    if !damaged.is_empty() {
        let count = damaged.len();
        let mut shown: Vec<String> = damaged.into_iter().take(MOST_SHOWN).collect();
        if count > MOST_SHOWN {
            shown.push(format!("and {} more", count - MOST_SHOWN));
        }
        let all = shown.join("; ");
        let found = format!("found {count} damaged: {all}; delete these, and run the sweep again");
        return Err(blamed(dir, format!("expected whole results, {found}")).into());
    }
    if merged.header.is_empty() {
        return Err(blamed(dir, "expected a result at least, found none").into());
    }
    let is_parquet = to.extension().is_some_and(|end| end.eq_ignore_ascii_case("parquet"));
    let bytes = if is_parquet {
        columns::parquet(&merged.header, &merged.rows)?
    } else {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(&merged.header)?;
        merged.rows.iter().try_for_each(|row| csv.write_record(row))?;
        csv.into_inner()?
    };
    if to.as_os_str() == "-" {
        out.write_all(&bytes)?;
    } else {
        whole::write(to, &bytes, None).with_context(|| format!("{}: can't write it", shown(to)))?;
    }
    Ok(merged.rows.len())
}

/// The rows of all results.
struct MergedRows<'a> {
    axes: &'a [String],
    /// The header that every result has.
    results: csv::StringRecord,
    /// The axes that have a column of their own.
    own: Vec<usize>,
    header: csv::StringRecord,
    rows: Vec<csv::StringRecord>,
}

impl<'a> MergedRows<'a> {
    fn new(axes: &'a [String]) -> Self {
        let (results, header) = (csv::StringRecord::new(), csv::StringRecord::new());
        Self { axes, results, own: Vec::new(), header, rows: Vec::new() }
    }

    /// Adds the rows of a result, or says what is wrong with it.
    fn add(&mut self, path: &Path, labels: &[String]) -> Result<(), String> {
        let bytes = fs::read(path).map_err(|why| format!("can't read it: {why}"))?;
        let (whole, rows) = parted(&bytes).ok_or("it is cut short")?;
        let before = self.rows.len();
        let mut reader = csv::Reader::from_reader(whole);
        let header = reader.headers().map_err(|why| why.to_string())?;
        if self.results.is_empty() {
            self.results = header.clone();
            let axes = self.axes.iter().enumerate();
            self.own = axes
                .filter(|(_, axis)| header.iter().all(|column| column != axis.as_str()))
                .map(|(number, _)| number)
                .collect();
            self.header = self.own.iter().map(|&axis| &*self.axes[axis]).chain(header).collect();
        }
        if *header != self.results {
            let expected = self.results.iter().collect::<Vec<_>>().join(",");
            return Err(format!("expected the columns {expected}, as in the others"));
        }
        for record in reader.records() {
            let record = record.map_err(|why| why.to_string())?;
            self.rows.push(self.own.iter().map(|&axis| &*labels[axis]).chain(&record).collect());
        }
        if last_line(self.rows.len() - before).as_bytes() != rows {
            return Err("it has other rows than its last line says".to_owned());
        }
        Ok(())
    }
}

/// A result's table, and its last line.
fn parted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let bytes = bytes.strip_suffix(b"\n")?;
    let table = bytes.iter().rposition(|byte| *byte == b'\n')? + 1;
    let (table, last) = bytes.split_at(table);
    last.starts_with(b"#").then_some((table, last))
}
