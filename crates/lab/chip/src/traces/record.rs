//! What the readers of all formats share: the items of a trace, and records of a fixed length.

use std::io::{BufRead, BufReader, Read};

use super::error::Result;

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
    /// Whether it is a load or a store.
    #[must_use]
    pub const fn is_access(&self) -> bool {
        !matches!(self, Self::Instructions(_))
    }

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
