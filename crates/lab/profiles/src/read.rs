//! Reading a profile file.
//!
//! A CSV with a header. `BENCH` and `NR_WAYS` name the program and the ways it ran with; the other
//! columns are [`ProfileMetric::ALL`]'s. `llcrpkc`, `llcmpkc` and `llcmpki` may be missing: they
//! follow from the IPC. `l1rpki`, L1 references per 1000 instructions, is optional. A file that is
//! only for scores needs `ipc`, and `llcmpki` or `llcmpkc` ([`read_table_to_score`]).
//! Columns and rows may be in any order; further columns are ignored. Every program has
//! one row for each way count from 1 to the file's largest. Lines that begin with `#` are comments,
//! of which `# NAME {...}` has the run in which a program was measured ([`MeasuredRun`]).

use std::collections::HashMap;

use fairways_core::{MAX_WAYS, Ways};

use crate::error::{InputError, shown};
use crate::measured_run::MeasuredRun;
use crate::records::{CsvRecord, CsvRecords, SourceLines, utf8};
use crate::table::{L1RPKI, L1RPKI_RANGE, MeasuredProgram, MetricRow, ProfileMetric, ProfileTable};

const BENCH: &str = "BENCH";
const NR_WAYS: &str = "NR_WAYS";

/// Reads a profile table. `file` is how errors name it.
///
/// # Errors
/// The first line and column that break the format of the module's documentation, and what was
/// expected there: text that is not UTF-8, a missing or repeated column, a row too short or too
/// long, a way count that is not 1 to [`MAX_WAYS`], a number that is not finite or outside
/// [`ProfileMetric::range`], two rows for one program and way count, or none.
pub fn read_table(bytes: &[u8], file: &str) -> Result<ProfileTable, InputError> {
    read_columns(bytes, file, &ProfileMetric::ALL)
}

/// Reads a profile table of which plans are to be scored. It may lack every column but `ipc`, and
/// `llcmpki` or `llcmpkc`: the values of [`ProfileTable::missing`] are not numbers.
///
/// # Errors
/// As [`read_table`]'s.
pub fn read_table_to_score(bytes: &[u8], file: &str) -> Result<ProfileTable, InputError> {
    read_columns(bytes, file, &[ProfileMetric::Ipc, ProfileMetric::Llcmpki])
}

/// Reads a table that has at least these metrics.
fn read_columns(
    bytes: &[u8],
    file: &str,
    needed: &[ProfileMetric],
) -> Result<ProfileTable, InputError> {
    let mut records = CsvRecords::new(bytes, file, Some(b'#'))?;
    let lines = records.lines();
    let columns = match records.next()? {
        Some(header) => ProfileColumns::find(&header, needed)?,
        None => {
            let expected = format!("a header with {BENCH}, {NR_WAYS} and the metrics");
            return Err(lines.error(1, None, &expected, "an empty file"));
        }
    };

    let mut programs: Vec<PartialProgram> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    while let Some(record) = records.next()? {
        record.check_length(columns.fields)?;
        let (name, ways) = (record.name(columns.bench, BENCH)?, columns.ways(&record)?);
        let index = *by_name.entry(name.to_owned()).or_insert_with(|| {
            let (name, line) = (name.to_owned(), record.line);
            programs.push(PartialProgram { name, line, rows: Vec::new(), l1rpki: None });
            programs.len() - 1
        });
        let rows = &mut programs[index].rows;
        if rows.len() < ways {
            rows.resize(ways, None);
        }
        if let Some((earlier, _)) = rows[ways - 1] {
            let expected = format!("one row for {} with {ways} ways", shown(name));
            let found = format!("a second one; the first is line {earlier}");
            return Err(record.error(NR_WAYS, &expected, &found));
        }
        rows[ways - 1] = Some((record.line, columns.row(&record)?));
        let l1rpki = columns.l1rpki(&record)?;
        if ways == 1 {
            programs[index].l1rpki = l1rpki;
        }
    }
    let mut table = complete(programs, &lines)?;
    for (number, line) in (1..).zip(utf8(bytes, file)?.lines()) {
        if let Some((name, run)) = run_of(line).filter(|(name, _)| table.find(name).is_some()) {
            let run = run.map_err(|why| {
                lines.error(number, None, "the run that was measured, in JSON", &why.to_string())
            })?;
            table.set_run(name, run);
        }
    }
    Ok(table)
}

/// The program and its run, if this line is about a run.
fn run_of(line: &str) -> Option<(&str, serde_json::Result<MeasuredRun>)> {
    let (name, json) = line.strip_prefix("# ")?.split_once(" {")?;
    Some((name, serde_json::from_str(&format!("{{{json}"))))
}

/// A program as far as it has been read.
struct PartialProgram {
    name: String,
    line: usize,
    rows: Vec<Option<(usize, MetricRow)>>,
    l1rpki: Option<f64>,
}

/// The table of these programs, if each has every row.
fn complete(
    programs: Vec<PartialProgram>,
    lines: &SourceLines<'_>,
) -> Result<ProfileTable, InputError> {
    let most = programs.iter().map(|program| program.rows.len()).max().unwrap_or(0);
    let Some(ways) = u32::try_from(most).ok().and_then(Ways::new) else {
        return Err(lines.ended("a row for a program"));
    };
    let mut complete = Vec::with_capacity(programs.len());
    for PartialProgram { name, line, mut rows, l1rpki } in programs {
        rows.resize(most, None);
        if let Some(missing) = rows.iter().position(Option::is_none) {
            let expected = format!("a row for {} with each of 1 to {ways} ways", shown(&name));
            let found = format!("none with {}", missing + 1);
            return Err(lines.error(line, Some(NR_WAYS), &expected, &found));
        }
        let rows = rows.into_iter().flatten().map(|(_, row)| row).collect();
        complete.push(MeasuredProgram { name, rows, l1rpki });
    }
    Ok(ProfileTable::new(ways, complete))
}

/// The indices of the columns that a table needs.
struct ProfileColumns {
    fields: usize,
    bench: usize,
    nr_ways: usize,
    metrics: [MetricSource; ProfileMetric::ALL.len()],
    l1rpki: Option<usize>,
}

/// Where the values of a metric are from.
#[derive(Clone, Copy)]
enum MetricSource {
    Column(usize),
    /// Nothing.
    Nowhere,
    /// This column times the IPC: what is by instructions becomes what is by cycles.
    TimesIpc(usize),
    /// This column over the IPC.
    OverIpc(usize),
}

impl MetricSource {
    /// The source of a metric in a file with this header; `None` if there is none.
    fn find(header: &CsvRecord<'_>, metric: ProfileMetric) -> Result<Option<Self>, InputError> {
        let from = match metric {
            ProfileMetric::Llcrpkc => ProfileMetric::Llcrpki,
            ProfileMetric::Llcmpkc => ProfileMetric::Llcmpki,
            ProfileMetric::Llcmpki => ProfileMetric::Llcmpkc,
            _ => metric,
        };
        Ok(if header.has(metric.column()) {
            Some(Self::Column(header.column(metric.column())?))
        } else if !header.has(from.column()) {
            None
        } else if metric == ProfileMetric::Llcmpki {
            Some(Self::OverIpc(header.column(from.column())?))
        } else {
            Some(Self::TimesIpc(header.column(from.column())?))
        })
    }
}

impl ProfileColumns {
    fn find(header: &CsvRecord<'_>, needed: &[ProfileMetric]) -> Result<Self, InputError> {
        let mut metrics = [MetricSource::Nowhere; ProfileMetric::ALL.len()];
        let (bench, nr_ways) = (header.column(BENCH)?, header.column(NR_WAYS)?);
        let mut missing = Vec::new();
        for (source, metric) in metrics.iter_mut().zip(ProfileMetric::ALL) {
            match MetricSource::find(header, metric)? {
                Some(found) => *source = found,
                None if needed.contains(&metric) => missing.push(metric.column()),
                None => {}
            }
        }
        match missing[..] {
            [] => {}
            [only] => return Err(header.missing(only, "this column")),
            [first, ref rest @ ..] => {
                let rest = rest.join(", ");
                let expected = format!(
                    "this column, and {rest}; fairways-lab profile measures them, and simulate and \
                     optimum score plans without them"
                );
                return Err(header.missing(first, &expected));
            }
        }
        let has_l1rpki = header.fields.iter().any(|field| field == L1RPKI);
        let l1rpki = has_l1rpki.then(|| header.column(L1RPKI)).transpose()?;
        Ok(Self { fields: header.fields.len(), bench, nr_ways, metrics, l1rpki })
    }

    fn ways(&self, record: &CsvRecord<'_>) -> Result<usize, InputError> {
        let field = &record.fields[self.nr_ways];
        match field.parse() {
            Ok(ways) if (1..=MAX_WAYS).contains(&ways) => Ok(ways),
            _ => {
                let expected = format!("a whole number of ways from 1 to {MAX_WAYS}");
                Err(record.error(NR_WAYS, &expected, &shown(field)))
            }
        }
    }

    fn row(&self, record: &CsvRecord<'_>) -> Result<MetricRow, InputError> {
        let mut row = [0.0; ProfileMetric::ALL.len()];
        for (metric, &source) in ProfileMetric::ALL.iter().zip(&self.metrics) {
            let (place, factor) = match source {
                MetricSource::Column(place) => (place, 1.0),
                MetricSource::Nowhere => {
                    row[*metric as usize] = f64::NAN;
                    continue;
                }
                // The IPC is the first of all metrics, and above 0.
                MetricSource::TimesIpc(place) => (place, row[ProfileMetric::Ipc as usize]),
                MetricSource::OverIpc(place) => (place, 1.0 / row[ProfileMetric::Ipc as usize]),
            };
            let range = metric.range();
            let value = number(record, metric.column(), place, range)?;
            row[*metric as usize] = (value * factor).min(range.1);
        }
        Ok(row)
    }

    fn l1rpki(&self, record: &CsvRecord<'_>) -> Result<Option<f64>, InputError> {
        self.l1rpki.map(|place| number(record, L1RPKI, place, L1RPKI_RANGE)).transpose()
    }
}

fn number(
    record: &CsvRecord<'_>,
    column: &str,
    place: usize,
    (least, most): (f64, f64),
) -> Result<f64, InputError> {
    let field = &record.fields[place];
    match field.parse::<f64>() {
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => {
            let expected = format!("a number from {least} to {most}");
            Err(record.error(column, &expected, &shown(field)))
        }
    }
}
