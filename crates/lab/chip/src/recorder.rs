//! Records what leaves the private caches while a program runs.

use fairways_profiles::{
    OverlapEstimate, StreamEvent, StreamEventKind, StreamManifest, StreamWriter,
};

use crate::geometry::GeometryError;
use crate::private_side::{PrivateCounts, PrivateSide};
use crate::program::{SimulatedProgram, Supply};
use crate::settings::Settings;
use crate::slices::Slices;

/// A program that is recorded.
pub struct Recorder {
    side: PrivateSide,
    slices: Slices,
    events: EventLog,
}

/// The events up to now.
#[derive(Default)]
struct EventLog {
    writer: StreamWriter,
    overlap: OverlapEstimate,
    /// The counts of the last event, and its slice.
    before: PrivateCounts,
    slice: u32,
}

/// The most instructions of an event.
const MOST: u32 = 1 << 30;

impl EventLog {
    fn push(&mut self, slice: u32, counts: &PrivateCounts, line: u32, kind: StreamEventKind) {
        let before = std::mem::replace(&mut self.before, *counts);
        let mut left = counts.account.instructions - before.account.instructions;
        while let Some(less) = left.checked_sub(MOST.into()) {
            let gap = StreamEvent { instructions: MOST, line: 0, kind: StreamEventKind::Gap };
            self.writer.push(slice, gap, 0, 0);
            left = less;
        }
        let instructions = u32::try_from(left).unwrap_or(MOST);
        let references = counts.account.l1_references - before.account.l1_references;
        let l2_hits = counts.l2_hits - before.l2_hits;
        self.writer.push(slice, StreamEvent { instructions, line, kind }, references, l2_hits);
    }

    /// Ends slices before `slice`, which have `length` instructions each.
    fn begin_slice(&mut self, slice: u32, length: Option<u64>) {
        while self.slice < slice {
            let mut counts = self.before;
            counts.account.instructions = length.unwrap_or(0) * u64::from(self.slice + 1);
            self.push(self.slice, &counts, 0, StreamEventKind::Gap);
            self.slice += 1;
        }
    }
}

impl Recorder {
    /// A recorder that is ready to run a program by itself.
    ///
    /// # Errors
    /// If such a chip can't be simulated: [`GeometryError`].
    pub fn new(
        settings: &Settings,
        program: &SimulatedProgram,
        slices: Slices,
    ) -> Result<Self, GeometryError> {
        settings.chip.check()?;
        let side = PrivateSide::new(settings, program).within(slices);
        Ok(Self { side, slices, events: EventLog::default() })
    }

    /// Runs the program for one batch of accesses.
    pub fn step(&mut self) -> Supply {
        let (events, length) = (&mut self.events, self.slices.length);
        self.side.step(&mut |counts, departure| {
            events.begin_slice(departure.slice, length);
            if departure.kind != StreamEventKind::WriteBack {
                events.overlap.miss(counts.account.instructions);
            }
            events.push(departure.slice, counts, departure.line, departure.kind);
        })
    }

    /// Waits for a program that is asleep, in real time, at most `most`.
    pub fn wait(&mut self, most: std::time::Duration) {
        self.side.wait(most);
    }

    /// Ends the program, if it has not ended.
    pub fn end(&mut self) {
        self.side.end();
    }

    /// Instructions of the slices up to now.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.side.counts.account.instructions
    }

    /// Loads and stores of the slices up to now.
    #[must_use]
    pub fn references(&self) -> u64 {
        self.side.counts.account.l1_references
    }

    /// Whether all slices were run.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.side.slices.is_complete()
    }

    /// The stream as a file, and its manifest, which gets the totals, the estimate of the overlap,
    /// and the blocks.
    #[must_use]
    pub fn finish(self, manifest: StreamManifest) -> (Vec<u8>, StreamManifest) {
        let Self { side, slices, mut events } = self;
        let last = side.slices.slice.min(slices.count - 1);
        events.begin_slice(last, slices.length);
        events.push(last, &side.counts, 0, StreamEventKind::Gap);
        let overlap_estimate = (events.overlap.value() * 1e3).round() / 1e3;
        events.writer.finish(StreamManifest { overlap_estimate, ..manifest })
    }
}
