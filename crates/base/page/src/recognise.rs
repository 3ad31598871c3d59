//! Recognises the kind of results in a file.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::{LARGEST_FILE, shown};
use fairways_record::blame::KnownLatency;
use serde_json::{Map, Value};

use super::journal;
use super::page::Section;

/// Makes sections of files: of journals, and of what a command knows besides.
#[derive(Clone, Copy, Debug)]
pub struct Recogniser {
    /// What files may be, for the error about one that is something else.
    pub expected: &'static str,
    /// The latencies of machines.
    pub latency: KnownLatency,
    /// The section of what is no journal, by the file's name and its content; `None` if it is
    /// something else.
    pub other: fn(&Path, &[u8]) -> Result<Option<Section>, BadInput>,
}

/// The path that means standard input.
const STANDARD: &str = "-";

/// The longest header of a journal.
const LONGEST_HEADER: u64 = 1 << 20;

impl Recogniser {
    /// The section of a file.
    pub(crate) fn section(&self, path: &Path) -> Result<Section, BadInput> {
        if path.as_os_str() == STANDARD {
            let name = Path::new("standard input");
            return self.read_from(std::io::stdin().lock(), name, None);
        }
        let file = match File::open(path) {
            Err(why) if why.kind() == ErrorKind::NotFound && has_parts(path) => {
                return journal::section(path, self.latency);
            }
            file => file,
        };
        let failed = |why| BadInput(format!("{}: can't read it: {why}", shown(path)));
        let file = file.map_err(failed)?;
        let is_plain = file.metadata().map_err(failed)?.is_file();
        self.read_from(file, path, is_plain.then_some(path))
    }

    /// Makes the section of what is read once; `place` is the file's path, beside which parts of a
    /// journal may stand.
    fn read_from(
        &self,
        from: impl Read,
        name: &Path,
        place: Option<&Path>,
    ) -> Result<Section, BadInput> {
        let file = shown(name);
        let mut from = BufReader::new(from).take(LARGEST_FILE + 1);
        let mut bytes = Vec::new();
        let failed = |why| BadInput(format!("{file}: can't read it: {why}"));
        from.read_until(b'\n', &mut bytes).map_err(failed)?;
        if is_header(&bytes) {
            let text = "expected a journal as a file, because its parts stand beside it";
            let path = place.ok_or_else(|| BadInput(format!("{file}: {text}")))?;
            return journal::section(path, self.latency);
        }
        if let Some(path) = place.filter(|path| !bytes.ends_with(b"\n") && has_parts(path)) {
            return journal::section(path, self.latency);
        }
        from.read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > LARGEST_FILE {
            return Err(BadInput(format!("{file}: expected at most {LARGEST_FILE} bytes")));
        }
        let section = (self.other)(name, &bytes)?;
        let section =
            section.ok_or_else(|| BadInput(format!("{file}: expected {}", self.expected)));
        Ok(Section { source: file, ..section? })
    }
}

/// Whether a first line is a journal's header.
fn is_header(line: &[u8]) -> bool {
    let value: Option<Map<String, Value>> = serde_json::from_slice(line).ok();
    value.is_some_and(|value| {
        ["part", "policy", "machine"].iter().all(|field| value.contains_key(*field))
    })
}

/// Whether finished parts of a journal stand beside the file: the newest part may have been cut
/// short in its header.
fn has_parts(path: &Path) -> bool {
    let first = fairways_record::journal::parts(path).find(|part| part.is_file());
    let file = first.and_then(|first| File::open(first).ok());
    file.is_some_and(|file| {
        let mut line = Vec::new();
        let read = BufReader::new(file).take(LONGEST_HEADER).read_until(b'\n', &mut line);
        read.is_ok() && is_header(&line)
    })
}
