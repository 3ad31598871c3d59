//! Shared by the readers of files: text, names, and CSV records with their positions.

use crate::error::{InputError, shown};

/// The rule for names of programs and mixes.
pub const NAME_RULE: &str = "a name without commas, quotes or control characters";

/// Whether a program or a mix can have this name.
#[must_use]
pub fn is_name(name: &str) -> bool {
    // A byte-order mark anywhere but at the start of a file is invisible; a line that begins with #
    // is a comment.
    !name.is_empty()
        && !name.starts_with('#')
        && !name.contains(|c: char| matches!(c, ',' | '"' | '\u{feff}') || c.is_control())
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

/// The records of a CSV file, including the header.
pub(crate) struct CsvRecords<'a> {
    records: csv::StringRecordsIntoIter<&'a [u8]>,
    lines: SourceLines<'a>,
}

impl<'a> CsvRecords<'a> {
    /// The records of a text; lines that begin with `comment` are ignored.
    pub(crate) fn new(
        bytes: &'a [u8],
        file: &'a str,
        comment: Option<u8>,
    ) -> Result<Self, InputError> {
        let lines = SourceLines { file, text: utf8(bytes, file)?, comment };
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .comment(comment)
            .from_reader(bytes);
        Ok(Self { records: reader.into_records(), lines })
    }

    pub(crate) fn lines(&self) -> SourceLines<'a> {
        self.lines
    }

    pub(crate) fn next(&mut self) -> Result<Option<CsvRecord<'a>>, InputError> {
        let lines = self.lines;
        let fields = self.records.next().transpose().map_err(|error| {
            let line = error.position().map_or(1, csv::Position::line);
            let line = usize::try_from(line).unwrap_or(usize::MAX);
            lines.error(line, None, "a line of comma-separated values", &error.to_string())
        })?;
        Ok(fields.map(|fields| CsvRecord { line: lines.line_of(&fields), fields, lines }))
    }
}

/// The lines of a file, so that errors can name them.
#[derive(Clone, Copy)]
pub(crate) struct SourceLines<'a> {
    file: &'a str,
    text: &'a str,
    comment: Option<u8>,
}

impl SourceLines<'_> {
    pub(crate) fn error(
        &self,
        line: usize,
        column: Option<&str>,
        expected: &str,
        found: &str,
    ) -> InputError {
        InputError {
            file: self.file.to_owned(),
            line,
            column: column.map(str::to_owned),
            expected: expected.to_owned(),
            found: found.to_owned(),
        }
    }

    /// The error that the file ends where more was expected.
    pub(crate) fn ended(&self, expected: &str) -> InputError {
        self.error(self.text.lines().count() + 1, None, expected, "the end of the file")
    }

    /// The line on which a record begins. The reader's own position is where it started to read,
    /// which is before any blank lines and comments.
    fn line_of(&self, record: &csv::StringRecord) -> usize {
        let Some(position) = record.position() else { return 1 };
        let from = usize::try_from(position.byte()).unwrap_or(0);
        let bytes = &self.text.as_bytes()[from..];
        let mut passed = if from == 0 && self.text.starts_with('\u{feff}') { 3 } else { 0 };
        while let Some(&byte) = bytes.get(passed) {
            passed += match byte {
                b'\r' | b'\n' => 1,
                _ if self.comment == Some(byte) => {
                    bytes[passed..].iter().take_while(|&&byte| byte != b'\n').count()
                }
                _ => break,
            };
        }
        let newlines = bytes[..passed].iter().filter(|&&byte| byte == b'\n').count();
        usize::try_from(position.line()).unwrap_or(usize::MAX) + newlines
    }
}

/// A line of fields, and its position.
pub(crate) struct CsvRecord<'a> {
    pub(crate) fields: csv::StringRecord,
    pub(crate) line: usize,
    lines: SourceLines<'a>,
}

impl CsvRecord<'_> {
    pub(crate) fn error(&self, column: &str, expected: &str, found: &str) -> InputError {
        self.lines.error(self.line, Some(column), expected, found)
    }

    /// The index of a column in this header.
    pub(crate) fn column(&self, name: &str) -> Result<usize, InputError> {
        let mut places = (0..).zip(&self.fields).filter(|&(_, field)| field == name);
        match (places.next(), places.next()) {
            (Some((place, _)), None) => Ok(place),
            (None, _) => Err(self.missing(name, "this column")),
            (Some(_), Some(_)) => Err(self.error(name, "this column once", "it twice")),
        }
    }

    /// Whether this header has a column.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field == name)
    }

    /// The error that this header lacks a column.
    pub(crate) fn missing(&self, name: &str, expected: &str) -> InputError {
        let header = self.fields.iter().collect::<Vec<_>>().join(",");
        let found = format!("a header without it: {}", shown(&header));
        self.error(name, expected, &found)
    }

    /// Refuses a record that does not have as many fields as the header.
    pub(crate) fn check_length(&self, header: usize) -> Result<(), InputError> {
        let fields = self.fields.len();
        if fields == header {
            return Ok(());
        }
        let column = (fields.min(header) + 1).to_string();
        let expected = format!("{header} fields, as in the header");
        Err(self.error(&column, &expected, &format!("{fields} fields")))
    }

    /// The name in the field at index `place`, in the column `column`.
    pub(crate) fn name(&self, place: usize, column: &str) -> Result<&str, InputError> {
        let name = &self.fields[place];
        if is_name(name) { Ok(name) } else { Err(self.error(column, NAME_RULE, &shown(name))) }
    }
}
