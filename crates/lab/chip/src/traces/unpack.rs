//! Undoes the compression of a file, which its first bytes show.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::error::Result;
use super::zipped::Zipped;

/// The largest dictionary of xz, which is allocated before anything is unpacked: sixteen times what
/// `xz -9` takes.
const MOST_DICTIONARY: u64 = 1 << 30;

/// The number of LZMA2, which is the last filter.
const LZMA2: u64 = 0x21;

/// How large the dictionary of the first block is by its header (The .xz File Format, 3.1 and
/// 5.3.1); `None` if the header is none, which its reader refuses.
fn dictionary_bytes(start: &[u8]) -> Option<u64> {
    let (&flags, mut rest) = start.get(13..)?.split_first()?;
    let sizes = u32::from(flags & 0x40 != 0) + u32::from(flags & 0x80 != 0);
    for _ in 0..sizes {
        number(&mut rest)?;
    }
    for _ in 0..=flags & 3 {
        let (filter, length) = (number(&mut rest)?, number(&mut rest)?);
        let (properties, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        rest = after;
        if let (LZMA2, &[code]) = (filter, properties) {
            let mantissa = 2 | u64::from(code & 1);
            return Some(mantissa << (u32::from(code.min(40)) / 2 + 11));
        }
    }
    None
}

/// A number of seven bits a byte, the lowest first.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

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
        if let Some(bytes) = dictionary_bytes(start).filter(|&bytes| bytes > MOST_DICTIONARY) {
            return Err(format!(
                "expected xz with a dictionary of at most {MOST_DICTIONARY} bytes, found {bytes}"
            ));
        }
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
