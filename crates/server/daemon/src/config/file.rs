//! Reads a file of the configuration, which only root or the user of the daemon can have written.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use fairways_command_kit::input::shown;
use fairways_linux::owners::{Ownership, STICKY};
use rustix::fs::OFlags;

/// The most bytes of a configuration.
const LARGEST: u64 = 1 << 20;

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let wrong = |why: &dyn std::fmt::Display| format!("{}: {why}", shown(path));
    let failed = |why: std::io::Error| wrong(&format!("can't read it: {why}"));
    // Non-blocking, so as not to wait for a writer of a pipe.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = file.map_err(failed)?;
    let known = file.metadata().map_err(failed)?;
    if !known.is_file() {
        return Err(wrong(&format!("expected a file, found {}", kind(&known))));
    }
    if known.len() > LARGEST {
        let size = known.len();
        return Err(wrong(&format!("expected at most {LARGEST} bytes, found {size}")));
    }
    alone(path, &known)?;
    text(&file).map_err(failed)
}

/// Reads no more than was checked: the file may grow meanwhile.
fn text(file: &File) -> std::io::Result<String> {
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

fn kind(of: &Metadata) -> &'static str {
    let kind = of.file_type();
    match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_char_device() || kind.is_block_device() => "a device",
        () => "something else",
    }
}

/// Checks that only root and the daemon's user can write a file, or put another one in its place.
fn alone(path: &Path, known: &Metadata) -> Result<(), String> {
    kept(path, known)?;
    let Ok(place) = path.canonicalize() else { return Ok(()) };
    match place.parent() {
        Some(folder) => folder_alone(folder),
        None => Ok(()),
    }
}

/// Checks that only root and the daemon's user can put a file into a folder.
pub(super) fn folder_alone(folder: &Path) -> Result<(), String> {
    let known = std::fs::metadata(folder)
        .map_err(|why| format!("{}: can't read it: {why}", shown(folder)))?;
    kept(folder, &known)
}

fn kept(path: &Path, known: &Metadata) -> Result<(), String> {
    let about = owned(known);
    // In a sticky folder no user can replace another user's file.
    match about.check() {
        Err(_) if known.is_dir() && about.mode & STICKY != 0 && about.is_trusted() => Ok(()),
        Err(_) if about.is_trusted() && is_shut(path) => Ok(()),
        Err(why) => Err(format!("{}: {why}", shown(path))),
        Ok(()) => Ok(()),
    }
}

/// Whether a folder above lets in no other user.
fn is_shut(path: &Path) -> bool {
    let Ok(place) = path.canonicalize() else { return false };
    let mut above = place.ancestors().skip(1);
    above.any(|folder| std::fs::metadata(folder).is_ok_and(|known| owned(&known).is_shut()))
}

fn owned(known: &Metadata) -> Ownership {
    Ownership { uid: known.uid(), gid: known.gid(), mode: known.mode() }
}
