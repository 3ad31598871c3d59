//! The files, as FUSE asks for them.
//!
//! What the kernel's VFS and kernfs do around resctrl is here; what resctrl does is the rules'. Permission bits are checked by
//! FUSE (`default_permissions`), with attributes that it asks for every time.

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fairways_resctrl::language::Reading;
use fairways_resctrl::rules::{Caller, Errno as RulesErrno, GroupFile, Node};
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, OpenAccMode, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use parking_lot::{Mutex, MutexGuard};

use crate::fault::{Operation, What};
use crate::inodes::Entry;
use crate::shared::{Files, Shared};
use crate::state::State;

/// Nothing is kept: what another client or the machine changes is seen at once.
const TTL: Duration = Duration::ZERO;

/// Numbers are never used again, so that no generation is needed to tell files apart.
const GENERATION: Generation = Generation(0);

/// Sizes are 0, and reads go through.
const OPEN: FopenFlags = FopenFlags::FOPEN_DIRECT_IO;

/// What FUSE talks to.
pub(crate) struct ResctrlFiles {
    pub(crate) shared: Arc<Shared>,
}

/// What an operation comes to, and how long it is to take.
type Outcome<T> = (Result<T, Errno>, Duration);

fn errno(of: RulesErrno) -> Errno {
    Errno::from_i32(of.code())
}

fn caller(request: &Request) -> Caller {
    Caller { thread: request.pid().cast_signed(), uid: request.uid(), gid: request.gid() }
}

/// A name that resctrl could know.
fn text(name: &OsStr) -> Result<&str, Errno> {
    name.to_str().ok_or(Errno::ENOENT)
}

/// Runs what answers a slow operation on a thread of its own, so that others go on.
fn answer(slow: Duration, reply: impl FnOnce() + Send + 'static) {
    if slow.is_zero() {
        return reply();
    }
    let waiting = Arc::new(Mutex::new(Some(reply)));
    let to = Arc::clone(&waiting);
    let sleeper = std::thread::Builder::new().name("slow".to_owned()).spawn(move || {
        std::thread::sleep(slow);
        let reply = to.lock().take();
        reply.into_iter().for_each(|reply| reply());
    });
    if sleeper.is_err() {
        // Without a thread for it, an answer that comes too soon is better than none.
        let reply = waiting.lock().take();
        reply.into_iter().for_each(|reply| reply());
    }
}

/// Whether a fault makes an operation fail, and how much slower all of them make it.
fn consequences(met: &[What]) -> (Result<(), Errno>, Duration) {
    let fails = met.iter().find_map(|what| match what {
        What::Fails(errno) => Some(Errno::from_i32(errno.raw_os_error())),
        _ => None,
    });
    let slow =
        met.iter().map(|what| if let What::Slow(time) = what { *time } else { Duration::ZERO });
    (fails.map_or(Ok(()), Err), slow.sum())
}

impl Files {
    fn attributes(&mut self, number: u64, entry: Entry) -> Result<FileAttr, Errno> {
        let attributes = self.state.rules.attributes(entry.node).ok_or(Errno::ENODEV)?;
        let links = if attributes.directory {
            let children = self.state.rules.children(entry.node);
            let folders = children.iter().filter(|(_, child)| child.is_directory()).count();
            2 + u32::try_from(folders).unwrap_or(u32::MAX - 2)
        } else {
            1
        };
        // Root makes groups in directories that nobody may write (CAP_DAC_OVERRIDE); so does who plays root.
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

    fn entry(&self, number: u64) -> Result<Entry, Errno> {
        self.inodes.get(number).ok_or(Errno::ENOENT)
    }

    /// A directory's file; ENOENT if there is none.
    fn child(&mut self, parent: u64, name: &OsStr) -> Result<Node, Errno> {
        let parent = self.entry(parent)?.node;
        self.state.rules.lookup(parent, text(name)?).ok_or(Errno::ENOENT)
    }

    /// The number and attributes of a file, of which the kernel is told.
    fn tell(&mut self, node: Node) -> Result<FileAttr, Errno> {
        let rules = &self.state.rules;
        self.inodes.sweep(|node| rules.attributes(node).is_some());
        let number = self.inodes.number(node);
        let entry = self.entry(number)?;
        let attributes = self.attributes(number, entry)?;
        self.inodes.told(number);
        Ok(attributes)
    }

    fn faults(&mut self, operation: Operation, number: u64, name: Option<&OsStr>) -> Vec<What> {
        match self.inodes.get(number) {
            Some(entry) => {
                let name = name.map(OsStr::to_string_lossy);
                self.state.faults_of(operation, entry.node, name.as_deref())
            }
            None => Vec::new(),
        }
    }

    fn open(&mut self, number: u64, flags: OpenFlags) -> Result<u64, Errno> {
        let node = self.entry(number)?.node;
        let (reads, writes) = match flags.acc_mode() {
            OpenAccMode::O_RDONLY => (true, false),
            OpenAccMode::O_WRONLY => (false, true),
            OpenAccMode::O_RDWR => (true, true),
        };
        self.state.rules.open(node, reads, writes).map_err(errno)?;
        Ok(self.handles.open())
    }

    fn read(
        &mut self,
        number: u64,
        (handle, offset, size): (u64, u64, u32),
        caller: &Caller,
        met: &[What],
    ) -> Result<Vec<u8>, Errno> {
        let node = self.entry(number)?.node;
        if self.handles.is_stale(handle, offset) {
            let is_tasks = matches!(node, Node::File(_, GroupFile::Tasks));
            if is_tasks {
                self.state.look_at_tasks(false).map_err(Errno::from)?;
            }
            let content = self.state.rules.read(node, caller, &mut self.state.outside);
            self.saw()?;
            let mut content = content.map_err(errno)?;
            if matches!(node, Node::MonEvent(..)) {
                let says = met.iter().find_map(|what| match what {
                    What::Says(reading) => Some(*reading),
                    _ => None,
                });
                if let Some(reading) = says {
                    content = said(reading);
                }
            }
            self.handles.fill(handle, content);
        } else if self.state.rules.attributes(node).is_none() {
            return Err(Errno::ENODEV);
        }
        Ok(self.handles.read(handle, offset, usize::try_from(size).unwrap_or(usize::MAX)))
    }

    /// An answer that rests on tasks which could not be told is none.
    fn saw(&mut self) -> Result<(), Errno> {
        let blind = self.state.outside.blind.take();
        blind.map_or(Ok(()), |why| Err(Errno::from_i32(why.raw_os_error())))
    }

    fn write(&mut self, number: u64, bytes: &[u8], caller: &Caller) -> Result<u32, Errno> {
        let node = self.entry(number)?.node;
        if matches!(node, Node::File(_, GroupFile::Tasks)) {
            self.state.look_at_tasks(true).map_err(Errno::from)?;
        }
        let written = self.state.rules.write(node, bytes, caller, &mut self.state.outside);
        self.state.tell();
        self.saw()?;
        written.map_err(errno)?;
        Ok(u32::try_from(bytes.len()).unwrap_or(u32::MAX))
    }

    fn make(
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
        self.state.tell();
        self.tell(made.map_err(errno)?)
    }

    fn remove(&mut self, parent: u64, name: &OsStr) -> Result<(), Errno> {
        let node = self.child(parent, name)?;
        let removed = self.state.rules.rmdir(node, &mut self.state.outside);
        self.state.tell();
        removed.map_err(errno)
    }

    fn rename(&mut self, from: (u64, &OsStr), to: (u64, &OsStr)) -> Result<(), Errno> {
        let (from_parent, to_parent) = (self.entry(from.0)?.node, self.entry(to.0)?.node);
        let (old, new) = (text(from.1)?, text(to.1).map_err(|_| Errno::EINVAL)?);
        let State { rules, outside, .. } = &mut self.state;
        let renamed = rules.rename(from_parent, old, to_parent, new, outside);
        self.state.tell();
        renamed.map_err(errno)
    }

    fn change(
        &mut self,
        number: u64,
        (mode, uid, gid): (Option<u32>, Option<u32>, Option<u32>),
    ) -> Result<FileAttr, Errno> {
        let entry = self.entry(number)?;
        if mode.is_some() || uid.is_some() || gid.is_some() {
            let mode = mode.map(|mode| u16::try_from(mode & 0o7777).unwrap_or(0));
            self.state.rules.set_attributes(entry.node, mode, uid, gid).map_err(errno)?;
        }
        // Sizes stay 0, whatever is asked for (kernfs_iop_setattr).
        self.attributes(number, entry)
    }
}

/// The file of an event that says a word.
fn said(reading: Reading) -> Vec<u8> {
    format!("{reading}\n").into_bytes()
}

impl ResctrlFiles {
    fn files(&self) -> MutexGuard<'_, Files> {
        self.shared.files()
    }

    /// Does something, unless a fault has it fail.
    fn with<T>(
        &self,
        (operation, number, name): (Operation, INodeNo, Option<&OsStr>),
        what: impl FnOnce(&mut Files, &[What]) -> Result<T, Errno>,
    ) -> Outcome<T> {
        let mut files = self.files();
        let met = files.faults(operation, number.0, name);
        let (fails, slow) = consequences(&met);
        (fails.and_then(|()| what(&mut files, &met)), slow)
    }
}

impl Filesystem for ResctrlFiles {
    fn destroy(&mut self) {
        self.shared.unmounted();
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut files = self.files();
        let found = files.child(parent.0, name).and_then(|node| files.tell(node));
        drop(files);
        match found {
            Ok(attributes) => reply.entry(&TTL, &attributes, GENERATION),
            Err(errno) => reply.error(errno),
        }
    }

    fn forget(&self, _: &Request, number: INodeNo, lookups: u64) {
        self.files().inodes.forget(number.0, lookups);
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let mut files = self.files();
        let found = files.entry(number.0).and_then(|entry| files.attributes(number.0, entry));
        drop(files);
        match found {
            Ok(attributes) => reply.attr(&TTL, &attributes),
            Err(errno) => reply.error(errno),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let (changed, slow) = if size.is_some() {
            self.with((Operation::Truncate, number, None), |files, _| {
                files.change(number.0, (mode, uid, gid))
            })
        } else {
            (self.files().change(number.0, (mode, uid, gid)), Duration::ZERO)
        };
        answer(slow, move || match changed {
            Ok(attributes) => reply.attr(&TTL, &attributes),
            Err(errno) => reply.error(errno),
        });
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let caller = caller(request);
        let (made, slow) = self.with((Operation::Mkdir, parent, Some(name)), |files, _| {
            files.make(parent.0, name, mode & !umask, &caller)
        });
        answer(slow, move || match made {
            Ok(attributes) => reply.entry(&TTL, &attributes, GENERATION),
            Err(errno) => reply.error(errno),
        });
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let (removed, slow) = self
            .with((Operation::Rmdir, parent, Some(name)), |files, _| files.remove(parent.0, name));
        answer(slow, move || match removed {
            Ok(()) => reply.ok(),
            Err(errno) => reply.error(errno),
        });
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        to_parent: INodeNo,
        to_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        // kernfs_iop_rename: no flags.
        if !flags.is_empty() {
            return reply.error(Errno::EINVAL);
        }
        let (renamed, slow) = self.with((Operation::Rename, parent, Some(name)), |files, _| {
            files.rename((parent.0, name), (to_parent.0, to_name))
        });
        answer(slow, move || match renamed {
            Ok(()) => reply.ok(),
            Err(errno) => reply.error(errno),
        });
    }

    // kernfs has no create, mknod, symlink, link nor unlink: what vfs_create and its like answer then.

    fn create(
        &self,
        _: &Request,
        _: INodeNo,
        _: &OsStr,
        _: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        reply.error(Errno::EACCES);
    }

    fn mknod(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, _: u32, reply: ReplyEntry) {
        reply.error(Errno::EPERM);
    }

    fn unlink(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EPERM);
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let (opened, slow) =
            self.with((Operation::Open, number, None), |files, _| files.open(number.0, flags));
        answer(slow, move || match opened {
            Ok(handle) => reply.opened(FileHandle(handle), OPEN),
            Err(errno) => reply.error(errno),
        });
    }

    fn read(
        &self,
        request: &Request,
        number: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let caller = caller(request);
        let mut files = self.files();
        let is_made = files.handles.is_stale(handle.0, offset);
        let met = if is_made { files.faults(Operation::Read, number.0, None) } else { Vec::new() };
        let (fails, slow) = consequences(&met);
        let read =
            fails.and_then(|()| files.read(number.0, (handle.0, offset, size), &caller, &met));
        drop(files);
        answer(slow, move || match read {
            Ok(bytes) => reply.data(&bytes),
            Err(errno) => reply.error(errno),
        });
    }

    fn write(
        &self,
        request: &Request,
        number: INodeNo,
        _: FileHandle,
        _: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let caller = caller(request);
        let (written, slow) = self.with((Operation::Write, number, None), |files, _| {
            files.write(number.0, bytes, &caller)
        });
        answer(slow, move || match written {
            Ok(count) => reply.written(count),
            Err(errno) => reply.error(errno),
        });
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.files().handles.close(handle.0);
        reply.ok();
    }

    fn opendir(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let (opened, slow) = self.with((Operation::List, number, None), |files, _| {
            let node = files.entry(number.0)?.node;
            files.state.rules.attributes(node).ok_or(Errno::ENODEV)?;
            let parent = files.state.rules.parent(node).unwrap_or(node);
            let around = [(".".to_owned(), node), ("..".to_owned(), parent)];
            let children = files.state.rules.children(node);
            Ok(files.handles.open_directory(around.into_iter().chain(children).collect()))
        });
        answer(slow, move || match opened {
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
            Err(errno) => reply.error(errno),
        });
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let mut files = self.files();
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let entries: Vec<(String, Node)> =
            files.handles.entries(handle.0).iter().skip(from).cloned().collect();
        for (next, (name, node)) in (offset + 1..).zip(entries) {
            let number = files.inodes.number(node);
            let kind =
                if node.is_directory() { FileType::Directory } else { FileType::RegularFile };
            if reply.add(INodeNo(number), next, kind, name) {
                break;
            }
        }
        drop(files);
        reply.ok();
    }

    fn releasedir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.files().handles.close_directory(handle.0);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        // simple_statfs, which kernfs answers with.
        reply.statfs(0, 0, 0, 0, 0, 4096, 255, 4096);
    }
}
