//! Reading a stream.

use std::io::Read;

use lzma_rust2::XzReader;
use sha2::{Digest, Sha256};

use super::numbers::{line_after, take};
use super::{
    MAGIC, MOST_EVENTS, MOST_STREAM_LINES, StreamBlock, StreamError, StreamEvent, StreamEventKind,
    StreamManifest,
};
use crate::measured_run::hexadecimal;

/// A stream as read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedStream {
    /// What it says about itself.
    pub manifest: StreamManifest,
    body: Vec<u8>,
    file: String,
}

/// The content of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamBlockContent {
    /// The events.
    pub events: Vec<StreamEvent>,
    /// Loads and stores of the program meanwhile.
    pub references: u64,
    /// Hits of the second private cache among them.
    pub l2_hits: u64,
}

impl RecordedStream {
    /// Reads a stream; `file` is how errors name it. Its blocks are not unpacked yet.
    ///
    /// # Errors
    /// If it is no stream, is cut off, or has changed since it was written.
    pub fn read(bytes: &[u8], file: &str) -> Result<Self, StreamError> {
        let Some((first, rest)) = line(bytes).filter(|(first, _)| first.starts_with(MAGIC)) else {
            return Err(StreamError::new(file, "expected a stream that fairways record wrote"));
        };
        if first[MAGIC.len()..] != hexadecimal(&Sha256::digest(rest)) {
            return Err(StreamError::new(
                file,
                "expected the stream as it was written, found it cut or altered",
            ));
        }
        let (text, body) =
            line(rest).ok_or_else(|| StreamError::new(file, "expected a manifest"))?;
        let manifest: StreamManifest = serde_json::from_str(text)
            .map_err(|why| StreamError::new(file, &format!("its manifest: {why}")))?;
        let bytes: u64 = manifest.blocks.iter().map(|block| u64::from(block.bytes)).sum();
        if bytes != body.len() as u64 {
            return Err(StreamError::new(
                file,
                &format!("expected {bytes} bytes of blocks, found {}", body.len()),
            ));
        }
        Ok(Self { manifest, body: body.to_vec(), file: file.to_owned() })
    }

    /// An error of this file.
    #[must_use]
    pub fn error(&self, what: &str) -> StreamError {
        StreamError::new(&self.file, what)
    }

    /// Unpacks a block, by its place in the manifest.
    ///
    /// # Errors
    /// If it is not what the manifest says.
    pub fn block(&self, place: usize) -> Result<StreamBlockContent, StreamError> {
        let block = self.manifest.blocks.get(place).ok_or_else(|| self.other_block(place))?;
        let before = self.manifest.blocks[..place].iter();
        let from: usize = before.map(|block| block.bytes as usize).sum();
        let body = &self.body[from..from + block.bytes as usize];
        unpack(body, *block).ok_or_else(|| self.other_block(place))
    }

    fn other_block(&self, place: usize) -> StreamError {
        self.error(&format!("expected block {place} as its manifest says, found another"))
    }
}

/// The first line of a text, without its end, and the rest.
fn line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    Some((str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}

/// The most bytes of an event, and of the numbers before them.
const MOST_BYTES: u64 = 20;

fn unpack(packed: &[u8], block: StreamBlock) -> Option<StreamBlockContent> {
    let events = block.events as usize;
    if events > MOST_EVENTS {
        return None;
    }
    let most = MOST_BYTES * (u64::from(block.events) + 2);
    let mut bytes = Vec::new();
    XzReader::new(packed, false).take(most + 1).read_to_end(&mut bytes).ok()?;
    let mut rest = &bytes[..];
    if take(&mut rest)? != u64::from(block.events) {
        return None;
    }
    let (references, l2_hits, split) = (take(&mut rest)?, take(&mut rest)?, take(&mut rest)?);
    let (mut first, mut second) = rest.split_at_checked(usize::try_from(split).ok()?)?;
    let (mut fetched, mut written) = (0, 0);
    let mut all = Vec::with_capacity(events);
    let mut instructions = 0;
    for _ in 0..events {
        let number = take(&mut first)?;
        let (kind, before) = match number & 3 {
            0 => (StreamEventKind::Load, &mut fetched),
            1 => (StreamEventKind::Store, &mut fetched),
            2 => (StreamEventKind::WriteBack, &mut written),
            _ => (StreamEventKind::Gap, &mut 0),
        };
        if kind != StreamEventKind::Gap {
            *before = line_after(*before, take(&mut second)?)?;
        }
        let (line, gap) = (*before, u32::try_from(number >> 2).ok()?);
        if line >= MOST_STREAM_LINES {
            return None;
        }
        instructions += u64::from(gap);
        all.push(StreamEvent { instructions: gap, line, kind });
    }
    let is_whole = first.is_empty() && second.is_empty() && instructions == block.instructions;
    is_whole.then_some(StreamBlockContent { events: all, references, l2_hits })
}
