//! Reads a trace, whatever its format.

use std::fmt;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use super::champsim::Champsim;
use super::drmemtrace::Drmemtrace;
use super::error::{Result, TraceError};
use super::format::TraceFormat;
use super::gem5::Gem5;
use super::lackey::Lackey;
use super::options::TraceOptions;
use super::record::{Decode, Input, TraceItem};
use super::unpack::unpack;

/// A trace that is read front to back.
pub struct TraceReader {
    path: PathBuf,
    format: TraceFormat,
    input: Input,
    decoder: Box<dyn Decode>,
    has_accesses: bool,
    /// Instructions so far, and lines that they accessed.
    instructions: u64,
    lines: u64,
}

/// Bytes by which a format is recognised: many records of each.
const START: usize = 4096;

/// Lines that an instruction accesses on average, at most, beside some millions that a string
/// instruction may: a trace of more is damaged, and would fill memory.
const MOST_LINES: u64 = 8;
const MORE_LINES: u64 = 1 << 24;

/// Instructions before the first access, at most: a program without one is none.
const MOST_WITHOUT_ACCESS: u64 = 1 << 24;

/// Bytes that are read at once, more than any record has.
const BUFFER: usize = 1 << 16;

impl fmt::Debug for TraceReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, format, .. } = self;
        formatter.debug_struct("TraceReader").field("path", path).field("format", format).finish()
    }
}

impl TraceReader {
    /// Opens a trace, and finds out which format it has.
    ///
    /// # Errors
    /// If it can't be read, is no trace, or needs an option that is missing.
    pub fn open(path: &Path, options: &TraceOptions) -> std::result::Result<Self, TraceError> {
        Self::try_open(path, options).map_err(|what| TraceError::new(path, &what))
    }

    fn try_open(path: &Path, options: &TraceOptions) -> Result<Self> {
        // What is recognised stays to be read.
        let mut input = unpack(path)?;
        let mut start = Vec::with_capacity(START);
        let read = input.by_ref().take(START as u64).read_to_end(&mut start);
        read.map_err(|why| format!("cut off or damaged at its beginning: {why}"))?;
        if start.is_empty() {
            return Err("expected a trace, found an empty file".to_owned());
        }
        let format = options.format.or_else(|| TraceFormat::of(&start)).ok_or_else(|| {
            "expected a trace of ChampSim, valgrind's lackey, gem5 or DynamoRIO's drmemtrace"
                .to_owned()
        })?;
        if options.instructions_per_access.is_some() && format != TraceFormat::Gem5 {
            return Err(format!(
                "a trace of {format} counts its instructions: expected no instructions_per_access"
            ));
        }
        let decoder: Box<dyn Decode> = match format {
            TraceFormat::Champsim => Box::new(Champsim::default()),
            TraceFormat::Lackey => Box::new(Lackey::default()),
            TraceFormat::Gem5 => Box::new(Gem5::new(options.instructions_per_access)?),
            TraceFormat::Drmemtrace => Box::new(Drmemtrace::default()),
        };
        let whole: Box<dyn Read + Send> = Box::new(std::io::Cursor::new(start).chain(input));
        let input = BufReader::with_capacity(BUFFER, whole);
        Ok(Self {
            path: path.to_owned(),
            format,
            input,
            decoder,
            has_accesses: false,
            instructions: 0,
            lines: 0,
        })
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> TraceFormat {
        self.format
    }

    /// Appends the items of at least one record; `false` at the end.
    ///
    /// # Errors
    /// If the trace was cut off or damaged, or has no access at all.
    pub fn read(&mut self, items: &mut Vec<TraceItem>) -> std::result::Result<bool, TraceError> {
        let before = items.len();
        let more = self.decoder.next(&mut self.input, items);
        let more = more.map_err(|what| TraceError::new(&self.path, &what))?;
        for item in &items[before..] {
            match *item {
                TraceItem::Instructions(count) => self.instructions += u64::from(count),
                TraceItem::Load { bytes, .. } | TraceItem::Store { bytes, .. } => {
                    self.has_accesses = true;
                    self.lines += 1 + u64::from(bytes / 64);
                }
            }
        }
        if self.lines > self.instructions.saturating_mul(MOST_LINES).saturating_add(MORE_LINES) {
            let found = format!(
                "expected at most {MOST_LINES} accesses for each instruction, found {} for {}",
                self.lines, self.instructions
            );
            return Err(TraceError::new(&self.path, &found));
        }
        if !self.has_accesses && (!more || self.instructions > MOST_WITHOUT_ACCESS) {
            let found = format!(
                "expected a trace that accesses memory, found {} instructions that do not",
                self.instructions
            );
            return Err(TraceError::new(&self.path, &found));
        }
        Ok(more)
    }
}
