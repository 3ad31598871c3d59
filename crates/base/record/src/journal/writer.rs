//! Writes a journal part by part.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use fairways_command_kit::BadInput;
use fairways_command_kit::input::shown;
use fairways_core::{Action, Event, Time};
use serde::Serialize;
use serde_json::Value;

use super::parts::{part_number, part_path, parts};
use super::reader::header_part;
use super::{Header, Line, SCHEMA};

/// Writes a journal to a file; finished parts are renamed to FILE.0, FILE.1, ...
pub struct Writer {
    path: PathBuf,
    out: BufWriter<File>,
    header: Header,
    /// An event and the actions that follow from it, still to be written. They are written
    /// together: otherwise the journal of a killed writer would look as if the policy had done
    /// nothing.
    pending: Vec<u8>,
    /// The bytes of the current part so far, of its header, and the limit of a part.
    written_bytes: u64,
    header_bytes: u64,
    limit_bytes: u64,
    /// How many finished parts to keep; `None`: all.
    keep: Option<u32>,
}

impl Writer {
    /// Begins a journal of a run of `policy` with these parameters on this machine.
    ///
    /// An existing file is never overwritten: depending on `start`, it is an error or set aside.
    ///
    /// # Errors
    /// If the file exists and `start` is [`Start::New`], or it can't be written.
    pub fn create(
        path: &Path,
        policy: &str,
        parameters: Value,
        machine: Value,
        (limit, keep): (u64, Option<u32>),
        start: Start,
    ) -> anyhow::Result<Self> {
        let first = match start {
            Start::New => match existing(path) {
                None => 0,
                Some(existing) => {
                    let text =
                        format!("--journal: expected a new file, and {} exists", shown(&existing));
                    return Err(BadInput(text).into());
                }
            },
            Start::GoOn => set_aside(path, keep)?,
        };
        let fairways = env!("CARGO_PKG_VERSION").to_owned();
        let (policy, schema) = (policy.to_owned(), SCHEMA);
        let header = Header { schema, fairways, part: first, first, policy, parameters, machine };
        let out = open(path).map_err(|error| {
            BadInput(format!("--journal: {}: can't write it: {error}", shown(path)))
        })?;
        let (path, held, written, begun) = (path.to_owned(), Vec::new(), 0, 0);
        let mut writer = Self {
            path,
            out,
            header,
            pending: held,
            written_bytes: written,
            header_bytes: begun,
            limit_bytes: limit,
            keep,
        };
        writer.begin_part()?;
        Ok(writer)
    }

    /// Writes an event, with the program's name if one started.
    ///
    /// # Errors
    /// If the journal can't be written.
    pub fn write_event(
        &mut self,
        at: Time,
        event: &Event,
        name: Option<&str>,
    ) -> anyhow::Result<()> {
        self.write_pending()?;
        let (event, name) = (Some(Cow::Borrowed(event)), name.map(Cow::Borrowed));
        self.append(&Line { at, event, name, ..Line::default() })
    }

    /// Writes an action that follows from the last event.
    ///
    /// # Errors
    /// Like [`write_event`](Self::write_event).
    pub fn write_action(&mut self, at: Time, action: &Action<'_>) -> anyhow::Result<()> {
        self.append(&Line { at, action: Some(Cow::Borrowed(action)), ..Line::default() })
    }

    /// Writes out everything that is still pending.
    ///
    /// # Errors
    /// Like [`write_event`](Self::write_event).
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.flush()
    }

    /// Writes out the last event with all its actions.
    ///
    /// # Errors
    /// Like [`write_event`](Self::write_event).
    pub fn flush(&mut self) -> anyhow::Result<()> {
        self.write_pending()?;
        self.out.flush().with_context(|| format!("{}: can't write it", shown(&self.path)))
    }

    /// Begins a part. Its header is flushed at once: without it the part could not be read.
    fn begin_part(&mut self) -> anyhow::Result<()> {
        let mut header = serde_json::to_vec(&self.header)?;
        header.push(b'\n');
        self.header_bytes = header.len() as u64;
        self.written_bytes = self.header_bytes;
        let written = self.out.write_all(&header).and_then(|()| self.out.flush());
        written.with_context(|| format!("{}: can't write it", shown(&self.path)))
    }

    /// Writes what is pending, to a new part if the current one would exceed its limit.
    fn write_pending(&mut self) -> anyhow::Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let length = pending.len() as u64;
        if self.written_bytes > self.header_bytes
            && self.written_bytes.saturating_add(length) > self.limit_bytes
        {
            self.rotate()?;
        }
        self.written_bytes += length;
        self.out
            .write_all(&pending)
            .with_context(|| format!("{}: can't write it", shown(&self.path)))
    }

    fn rotate(&mut self) -> anyhow::Result<()> {
        self.out.flush().with_context(|| format!("{}: can't write it", shown(&self.path)))?;
        let finished = part_path(&self.path, self.header.part);
        std::fs::rename(&self.path, &finished)
            .with_context(|| format!("{}: can't set it aside", shown(&self.path)))?;
        if let Some(old) = self.keep.and_then(|keep| self.header.part.checked_sub(keep)) {
            let old = part_path(&self.path, old);
            // It may be gone already: somebody deleted it, or fewer parts were kept before.
            match std::fs::remove_file(&old) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => {
                    return Err(why).with_context(|| format!("{}: can't delete it", shown(&old)));
                }
                _ => {}
            }
        }
        self.out =
            open(&self.path).with_context(|| format!("{}: can't write it", shown(&self.path)))?;
        self.header.part += 1;
        self.begin_part()
    }

    fn append(&mut self, line: &impl Serialize) -> anyhow::Result<()> {
        serde_json::to_writer(&mut self.pending, line)?;
        self.pending.push(b'\n');
        Ok(())
    }
}

impl Drop for Writer {
    /// Flushes: a run that ends in an error or a panic keeps the event that led to it.
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

fn open(path: &Path) -> io::Result<BufWriter<File>> {
    let file = OpenOptions::new().create(true).write(true).truncate(true).open(path)?;
    Ok(BufWriter::with_capacity(1 << 16, file))
}

/// What to do with an existing journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Fail.
    New,
    /// Set its last part aside, and begin this run with the next number.
    GoOn,
}

/// Sets the journal's last part aside and returns the next number; the last `keep` finished parts
/// stay.
fn set_aside(path: &Path, keep: Option<u32>) -> anyhow::Result<u32> {
    fn failure(what: &str, path: &Path) -> String {
        format!("{}: can't {what}", shown(path))
    }
    let numbers: Vec<u32> = parts(path).filter_map(|part| part_number(path, &part)).collect();
    let next = numbers.iter().max().map_or(0, |last| last.saturating_add(1));
    let next = match path.metadata() {
        Err(why) if why.kind() == io::ErrorKind::NotFound => next,
        Err(why) => return Err(why).with_context(|| failure("read it", path)),
        Ok(about) if !about.is_file() => {
            let found =
                format!("{}: expected a journal, found something else than a file", shown(path));
            return Err(BadInput(found).into());
        }
        // A full disk left it empty: overwriting it loses nothing.
        Ok(about) if about.len() == 0 => next,
        // Setting a file aside never loses its content, but only a journal may become a part.
        Ok(_) if !is_journal(path)? => {
            return Err(BadInput(format!(
                "{}: expected a journal, found another file",
                shown(path)
            ))
            .into());
        }
        Ok(_) => {
            // The parts before it may have been deleted.
            let next = next.max(header_part(path).unwrap_or(0));
            std::fs::rename(path, part_path(path, next))
                .with_context(|| failure("set it aside", path))?;
            next.saturating_add(1)
        }
    };
    let keep = keep.unwrap_or(u32::MAX);
    for old in numbers.into_iter().filter(|number| next.saturating_sub(*number) > keep) {
        std::fs::remove_file(part_path(path, old))
            .with_context(|| failure("delete its oldest part", path))?;
    }
    Ok(next)
}

/// Whether a file begins as a journal does; its first line may be cut short.
fn is_journal(path: &Path) -> anyhow::Result<bool> {
    let mut start = [0; 10];
    let mut file = File::open(path).with_context(|| format!("{}: can't read it", shown(path)))?;
    let read = file.read(&mut start).with_context(|| format!("{}: can't read it", shown(path)))?;
    Ok(b"{\"schema\":".starts_with(&start[..read]))
}

/// A file that a new journal would overwrite, or be mistaken for a part of.
fn existing(path: &Path) -> Option<PathBuf> {
    // A device or a folder can't be set aside as a part either.
    if path.metadata().is_ok_and(|file| file.len() > 0 || !file.is_file()) {
        return Some(path.to_owned());
    }
    parts(path).next()
}
