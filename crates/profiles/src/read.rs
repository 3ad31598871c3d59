//! Reading a profile file.
//!
//! A CSV with a header. `BENCH` and `NR_WAYS` name the program and the ways it ran with; the other
//! columns are [`Metric::ALL`]'s. Columns may stand in any order and so may rows; further columns
//! are passed over. Every program has one row for each way count from 1 to the file's largest.

use std::collections::HashMap;

use fairways_core::{MAX_WAYS, Ways};

use crate::error::{InputError, shown};
use crate::table::{Metric, Row, Table};

const BENCH: &str = "BENCH";
const NR_WAYS: &str = "NR_WAYS";

/// Reads a profile table. `file` is how errors name it.
///
/// # Errors
/// The first line and column that are not as the module says, and what was expected there: text
/// that is not UTF-8, a missing or repeated column, a row too short or too long, a way count that
/// is not 1 to [`MAX_WAYS`], a number that is not finite or outside [`Metric::range`], two rows for
/// one program and way count, or none.
pub fn read_table(bytes: &[u8], file: &str) -> Result<Table, InputError> {
    let lines = Lines { file, text: utf8(bytes, file)? };
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(lines.text.as_bytes());
    let mut records = reader.records();
    let columns = match next(&mut records, &lines)? {
        Some(header) => Columns::find(&header)?,
        None => {
            let expected = format!("a header with {BENCH}, {NR_WAYS} and the metrics");
            return Err(lines.error(1, None, &expected, "an empty file"));
        }
    };

    let mut programs: Vec<Program> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    while let Some(record) = next(&mut records, &lines)? {
        columns.check_length(&record)?;
        let (name, ways) = (columns.name(&record)?, columns.ways(&record)?);
        let index = *by_name.entry(name.to_owned()).or_insert_with(|| {
            programs.push(Program { name: name.to_owned(), line: record.line, rows: Vec::new() });
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
    }
    complete(programs, &lines)
}

/// A program as far as it has been read: by ways, the line and the values of its row.
struct Program {
    name: String,
    line: usize,
    rows: Vec<Option<(usize, Row)>>,
}

/// The table of these programs, if each has every row.
fn complete(programs: Vec<Program>, lines: &Lines<'_>) -> Result<Table, InputError> {
    let most = programs.iter().map(|program| program.rows.len()).max().unwrap_or(0);
    let Some(ways) = u32::try_from(most).ok().and_then(Ways::new) else {
        let end = lines.text.lines().count() + 1;
        return Err(lines.error(end, None, "a row for a program", "the end of the file"));
    };
    let mut complete = Vec::with_capacity(programs.len());
    for Program { name, line, mut rows } in programs {
        rows.resize(most, None);
        if let Some(missing) = rows.iter().position(Option::is_none) {
            let expected = format!("a row for {} with each of 1 to {ways} ways", shown(&name));
            let found = format!("none with {}", missing + 1);
            return Err(lines.error(line, Some(NR_WAYS), &expected, &found));
        }
        complete.push((name, rows.into_iter().flatten().map(|(_, row)| row).collect()));
    }
    Ok(Table::new(ways, complete))
}

/// Where the columns are that a table needs.
struct Columns {
    fields: usize,
    bench: usize,
    nr_ways: usize,
    metrics: [usize; Metric::ALL.len()],
}

impl Columns {
    fn find(header: &Record<'_>) -> Result<Self, InputError> {
        let find = |name: &str| {
            let mut places = (0..).zip(&header.fields).filter(|&(_, field)| field == name);
            match (places.next(), places.next()) {
                (Some((place, _)), None) => Ok(place),
                (None, _) => {
                    let header_found = header.fields.iter().collect::<Vec<_>>().join(",");
                    let found = format!("a header without it: {}", shown(&header_found));
                    Err(header.error(name, "this column", &found))
                }
                (Some(_), Some(_)) => Err(header.error(name, "this column once", "it twice")),
            }
        };
        let mut metrics = [0; Metric::ALL.len()];
        let (bench, nr_ways) = (find(BENCH)?, find(NR_WAYS)?);
        for (place, metric) in metrics.iter_mut().zip(Metric::ALL) {
            *place = find(metric.column())?;
        }
        Ok(Self { fields: header.fields.len(), bench, nr_ways, metrics })
    }

    fn check_length(&self, record: &Record<'_>) -> Result<(), InputError> {
        let fields = record.fields.len();
        if fields == self.fields {
            return Ok(());
        }
        let column = (fields.min(self.fields) + 1).to_string();
        let expected = format!("{} fields, as in the header", self.fields);
        Err(record.error(&column, &expected, &format!("{fields} fields")))
    }

    fn name<'r>(&self, record: &'r Record<'_>) -> Result<&'r str, InputError> {
        let name = &record.fields[self.bench];
        if is_name(name) { Ok(name) } else { Err(record.error(BENCH, NAME_RULE, &shown(name))) }
    }

    fn ways(&self, record: &Record<'_>) -> Result<usize, InputError> {
        let field = &record.fields[self.nr_ways];
        match field.parse() {
            Ok(ways) if (1..=MAX_WAYS).contains(&ways) => Ok(ways),
            _ => {
                let expected = format!("a whole number of ways from 1 to {MAX_WAYS}");
                Err(record.error(NR_WAYS, &expected, &shown(field)))
            }
        }
    }

    fn row(&self, record: &Record<'_>) -> Result<Row, InputError> {
        let mut row = [0.0; Metric::ALL.len()];
        for ((slot, metric), &place) in row.iter_mut().zip(Metric::ALL).zip(&self.metrics) {
            let (least, most) = metric.range();
            let field = &record.fields[place];
            *slot = match field.parse::<f64>() {
                Ok(value) if (least..=most).contains(&value) => value,
                _ => {
                    let expected = format!("a number from {least} to {most}");
                    return Err(record.error(metric.column(), &expected, &shown(field)));
                }
            };
        }
        Ok(row)
    }
}

/// What a program or a mix may be called.
pub(crate) const NAME_RULE: &str = "a name without commas, quotes or control characters";

pub(crate) fn is_name(name: &str) -> bool {
    // A byte-order mark anywhere but at the start of a file is a character that nobody sees.
    let bad = |c: char| matches!(c, ',' | '"' | '\u{feff}') || c.is_control();
    !name.is_empty() && !name.contains(bad)
}

/// The text of `bytes`, if it is text.
pub(crate) fn utf8<'a>(bytes: &'a [u8], file: &str) -> Result<&'a str, InputError> {
    str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let line = 1 + good.iter().filter(|&&byte| byte == b'\n').count();
        InputError {
            file: file.to_owned(),
            line,
            column: None,
            expected: "UTF-8 text".into(),
            found: format!("byte {:#04x}", bytes[error.valid_up_to()]),
        }
    })
}

/// The lines of a file, so that errors can name them.
#[derive(Clone, Copy)]
struct Lines<'a> {
    file: &'a str,
    text: &'a str,
}

impl Lines<'_> {
    fn error(&self, line: usize, column: Option<&str>, expected: &str, found: &str) -> InputError {
        InputError {
            file: self.file.to_owned(),
            line,
            column: column.map(str::to_owned),
            expected: expected.to_owned(),
            found: found.to_owned(),
        }
    }

    /// The line on which a record begins. The reader's own position is where it began to look,
    /// which is before any blank lines.
    fn line_of(&self, record: &csv::StringRecord) -> usize {
        let Some(position) = record.position() else { return 1 };
        let from = usize::try_from(position.byte()).unwrap_or(0);
        let blank = self.text[from..].bytes().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        let newlines = blank.filter(|&byte| byte == b'\n').count();
        usize::try_from(position.line()).unwrap_or(usize::MAX) + newlines
    }
}

/// A line of fields, and where it stands.
struct Record<'a> {
    fields: csv::StringRecord,
    line: usize,
    lines: Lines<'a>,
}

impl Record<'_> {
    fn error(&self, column: &str, expected: &str, found: &str) -> InputError {
        self.lines.error(self.line, Some(column), expected, found)
    }
}

fn next<'a, R: std::io::Read>(
    records: &mut csv::StringRecordsIter<'_, R>,
    lines: &Lines<'a>,
) -> Result<Option<Record<'a>>, InputError> {
    let fields = records.next().transpose().map_err(|error| {
        let line = error.position().map_or(1, csv::Position::line);
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        lines.error(line, None, "a line of comma-separated values", &error.to_string())
    })?;
    Ok(fields.map(|fields| Record { line: lines.line_of(&fields), fields, lines: *lines }))
}
