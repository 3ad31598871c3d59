//! A file that grows.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use fairways_core::LatencyBin;

use super::super::Source;
use super::Lines;
use super::open::open;

/// The most bytes that one call reads, some 100,000 lines; the rest waits for the next.
const MOST_BYTES: u64 = 1 << 20;

/// How often that many bytes are read from a file that was renamed away.
const MOST_RESTS: u32 = 16;

/// Latencies in the lines that are added to a file.
///
/// Its content when the source is opened is old. The file may be missing, and come later; and be
/// renamed away and made again, as logrotate does: then the old one is read to its end. A file that
/// became shorter has started over, and the latencies in between are unknown.
pub struct FileSource {
    path: PathBuf,
    open: Option<OpenFile>,
    lines: Lines,
    trouble: Option<String>,
}

struct OpenFile {
    file: File,
    at: u64,
    identity: (u64, u64),
}

impl FileSource {
    /// Begins at the file's end.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        let lines = Lines::new(path.display().to_string());
        let mut source = Self { path, open: None, lines, trouble: None };
        let begun = source.find(SeekFrom::End(0));
        source.log(begun);
        source
    }

    /// Opens the file that is at the path now.
    fn find(&mut self, from: SeekFrom) -> io::Result<()> {
        let mut file = open(&self.path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other(
                "it is no ordinary file; a socket is named `socket:PATH`",
            ));
        }
        let at = file.seek(from)?;
        self.open = Some(OpenFile { file, at, identity: (metadata.dev(), metadata.ino()) });
        Ok(())
    }

    fn log(&mut self, done: io::Result<()>) {
        let why = done.err().map(|error| error.to_string());
        if let Some(why) = why.as_ref().filter(|_| self.trouble != why) {
            tracing::warn!(path = %self.path.display(), why, "latencies are unknown");
        }
        self.trouble = why;
    }

    /// Reads what was added. Returns whether the file has started over.
    fn read(&mut self) -> io::Result<bool> {
        let restarted = match &mut self.open {
            None => false,
            Some(open) => {
                let restarted = open.file.metadata()?.len() < open.at;
                if restarted {
                    open.at = open.file.seek(SeekFrom::Start(0))?;
                    self.lines.begun.clear();
                }
                open.rest(&mut self.lines)?;
                restarted
            }
        };
        let there = match fs::metadata(&self.path) {
            Ok(metadata) => Some((metadata.dev(), metadata.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.open.is_some() => None,
            Err(error) => return Err(error),
        };
        let held = self.open.as_ref().map(|open| open.identity);
        if there.is_some() && there != held {
            if let Some(open) = &mut self.open {
                // The lines added between reading the file and finding that it was replaced.
                for _ in 0..MOST_RESTS {
                    if open.rest(&mut self.lines)? == 0 {
                        break;
                    }
                }
            }
            // No program adds to the old one's last line any more.
            self.lines.end();
            self.find(SeekFrom::Start(0))?;
            if let Some(open) = &mut self.open {
                open.rest(&mut self.lines)?;
            }
        }
        Ok(restarted)
    }
}

impl OpenFile {
    /// Reads the rest, and returns the number of bytes.
    fn rest(&mut self, lines: &mut Lines) -> io::Result<u64> {
        let mut part = [0; 16 << 10];
        let mut all = 0;
        while all < MOST_BYTES {
            let read = self.file.read(&mut part)?;
            if read == 0 {
                break;
            }
            lines.push(&part[..read]);
            all += u64::try_from(read).unwrap_or(u64::MAX);
        }
        self.at = self.at.saturating_add(all);
        Ok(all)
    }
}

impl Source for FileSource {
    fn answered(&mut self) -> Option<Vec<LatencyBin>> {
        let read = self.read();
        let restarted = *read.as_ref().unwrap_or(&true);
        self.log(read.map(drop));
        let answered = self.lines.take_answered();
        if restarted { None } else { answered }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use super::*;

    fn requests(source: &mut FileSource) -> Option<u64> {
        Some(source.answered()?.iter().map(|answered| answered.requests).sum())
    }

    fn add(path: &std::path::Path, text: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn only_what_is_added_counts_and_silence_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("latencies");
        add(&path, "1ms\n2ms\n");
        let mut source = FileSource::new(path.clone());
        assert_eq!(requests(&mut source), None);
        add(&path, "1ms\n1ms\n3");
        assert_eq!(requests(&mut source), Some(2));
        assert_eq!(requests(&mut source), None);
        add(&path, "ms\n");
        let answered = source.answered().unwrap();
        assert_eq!(answered.len(), 1);
        assert!((3_000_000..3_003_000).contains(&answered[0].latency.as_nanos()), "{answered:?}");
    }

    #[test]
    fn a_file_that_is_rotated_is_read_to_its_end_and_then_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("latencies");
        let mut source = FileSource::new(path.clone());
        assert_eq!(requests(&mut source), None, "it is not there yet");
        add(&path, "1\n");
        assert_eq!(requests(&mut source), Some(1));
        add(&path, "1\n1");
        fs::rename(&path, folder.path().join("old")).unwrap();
        assert_eq!(requests(&mut source), Some(1), "the new one is not there yet");
        add(&path, "1\n1\n");
        assert_eq!(requests(&mut source), Some(3), "the old one's last line, and two new ones");
    }

    #[test]
    fn a_file_that_became_shorter_is_unknown_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("latencies");
        let mut source = FileSource::new(path.clone());
        add(&path, "1\n1\n1\n");
        assert_eq!(requests(&mut source), Some(3));
        fs::write(&path, "1\n").unwrap();
        assert_eq!(requests(&mut source), None);
        add(&path, "1\n1\n");
        assert_eq!(requests(&mut source), Some(2));
    }

    #[test]
    fn what_is_no_ordinary_file_is_unknown() {
        let mut source = FileSource::new("/dev/null".into());
        assert_eq!(source.answered(), None);
        assert!(source.trouble.unwrap().contains("no ordinary file"));
    }
}
