//! The cgroups that there are, by the directories of their hierarchies; inotify tells of those that come and go.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::hierarchy::Hierarchy;
use super::process::{Proc, in_file, is_gone};

/// So many directories are watched, at most; with more cgroups than this all are walked at every look.
const MOST_WATCHED: usize = 8192;

/// One hierarchy, and the cgroups that it has.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) hierarchy: Hierarchy,
    /// By path from where the hierarchy is mounted.
    dirs: BTreeMap<String, Dir>,
}

#[derive(Debug, Default)]
struct Dir {
    /// Whether its `cgroup.events` is watched.
    told: bool,
    /// What `cgroup.events` said, while it is watched and has not changed since.
    populated: Option<bool>,
}

#[derive(Debug)]
enum Watched {
    Directory(usize, String),
    Events(usize, String),
}

/// The hierarchies that are searched.
#[derive(Debug)]
pub(super) struct Forest {
    pub(super) trees: Vec<Tree>,
    /// The hierarchy by which the kernel counts events, where v1 has it.
    perf: Option<Hierarchy>,
    inotify: Option<OwnedFd>,
    watched: HashMap<i32, Watched>,
    /// Whether every directory is watched.
    whole: bool,
}

impl Forest {
    /// Finds the hierarchies and walks them.
    ///
    /// # Errors
    /// If there is none at `below`, or it can't be read.
    pub(super) fn open(proc: &Proc, below: &Path) -> io::Result<Self> {
        let mounted = Hierarchy::mounted(&proc.mounts()?, below);
        if mounted.is_empty() {
            let why =
                format!("{}: expected a cgroup filesystem mounted here or below", below.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, why));
        }
        let tree = |hierarchy| Tree { hierarchy, dirs: BTreeMap::new() };
        let mut forest = Self {
            trees: Hierarchy::searched(&mounted).into_iter().map(tree).collect(),
            perf: mounted.into_iter().find(|one| one.has("perf_event")),
            inotify: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok(),
            watched: HashMap::new(),
            whole: true,
        };
        forest.walk()?;
        Ok(forest)
    }

    /// What is readable when a cgroup came or went.
    pub(super) fn attention(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }

    /// Whether every cgroup is watched, rather than walked to at every look.
    pub(super) const fn is_watched(&self) -> bool {
        self.whole
    }

    /// The paths of a tree's cgroups, ascending.
    pub(super) fn paths(&self, tree: usize) -> impl Iterator<Item = &str> + Clone {
        self.trees.get(tree).into_iter().flat_map(|tree| tree.dirs.keys().map(String::as_str))
    }

    /// Takes in what came and went; whether anything did, or a cgroup was populated or emptied.
    pub(super) fn refresh(&mut self) -> io::Result<Refreshed> {
        let mut refreshed = self.heard()?;
        if !self.whole {
            refreshed.dirs |= self.walk()?;
        }
        Ok(refreshed)
    }

    fn heard(&mut self) -> io::Result<Refreshed> {
        let mut refreshed = Refreshed::default();
        let Some(inotify) = self.inotify.take() else { return Ok(refreshed) };
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&inotify, &mut buffer);
        let mut news = Vec::new();
        let mut lost = false;
        loop {
            match reader.next() {
                Ok(event) => {
                    lost |=
                        event.events().intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT);
                    let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
                    news.push((event.wd(), event.events(), name));
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.inotify = Some(inotify);
        for (watch, flags, name) in news {
            if flags.contains(ReadFlags::IGNORED) {
                self.watched.remove(&watch);
                continue;
            }
            match (self.watched.get(&watch), name) {
                (Some(Watched::Events(tree, path)), _) => {
                    if let Some(dir) = self.trees[*tree].dirs.get_mut(path) {
                        dir.populated = None;
                        refreshed.populated = true;
                    }
                }
                (Some(Watched::Directory(tree, path)), Some(name))
                    if flags.contains(ReadFlags::ISDIR) =>
                {
                    let (tree, path) = (*tree, below(path, &name));
                    refreshed.dirs = true;
                    if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
                        self.add(tree, path)?;
                    } else {
                        self.remove(tree, &path);
                    }
                }
                _ => {}
            }
        }
        if lost {
            self.walk()?;
            refreshed.dirs = true;
        }
        Ok(refreshed)
    }

    /// Walks all; whether it found what was not known.
    fn walk(&mut self) -> io::Result<bool> {
        self.whole = self.inotify.is_some();
        let mut changed = false;
        for tree in 0..self.trees.len() {
            let before = std::mem::take(&mut self.trees[tree].dirs);
            self.add(tree, "/".to_owned())?;
            let now = &mut self.trees[tree].dirs;
            changed |= !now.keys().eq(before.keys());
            // A watch on cgroup.events stays, but what it told may have been lost.
            for (path, dir) in before {
                if let Some(now) = now.get_mut(&path) {
                    now.told = dir.told;
                }
            }
        }
        Ok(changed)
    }

    /// Adds a cgroup and all below it, unless it is gone.
    fn add(&mut self, tree: usize, path: String) -> io::Result<()> {
        let mut open = vec![path];
        while let Some(path) = open.pop() {
            let directory = self.trees[tree].hierarchy.directory(&path);
            // Watched first and read then, so that what comes between is told.
            self.watch(tree, &path, &directory);
            let entries = match fs::read_dir(&directory) {
                Ok(entries) => entries,
                Err(error) if is_gone(&error) => continue,
                Err(error) => return Err(in_file(&directory, &error)),
            };
            for entry in entries {
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(error) if is_gone(&error) => break,
                    Err(error) => return Err(in_file(&directory, &error)),
                };
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push(below(&path, &entry.file_name().to_string_lossy()));
                }
            }
            self.trees[tree].dirs.entry(path).or_default();
        }
        Ok(())
    }

    fn watch(&mut self, tree: usize, path: &str, directory: &Path) {
        let Some(inotify) = self.inotify.as_ref().filter(|_| self.watched.len() < MOST_WATCHED)
        else {
            self.whole = false;
            return;
        };
        let flags =
            WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE | WatchFlags::ONLYDIR;
        match inotify::add_watch(inotify, directory, flags) {
            Ok(watch) => {
                self.watched.insert(watch, Watched::Directory(tree, path.to_owned()));
            }
            Err(Errno::NOENT) => {}
            Err(_) => self.whole = false,
        }
    }

    fn remove(&mut self, tree: usize, path: &str) {
        let dirs = &mut self.trees[tree].dirs;
        dirs.remove(path);
        let inside = format!("{path}/");
        let gone: Vec<String> = dirs
            .range(inside.clone()..)
            .map(|(path, _)| path.clone())
            .take_while(|path| path.starts_with(&inside))
            .collect();
        for path in gone {
            dirs.remove(&path);
        }
    }

    /// Whether there is a task in a cgroup of v2 or below it; `None` where the kernel does not tell. Asked once, and again
    /// when it has changed.
    pub(super) fn populated(&mut self, tree: usize, path: &str) -> Option<bool> {
        let of = self.trees.get_mut(tree).filter(|of| of.hierarchy.unified)?;
        let dir = of.dirs.get_mut(path)?;
        if let Some(populated) = dir.populated {
            return Some(populated);
        }
        if let Some(inotify) = self.inotify.as_ref().filter(|_| !dir.told) {
            let file = of.hierarchy.directory(path).join("cgroup.events");
            if let Ok(watch) = inotify::add_watch(inotify, &file, WatchFlags::MODIFY) {
                self.watched.insert(watch, Watched::Events(tree, path.to_owned()));
                dir.told = true;
            }
        }
        let populated = of.hierarchy.populated(path);
        dir.populated = populated.filter(|_| dir.told);
        populated
    }

    /// Whether the kernel tells when a cgroup is populated or emptied.
    pub(super) fn is_told(&self, tree: usize, path: &str) -> bool {
        self.trees.get(tree).and_then(|tree| tree.dirs.get(path)).is_some_and(|dir| dir.told)
    }

    /// The directory by which the kernel counts the events of a cgroup and of all below it, if those are `tasks`.
    pub(super) fn perf_directory(
        &self,
        proc: &Proc,
        tree: usize,
        path: &str,
        tasks: &[i32],
    ) -> io::Result<Option<PathBuf>> {
        let of = &self.trees[tree].hierarchy;
        let Some(perf) = &self.perf else {
            return Ok(of.unified.then(|| of.directory(path)));
        };
        let mut counted = Vec::new();
        let mut open = vec![path.to_owned()];
        while let Some(path) = open.pop() {
            perf.threads(&path, proc, &mut counted)?;
            let Ok(entries) = fs::read_dir(perf.directory(&path)) else { return Ok(None) };
            for entry in entries.flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push(below(&path, &entry.file_name().to_string_lossy()));
                }
            }
        }
        counted.sort_unstable();
        Ok((counted == tasks).then(|| perf.directory(path)))
    }
}

/// What a refresh found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Refreshed {
    /// Cgroups came or went.
    pub(super) dirs: bool,
    /// A cgroup was populated or emptied.
    pub(super) populated: bool,
}

fn below(path: &str, name: &str) -> String {
    if path == "/" { format!("/{name}") } else { format!("{path}/{name}") }
}
