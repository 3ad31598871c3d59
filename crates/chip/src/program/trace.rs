//! Recorded programs.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use rand_pcg::Pcg64Mcg;
use thiserror::Error;

use super::access::{Access, AccessKind, BATCH, Generate, MOST_LINES, Supply};

/// The data accesses of a recorded program, again and again.
///
/// Traces have ChampSim's format: a record of 64 bytes an instruction, plain, or compressed by gzip
/// or xz. The reader takes the addresses of memory that it reads (four) and writes (two). Pages are
/// numbered in the order in which they are first touched.
#[derive(Clone, Debug)]
pub struct Trace {
    accesses: Arc<[Access]>,
    instructions: u64,
}

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.accesses, &other.accesses)
    }
}

/// A file that is no trace.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{path}: {what}")]
pub struct TraceError {
    path: String,
    what: String,
}

/// Bytes of a record: address of the instruction, whether it branches, whether the branch is taken,
/// two registers written and four read, two addresses written and four read.
const RECORD: usize = 64;
const BRANCHES: usize = 8;
const TAKEN: usize = 9;
const WRITTEN: usize = 16;
const READ: usize = 32;

/// Bytes of a page and of a line, as powers of two.
const PAGE: u32 = 12;
const LINE: u32 = 6;

impl Trace {
    /// The first `most` instructions of a file.
    ///
    /// # Errors
    /// If it can't be read, is cut off, or is not a trace: [`TraceError`].
    pub fn open(path: &Path, most: u64) -> Result<Self, TraceError> {
        Self::read_file(path, most).map_err(|what| TraceError {
            path: path.display().to_string().replace(char::is_control, "?"),
            what,
        })
    }

    fn read_file(path: &Path, most: u64) -> Result<Self, String> {
        let file = File::open(path).map_err(|why| format!("can't read it: {why}"))?;
        let mut file = BufReader::new(file);
        let start = file.fill_buf().map_err(|why| format!("can't read it: {why}"))?;
        let unpacked: Box<dyn Read> = if start.starts_with(b"\xfd7zXZ\0") {
            Box::new(lzma_rust2::XzReader::new(file, true))
        } else if start.starts_with(b"\x1f\x8b") {
            Box::new(flate2::bufread::MultiGzDecoder::new(file))
        } else {
            Box::new(file)
        };
        Self::read(unpacked, most)
    }

    fn read(mut records: impl Read, most: u64) -> Result<Self, String> {
        let (mut accesses, mut pages): (Vec<Access>, _) = (Vec::new(), HashMap::new());
        let (mut instructions, mut since) = (0, 0);
        let mut record = [0; RECORD];
        while instructions < most {
            let filled = fill(&mut records, &mut record)
                .map_err(|why| format!("cut off or damaged after {instructions} records: {why}"))?;
            if filled == 0 {
                break;
            }
            if filled < RECORD {
                return Err(format!(
                    "expected records of {RECORD} bytes, found one of {filled} after {instructions}"
                ));
            }
            if record[BRANCHES] > 1 || record[TAKEN] > 1 {
                return Err(format!("record {instructions} is not in ChampSim's format"));
            }
            instructions += 1;
            since += 1;
            let read = record[READ..].chunks_exact(8).map(|address| (address, AccessKind::Load));
            let written =
                record[WRITTEN..READ].chunks_exact(8).map(|address| (address, AccessKind::Store));
            for (address, kind) in read.chain(written) {
                let address = u64::from_le_bytes(address.try_into().unwrap_or_default());
                if address == 0 {
                    continue;
                }
                let next = pages.len() as u64;
                let page = *pages.entry(address >> PAGE).or_insert(next);
                let within = (address >> LINE) & ((1 << (PAGE - LINE)) - 1);
                let line = (page << (PAGE - LINE) | within) % MOST_LINES;
                let line = u32::try_from(line).unwrap_or(0);
                accesses.push(Access { line, instructions: since, references: 1, kind });
                since = 0;
            }
        }
        if since > 0 && !accesses.is_empty() {
            accesses.push(Access {
                line: 0,
                instructions: since,
                references: 0,
                kind: AccessKind::None,
            });
        }
        if accesses.is_empty() {
            return Err("expected a trace that accesses memory".to_owned());
        }
        Ok(Self { accesses: accesses.into(), instructions })
    }

    /// The number of its instructions.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    pub(super) fn source(&self) -> TraceSource {
        TraceSource { accesses: Arc::clone(&self.accesses), next: 0 }
    }
}

/// Fills a record, as far as there is data; returns the number of bytes.
fn fill(records: &mut impl Read, record: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < record.len() {
        match records.read(&mut record[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

#[derive(Clone, Debug)]
pub(super) struct TraceSource {
    accesses: Arc<[Access]>,
    next: usize,
}

impl Generate for TraceSource {
    fn generate(&mut self, _: &mut Pcg64Mcg, accesses: &mut Vec<Access>) -> Supply {
        let end = (self.next + BATCH).min(self.accesses.len());
        accesses.extend_from_slice(&self.accesses[self.next..end]);
        self.next = if end < self.accesses.len() { end } else { 0 };
        Supply::More
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rand_core::SeedableRng;

    use super::*;

    /// A record that reads and writes these addresses.
    fn record(read: &[u64], written: &[u64]) -> Vec<u8> {
        let mut bytes = vec![0; RECORD];
        for (at, addresses) in [(READ, read), (WRITTEN, written)] {
            for (place, address) in addresses.iter().enumerate() {
                bytes[at + 8 * place..][..8].copy_from_slice(&address.to_le_bytes());
            }
        }
        bytes
    }

    fn program() -> Vec<u8> {
        [
            record(&[], &[]),
            record(&[0x7fff_0000_1040], &[]),
            record(&[0x7fff_0000_1048, 0x5555_0000_2000], &[0x7fff_0000_1fff]),
            record(&[], &[]),
        ]
        .concat()
    }

    #[test]
    fn plain_and_packed_traces_are_read_alike() {
        let folder = tempfile::tempdir().unwrap();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&program()).unwrap();
        let options = lzma_rust2::XzOptions::with_preset(1);
        let mut xz = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        xz.write_all(&program()).unwrap();
        let packed = [program(), gz.finish().unwrap(), xz.finish().unwrap()];
        for (number, bytes) in packed.iter().enumerate() {
            let path = folder.path().join(format!("{number}.trace"));
            std::fs::write(&path, bytes).unwrap();
            let trace = Trace::open(&path, 100).unwrap();
            assert_eq!(trace.instructions(), 4);
            let mut accesses = Vec::new();
            let _ = trace.source().generate(&mut Pcg64Mcg::seed_from_u64(1), &mut accesses);
            let read: Vec<(u32, u32, AccessKind)> =
                accesses.iter().map(|a| (a.line, a.instructions, a.kind)).collect();
            let expected = [
                (1, 2, AccessKind::Load),
                (1, 1, AccessKind::Load),
                (64, 0, AccessKind::Load),
                (63, 0, AccessKind::Store),
                (0, 1, AccessKind::None),
            ];
            assert_eq!(read, expected, "{number}");
            assert_eq!(Trace::open(&path, 2).unwrap().instructions(), 2);
            // Cut off anywhere, it is refused in a line, or is shorter by whole records.
            for end in 0..bytes.len() {
                std::fs::write(&path, &bytes[..end]).unwrap();
                match Trace::open(&path, 100) {
                    Ok(trace) => {
                        assert!(number == 0 && end % RECORD == 0 && trace.instructions() < 4)
                    }
                    Err(why) => assert_eq!(why.to_string().lines().count(), 1, "{why}"),
                }
            }
        }
    }

    fn refused(bytes: &[u8]) -> String {
        Trace::read(bytes, 100).unwrap_err()
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        assert!(refused(&[7; 640]).contains("record 0 is not in ChampSim's format"));
        assert!(
            refused(&[0; 100]).contains("expected records of 64 bytes, found one of 36 after 1")
        );
        assert!(refused(&[0; 128]).contains("expected a trace that accesses memory"));
        let why = Trace::open(Path::new("/nonesuch"), 1).unwrap_err().to_string();
        assert!(why.starts_with("/nonesuch: can't read it"), "{why}");
    }
}
