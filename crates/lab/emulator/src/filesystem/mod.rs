//! The files, as FUSE requests them.
//!
//! The behaviour of the kernel's VFS and kernfs around resctrl is here; resctrl's own is in the
//! rules. FUSE checks permission bits (`default_permissions`), with attributes that it
//! [keeps](crate::kernel_cache) until the tree changes. It keeps no content.

mod operations;

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fairways_resctrl_rules::rules::{Caller, Node};
use fuser::{
    BsdFileFlags, Errno, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use parking_lot::{Mutex, MutexGuard};

use crate::client_cpu::ClientCpu;
use crate::shared::{Files, Shared};
use fairways_emulated::{Effect, Operation};

/// Numbers are never used again, so that no generation is needed to distinguish files.
const GENERATION: Generation = Generation(0);

/// Sizes are 0, and reads go through.
const OPEN: FopenFlags = FopenFlags::FOPEN_DIRECT_IO;

/// The file system that FUSE calls.
pub(crate) struct ResctrlFiles {
    shared: Arc<Shared>,
    client_cpu: ClientCpu,
}

/// The result of an operation, and how much it is slowed down.
type Outcome<T> = (Result<T, Errno>, Duration);

fn caller(request: &Request) -> Caller {
    Caller { thread: request.pid().cast_signed(), uid: request.uid(), gid: request.gid() }
}

/// Answers a slow operation on a thread of its own, so that others go on.
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
        // Without a thread, an answer that comes too soon is better than none.
        let reply = waiting.lock().take();
        reply.into_iter().for_each(|reply| reply());
    }
}

/// Whether a fault makes an operation fail, and how much all faults together slow it down.
fn consequences(met: &[Effect]) -> (Result<(), Errno>, Duration) {
    let fails = met.iter().find_map(|what| match what {
        Effect::Fails(errno) => Some(Errno::from_i32(errno.raw_os_error())),
        _ => None,
    });
    let slow =
        met.iter().map(|what| if let Effect::Slow(time) = what { *time } else { Duration::ZERO });
    (fails.map_or(Ok(()), Err), slow.sum())
}

impl ResctrlFiles {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, client_cpu: ClientCpu::default() }
    }

    /// Notes which thread of a client makes a request.
    fn note(&self, request: &Request) {
        self.client_cpu.note(request.pid().cast_signed());
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.shared.files_for_client()
    }

    /// Runs an operation, unless a fault makes it fail.
    fn with<T>(
        &self,
        (operation, number, name): (Operation, INodeNo, Option<&OsStr>),
        what: impl FnOnce(&mut Files, &[Effect]) -> Result<T, Errno>,
    ) -> Outcome<T> {
        let mut files = self.files();
        let met = files.faults(operation, number.0, name);
        self.after_faults(&met);
        let (fails, slow) = consequences(&met);
        (fails.and_then(|()| what(&mut files, &met)), slow)
    }

    /// A group that has vanished has done so unknown to the kernel.
    fn after_faults(&self, met: &[Effect]) {
        if met.contains(&Effect::Vanishes) {
            self.shared.invalidate();
        }
    }
}

impl Filesystem for ResctrlFiles {
    /// With truncation in open(2), where the kernel can: one request less for each file that is
    /// opened for writing.
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let _ = config.add_capabilities(InitFlags::FUSE_ATOMIC_O_TRUNC);
        Ok(())
    }

    fn destroy(&mut self) {
        self.shared.set_unmounted();
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.note(request);
        let mut files = self.files();
        let found = files.child(parent.0, name).and_then(|node| files.look_up(node));
        drop(files);
        let keep = self.shared.time_to_live();
        match found {
            Ok(attributes) => reply.entry(&keep, &attributes, GENERATION),
            Err(errno) => reply.error(errno),
        }
    }

    fn forget(&self, _: &Request, number: INodeNo, lookups: u64) {
        self.files().inodes.forget(number.0, lookups);
    }

    fn getattr(&self, request: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.note(request);
        let mut files = self.files();
        let found = files.entry(number.0).and_then(|entry| files.attributes(number.0, entry));
        drop(files);
        let keep = self.shared.time_to_live();
        match found {
            Ok(attributes) => reply.attr(&keep, &attributes),
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
        let keep = self.shared.time_to_live();
        answer(slow, move || match changed {
            Ok(attributes) => reply.attr(&keep, &attributes),
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
        self.note(request);
        let caller = caller(request);
        let (made, slow) = self.with((Operation::Mkdir, parent, Some(name)), |files, _| {
            files.make(parent.0, name, mode & !umask, &caller)
        });
        let keep = self.shared.time_to_live();
        answer(slow, move || match made {
            Ok(attributes) => reply.entry(&keep, &attributes, GENERATION),
            Err(errno) => reply.error(errno),
        });
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.note(request);
        let (removed, slow) = self
            .with((Operation::Rmdir, parent, Some(name)), |files, _| files.remove(parent.0, name));
        // What is below it has gone, too.
        self.shared.invalidate();
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
        self.shared.invalidate();
        answer(slow, move || match renamed {
            Ok(()) => reply.ok(),
            Err(errno) => reply.error(errno),
        });
    }

    // kernfs has no create, mknod, symlink, link nor unlink: these are the answers of vfs_create
    // and its like then.

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

    fn open(&self, request: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        self.note(request);
        let (opened, mut slow) =
            self.with((Operation::Open, number, None), |files, _| files.open(number.0, flags));
        let opened = opened.and_then(|handle| {
            let truncates = rustix::fs::OFlags::TRUNC.bits().cast_signed();
            if flags.0 & truncates == 0 {
                return Ok(handle);
            }
            let (truncated, slower) =
                self.with((Operation::Truncate, number, None), |files, _| files.truncate(number.0));
            slow += slower;
            truncated.map(|()| handle).inspect_err(|_| self.files().handles.close(handle))
        });
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
        self.note(request);
        let caller = caller(request);
        self.shared.end_stopped_in(number.0);
        let mut files = self.files();
        let is_made = files.handles.is_stale(handle.0, offset);
        let met = if is_made { files.faults(Operation::Read, number.0, None) } else { Vec::new() };
        self.after_faults(&met);
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
        self.note(request);
        let caller = caller(request);
        self.shared.end_stopped_in(number.0);
        let (written, slow) = self.with((Operation::Write, number, None), |files, _| {
            let written = files.write(number.0, bytes, &caller);
            if files.changes_tree(number.0) {
                self.shared.invalidate();
            }
            written
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

    fn opendir(&self, request: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.note(request);
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
