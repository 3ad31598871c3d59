//! Reads a journal part by part and line by line.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fairways_command_kit::BadInput;
use fairways_command_kit::input::shown;
use serde_json::Value;

use super::parts::{part_number, parts};
use super::{Header, Line, SCHEMA};

/// The longest line: the start of a program with a profile of 32 ways has a few thousand bytes.
const LONGEST_LINE: u64 = 1 << 20;

/// Reads the lines of all parts of a journal in order.
pub struct Reader {
    /// The header of the current part.
    pub header: Header,
    /// Whether the journal's end is cut short because its writer was killed: an incomplete last
    /// line, or a last part without its header. The incomplete end is skipped.
    pub is_cut_short: bool,
    parts: std::vec::IntoIter<PathBuf>,
    file: BufReader<File>,
    path: PathBuf,
    number: usize,
}

impl Reader {
    /// Opens a journal and reads its header.
    ///
    /// # Errors
    /// If the file can't be read, is no journal, or begins with a part that is not the first.
    pub fn open(path: &Path) -> Result<Self, BadInput> {
        let reader = Self::open_kept(path)?;
        let Header { first, part, .. } = reader.header;
        if part != first {
            return Err(BadInput(format!(
                "{}:1: expected part {first} of a journal, found part {part}: only `fairways report` begins at the oldest that is kept",
                shown(&reader.path),
            )));
        }
        Ok(reader)
    }

    /// Opens a journal at the oldest part of its last run that still exists; the header says which.
    /// For a finished part, the run is the part's own.
    ///
    /// # Errors
    /// If the file can't be read, or is no journal.
    pub fn open_kept(path: &Path) -> Result<Self, BadInput> {
        let finished = || parts(path).filter(|part| part.is_file());
        // If the last file has no whole header yet, the finished part before it identifies the run.
        let last = if has_header(path) { None } else { finished().last() };
        let header = match &last {
            Some(last) => open_part(last)?.1,
            None => open_part(path)?.1,
        };
        let Header { first, part: number, .. } = header;
        let suffix = format!(".{number}");
        let name = path.as_os_str().as_encoded_bytes().strip_suffix(suffix.as_bytes());
        if let Some(base) = name.filter(|_| last.is_none()) {
            let base = PathBuf::from(OsStr::from_bytes(base));
            // Only the parts that exist: a header may name billions.
            let before = parts(&base).filter(|part| {
                let number_of = part_number(&base, part);
                number_of.is_some_and(|of| (first..number).contains(&of)) && part.is_file()
            });
            return Self::begin(before.collect(), path);
        }
        Self::begin(
            finished()
                .filter(|part: &PathBuf| {
                    part_number(path, part).is_some_and(|number| number >= first)
                })
                .collect(),
            path,
        )
    }

    fn begin(mut parts: Vec<PathBuf>, path: &Path) -> Result<Self, BadInput> {
        parts.push(path.to_owned());
        let mut parts = parts.into_iter();
        let path = parts.next().unwrap_or_default();
        let (file, header) = open_part(&path)?;
        Ok(Self { header, is_cut_short: false, parts, file, path, number: 1 })
    }

    /// The location of the last line that was read.
    pub fn location(&self) -> String {
        format!("{}:{}", shown(&self.path), self.number)
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// If the line is not one of a journal, or the next part does not continue this one.
    pub fn line(&mut self) -> Result<Option<Line<'static>>, BadInput> {
        loop {
            let Some(text) = read_line(&mut self.file, &self.path, self.number + 1)? else {
                let Some(next) = self.parts.next() else { return Ok(None) };
                if self.parts.len() == 0 && !has_header(&next) {
                    self.is_cut_short = true;
                    return Ok(None);
                }
                self.open_next(next)?;
                continue;
            };
            self.number += 1;
            if !text.ends_with(b"\n") && self.parts.len() == 0 {
                self.is_cut_short = true;
                return Ok(None);
            }
            let line = serde_json::from_slice(&text).map_err(|error| self.wrong(&error))?;
            return Ok(Some(line));
        }
    }

    /// Opens the next part, which must continue where this one ended.
    fn open_next(&mut self, path: PathBuf) -> Result<(), BadInput> {
        let (file, header) = open_part(&path)?;
        let expected = Header { part: self.header.part.saturating_add(1), ..self.header.clone() };
        if header != expected {
            let found = match header.part {
                part if part == expected.part => "that of another".to_owned(),
                part => format!("part {part}"),
            };
            let (path, part) = (shown(&path), expected.part);
            return Err(BadInput(format!(
                "{path}:1: expected part {part} of the same run, found {found}"
            )));
        }
        (self.header, self.file, self.path, self.number) = (header, file, path, 1);
        Ok(())
    }

    fn wrong(&self, error: &serde_json::Error) -> BadInput {
        let column = error.column();
        BadInput(format!("{}:{column}: expected a line of a journal: {error}", self.location()))
    }
}

/// The part's number in its header; `None` without a whole header.
pub(super) fn header_part(path: &Path) -> Option<u32> {
    open_part(path).ok().map(|(_, header)| header.part)
}

/// Whether a part begins with a whole line; true if the file can't be read.
fn has_header(path: &Path) -> bool {
    let line = File::open(path).map(|file| read_line(&mut BufReader::new(file), path, 1));
    match line {
        Ok(Ok(line)) => line.is_some_and(|line| line.ends_with(b"\n")),
        Ok(Err(_)) => true,
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

/// Opens a part and reads its header.
fn open_part(path: &Path) -> Result<(BufReader<File>, Header), BadInput> {
    let file = File::open(path)
        .map_err(|error| BadInput(format!("{}: can't read it: {error}", shown(path))))?;
    let mut file = BufReader::with_capacity(1 << 16, file);
    let text = read_line(&mut file, path, 1)?.unwrap_or_default();
    fn expected(why: &str, path: &Path) -> BadInput {
        BadInput(format!("{}:1: expected the header of a journal: {why}", shown(path)))
    }
    let value: Value =
        serde_json::from_slice(&text).map_err(|error| expected(&error.to_string(), path))?;
    // A journal of another schema may lack the other fields.
    match value.get("schema").and_then(Value::as_u64) {
        Some(schema) if schema == u64::from(SCHEMA) => {}
        Some(schema) => {
            let by = match schema {
                1 => "a fairways that was built before 2026-11-25 reads it",
                _ => "a later fairways reads it",
            };
            return Err(expected(
                &format!("schema {SCHEMA} is known here, found {schema}: {by}"),
                path,
            ));
        }
        None => return Err(expected("it has no schema", path)),
    }
    let header =
        serde_json::from_value(value).map_err(|error| expected(&error.to_string(), path))?;
    Ok((file, header))
}

/// Reads a line with its newline, if it has one; `None` at the end of the file.
fn read_line(
    file: &mut BufReader<File>,
    path: &Path,
    number: usize,
) -> Result<Option<Vec<u8>>, BadInput> {
    let mut text = Vec::new();
    let read = file.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut text);
    read.map_err(|error| BadInput(format!("{}: can't read it: {error}", shown(path))))?;
    if text.len() as u64 > LONGEST_LINE {
        return Err(BadInput(format!(
            "{}:{number}: expected a line of at most {LONGEST_LINE} bytes",
            shown(path)
        )));
    }
    Ok((!text.is_empty()).then_some(text))
}
