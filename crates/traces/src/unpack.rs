//! Undoes the compression of a file, which its first bytes show.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::error::Result;
use crate::zipped::Zipped;

fn failed(why: std::io::Error) -> String {
    format!("can't read it: {why}")
}

/// Opens a file that is plain, or compressed by gzip, by xz, or in a zip archive.
pub(crate) fn unpack(path: &Path) -> Result<Box<dyn Read + Send>> {
    if path.is_dir() {
        return Err(
            "expected a trace, found a folder: drmemtrace keeps a file for each thread in \
                    its folder trace"
                .to_owned(),
        );
    }
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(failed)?);
    let start = file.fill_buf().map_err(failed)?;
    if start.starts_with(b"\xfd7zXZ\0") {
        Ok(Box::new(lzma_rust2::XzReader::new(file, true)))
    } else if start.starts_with(b"\x1f\x8b") {
        Ok(Box::new(flate2::bufread::MultiGzDecoder::new(file)))
    } else if start.starts_with(b"PK\x03\x04") {
        if !path.is_file() {
            return Err("expected a zip that is a file, which is read from its end".to_owned());
        }
        Ok(Box::new(Zipped::open(path)?))
    } else if start.starts_with(b"\x04\x22\x4d\x18") {
        Err("expected drmemtrace's final traces, found what may be its raw ones (lz4): \
             drraw2trace makes the folder trace of them"
            .to_owned())
    } else if start.starts_with(b"\x28\xb5\x2f\xfd") {
        Err("expected a trace that is plain, gzip, xz or zip, found zstd".to_owned())
    } else {
        Ok(Box::new(file))
    }
}
