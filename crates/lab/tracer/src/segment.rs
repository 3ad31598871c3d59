//! The memory that a program and its reader share.
//!
//! It is a file without a name (`memfd_create`), so that nothing of it stays behind, whichever side
//! is killed. It contains a ring for each thread: one thread writes, the reader reads.

use std::fs::File;
use std::mem::size_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Records of a ring: 256 KB, about a millisecond of a program.
pub(crate) const RING: u32 = 1 << 15;

/// The most threads that are traced at the same time.
pub(crate) const SLOTS: usize = 256;

/// The most forks and execs that are noted in full; further ones are counted.
pub(crate) const NOTES: usize = 128;

/// The bytes of a path that are noted.
pub(crate) const PATH: usize = 232;

/// Identifies a segment with this layout.
const MAGIC: u64 = u64::from_le_bytes(*b"fairway1");

/// The states of a slot.
pub(crate) mod state {
    /// Free.
    pub(crate) const FREE: u32 = 0;
    /// Its thread runs, or waits for room in the ring.
    pub(crate) const RUNNING: u32 = 1;
    /// Its thread is in a system call, or has not begun.
    pub(crate) const ASLEEP: u32 = 2;
    /// Its thread has ended; the ring is still to be read.
    pub(crate) const GONE: u32 = 3;
}

/// A value on a cache line of its own: the two sides do not disturb each other.
#[repr(C, align(128))]
pub(crate) struct CachePadded<T>(pub(crate) T);

/// One thread's ring.
#[repr(C, align(4096))]
pub(crate) struct Slot {
    /// One of [`state`].
    pub(crate) state: AtomicU32,
    pub(crate) process: AtomicU32,
    /// 0 until it begins.
    pub(crate) thread: AtomicU32,
    /// Instructions that the thread has begun, reported or not.
    pub(crate) instructions: CachePadded<AtomicU64>,
    /// Records written and read, each modulo 2^32.
    pub(crate) tail: CachePadded<AtomicU32>,
    pub(crate) head: CachePadded<AtomicU32>,
    /// Whether the thread waits for `head` to move.
    pub(crate) is_full: CachePadded<AtomicU32>,
    pub(crate) ring: [AtomicU64; RING as usize],
}

/// The note of a fork or an exec.
#[repr(C)]
pub(crate) struct NoteSlot {
    /// 0 until the rest is written; then a [`crate::notes::NoteKind`].
    pub(crate) kind: AtomicU32,
    pub(crate) process: AtomicU32,
    pub(crate) parent: AtomicU32,
    pub(crate) path: [AtomicU64; PATH / 8],
}

/// Shared by the two sides besides the rings.
#[repr(C, align(4096))]
pub(crate) struct Header {
    magic: AtomicU64,
    /// The process that reads.
    pub(crate) reader: AtomicU32,
    /// The smallest L1 that the records are valid for: a power of two of sets, and ways.
    pub(crate) l1_sets: AtomicU32,
    pub(crate) l1_ways: AtomicU32,
    /// 1: children and executed programs are traced, too.
    pub(crate) follow: AtomicU32,
    /// 1: records are dropped, and no thread waits.
    pub(crate) passes: AtomicU32,
    /// 1: there is no reader any more.
    pub(crate) closed: AtomicU32,
    /// The program's first process, and its status of wait(2), plus one, once it has ended.
    pub(crate) first: AtomicU32,
    pub(crate) ended: AtomicU32,
    /// Slots from here on have never been used.
    pub(crate) used: AtomicU32,
    /// Threads for which no slot was free.
    pub(crate) untraced: AtomicU32,
    /// Notes made, kept or not.
    pub(crate) noted: AtomicU32,
    /// 1: the reader waits for `pulse` to change.
    pub(crate) waits: CachePadded<AtomicU32>,
    pub(crate) pulse: AtomicU32,
    pub(crate) notes: [NoteSlot; NOTES],
}

/// The whole segment.
#[repr(C)]
pub(crate) struct Layout {
    pub(crate) header: Header,
    pub(crate) slots: [Slot; SLOTS],
}

/// A mapped segment.
#[derive(Debug)]
pub(crate) struct Segment(NonNull<Layout>);

// SAFETY: everything in it is atomic.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// Makes a new one in an empty file.
    #[cfg(feature = "launch")]
    pub(crate) fn create(file: &File) -> std::io::Result<Self> {
        file.set_len(size_of::<Layout>() as u64)?;
        let segment = Self::map(file)?;
        segment.header.magic.store(MAGIC, std::sync::atomic::Ordering::Release);
        Ok(segment)
    }

    /// Maps an existing one; `None` if the file is something else.
    pub(crate) fn open(file: &File) -> std::io::Result<Option<Self>> {
        if file.metadata()?.len() != size_of::<Layout>() as u64 {
            return Ok(None);
        }
        let segment = Self::map(file)?;
        let magic = segment.header.magic.load(std::sync::atomic::Ordering::Acquire);
        Ok((magic == MAGIC).then_some(segment))
    }

    fn map(file: &File) -> std::io::Result<Self> {
        let (protect, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping, of a file of that length, at a place that the kernel chooses.
        let at =
            unsafe { mmap(std::ptr::null_mut(), size_of::<Layout>(), protect, flags, file, 0)? };
        NonNull::new(at.cast()).map(Self).ok_or_else(|| Errno::NOMEM.into())
    }
}

impl std::ops::Deref for Segment {
    type Target = Layout;

    fn deref(&self) -> &Layout {
        // SAFETY: mapped for as long as `self` lives; pages are aligned as required; all of it is
        // atomics, for which any bits are valid and which others may change.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: `map` mapped it, and nothing borrows from it any more. A failure leaves it
        // mapped.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), size_of::<Layout>()) };
    }
}
