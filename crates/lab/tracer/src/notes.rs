//! Notes of a program's processes: their forks, and the programs they executed.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

use rustix::process::getppid;

use crate::producer::{Session, this_process};
use crate::segment::{NOTES, NoteSlot, PATH};

/// The event that a process notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// The process began, as the fork of its parent.
    Forked,
    /// The process is about to execute another program. If that fails, it goes on.
    Execs,
}

/// A note of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The event.
    pub kind: NoteKind,
    /// The process.
    pub process: u32,
    /// Its parent.
    pub parent: u32,
    /// The path that it executes, cut off if too long.
    pub path: String,
}

impl Session {
    /// Notes an event of this process.
    pub fn note(&self, kind: NoteKind, path: &[u8]) {
        let header = &self.segment.header;
        let place = header.noted.fetch_add(1, Relaxed) as usize;
        let Some(noted) = header.notes.get(place) else { return };
        noted.process.store(this_process(), Relaxed);
        let parent = getppid().map_or(0, |parent| parent.as_raw_nonzero().get().cast_unsigned());
        noted.parent.store(parent, Relaxed);
        let path = &path[..path.len().min(PATH)];
        for (word, bytes) in noted.path.iter().zip(path.chunks(8)) {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(eight), Relaxed);
        }
        let kind = match kind {
            NoteKind::Forked => 1,
            NoteKind::Execs => 2,
        };
        noted.kind.store(kind, Release);
    }

    /// The number of notes that were made, and those that were kept.
    #[cfg_attr(not(feature = "launch"), expect(dead_code, reason = "the reader's"))]
    pub(crate) fn notes(&self) -> (u32, Vec<Note>) {
        fence(Acquire);
        let header = &self.segment.header;
        let noted = header.noted.load(Relaxed);
        let kept = header.notes.iter().take((noted as usize).min(NOTES));
        (noted, kept.filter_map(read).collect())
    }
}

fn read(noted: &NoteSlot) -> Option<Note> {
    let kind = match noted.kind.load(Acquire) {
        1 => NoteKind::Forked,
        2 => NoteKind::Execs,
        _ => return None,
    };
    let bytes = noted.path.iter().flat_map(|word: &AtomicU64| word.load(Relaxed).to_ne_bytes());
    let path: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    Some(Note {
        kind,
        process: noted.process.load(Relaxed),
        parent: noted.parent.load(Relaxed),
        path: String::from_utf8_lossy(&path).into_owned(),
    })
}
