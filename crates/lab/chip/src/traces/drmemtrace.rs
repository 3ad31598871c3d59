//! DynamoRIO's drmemtrace: the final traces of its post-processing, of 64-bit programs.
//!
//! A trace is of records of 12 bytes, little-endian: the type, the size, and 8 bytes for an
//! address or a value (`trace_entry_t` in `clients/drcachesim/common/trace_entry.h`). The first is
//! a header, the last a footer. Iterations of a string instruction after the first are not counted
//! as instructions, as the tools of DynamoRIO do it.

use super::error::Result;
use super::record::{Decode, Input, TraceItem, fill};

const RECORD: usize = 12;

/// Types of records.
mod kind {
    use std::ops::RangeInclusive;

    pub(super) const LOAD: u16 = 0;
    pub(super) const STORE: u16 = 1;
    /// By what they do: branch, call, return, and neither.
    pub(super) const INSTRUCTIONS: RangeInclusive<u16> = 10..=16;
    /// As many as the size says.
    pub(super) const BUNDLE: u16 = 17;
    pub(super) const HEADER: u16 = 25;
    pub(super) const FOOTER: u16 = 26;
    pub(super) const MARKER: u16 = 28;
    pub(super) const SYSENTER: u16 = 31;
    pub(super) const TAKEN: u16 = 48;
    pub(super) const UNTAKEN: u16 = 49;
}

/// The marker whose value says what the trace is of, and bits of that value.
const FILE_TYPE: u16 = 9;
const WITHOUT_DATA: u64 = 0x4;
const FILTERED: u64 = 0x1 | 0x80 | 0x100;
const OF_32_BITS: u64 = 0x10 | 0x20;

/// Whether a trace begins like this: a header, whose value is the format's version.
pub(crate) fn begins(start: &[u8]) -> bool {
    start.len() >= 4
        && start[..4] == [kind::HEADER.to_le_bytes()[0], 0, 0, 0]
        && start.get(4).is_some_and(|&version| version > 0)
        && start.get(5..8) == Some(&[0; 3])
}

#[derive(Default)]
pub(crate) struct Drmemtrace {
    records: u64,
    has_ended: bool,
}

impl Drmemtrace {
    fn check_marker(&self, marker: u16, value: u64) -> Result<()> {
        if marker != FILE_TYPE {
            return Ok(());
        }
        let found = if value & OF_32_BITS != 0 {
            "one of a 32-bit program"
        } else if value & WITHOUT_DATA != 0 {
            "one of instructions only"
        } else if value & FILTERED != 0 {
            "one that a cache has filtered (-L0_filter)"
        } else {
            return Ok(());
        };
        Err(format!("expected all instructions and accesses of a 64-bit program, found {found}"))
    }
}

impl Decode for Drmemtrace {
    fn next(&mut self, input: &mut Input, items: &mut Vec<TraceItem>) -> Result<bool> {
        let mut record = [0; RECORD];
        if !fill(input, &mut record, self.records)? {
            return match self.has_ended {
                true => Ok(false),
                false => Err(format!("cut off: expected a footer after {} records", self.records)),
            };
        }
        let [kind, size] = [0, 2].map(|at| u16::from_le_bytes([record[at], record[at + 1]]));
        let value = u64::from_le_bytes(record[4..].try_into().unwrap_or_default());
        self.has_ended = kind == kind::FOOTER;
        match kind {
            _ if self.records == 0 && kind != kind::HEADER => {
                return Err(format!("expected drmemtrace's header, found a record of type {kind}"));
            }
            kind::HEADER if value == 0 || value > u64::from(u32::MAX) => {
                let expected = "expected a trace of a 64-bit program, of a version from 1";
                return Err(format!("{expected}, found {value:#x} as its version"));
            }
            kind::LOAD | kind::STORE => {
                items.push(TraceItem::access(kind == kind::STORE, value, size.into()));
            }
            kind::BUNDLE => items.push(TraceItem::Instructions(size.into())),
            kind::SYSENTER | kind::TAKEN | kind::UNTAKEN => items.push(TraceItem::Instructions(1)),
            _ if kind::INSTRUCTIONS.contains(&kind) => items.push(TraceItem::Instructions(1)),
            kind::MARKER => self.check_marker(size, value)?,
            // Prefetches, flushes, threads, and bytes of instructions.
            ..kind::TAKEN => {}
            _ => return Err(format!("record {} has the unknown type {kind}", self.records)),
        }
        self.records += 1;
        Ok(true)
    }
}
