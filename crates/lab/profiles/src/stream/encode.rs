//! Writing a stream.

use std::io::Write;

use lzma_rust2::{XzOptions, XzWriter};
use sha2::{Digest, Sha256};

use super::numbers::{difference, put};
use super::{
    MAGIC, MOST_EVENTS, StreamBlock, StreamEvent, StreamEventKind, StreamManifest, StreamTotals,
};
use crate::measured_run::{MeasuredRun, hexadecimal};

/// The strength of the compression, of 9: stronger ones gain little on columns of this size.
const STRENGTH: u32 = 6;

/// A stream that is being written, in memory.
#[derive(Debug, Default)]
pub struct StreamWriter {
    body: Vec<u8>,
    blocks: Vec<StreamBlock>,
    totals: StreamTotals,
    /// The block under way.
    events: Vec<StreamEvent>,
    slice: u32,
    references: u64,
    l2_hits: u64,
}

impl StreamWriter {
    /// An event of a slice, counted from 0, with the loads and stores and the hits of the second
    /// private cache since the event before.
    pub fn push(&mut self, slice: u32, event: StreamEvent, references: u64, l2_hits: u64) {
        if self.events.len() == MOST_EVENTS || slice != self.slice {
            self.end_block();
            self.slice = slice;
        }
        self.events.push(event);
        self.references += references;
        self.l2_hits += l2_hits;
    }

    fn end_block(&mut self) {
        if self.events.is_empty() {
            return;
        }
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let (mut fetched, mut written) = (0, 0);
        let mut block = StreamBlock { slice: self.slice, ..StreamBlock::default() };
        for event in &self.events {
            let totals = &mut self.totals;
            let (kind, before, count) = match event.kind {
                StreamEventKind::Load => (0, &mut fetched, Some(&mut totals.loads)),
                StreamEventKind::Store => (1, &mut fetched, Some(&mut totals.stores)),
                StreamEventKind::WriteBack => (2, &mut written, Some(&mut totals.write_backs)),
                StreamEventKind::Gap => (3, &mut written, None),
            };
            put(&mut first, u64::from(event.instructions) << 2 | kind);
            if let Some(count) = count {
                *count += 1;
                put(&mut second, difference(event.line, *before));
                *before = event.line;
            }
            block.instructions += u64::from(event.instructions);
        }
        self.totals.instructions += block.instructions;
        self.totals.references += self.references;
        self.totals.l2_hits += self.l2_hits;
        let mut whole = Vec::new();
        for number in [self.events.len() as u64, self.references, self.l2_hits, first.len() as u64]
        {
            put(&mut whole, number);
        }
        whole.extend([first, second].concat());
        let packed = pack(&whole);
        block.events = u32::try_from(self.events.len()).unwrap_or(u32::MAX);
        block.bytes = u32::try_from(packed.len()).unwrap_or(u32::MAX);
        self.body.extend(packed);
        self.blocks.push(block);
        self.events.clear();
        (self.references, self.l2_hits) = (0, 0);
    }

    /// The file, and its manifest, which gets the totals and the blocks.
    ///
    /// # Panics
    /// If the manifest has numbers that are infinite or none.
    #[must_use]
    pub fn finish(mut self, manifest: StreamManifest) -> (Vec<u8>, StreamManifest) {
        self.end_block();
        let instructions = self.totals.instructions;
        let manifest = StreamManifest { totals: self.totals, blocks: self.blocks, ..manifest };
        let run = MeasuredRun { instructions, ..manifest.run };
        let manifest = StreamManifest { run, ..manifest };
        let mut rest = serde_json::to_vec(&manifest).expect("finite numbers");
        rest.push(b'\n');
        rest.extend(self.body);
        let mut file = format!("{MAGIC}{}\n", hexadecimal(&Sha256::digest(&rest))).into_bytes();
        file.extend(rest);
        (file, manifest)
    }
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packed =
        XzWriter::new(Vec::new(), XzOptions::with_preset(STRENGTH)).expect("the options are valid");
    packed.write_all(bytes).expect("memory takes everything");
    packed.finish().expect("memory takes everything")
}
