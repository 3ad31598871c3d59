//! Writing a journal, part after part.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use fairways_core::{Action, Event, Time};
use serde::Serialize;
use serde_json::Value;

use super::{Header, SCHEMA, Said, What};
use crate::BadInput;
use crate::world::shown;

/// Writes a journal to a file; finished parts of it are set aside as FILE.0, FILE.1, ...
pub(crate) struct Writer {
    path: PathBuf,
    out: BufWriter<File>,
    header: Header,
    /// Bytes of the part at hand, and how many it may have.
    written: u64,
    limit: u64,
    /// How many finished parts are kept; `None`: all.
    keep: Option<u32>,
}

impl Writer {
    /// Begins a journal of a run of `policy` with these parameters on this machine.
    ///
    /// A file that holds something already is bad input: journals are not overwritten.
    pub(crate) fn create(
        path: &Path,
        policy: &str,
        parameters: Value,
        machine: Value,
        (limit, keep): (u64, Option<u32>),
    ) -> anyhow::Result<Self> {
        let taken = |path: &Path| path.metadata().is_ok_and(|file| file.len() > 0 || file.is_dir());
        if let Some(taken) = [path.to_owned(), part(path, 0)].iter().find(|path| taken(path)) {
            let said = format!("--journal: expected a new file, and {} exists", shown(taken));
            return Err(BadInput(said).into());
        }
        let fairways = env!("CARGO_PKG_VERSION").to_owned();
        let policy = policy.to_owned();
        let header = Header { schema: SCHEMA, fairways, part: 0, policy, parameters, machine };
        let out = open(path).map_err(|error| {
            BadInput(format!("--journal: {}: can't write it: {error}", shown(path)))
        })?;
        let mut writer = Self { path: path.to_owned(), out, header, written: 0, limit, keep };
        writer.begin()?;
        Ok(writer)
    }

    /// Writes what happened. Before it, if the part at hand has grown to its limit, the next one is
    /// begun, so that an event and the actions that follow from it stand in one file.
    pub(crate) fn event(&mut self, at: Time, event: &Event) -> anyhow::Result<()> {
        if self.written >= self.limit {
            self.rotate()?;
        }
        self.line(&Said { at, what: What::Event(event) })
    }

    /// Writes what is done about it.
    pub(crate) fn action(&mut self, at: Time, action: &Action<'_>) -> anyhow::Result<()> {
        self.line(&Said { at, what: What::Action(action) })
    }

    /// Writes out what is still held back.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.flush()
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        self.out.flush().with_context(|| format!("{}: can't write it", shown(&self.path)))
    }

    fn begin(&mut self) -> anyhow::Result<()> {
        let header = self.header.clone();
        self.line(&header)
    }

    fn rotate(&mut self) -> anyhow::Result<()> {
        self.flush()?;
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
        self.written = 0;
        self.begin()
    }

    fn line(&mut self, line: &impl Serialize) -> anyhow::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.written += text.len() as u64;
        self.out.write_all(&text).with_context(|| format!("{}: can't write it", shown(&self.path)))
    }
}

fn open(path: &Path) -> io::Result<BufWriter<File>> {
    let file = OpenOptions::new().create(true).write(true).truncate(true).open(path)?;
    Ok(BufWriter::with_capacity(1 << 16, file))
}

/// Where a finished part is set aside.
pub(super) fn part(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}
