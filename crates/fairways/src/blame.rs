//! `fairways blame`: which programs slow which others down.

use std::path::Path;

use fairways_attribution::MemoryLatency;
use fairways_chip::{Geometry, preset};
use fairways_record::blame::{self, JournalSpan};

/// The losses in a span of a journal.
pub(crate) fn of_journal(path: &Path, span: JournalSpan) -> anyhow::Result<blame::BlameReport> {
    blame::of_journal(path, span, |kind| {
        preset::parse(kind.strip_prefix("chip:")?).ok().map(|chip| latency(&chip))
    })
}

/// The latencies of an idle chip.
pub(crate) fn latency(chip: &Geometry) -> MemoryLatency {
    MemoryLatency { llc: chip.latency.llc, memory: chip.latency.memory }
}
