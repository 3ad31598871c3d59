//! Reads a source's text.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// The most bytes of a source.
const LARGEST: u64 = 16 << 20;

/// The text of a file, or for `-` of standard input.
pub(super) fn text(path: &Path) -> Result<String, String> {
    if path == Path::new("-") { bounded(io::stdin().lock()) } else { file(path) }
}

/// The text of a regular file.
pub(super) fn file(path: &Path) -> Result<String, String> {
    // Non-blocking, so as not to wait for a writer of a pipe.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = file.map_err(|why| format!("can't read it: {why}"))?;
    let known = file.metadata().map_err(|why| format!("can't read it: {why}"))?;
    if !known.is_file() {
        return Err("expected a file, - for standard input, or a folder of resctrl".to_owned());
    }
    bounded(file)
}

fn bounded(from: impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = from.take(LARGEST + 1).read_to_end(&mut bytes);
    read.map_err(|why| format!("can't read it: {why}"))?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("expected at most {LARGEST} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "expected text in UTF-8".to_owned())
}
