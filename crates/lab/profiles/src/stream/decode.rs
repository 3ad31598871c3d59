//! Reading a stream.

use std::io::Read;

use lzma_rust2::XzReader;
use sha2::{Digest, Sha256};

use super::numbers::{line_after, take};
use super::{
    MAGIC, MOST_EVENTS, MOST_REFERENCES, MOST_STREAM_EVENTS, MOST_STREAM_LINES, StreamBlock,
    StreamError, StreamEvent, StreamEventKind, StreamManifest, StreamTotals,
};
use crate::measured_run::hexadecimal;

/// A stream as read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedStream {
    /// What it says about itself.
    pub manifest: StreamManifest,
    body: Vec<u8>,
    /// Where each block begins in the body.
    starts: Vec<usize>,
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
    /// If it is no stream, is cut off, or has changed since it was written; if its manifest says
    /// what cannot be, or does not fit the blocks that it lists.
    pub fn read(bytes: &[u8], file: &str) -> Result<Self, StreamError> {
        let Some((first, rest)) = line(bytes).filter(|(first, _)| first.starts_with(MAGIC)) else {
            return Err(StreamError::new(file, "expected a stream that fairways-lab record wrote"));
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
        check_manifest(&manifest)
            .map_err(|why| StreamError::new(file, &format!("its manifest: {why}")))?;
        let (mut starts, mut bytes) = (Vec::with_capacity(manifest.blocks.len()), 0);
        for block in &manifest.blocks {
            starts.push(bytes);
            bytes += block.bytes as usize;
        }
        if bytes != body.len() {
            return Err(StreamError::new(
                file,
                &format!("expected {bytes} bytes of blocks, found {}", body.len()),
            ));
        }
        Ok(Self { manifest, body: body.to_vec(), starts, file: file.to_owned() })
    }

    /// Checks the totals that all blocks have against those of the manifest.
    ///
    /// # Errors
    /// If they differ.
    pub fn check_totals(&self, found: &StreamTotals) -> Result<(), StreamError> {
        let expected = &self.manifest.totals;
        let pairs = [
            ("instructions", expected.instructions, found.instructions),
            ("loads and stores", expected.references, found.references),
            ("hits of the second cache", expected.l2_hits, found.l2_hits),
            ("loads that missed", expected.loads, found.loads),
            ("stores that missed", expected.stores, found.stores),
            ("write-backs", expected.write_backs, found.write_backs),
        ];
        match pairs.into_iter().find(|(_, expected, found)| expected != found) {
            Some((what, expected, found)) => {
                Err(self.error(&format!("expected {expected} {what} in all blocks, found {found}")))
            }
            None => Ok(()),
        }
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
        let from = self.starts[place];
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

/// Numbers of a manifest that what reads a stream goes by: they are possible, and fit each other.
fn check_manifest(manifest: &StreamManifest) -> Result<(), String> {
    let StreamManifest { run, private, cpi, overlap, overlap_estimate, totals, blocks, .. } =
        manifest;
    if !matches!(private.len(), 1 | 2) || private.iter().flatten().any(|&number| number == 0) {
        return Err("expected sets and ways of one or two private caches".to_owned());
    }
    // `fairways-lab record` estimates at most as many misses as it counts instructions.
    for (name, number, range) in [
        ("cpi", cpi, 0.05..=1000.0),
        ("overlap", overlap, 1.0..=64.0),
        ("overlap_estimate", overlap_estimate, 0.0..=1e6),
    ] {
        if !range.contains(number) {
            let (least, most) = (range.start(), range.end());
            return Err(format!("expected {name} from {least} to {most}, found {number}"));
        }
    }
    let (mut instructions, mut events, mut slice) = (0_u64, 0_u64, 0);
    for (place, block) in blocks.iter().enumerate() {
        if block.events == 0 || block.slice < slice {
            return Err(format!("expected block {place} to have events, of slices in their order"));
        }
        slice = block.slice;
        instructions = instructions.saturating_add(block.instructions);
        events += u64::from(block.events);
    }
    if events > MOST_STREAM_EVENTS || totals.references > MOST_REFERENCES {
        return Err(format!(
            "expected at most {MOST_STREAM_EVENTS} events, and {MOST_REFERENCES} loads and stores, \
             found {events} and {}",
            totals.references
        ));
    }
    if totals.instructions != instructions || run.instructions != instructions {
        return Err(format!(
            "expected the {instructions} instructions of its blocks as their total and as the \
             run's, found {} and {}",
            totals.instructions, run.instructions
        ));
    }
    let missed = [totals.loads, totals.stores, totals.write_backs];
    let missed = missed.into_iter().try_fold(0, u64::checked_add);
    if missed.is_none_or(|missed| missed > events) {
        return Err(format!(
            "expected at most the {events} events of its blocks as the total of loads, stores and \
             write-backs, found more"
        ));
    }
    Ok(())
}

/// The most bytes of an event, and of the numbers before them.
const MOST_BYTES: u64 = 20;

/// Where a block that the writer packed says how large its dictionary is, after the header of xz
/// (12 bytes), the block's size and flags, and the filter's number and length; and the code of
/// 8 MB (The .xz File Format, 3.1 and 5.3.1).
const DICTIONARY: usize = 16;
const MOST_DICTIONARY: u8 = 22;

fn unpack(packed: &[u8], block: StreamBlock) -> Option<StreamBlockContent> {
    let events = block.events as usize;
    if events > MOST_EVENTS {
        return None;
    }
    // The dictionary is allocated before anything is unpacked: it is the writer's (its strength).
    if packed.get(DICTIONARY).is_none_or(|&exponent| exponent > MOST_DICTIONARY) {
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
