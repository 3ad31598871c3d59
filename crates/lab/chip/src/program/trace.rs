//! Traces that other tools wrote, as programs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::traces::{TraceError, TraceFormat, TraceItem, TraceOptions, TraceReader};
use rand_pcg::Pcg64Mcg;

use super::access::{Access, AccessKind, BATCH, Generate, Supply};
use super::numbering::Numbering;

/// The data accesses of a recorded program, in memory, again and again.
///
/// Pages are numbered in the order in which they are first touched.
#[derive(Clone, Debug)]
pub struct Trace {
    accesses: Arc<[Access]>,
    instructions: u64,
}

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.accesses, &other.accesses)
    }
}

impl Trace {
    /// The first `most` instructions of a file.
    ///
    /// # Errors
    /// If it can't be read, is cut off, or is not a trace: [`TraceError`].
    pub fn open(path: &Path, most: u64, options: &TraceOptions) -> Result<Self, TraceError> {
        let mut reader = TraceReader::open(path, options)?;
        let (mut items, mut accesses) = (Vec::new(), Vec::new());
        let mut converter = Converter::new(Numbering::by_first_touch());
        loop {
            let more = reader.read(&mut items)?;
            let is_enough = converter.instructions >= most
                && matches!(items.first(), Some(TraceItem::Instructions(_)));
            if is_enough || !more {
                break;
            }
            items.drain(..).for_each(|item| converter.convert(item, &mut accesses));
        }
        converter.end(&mut accesses);
        Ok(Self { accesses: accesses.into(), instructions: converter.instructions })
    }

    /// The number of its instructions.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    pub(super) fn source(&self) -> TraceSource {
        TraceSource { accesses: Arc::clone(&self.accesses), next: 0 }
    }
}

/// Makes accesses to lines of what a trace has.
struct Converter {
    numbering: Numbering,
    instructions: u64,
    /// Instructions since the access before.
    since: u32,
}

/// Bytes of a line, as a power of two.
const LINE: u32 = 6;

/// The line of an address; addresses have 48 bits, the kernel's half among them.
const fn line_of(address: u64) -> u64 {
    (address & ((1 << 48) - 1)) >> LINE
}

impl Converter {
    fn new(numbering: Numbering) -> Self {
        Self { numbering, instructions: 0, since: 0 }
    }

    fn convert(&mut self, item: TraceItem, accesses: &mut Vec<Access>) {
        let (address, bytes, kind) = match item {
            TraceItem::Instructions(count) => {
                self.instructions += u64::from(count);
                self.since = self.since.saturating_add(count);
                return;
            }
            TraceItem::Load { address, bytes } => (address, bytes, AccessKind::Load),
            TraceItem::Store { address, bytes } => (address, bytes, AccessKind::Store),
        };
        let last = address.saturating_add(u64::from(bytes) - 1);
        // An access is one reference, however many lines it uses.
        let mut references = 1;
        for line in line_of(address)..=line_of(last) {
            let (line, instructions) = (self.numbering.line(0, line), self.since);
            accesses.push(Access { line, instructions, references, kind });
            (self.since, references) = (0, 0);
        }
    }

    /// The instructions after the last access.
    fn end(&mut self, accesses: &mut Vec<Access>) {
        let instructions = std::mem::take(&mut self.since);
        if instructions > 0 {
            let kind = AccessKind::None;
            accesses.push(Access { line: 0, instructions, references: 0, kind });
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct TraceSource {
    accesses: Arc<[Access]>,
    next: usize,
}

impl Generate for TraceSource {
    fn generate(&mut self, _: &mut Pcg64Mcg, accesses: &mut Vec<Access>) -> Supply {
        let end = (self.next + BATCH).min(self.accesses.len());
        accesses.extend_from_slice(&self.accesses[self.next..end]);
        self.next = if end < self.accesses.len() { end } else { 0 };
        Supply::More
    }
}

/// The data accesses of a recorded program, read once from a file, which may be a pipe.
#[derive(Debug)]
pub struct TraceFile {
    path: PathBuf,
    options: TraceOptions,
    /// Whether virtual addresses give the lines; otherwise pages are numbered as they are first
    /// touched.
    by_address: bool,
    format: TraceFormat,
    /// What was opened to look at it, until it is read.
    opened: Mutex<Option<TraceReader>>,
}

impl PartialEq for TraceFile {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl TraceFile {
    /// Opens a trace and finds out which format it has.
    ///
    /// # Errors
    /// If it can't be read, or is not a trace: [`TraceError`].
    pub fn open(path: &Path, options: TraceOptions, by_address: bool) -> Result<Self, TraceError> {
        let reader = TraceReader::open(path, &options)?;
        let (path, format) = (path.to_owned(), reader.format());
        Ok(Self { path, options, by_address, format, opened: Mutex::new(Some(reader)) })
    }

    /// Its format.
    #[must_use]
    pub fn format(&self) -> TraceFormat {
        self.format
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn source(&self) -> TraceFileSource {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).take();
        let reader = opened.map_or_else(|| TraceReader::open(&self.path, &self.options), Ok);
        let numbering = match self.by_address {
            true => Numbering::ByAddress,
            false => Numbering::by_first_touch(),
        };
        TraceFileSource { reader, converter: Converter::new(numbering), items: Vec::new() }
    }
}

pub(super) struct TraceFileSource {
    reader: Result<TraceReader, TraceError>,
    converter: Converter,
    items: Vec<TraceItem>,
}

impl Generate for TraceFileSource {
    fn generate(&mut self, _: &mut Pcg64Mcg, accesses: &mut Vec<Access>) -> Supply {
        let reader = match &mut self.reader {
            Ok(reader) => reader,
            Err(why) => return Supply::Failed(why.to_string()),
        };
        let before = accesses.len();
        while accesses.len() < before + BATCH {
            match reader.read(&mut self.items) {
                Ok(true) => {}
                Ok(false) if accesses.len() == before && self.converter.since == 0 => {
                    return Supply::Ended;
                }
                Ok(false) => {
                    self.converter.end(accesses);
                    return Supply::More;
                }
                Err(why) => return Supply::Failed(why.to_string()),
            }
            for item in self.items.drain(..) {
                self.converter.convert(item, accesses);
            }
        }
        Supply::More
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rand_core::SeedableRng;

    use super::*;

    fn open(bytes: &[u8], most: u64) -> Result<Trace, TraceError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        Trace::open(file.path(), most, &TraceOptions::default())
    }

    const TEXT: &[u8] = b"I  400000,4\nI  400004,4\n L 7fff00001040,8\nI  400008,4\n M 555500002000,4\n S 7fff00001ffc,8\nI  40000c,1\n";

    #[test]
    fn accesses_are_to_lines_of_pages_by_first_touch() {
        let trace = open(TEXT, 100).unwrap();
        assert_eq!(trace.instructions(), 4);
        let mut accesses = Vec::new();
        let _ = trace.source().generate(&mut Pcg64Mcg::seed_from_u64(1), &mut accesses);
        let found: Vec<(u32, u32, u16, AccessKind)> =
            accesses.iter().map(|a| (a.line, a.instructions, a.references, a.kind)).collect();
        let expected = [
            (1, 2, 1, AccessKind::Load),
            (64, 1, 1, AccessKind::Load),
            (64, 0, 1, AccessKind::Store),
            // It reaches into the next page.
            (63, 0, 1, AccessKind::Store),
            (128, 0, 0, AccessKind::Store),
            (0, 1, 0, AccessKind::None),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn as_many_instructions_are_read_as_requested_with_their_accesses() {
        for (most, accesses) in [(1, 1), (2, 1), (3, 5), (4, 6)] {
            let trace = open(TEXT, most).unwrap();
            assert_eq!((trace.instructions(), trace.accesses.len()), (most, accesses), "{most}");
        }
    }

    #[test]
    fn a_file_is_read_once_and_is_the_same_as_in_memory() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(TEXT).unwrap();
        let read = TraceFile::open(file.path(), TraceOptions::default(), false).unwrap();
        let random = &mut Pcg64Mcg::seed_from_u64(1);
        for _ in 0..2 {
            let (mut source, mut accesses) = (read.source(), Vec::new());
            while source.generate(random, &mut accesses) == Supply::More {}
            assert_eq!(accesses[..], open(TEXT, 100).unwrap().accesses[..]);
        }
        file.write_all(b"I  400").unwrap();
        let (mut source, mut accesses) = (read.source(), Vec::new());
        let Supply::Failed(why) = source.generate(random, &mut accesses) else { panic!() };
        assert!(why.ends_with("cut off: line 8 has no end"), "{why}");
    }
}
