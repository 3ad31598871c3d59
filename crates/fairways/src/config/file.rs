//! Reading a file of the configuration: one that only root, or the user who runs, can have written.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;

use crate::world::shown;

/// No configuration is larger.
const LARGEST: u64 = 1 << 20;

/// The permissions of a mode.
const GROUP_MAY_WRITE: u32 = 0o020;
const OTHERS_MAY_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;
const ANYBODY_ELSE_MAY_ENTER: u32 = 0o011;

/// Its text.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let wrong = |why: &dyn std::fmt::Display| format!("{}: {why}", shown(path));
    let failed = |why: std::io::Error| wrong(&format!("can't read it: {why}"));
    // A pipe that nobody writes to is not waited for.
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

/// No more than was checked: it may grow meanwhile.
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

/// That nobody but root and the user who runs can write a file, or put another one in its place.
fn alone(path: &Path, known: &Metadata) -> Result<(), String> {
    kept(path, known)?;
    let Ok(place) = path.canonicalize() else { return Ok(()) };
    match place.parent() {
        Some(folder) => folder_alone(folder),
        None => Ok(()),
    }
}

/// That nobody but root and the user who runs can put a file into a folder.
pub(super) fn folder_alone(folder: &Path) -> Result<(), String> {
    let known = std::fs::metadata(folder)
        .map_err(|why| format!("{}: can't read it: {why}", shown(folder)))?;
    kept(folder, &known)
}

fn kept(path: &Path, known: &Metadata) -> Result<(), String> {
    let is_ours = |uid: u32| uid == 0 || uid == geteuid().as_raw();
    let (owner, group, mode) = (known.uid(), known.gid(), known.mode());
    if !is_ours(owner) {
        let said = "expected one of root or of the user who runs, found user";
        return Err(format!("{}: {said} {owner}'s", shown(path)));
    }
    // In a sticky folder nobody puts anything in another's place.
    if known.is_dir() && mode & STICKY != 0 {
        return Ok(());
    }
    // A user's own group has the user's number, where each has one.
    let by_group = mode & GROUP_MAY_WRITE != 0 && group != 0 && group != owner;
    let who = match mode & OTHERS_MAY_WRITE != 0 {
        true => "anybody",
        false if by_group => "a group",
        false => return Ok(()),
    };
    if is_shut(path, &is_ours) {
        return Ok(());
    }
    let said = "expected one that only its owner may write, found one that";
    Err(format!("{}: {said} {who} may (mode {:o})", shown(path), mode & 0o7777))
}

/// Whether a folder above lets nobody else in.
fn is_shut(path: &Path, is_ours: &impl Fn(u32) -> bool) -> bool {
    let Ok(place) = path.canonicalize() else { return false };
    place.ancestors().skip(1).any(|folder| {
        let known = std::fs::metadata(folder);
        known.is_ok_and(|of| is_ours(of.uid()) && of.mode() & ANYBODY_ELSE_MAY_ENTER == 0)
    })
}
