//! Streams: what leaves the private caches of a core while a program runs.
//!
//! A stream is a text and a body. The first line of the text is `fairways-stream 1` and the SHA-256
//! of everything that follows it; the second is a [`StreamManifest`] in JSON. The body is the
//! manifest's blocks, one after the other. Each block is compressed by itself (xz), so that a
//! reader can begin at any of them.
//!
//! A block has the numbers of its events, of the loads and stores that the program made meanwhile,
//! of the second private cache's hits, and of the bytes of the first column; then two columns. The
//! first has for each event its instructions and its kind, the second the difference of its line
//! from the line of the event before: of the write-back before for write-backs, which mostly follow
//! an order of their own. All numbers are LEB128, differences after zigzag.

mod decode;
mod encode;
mod numbers;
mod overlap;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::measured_run::MeasuredRun;

pub use decode::{RecordedStream, StreamBlockContent};
pub use encode::StreamWriter;
pub use overlap::OverlapEstimate;

/// The lines that a stream can have: as many as a program of the simulated chip.
pub const MOST_STREAM_LINES: u32 = 1 << 25;

/// An event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamEvent {
    /// Instructions from the event before up to this one.
    pub instructions: u32,
    /// The line, counted from the program's first in pages by first touch; below
    /// [`MOST_STREAM_LINES`].
    pub line: u32,
    /// Its kind.
    pub kind: StreamEventKind,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEventKind {
    /// A load that missed the private caches.
    Load,
    /// A store that missed them: the line is fetched.
    Store,
    /// A changed line that leaves them.
    WriteBack,
    /// None: instructions at the end of a slice.
    Gap,
}

/// The part of a stream that is read at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamBlock {
    /// Bytes in the body.
    pub bytes: u32,
    /// Events.
    pub events: u32,
    /// Instructions.
    pub instructions: u64,
    /// The slice that it belongs to, from 0.
    pub slice: u32,
}

/// What a stream says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamManifest {
    /// The program's name.
    pub program: String,
    /// The run that was recorded.
    pub run: MeasuredRun,
    /// Sets and ways of the private caches, the first one first. Lines have 64 bytes.
    pub private: Vec<[u32; 2]>,
    /// Cycles per instruction while everything hits the first private cache.
    pub cpi: f64,
    /// Misses that are served at the same time, as a replay assumes.
    pub overlap: f64,
    /// An estimate of these: see [`OverlapEstimate`](crate::OverlapEstimate).
    pub overlap_estimate: f64,
    /// Totals.
    pub totals: StreamTotals,
    /// The blocks of the body.
    pub blocks: Vec<StreamBlock>,
}

/// Totals of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamTotals {
    /// Instructions.
    pub instructions: u64,
    /// Loads and stores of the program.
    pub references: u64,
    /// Those that missed the first private cache and hit the second.
    pub l2_hits: u64,
    /// Loads that missed the private caches.
    pub loads: u64,
    /// Stores that missed them.
    pub stores: u64,
    /// Changed lines that left them.
    pub write_backs: u64,
}

impl StreamTotals {
    /// Adds a block.
    pub fn add(&mut self, block: &StreamBlockContent) {
        for event in &block.events {
            self.instructions += u64::from(event.instructions);
            match event.kind {
                StreamEventKind::Load => self.loads += 1,
                StreamEventKind::Store => self.stores += 1,
                StreamEventKind::WriteBack => self.write_backs += 1,
                StreamEventKind::Gap => {}
            }
        }
        self.references = self.references.saturating_add(block.references);
        self.l2_hits = self.l2_hits.saturating_add(block.l2_hits);
    }
}

/// A file that is no stream, or not the one that was written.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}: {what}")]
pub struct StreamError {
    file: String,
    what: String,
}

impl StreamError {
    fn new(file: &str, what: &str) -> Self {
        Self { file: file.to_owned(), what: what.to_owned() }
    }
}

/// The first words of a stream.
const MAGIC: &str = "fairways-stream 1 ";

/// The most loads and stores of a stream, which those between events take memory by, and the most
/// events, which take it each.
const MOST_REFERENCES: u64 = 1 << 40;
const MOST_STREAM_EVENTS: u64 = 1 << 28;

/// The most events of a block.
const MOST_EVENTS: usize = 1 << 18;
