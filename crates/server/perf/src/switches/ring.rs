//! The buffer of an event that the kernel shares with us.
//!
//! Source: perf_event_open(2), "MMAP layout"; the kernel's kernel/events/ring_buffer.c, whose
//! barriers these are.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::perf_event_mmap_page;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

/// Bytes of records, a power of two and whole pages: with the page before them, this is what
/// `perf_event_mlock_kb` allows every user per CPU.
pub(super) const SIZE: usize = 512 << 10;

/// `perf_event_header`: type, misc and size, of 4, 2 and 2 bytes.
const HEADER: usize = 8;

/// A record as the kernel wrote it.
pub(super) struct Raw<'a> {
    /// `PERF_RECORD_*`.
    pub(super) kind: u32,
    /// `PERF_RECORD_MISC_*`.
    pub(super) misc: u16,
    /// What follows the header.
    pub(super) body: &'a [u8],
}

/// A buffer, mapped as long as this lives.
#[derive(Debug)]
pub(super) struct Ring {
    /// The first page, of `length` bytes mapped in all.
    page: NonNull<perf_event_mmap_page>,
    length: usize,
    /// The position read up to; only this end moves it.
    tail: u64,
    record: Vec<u8>,
}

impl Ring {
    /// Maps an event's buffer; the event stays open as long as the buffer is used.
    ///
    /// # Errors
    /// mmap(2)'s: `EPERM` if no more memory may be locked.
    pub(super) fn map(event: &OwnedFd) -> io::Result<Self> {
        let length = page_size() + SIZE;
        let (read_write, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: the kernel chooses where, so nothing that is mapped is replaced.
        let at = unsafe { mmap(ptr::null_mut(), length, read_write, shared, event, 0)? };
        let page = NonNull::new(at.cast()).ok_or_else(|| io::Error::other("mapped at 0"))?;
        Ok(Self { page, length, tail: 0, record: Vec::new() })
    }

    fn head(&self) -> &AtomicU64 {
        // SAFETY: the page is mapped as long as `self` lives, and its fields are aligned; the
        // kernel and we access this one only as a whole.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.page.as_ptr()).data_head) }
    }

    fn tail_word(&self) -> &AtomicU64 {
        // SAFETY: as for `head`.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.page.as_ptr()).data_tail) }
    }

    /// Copies the kernel's records at a position, which goes on counting beyond the buffer's end.
    fn copy(&self, position: u64, bytes: &mut [u8]) {
        let at = usize::try_from(position % SIZE as u64).unwrap_or(0);
        let first = bytes.len().min(SIZE - at);
        let (begin, rest) = bytes.split_at_mut(first);
        // SAFETY: the records are the `SIZE` bytes after the first page, all of them mapped.
        // `begin` is read from `at` on, and at most up to their end; `rest` from their beginning,
        // and no record is longer than `SIZE`. The kernel writes nothing between `data_tail` and
        // `data_head`.
        unsafe {
            let data = self.page.as_ptr().cast::<u8>().add(page_size());
            ptr::copy_nonoverlapping(data.add(at), begin.as_mut_ptr(), begin.len());
            ptr::copy_nonoverlapping(data, rest.as_mut_ptr(), rest.len());
        }
    }

    /// Takes out every record in the buffer, in order.
    ///
    /// # Errors
    /// If a record is not of the documented form; the buffer is empty then.
    pub(super) fn drain(&mut self, mut take: impl FnMut(Raw<'_>)) -> io::Result<()> {
        // What was written before the kernel moved the head is visible with it.
        let head = self.head().load(Ordering::Acquire);
        let mut done = Ok(());
        while self.tail < head {
            let mut header = [0; HEADER];
            self.copy(self.tail, &mut header);
            let [a, b, c, d, misc @ .., e, f] = header;
            let size = usize::from(u16::from_ne_bytes([e, f]));
            let left = usize::try_from(head - self.tail).unwrap_or(usize::MAX);
            if size < HEADER || size > left.min(SIZE) {
                done = Err(io::Error::other("perf: a record of no such length"));
                self.tail = head;
                break;
            }
            let mut record = std::mem::take(&mut self.record);
            record.resize(size - HEADER, 0);
            self.copy(self.tail + HEADER as u64, &mut record);
            let kind = u32::from_ne_bytes([a, b, c, d]);
            take(Raw { kind, misc: u16::from_ne_bytes(misc), body: &record });
            self.record = record;
            self.tail += size as u64;
        }
        // The copies are complete before the kernel may write there.
        self.tail_word().store(self.tail, Ordering::Release);
        done
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it was mapped there with that length, and nothing borrows from it any more.
        let _ = unsafe { munmap(self.page.as_ptr().cast::<c_void>(), self.length) };
    }
}
