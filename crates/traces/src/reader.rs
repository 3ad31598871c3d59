//! Reads a trace, whatever its format.

use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::champsim::Champsim;
use crate::drmemtrace::Drmemtrace;
use crate::error::{Result, TraceError};
use crate::format::TraceFormat;
use crate::gem5::Gem5;
use crate::lackey::Lackey;
use crate::options::TraceOptions;
use crate::unpack::unpack;

/// A part of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceItem {
    /// Instructions; the accesses of the last of them follow.
    Instructions(u32),
    /// A load of `bytes` bytes.
    Load {
        /// The first byte's address.
        address: u64,
        /// At least 1.
        bytes: u32,
    },
    /// A store of `bytes` bytes.
    Store {
        /// The first byte's address.
        address: u64,
        /// At least 1.
        bytes: u32,
    },
}

impl TraceItem {
    /// An access; tools write 0 bytes for accesses whose size they do not know.
    pub(crate) fn access(is_store: bool, address: u64, bytes: u32) -> Self {
        // Larger ones are saves of a processor's whole state, of less than 4 KB.
        let bytes = bytes.clamp(1, 4096);
        if is_store { Self::Store { address, bytes } } else { Self::Load { address, bytes } }
    }
}

/// Where a trace's bytes come from.
pub(crate) type Input = BufReader<Box<dyn Read + Send>>;

/// A format's reader.
pub(crate) trait Decode: Send {
    /// Appends what the next record has, which may be nothing; `false` at the end.
    fn next(&mut self, input: &mut Input, items: &mut Vec<TraceItem>) -> Result<bool>;
}

/// A trace that is read front to back.
pub struct TraceReader {
    path: PathBuf,
    format: TraceFormat,
    input: Input,
    decoder: Box<dyn Decode>,
    has_accesses: bool,
}

/// Bytes by which a format is recognised: many records of each.
const START: usize = 4096;

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
        let failed = |why| format!("cut off or damaged at its beginning: {why}");
        input.by_ref().take(START as u64).read_to_end(&mut start).map_err(failed)?;
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
        Ok(Self { path: path.to_owned(), format, input, decoder, has_accesses: false })
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
        let is_access = |item: &TraceItem| !matches!(item, TraceItem::Instructions(_));
        self.has_accesses = self.has_accesses || items[before..].iter().any(is_access);
        if !more && !self.has_accesses {
            return Err(TraceError::new(&self.path, "expected a trace that accesses memory"));
        }
        Ok(more)
    }
}

/// Fills a record. Returns `false` if there are no more bytes.
///
/// # Errors
/// If it is cut off; `number` is how many records were read before.
pub(crate) fn fill(input: &mut Input, record: &mut [u8], number: u64) -> Result<bool> {
    let mut filled = 0;
    while filled < record.len() {
        let here = input.fill_buf().map_err(|why| damaged(number, &why))?;
        if here.is_empty() {
            break;
        }
        let count = here.len().min(record.len() - filled);
        record[filled..filled + count].copy_from_slice(&here[..count]);
        input.consume(count);
        filled += count;
    }
    match filled {
        0 => Ok(false),
        _ if filled == record.len() => Ok(true),
        _ => Err(format!(
            "cut off: expected records of {} bytes, found one of {filled} after {number}",
            record.len()
        )),
    }
}

pub(crate) fn damaged(number: u64, why: &std::io::Error) -> String {
    format!("cut off or damaged after {number} records: {why}")
}
