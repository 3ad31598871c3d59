//! Runs steps, and records their results.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::{Errno, Step, quoted};

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Whether it is a directory.
    pub directory: bool,
    /// As in chmod(1).
    pub permissions: u32,
    /// Its owner.
    pub user: u32,
}

/// Anything that looks like a resctrl tree. Paths are relative to its root, which is the empty
/// path.
pub trait Target {
    /// Unmounts what is mounted, then mounts with these options, separated by commas.
    ///
    /// # Errors
    ///
    /// mount(2)'s; then nothing is mounted.
    fn mount(&mut self, options: &str) -> Result<(), Errno>;

    /// As mkdir(2) does.
    ///
    /// # Errors
    ///
    /// The system's.
    fn mkdir(&mut self, path: &str) -> Result<(), Errno>;

    /// As rmdir(2) does.
    ///
    /// # Errors
    ///
    /// The system's.
    fn rmdir(&mut self, path: &str) -> Result<(), Errno>;

    /// As rename(2) does.
    ///
    /// # Errors
    ///
    /// The system's.
    fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno>;

    /// Opens for writing and writes once; returns the number of bytes taken.
    ///
    /// # Errors
    ///
    /// The system's, for either call.
    fn write(&mut self, path: &str, text: &[u8]) -> Result<usize, Errno>;

    /// All of a file.
    ///
    /// # Errors
    ///
    /// The system's.
    fn read(&mut self, path: &str) -> Result<Vec<u8>, Errno>;

    /// The entries of a directory, in any order.
    ///
    /// # Errors
    ///
    /// The system's.
    fn list(&mut self, path: &str) -> Result<Vec<Entry>, Errno>;

    /// Plugs a CPU in or out.
    ///
    /// # Errors
    ///
    /// The system's.
    fn cpu(&mut self, cpu: u32, online: bool) -> Result<(), Errno>;

    /// Lets time pass.
    fn wait(&mut self, milliseconds: u64);

    /// Does what follows as this user.
    ///
    /// # Errors
    ///
    /// The system's.
    fn act_as(&mut self, user: u32) -> Result<(), Errno>;

    /// Ids of the tasks that have labels.
    fn tasks(&self) -> Vec<(&'static str, i32)>;
}

/// Runs steps one after the other, and writes the transcript.
///
/// # Errors
///
/// The transcript can't be written.
pub fn run(target: &mut dyn Target, steps: &[Step], out: &mut dyn Write) -> io::Result<()> {
    let tasks = target.tasks();
    let mut executor = Executor { target, tasks, text: String::new(), mounted: false };
    for step in steps {
        executor.step(step);
        out.write_all(executor.text.as_bytes())?;
        executor.text.clear();
    }
    Ok(())
}

const STATUS: &str = "info/last_cmd_status";

/// Words in messages about tasks; others may contain the same numbers.
const TASK_WORDS: [&str; 2] = ["task", "pid"];

struct Executor<'a> {
    target: &'a mut dyn Target,
    tasks: Vec<(&'static str, i32)>,
    text: String,
    mounted: bool,
}

impl Executor<'_> {
    fn line(&mut self, mark: &str, text: &str) {
        // A String takes everything.
        let _ = writeln!(self.text, "{mark} {text}");
    }

    fn step(&mut self, step: &Step) {
        let (mark, shown) = match step {
            Step::Sequence(_) => ("\n#", step.to_string()),
            _ => (">", step.to_string()),
        };
        self.line(mark, &shown);
        let of_tree = !matches!(
            step,
            Step::Sequence(_) | Step::Reset(_) | Step::Cpu(..) | Step::Wait(_) | Step::As(_)
        );
        if of_tree && !self.mounted {
            // The tree beneath the mount is not the one meant.
            return self.line("=", "not mounted");
        }
        let done = match step {
            Step::Sequence(_) => return,
            Step::Wait(milliseconds) => return self.target.wait(*milliseconds),
            Step::Tree => return self.tree(""),
            Step::Reset(options) => {
                let done = self.target.mount(options);
                self.mounted = done.is_ok();
                done
            }
            Step::Mkdir(path) => self.target.mkdir(path),
            Step::Rmdir(path) => self.target.rmdir(path),
            Step::Mv(from, to) => self.target.rename(from, to),
            Step::Write(path, text) => self.write(path, text),
            Step::Cpu(cpu, online) => self.target.cpu(*cpu, *online),
            Step::As(user) => self.target.act_as(*user),
            Step::Read(path) => {
                let done = self.target.read(path);
                return self.contents(path, done);
            }
            Step::Ls(path) => return self.list(path),
        };
        self.done(done);
        if !self.mounted {
            return;
        }
        if let Ok(status) = self.target.read(STATUS) {
            // It may quote any bytes, and lines of them.
            for line in self.labelled(&status).split_inclusive(|&byte| byte == b'\n') {
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                self.line("?", &line.escape_ascii().to_string());
            }
        }
    }

    fn done(&mut self, done: Result<(), Errno>) {
        match done {
            Ok(()) => self.line("=", "ok"),
            Err(errno) => self.line("=", &errno.to_string()),
        }
    }

    fn write(&mut self, path: &str, text: &[u8]) -> Result<(), Errno> {
        let text = self.with_ids(text);
        let taken = self.target.write(path, &text)?;
        if taken != text.len() {
            self.line("=", &format!("took {taken} of {} bytes", text.len()));
        }
        Ok(())
    }

    /// Labels become ids; other bytes stay as they are.
    fn with_ids(&self, mut text: &[u8]) -> Vec<u8> {
        let mut written = Vec::new();
        while let Some((&first, rest)) = text.split_first() {
            match self.tasks.iter().find(|(label, _)| text.starts_with(label.as_bytes())) {
                Some((label, id)) => {
                    written.extend_from_slice(id.to_string().as_bytes());
                    text = &text[label.len()..];
                }
                None => {
                    written.push(first);
                    text = rest;
                }
            }
        }
        written
    }

    /// Ids of labelled tasks in a message become labels.
    fn labelled(&self, message: &[u8]) -> Vec<u8> {
        if !TASK_WORDS
            .into_iter()
            .any(|word| message.windows(word.len()).any(|part| part == word.as_bytes()))
        {
            return message.into();
        }
        message
            .chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit())
            .flat_map(|part| {
                let found = self.tasks.iter().find(|(_, id)| id.to_string().as_bytes() == part);
                found.map_or_else(|| part.to_vec(), |(label, _)| label.as_bytes().to_vec())
            })
            .collect()
    }

    fn contents(&mut self, path: &str, read: Result<Vec<u8>, Errno>) {
        let text = match read {
            Ok(text) => text,
            Err(errno) => return self.done(Err(errno)),
        };
        let text = match path.rsplit('/').next() {
            Some("tasks") => self.tasks_of(&text),
            _ if path == STATUS => self.labelled(&text),
            // RMIDs are reused in the order in which caches were found to be empty of them.
            Some("mon_hw_id") => b"*\n".to_vec(),
            _ => text,
        };
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            match line.strip_suffix(b"\n") {
                Some(line) => {
                    self.line("|", &line.escape_ascii().to_string());
                }
                None => self.line("|", &format!("{} (no newline)", line.escape_ascii())),
            }
        }
    }

    /// The tasks that have labels, in their order.
    fn tasks_of(&self, text: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(text);
        let there: Vec<i32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
        let labels = self.tasks.iter().filter(|(_, id)| there.contains(id));
        labels.fold(String::new(), |all, (label, _)| all + label + "\n").into_bytes()
    }

    fn list(&mut self, path: &str) {
        match self.entries(path) {
            Ok(entries) => {
                for entry in entries {
                    let name = quoted(entry.name.as_bytes());
                    self.line("|", &name);
                }
            }
            Err(errno) => self.done(Err(errno)),
        }
    }

    fn entries(&mut self, path: &str) -> Result<Vec<Entry>, Errno> {
        let mut entries = self.target.list(path)?;
        entries.sort();
        Ok(entries)
    }

    fn tree(&mut self, path: &str) {
        let entries = match self.entries(path) {
            Ok(entries) => entries,
            Err(errno) => return self.done(Err(errno)),
        };
        for entry in entries {
            let below = match path {
                "" => entry.name,
                _ => format!("{path}/{}", entry.name),
            };
            let kind = if entry.directory { 'd' } else { '-' };
            let shown = quoted(below.as_bytes());
            self.line(":", &format!("{kind}{:04o} {} {shown}", entry.permissions, entry.user));
            if entry.directory {
                self.tree(&below);
            } else {
                let read = self.target.read(&below);
                self.contents(&below, read);
            }
        }
    }
}
