//! The effect of each operation on the rules, its faults, and the state of open files.

use std::ffi::OsStr;

use fairways_resctrl::language::Reading;
use fairways_resctrl_rules::rules::{Caller, Errno as RulesErrno, GroupFile, Node};
use fuser::{Errno, FileAttr, FileType, INodeNo, OpenAccMode, OpenFlags};

use crate::inodes::Entry;
use crate::shared::Files;
use crate::state::State;
use fairways_emulated::{Effect, Operation};

fn errno(of: RulesErrno) -> Errno {
    Errno::from_i32(of.code())
}

/// A name that resctrl could have.
fn text(name: &OsStr) -> Result<&str, Errno> {
    name.to_str().ok_or(Errno::ENOENT)
}

impl Files {
    pub(super) fn attributes(&mut self, number: u64, entry: Entry) -> Result<FileAttr, Errno> {
        let attributes = self.state.rules.attributes(entry.node).ok_or(Errno::ENODEV)?;
        let links = if attributes.directory {
            let children = self.state.rules.children(entry.node);
            let folders = children.iter().filter(|(_, child)| child.is_directory()).count();
            2 + u32::try_from(folders).unwrap_or(u32::MAX - 2)
        } else {
            1
        };
        // Root makes groups in directories without write permission (CAP_DAC_OVERRIDE); so does a
        // user who plays root.
        let plays_root = if attributes.directory && self.user != 0 { 0o200 } else { 0 };
        Ok(FileAttr {
            ino: INodeNo(number),
            size: 0,
            blocks: 0,
            atime: entry.since,
            mtime: entry.since,
            ctime: entry.since,
            crtime: entry.since,
            kind: if attributes.directory { FileType::Directory } else { FileType::RegularFile },
            perm: attributes.mode | plays_root,
            nlink: links,
            uid: if attributes.uid == 0 { self.user } else { attributes.uid },
            gid: if attributes.gid == 0 { self.group } else { attributes.gid },
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    pub(super) fn entry(&self, number: u64) -> Result<Entry, Errno> {
        self.inodes.get(number).ok_or(Errno::ENOENT)
    }

    pub(crate) fn lists_tasks(&self, number: u64) -> bool {
        let entry = self.inodes.get(number);
        entry.is_some_and(|entry| matches!(entry.node, Node::File(_, GroupFile::Tasks)))
    }

    /// Whether a write can change which files there are, or their permissions: not of those that
    /// managers write all the time.
    pub(super) fn changes_tree(&self, number: u64) -> bool {
        use GroupFile::{Cpus, CpusList, Schemata, Tasks};
        let entry = self.inodes.get(number);
        !entry.is_some_and(|entry| {
            matches!(entry.node, Node::File(_, Schemata | Tasks | Cpus | CpusList))
        })
    }

    /// A directory's file; ENOENT if there is none.
    pub(super) fn child(&mut self, parent: u64, name: &OsStr) -> Result<Node, Errno> {
        let parent = self.entry(parent)?.node;
        self.state.rules.lookup(parent, text(name)?).ok_or(Errno::ENOENT)
    }

    /// The number and attributes of a file, which the kernel knows from now on.
    pub(super) fn look_up(&mut self, node: Node) -> Result<FileAttr, Errno> {
        let rules = &self.state.rules;
        self.inodes.sweep(|node| rules.attributes(node).is_some());
        let number = self.inodes.number(node);
        let entry = self.entry(number)?;
        let attributes = self.attributes(number, entry)?;
        self.inodes.count_lookup(number);
        Ok(attributes)
    }

    pub(super) fn faults(
        &mut self,
        operation: Operation,
        number: u64,
        name: Option<&OsStr>,
    ) -> Vec<Effect> {
        match self.inodes.get(number) {
            Some(entry) => {
                let name = name.map(OsStr::to_string_lossy);
                self.state.faults_of(operation, entry.node, name.as_deref())
            }
            None => Vec::new(),
        }
    }

    pub(super) fn open(&mut self, number: u64, flags: OpenFlags) -> Result<u64, Errno> {
        let node = self.entry(number)?.node;
        let (reads, writes) = match flags.acc_mode() {
            OpenAccMode::O_RDONLY => (true, false),
            OpenAccMode::O_WRONLY => (false, true),
            OpenAccMode::O_RDWR => (true, true),
        };
        self.state.rules.open(node, reads, writes).map_err(errno)?;
        Ok(self.handles.open())
    }

    /// Sizes stay 0.
    pub(super) fn truncate(&self, number: u64) -> Result<(), Errno> {
        let node = self.entry(number)?.node;
        self.state.rules.attributes(node).map(|_| ()).ok_or(Errno::ENODEV)
    }

    pub(super) fn read(
        &mut self,
        number: u64,
        (handle, offset, size): (u64, u64, u32),
        caller: &Caller,
        met: &[Effect],
    ) -> Result<Vec<u8>, Errno> {
        let node = self.entry(number)?.node;
        if self.handles.is_stale(handle, offset) {
            if self.lists_tasks(number) {
                self.state.refresh_tasks(false).map_err(Errno::from)?;
            }
            let content = self.state.rules.read(node, caller, &mut self.state.outside);
            self.check_tasks()?;
            let mut content = content.map_err(errno)?;
            if matches!(node, Node::MonEvent(..) | Node::MonNodeEvent(..)) {
                let says = met.iter().find_map(|what| match what {
                    Effect::Reports(reading) => Some(*reading),
                    _ => None,
                });
                if let Some(reading) = says {
                    content = reading_text(reading);
                }
            }
            self.handles.fill(handle, content);
        } else if self.state.rules.attributes(node).is_none() {
            return Err(Errno::ENODEV);
        }
        Ok(self.handles.read(handle, offset, usize::try_from(size).unwrap_or(usize::MAX)))
    }

    /// Fails an answer that depends on tasks which could not be read.
    pub(super) fn check_tasks(&mut self) -> Result<(), Errno> {
        let blind = self.state.outside.tasks_error.take();
        blind.map_or(Ok(()), |why| Err(Errno::from_i32(why.raw_os_error())))
    }

    pub(super) fn write(
        &mut self,
        number: u64,
        bytes: &[u8],
        caller: &Caller,
    ) -> Result<u32, Errno> {
        let node = self.entry(number)?.node;
        if self.lists_tasks(number) {
            self.state.refresh_tasks(true).map_err(Errno::from)?;
        }
        let written = self.state.rules.write(node, bytes, caller, &mut self.state.outside);
        self.check_tasks()?;
        written.map_err(errno)?;
        Ok(u32::try_from(bytes.len()).unwrap_or(u32::MAX))
    }

    pub(super) fn make(
        &mut self,
        parent: u64,
        name: &OsStr,
        mode: u32,
        caller: &Caller,
    ) -> Result<FileAttr, Errno> {
        let parent = self.entry(parent)?.node;
        let name = text(name).map_err(|_| Errno::EINVAL)?;
        let mode = u16::try_from(mode & 0o7777).unwrap_or(0o755);
        let made =
            self.state.rules.mkdir_with_mode(parent, name, mode, caller, &mut self.state.outside);
        self.look_up(made.map_err(errno)?)
    }

    pub(super) fn remove(&mut self, parent: u64, name: &OsStr) -> Result<(), Errno> {
        let node = self.child(parent, name)?;
        let removed = self.state.rules.rmdir(node, &mut self.state.outside);
        removed.map_err(errno)
    }

    pub(super) fn rename(&mut self, from: (u64, &OsStr), to: (u64, &OsStr)) -> Result<(), Errno> {
        let (from_parent, to_parent) = (self.entry(from.0)?.node, self.entry(to.0)?.node);
        let (old, new) = (text(from.1)?, text(to.1).map_err(|_| Errno::EINVAL)?);
        let State { rules, outside, .. } = &mut self.state;
        let renamed = rules.rename(from_parent, old, to_parent, new, outside);
        renamed.map_err(errno)
    }

    pub(super) fn change(
        &mut self,
        number: u64,
        (mode, uid, gid): (Option<u32>, Option<u32>, Option<u32>),
    ) -> Result<FileAttr, Errno> {
        let entry = self.entry(number)?;
        if mode.is_some() || uid.is_some() || gid.is_some() {
            let mode = mode.map(|mode| u16::try_from(mode & 0o7777).unwrap_or(0));
            self.state.rules.set_attributes(entry.node, mode, uid, gid).map_err(errno)?;
        }
        // Sizes stay 0, whatever is requested (kernfs_iop_setattr).
        self.attributes(number, entry)
    }
}

/// The content of an event's file without a number.
fn reading_text(reading: Reading) -> Vec<u8> {
    format!("{reading}\n").into_bytes()
}
