//! The structures of `src/bpf/sampling.h`.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{EVENTS, Span};

/// The counts of a part's events.
pub(super) type Spans = [Span; EVENTS];

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Part {
    pub(super) series: u32,
    pub(super) events: u32,
    pub(super) missed: u32,
    pub(super) padding: u32,
    pub(super) last: Spans,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Series {
    pub(super) window: u64,
    pub(super) end: u64,
    pub(super) begun: u64,
    pub(super) count: u64,
    pub(super) late: u64,
    pub(super) number: u64,
    pub(super) unread: u32,
    pub(super) padding: u32,
    pub(super) sums: Spans,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Window {
    pub(super) series: u32,
    pub(super) unread: u32,
    pub(super) number: u64,
    pub(super) at: u64,
    pub(super) late: u64,
    pub(super) sums: Spans,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Rest {
    pub(super) series: u32,
    pub(super) padding: u32,
    pub(super) counted: Spans,
}

/// These spans, with zeros for missing events.
pub(super) fn spans(some: impl IntoIterator<Item = Span>) -> Spans {
    let mut all = Spans::default();
    all.iter_mut().zip(some).for_each(|(place, span)| *place = span);
    all
}

// Laid out as clang does for the kernel; the sizes of the maps are checked when they are loaded.
const _: () = {
    assert!(size_of::<Part>() == 16 + EVENTS * 24);
    assert!(size_of::<Series>() == 56 + EVENTS * 24);
    assert!(size_of::<Window>() == 32 + EVENTS * 24);
    assert!(size_of::<Rest>() == 8 + EVENTS * 24);
};
