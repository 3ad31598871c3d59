//! The files of a zip archive, one after the other.
//!
//! drmemtrace splits a thread's trace into chunks, each a file of one archive.

use std::fs::File;
use std::io::{BufReader, Error, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::CrcReader;
use flate2::bufread::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::error::Result;

/// All files of an archive, joined.
pub(crate) struct Zipped {
    archive: File,
    /// The files that are left, the next one last.
    left: Vec<ArchivedFile>,
    /// The file under way, and the checksum that it is to have.
    current: Option<(CrcReader<Box<dyn Read + Send>>, u32)>,
}

/// A file of the archive.
struct ArchivedFile {
    start: u64,
    bytes: u64,
    is_deflated: bool,
    crc: u32,
}

impl Zipped {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let failed =
            |why: &dyn std::fmt::Display| format!("a zip archive that can't be read: {why}");
        let archive = File::open(path).map_err(|why| failed(&why))?;
        let kept = archive.try_clone().map_err(|why| failed(&why))?;
        let mut directory = ZipArchive::new(BufReader::new(archive)).map_err(|why| failed(&why))?;
        let mut left = Vec::with_capacity(directory.len());
        for place in (0..directory.len()).rev() {
            let file = directory.by_index_raw(place).map_err(|why| failed(&why))?;
            let is_deflated = match file.compression() {
                CompressionMethod::Stored => false,
                CompressionMethod::Deflated => true,
                other => return Err(format!("expected a zip archive of deflate, found {other}")),
            };
            let start = file.data_start();
            left.push(ArchivedFile {
                start,
                bytes: file.compressed_size(),
                is_deflated,
                crc: file.crc32(),
            });
        }
        Ok(Self { archive: kept, left, current: None })
    }

    fn begin(&mut self, part: &ArchivedFile) -> std::io::Result<()> {
        let mut file = self.archive.try_clone()?;
        file.seek(SeekFrom::Start(part.start))?;
        let bytes = BufReader::new(file.take(part.bytes));
        let unpacked: Box<dyn Read + Send> = match part.is_deflated {
            true => Box::new(DeflateDecoder::new(bytes)),
            false => Box::new(bytes),
        };
        self.current = Some((CrcReader::new(unpacked), part.crc));
        Ok(())
    }
}

impl Read for Zipped {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            if let Some((file, crc)) = &mut self.current {
                let count = file.read(buffer)?;
                if count > 0 || buffer.is_empty() {
                    return Ok(count);
                }
                if file.crc().sum() != *crc {
                    return Err(Error::new(ErrorKind::InvalidData, "a wrong checksum"));
                }
            }
            match self.left.pop() {
                Some(part) => self.begin(&part)?,
                None => return Ok(0),
            }
        }
    }
}
