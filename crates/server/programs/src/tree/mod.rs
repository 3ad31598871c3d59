//! The existing cgroups, by the directories of their hierarchies; inotify reports those that come
//! and go.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use fairways_linux::is_gone;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::hierarchy::Hierarchy;
use super::process::{Proc, in_file, is_too_long};

/// The most directories that are watched; with more cgroups, every look walks them all.
const MOST_WATCHED: usize = 8192;

/// One hierarchy, and its cgroups.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) hierarchy: Hierarchy,
    /// By path from the hierarchy's mount point.
    dirs: BTreeMap<String, Dir>,
}

#[derive(Debug, Default)]
struct Dir {
    /// Distinguishes a cgroup from one that was made again under its path; kernfs does not reuse a
    /// number (`kernfs_new_node`).
    inode: u64,
    /// The watch on it.
    watch: Option<i32>,
    /// The watch on its `cgroup.events`.
    events_watch: Option<i32>,
    /// The content of `cgroup.events`, while it is watched and has not changed since.
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
    /// Whether something was missed, so that everything must be walked once.
    missed: bool,
}

impl Forest {
    /// Finds the hierarchies and walks them.
    ///
    /// # Errors
    /// If none exists at `below`, or it can't be read.
    pub(super) fn open(proc: &Proc, below: &Path) -> io::Result<Self> {
        let mounted = Hierarchy::mounted(proc.mounts()?, below);
        if mounted.is_empty() {
            let why =
                format!("{}: expected a cgroup filesystem mounted here or below", below.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, why));
        }
        let mut forest = Self {
            trees: Hierarchy::searched(&mounted)
                .into_iter()
                .map(|hierarchy| Tree { hierarchy, dirs: BTreeMap::new() })
                .collect(),
            perf: mounted.into_iter().find(|one| one.has("perf_event")),
            inotify: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok(),
            watched: HashMap::new(),
            whole: true,
            missed: false,
        };
        forest.walk()?;
        Ok(forest)
    }

    /// Readable when a cgroup came or went.
    pub(super) fn attention(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }

    /// Whether every cgroup is watched, rather than walked to at every look, and nothing was
    /// missed.
    pub(super) const fn is_watched(&self) -> bool {
        self.whole && !self.missed
    }

    /// The paths of a tree's cgroups, ascending.
    pub(super) fn paths(&self, tree: usize) -> impl Iterator<Item = &str> + Clone {
        self.trees.get(tree).into_iter().flat_map(|tree| tree.dirs.keys().map(String::as_str))
    }

    /// Reads what changed. Returns whether cgroups came or went, or one was populated or emptied.
    /// If everything must be walked, that is done in a `look` only.
    pub(super) fn refresh(&mut self, look: bool) -> io::Result<Changes> {
        let mut refreshed = self.read_events().inspect_err(|_| self.missed = true)?;
        if look && (self.missed || !self.whole) {
            refreshed.dirs |= self.walk()?;
        }
        refreshed.dirs |= self.missed;
        self.missed &= !look;
        Ok(refreshed)
    }

    fn read_events(&mut self) -> io::Result<Changes> {
        let mut refreshed = Changes::default();
        let Some(inotify) = &self.inotify else { return Ok(refreshed) };
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(inotify, &mut buffer);
        let mut news = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    self.missed |=
                        event.events().intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT);
                    let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
                    news.push((event.wd(), event.events(), name));
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
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
        Ok(refreshed)
    }

    /// Walks everything. Returns whether it found something unknown.
    fn walk(&mut self) -> io::Result<bool> {
        self.whole = self.inotify.is_some();
        let mut changed = false;
        for tree in 0..self.trees.len() {
            let before = std::mem::take(&mut self.trees[tree].dirs);
            if let Err(error) = self.add(tree, "/".to_owned()) {
                self.missed = true;
                // A watched cgroup is known again when the walk reaches it.
                self.trees[tree].dirs.extend(before);
                return Err(error);
            }
            let now = &mut self.trees[tree].dirs;
            let inodes = before.values().map(|dir| dir.inode);
            changed |=
                !now.keys().eq(before.keys()) || !now.values().map(|dir| dir.inode).eq(inodes);
            for (path, mut dir) in before {
                if let Some(now) = now.get_mut(&path).filter(|now| now.inode == dir.inode) {
                    // A watch on cgroup.events stays, but its report may have been lost.
                    now.events_watch = dir.events_watch.take();
                    dir.watch = None;
                }
                forget(self.inotify.as_ref(), &mut self.watched, &dir);
            }
        }
        Ok(changed)
    }

    /// Adds a cgroup and all below it, unless it is gone.
    fn add(&mut self, tree: usize, path: String) -> io::Result<()> {
        let mut open = vec![path];
        while let Some(path) = open.pop() {
            let directory = self.trees[tree].hierarchy.directory(&path);
            // Watched first and read then, so that changes in between are reported.
            let watch = self.watch(tree, &path, &directory);
            let found =
                fs::metadata(&directory).and_then(|of| Ok((of.ino(), fs::read_dir(&directory)?)));
            let (inode, entries) = match found {
                Ok(found) => found,
                // A path that is too long can't be reached.
                Err(error) if is_gone(&error) || is_too_long(&error) => {
                    let gone = Dir { watch, ..Dir::default() };
                    forget(self.inotify.as_ref(), &mut self.watched, &gone);
                    continue;
                }
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
            let dirs = &mut self.trees[tree].dirs;
            let mut before = dirs.remove(&path).unwrap_or_default();
            let mut now = Dir { inode, watch, ..Dir::default() };
            if before.inode == inode {
                (now.events_watch, now.populated) = (before.events_watch.take(), before.populated);
            }
            before.watch = before.watch.filter(|_| before.watch != watch);
            dirs.insert(path, now);
            forget(self.inotify.as_ref(), &mut self.watched, &before);
        }
        Ok(())
    }

    fn watch(&mut self, tree: usize, path: &str, directory: &Path) -> Option<i32> {
        let Some(inotify) = self.inotify.as_ref().filter(|_| self.watched.len() < MOST_WATCHED)
        else {
            self.whole = false;
            return None;
        };
        let flags =
            WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE | WatchFlags::ONLYDIR;
        match inotify::add_watch(inotify, directory, flags) {
            Ok(watch) => {
                self.watched.insert(watch, Watched::Directory(tree, path.to_owned()));
                return Some(watch);
            }
            Err(Errno::NOENT) => {}
            Err(_) => self.whole = false,
        }
        None
    }

    fn remove(&mut self, tree: usize, path: &str) {
        let dirs = &mut self.trees[tree].dirs;
        let inside = format!("{path}/");
        let inside = dirs
            .range(inside.clone()..)
            .map(|(path, _)| path.clone())
            .take_while(|path| path.starts_with(&inside));
        let gone: Vec<String> = std::iter::once(path.to_owned()).chain(inside).collect();
        for path in gone {
            if let Some(dir) = dirs.remove(&path) {
                forget(self.inotify.as_ref(), &mut self.watched, &dir);
            }
        }
    }

    /// The number of a cgroup's directory, which another one made under its path does not have.
    pub(super) fn inode(&self, tree: usize, path: &str) -> Option<u64> {
        Some(self.trees.get(tree)?.dirs.get(path)?.inode)
    }

    /// Whether a cgroup of v2 or one below it has a task; `None` where the kernel does not report
    /// it. Read once, and again when it has changed.
    pub(super) fn populated(&mut self, tree: usize, path: &str) -> Option<bool> {
        let of = self.trees.get_mut(tree).filter(|of| of.hierarchy.unified)?;
        let dir = of.dirs.get_mut(path)?;
        if let Some(populated) = dir.populated {
            return Some(populated);
        }
        if let Some(inotify) = self.inotify.as_ref().filter(|_| dir.events_watch.is_none()) {
            let file = of.hierarchy.directory(path).join("cgroup.events");
            if let Ok(watch) = inotify::add_watch(inotify, &file, WatchFlags::MODIFY) {
                self.watched.insert(watch, Watched::Events(tree, path.to_owned()));
                dir.events_watch = Some(watch);
            }
        }
        let populated = of.hierarchy.is_populated(path);
        dir.populated = populated.filter(|_| dir.events_watch.is_some());
        populated
    }

    /// Whether the kernel reports when a cgroup is populated or emptied.
    pub(super) fn reports_population(&self, tree: usize, path: &str) -> bool {
        self.trees
            .get(tree)
            .and_then(|tree| tree.dirs.get(path))
            .is_some_and(|dir| dir.events_watch.is_some())
    }

    /// The directory by which the kernel counts the events of a cgroup and of all below it, if
    /// those are `tasks`.
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

/// The result of a refresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Cgroups came or went.
    pub(super) dirs: bool,
    /// A cgroup was populated or emptied.
    pub(super) populated: bool,
}

/// Removes the watches of a cgroup: kernfs does not when it is removed (no `fsnotify_inoderemove`),
/// and the kernel allows a user a limited number.
fn forget(inotify: Option<&OwnedFd>, watched: &mut HashMap<i32, Watched>, dir: &Dir) {
    for watch in [dir.watch, dir.events_watch].into_iter().flatten() {
        watched.remove(&watch);
        if let Some(inotify) = inotify {
            // It fails where the kernel removed it itself.
            let _ = inotify::remove_watch(inotify, watch);
        }
    }
}

fn below(path: &str, name: &str) -> String {
    if path == "/" { format!("/{name}") } else { format!("{path}/{name}") }
}

#[cfg(test)]
mod tests;
