//! Writing a journal, part after part.

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

use super::parts::{numbered, part, parts};
use super::reader::part_of;
use super::{Header, Line, SCHEMA};

/// Writes a journal to a file; finished parts of it are set aside as FILE.0, FILE.1, ...
pub struct Writer {
    path: PathBuf,
    out: BufWriter<File>,
    header: Header,
    /// An event and the actions that follow from it. They are written together, so that a journal
    /// whose writer was killed does not look like one of a policy that did nothing.
    held: Vec<u8>,
    /// Bytes of the part at hand, those of its header, and how many it may have.
    written: u64,
    begun: u64,
    limit: u64,
    /// How many finished parts are kept; `None`: all.
    keep: Option<u32>,
}

impl Writer {
    /// Begins a journal of a run of `policy` with these parameters on this machine.
    ///
    /// What stands there already is not overwritten: it is bad input, or set aside, by `start`.
    ///
    /// # Errors
    /// If it is bad input, or can't be written.
    pub fn create(
        path: &Path,
        policy: &str,
        parameters: Value,
        machine: Value,
        (limit, keep): (u64, Option<u32>),
        start: Start,
    ) -> anyhow::Result<Self> {
        let first = match start {
            Start::New => match taken(path) {
                None => 0,
                Some(taken) => {
                    let said =
                        format!("--journal: expected a new file, and {} exists", shown(&taken));
                    return Err(BadInput(said).into());
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
        let mut writer = Self { path, out, header, held, written, begun, limit, keep };
        writer.begin()?;
        Ok(writer)
    }

    /// Writes what happened, and what the program is called that started.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn event(&mut self, at: Time, event: &Event, name: Option<&str>) -> anyhow::Result<()> {
        self.write()?;
        let (event, name) = (Some(Cow::Borrowed(event)), name.map(Cow::Borrowed));
        self.hold(&Line { at, event, name, ..Line::default() })
    }

    /// Writes what is done about it.
    ///
    /// # Errors
    /// As of [`event`](Self::event).
    pub fn action(&mut self, at: Time, action: &Action<'_>) -> anyhow::Result<()> {
        self.hold(&Line { at, action: Some(Cow::Borrowed(action)), ..Line::default() })
    }

    /// Writes out what is still held back.
    ///
    /// # Errors
    /// As of [`event`](Self::event).
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.flush()
    }

    /// Writes out what has happened, with all that was done about it.
    ///
    /// # Errors
    /// As of [`event`](Self::event).
    pub fn flush(&mut self) -> anyhow::Result<()> {
        self.write()?;
        self.out.flush().with_context(|| format!("{}: can't write it", shown(&self.path)))
    }

    /// Begins a part. Its header does not wait in the buffer: without one it could not be read.
    fn begin(&mut self) -> anyhow::Result<()> {
        let mut header = serde_json::to_vec(&self.header)?;
        header.push(b'\n');
        self.begun = header.len() as u64;
        self.written = self.begun;
        let written = self.out.write_all(&header).and_then(|()| self.out.flush());
        written.with_context(|| format!("{}: can't write it", shown(&self.path)))
    }

    /// Writes what is held, to a new part if the one at hand would grow beyond its limit.
    fn write(&mut self) -> anyhow::Result<()> {
        let held = std::mem::take(&mut self.held);
        let length = held.len() as u64;
        if self.written > self.begun && self.written.saturating_add(length) > self.limit {
            self.rotate()?;
        }
        self.written += length;
        self.out.write_all(&held).with_context(|| format!("{}: can't write it", shown(&self.path)))
    }

    fn rotate(&mut self) -> anyhow::Result<()> {
        self.out.flush().with_context(|| format!("{}: can't write it", shown(&self.path)))?;
        let finished = part(&self.path, self.header.part);
        let said = || format!("{}: can't set it aside", shown(&self.path));
        std::fs::rename(&self.path, &finished).with_context(said)?;
        if let Some(old) = self.keep.and_then(|keep| self.header.part.checked_sub(keep)) {
            let old = part(&self.path, old);
            std::fs::remove_file(&old)
                .with_context(|| format!("{}: can't delete it", shown(&old)))?;
        }
        self.out =
            open(&self.path).with_context(|| format!("{}: can't write it", shown(&self.path)))?;
        self.header.part += 1;
        self.begin()
    }

    fn hold(&mut self, line: &impl Serialize) -> anyhow::Result<()> {
        serde_json::to_writer(&mut self.held, line)?;
        self.held.push(b'\n');
        Ok(())
    }
}

impl Drop for Writer {
    /// A run that ends in an error or a panic leaves the event that led there.
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

fn open(path: &Path) -> io::Result<BufWriter<File>> {
    let file = OpenOptions::new().create(true).write(true).truncate(true).open(path)?;
    Ok(BufWriter::with_capacity(1 << 16, file))
}

/// What is done about a journal that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// It is bad input.
    New,
    /// Its last part is set aside as those before it, and this run begins with the next.
    GoOn,
}

/// Sets the journal's last part aside; the number of the next. Of those that are finished the last `keep` stay.
fn set_aside(path: &Path, keep: Option<u32>) -> anyhow::Result<u32> {
    let said = |what: &str| format!("{}: can't {what}", shown(path));
    let numbers: Vec<u32> = parts(path).filter_map(|part| numbered(path, &part)).collect();
    let next = numbers.iter().max().map_or(0, |last| last.saturating_add(1));
    let next = match path.metadata() {
        Err(why) if why.kind() == io::ErrorKind::NotFound => next,
        Err(why) => return Err(why).with_context(|| said("read it")),
        Ok(about) if !about.is_file() => {
            let found =
                format!("{}: expected a journal, found something else than a file", shown(path));
            return Err(BadInput(found).into());
        }
        // Nothing of it is lost, whatever is in it; but only a journal is a part of one.
        Ok(about) if about.len() > 0 && !is_journal(path)? => {
            return Err(BadInput(format!(
                "{}: expected a journal, found another file",
                shown(path)
            ))
            .into());
        }
        Ok(_) => {
            // Parts before it may have been deleted.
            let next = next.max(part_of(path).unwrap_or(0));
            std::fs::rename(path, part(path, next)).with_context(|| said("set it aside"))?;
            next.saturating_add(1)
        }
    };
    let keep = keep.unwrap_or(u32::MAX);
    for old in numbers.into_iter().filter(|number| next.saturating_sub(*number) > keep) {
        std::fs::remove_file(part(path, old)).with_context(|| said("delete its oldest part"))?;
    }
    Ok(next)
}

/// Whether a file begins as a journal does, though its first line may be cut short.
fn is_journal(path: &Path) -> anyhow::Result<bool> {
    let mut start = [0; 10];
    let mut file = File::open(path).with_context(|| format!("{}: can't read it", shown(path)))?;
    let read = file.read(&mut start).with_context(|| format!("{}: can't read it", shown(path)))?;
    Ok(b"{\"schema\":".starts_with(&start[..read]))
}

/// What a new journal would overwrite or be mistaken for a part of.
fn taken(path: &Path) -> Option<PathBuf> {
    // What is no file, a device say, is not to be set aside as a part either.
    if path.metadata().is_ok_and(|file| file.len() > 0 || !file.is_file()) {
        return Some(path.to_owned());
    }
    parts(path).next()
}
