//! Recorded streams, replayed.

use std::path::Path;
use std::sync::Arc;

use fairways_profiles::{
    RecordedStream, StreamBlockContent, StreamError, StreamEventKind, StreamManifest, StreamTotals,
};
use rand_pcg::Pcg64Mcg;

use super::access::{Access, AccessKind, BATCH, Generate, Supply};
use crate::error::ChipError;
use crate::geometry::LINE;
use crate::geometry::{CacheShape, Geometry};

/// What left the private caches of a program when it was recorded, again and again.
///
/// Loads and stores between the events, and hits of the second private cache, are spread over them
/// in proportion to their instructions.
#[derive(Clone, Debug)]
pub struct StreamReplay {
    manifest: Arc<StreamManifest>,
    accesses: Arc<[Access]>,
}

impl PartialEq for StreamReplay {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.accesses, &other.accesses)
    }
}

/// Events after which hits of the second private cache are accounted for.
const SPREAD: usize = 16;

impl StreamReplay {
    /// Reads a stream and unpacks it.
    ///
    /// # Errors
    /// If the file can't be read, is no stream, is cut off, or has changed since it was written.
    pub fn open(path: &Path) -> Result<Self, String> {
        let shown = path.display().to_string().replace(char::is_control, "?");
        let bytes = std::fs::read(path).map_err(|why| format!("{shown}: can't read it: {why}"))?;
        Self::read(&bytes, &shown).map_err(|why| why.to_string())
    }

    /// Reads a stream that is in memory; `file` is how errors name it.
    ///
    /// # Errors
    /// If it is no stream, is cut off, or has changed since it was written.
    pub fn read(bytes: &[u8], file: &str) -> Result<Self, StreamError> {
        let stream = RecordedStream::read(bytes, file)?;
        let mut accesses = Vec::new();
        if stream.manifest.blocks.iter().all(|block| block.instructions == 0) {
            return Err(stream.error("expected instructions, found none"));
        }
        let mut totals = StreamTotals::default();
        for place in 0..stream.manifest.blocks.len() {
            let block = stream.block(place)?;
            // Before the accesses between its events take memory.
            totals.add(&block);
            if totals.references > stream.manifest.totals.references {
                break;
            }
            append(&block, &mut accesses);
        }
        stream.check_totals(&totals)?;
        Ok(Self { manifest: Arc::new(stream.manifest), accesses: accesses.into() })
    }

    /// What the stream says about itself.
    #[must_use]
    pub fn manifest(&self) -> &StreamManifest {
        &self.manifest
    }

    /// Checks that a chip has the private caches that the stream left.
    ///
    /// # Errors
    /// If it has others.
    pub fn check(&self, chip: &Geometry) -> Result<(), ChipError> {
        let (recorded, found) = (&self.manifest.private, private_caches(chip));
        if *recorded == found {
            return Ok(());
        }
        let program = self.manifest.program.clone();
        Err(ChipError::Stream { program, recorded: in_words(recorded), found: in_words(&found) })
    }

    pub(super) fn source(&self) -> StreamReplaySource {
        StreamReplaySource { accesses: Arc::clone(&self.accesses), next: 0 }
    }
}

/// The private caches of a chip, as the manifest of a stream has them.
#[must_use]
pub fn private_caches(chip: &Geometry) -> Vec<[u32; 2]> {
    let caches = [Some(chip.l1), chip.l2].into_iter().flatten();
    caches.map(|shape: CacheShape| [shape.sets, shape.ways]).collect()
}

/// `32 KB (8 ways), 1024 KB (16 ways)`.
fn in_words(caches: &[[u32; 2]]) -> String {
    let words = caches.iter().map(|&[sets, ways]| {
        let bytes = u128::from(LINE) * u128::from(sets) * u128::from(ways);
        format!("{} KB ({ways} ways)", bytes / 1024)
    });
    words.collect::<Vec<String>>().join(", ")
}

/// The part of a total that has come up after `done` of `all` instructions.
fn share(total: u64, done: u64, all: u64) -> u64 {
    let part = u128::from(total) * u128::from(done);
    u64::try_from(part.checked_div(u128::from(all)).unwrap_or(0)).unwrap_or(total)
}

fn append(block: &StreamBlockContent, accesses: &mut Vec<Access>) {
    let StreamBlockContent { events, references, l2_hits } = block;
    let all: u64 = events.iter().map(|event| u64::from(event.instructions)).sum();
    let (mut done, mut counted, mut hit) = (0, 0, 0);
    for (place, event) in (1..).zip(events) {
        let is_last = place == events.len();
        done += u64::from(event.instructions);
        let until = if is_last { *references } else { share(*references, done, all) };
        let mut left = until - counted;
        counted = until;
        while left > u64::from(u16::MAX) {
            push(accesses, 0, 0, u16::MAX, AccessKind::None);
            left -= u64::from(u16::MAX);
        }
        let kind = match event.kind {
            StreamEventKind::Load | StreamEventKind::Store => AccessKind::Missed,
            StreamEventKind::WriteBack => AccessKind::WriteBack,
            StreamEventKind::Gap => AccessKind::None,
        };
        let references = u16::try_from(left).unwrap_or(u16::MAX);
        push(accesses, event.line, event.instructions, references, kind);
        if is_last || place % SPREAD == 0 {
            let until = if is_last { *l2_hits } else { share(*l2_hits, done, all) };
            let hits = u32::try_from(until - hit).unwrap_or(u32::MAX);
            hit = until;
            if hits > 0 {
                push(accesses, hits, 0, 0, AccessKind::HitL2);
            }
        }
    }
}

fn push(
    accesses: &mut Vec<Access>,
    line: u32,
    instructions: u32,
    references: u16,
    kind: AccessKind,
) {
    accesses.push(Access { line, instructions, references, kind });
}

#[derive(Clone, Debug)]
pub(super) struct StreamReplaySource {
    accesses: Arc<[Access]>,
    next: usize,
}

impl Generate for StreamReplaySource {
    fn generate(&mut self, _: &mut Pcg64Mcg, accesses: &mut Vec<Access>) -> Supply {
        let end = (self.next + BATCH).min(self.accesses.len());
        accesses.extend_from_slice(&self.accesses[self.next..end]);
        self.next = if end < self.accesses.len() { end } else { 0 };
        Supply::More
    }
}
