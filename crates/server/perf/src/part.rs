//! The counter groups of one thread, or of one cgroup on one CPU.

use fairways_core::Counter;

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use super::events::Encoding;
use super::sampler::Joined;
use super::sys::{self, Scope};
use super::tally::Span;

/// Which events form a group: they are put on counters together or not at all.
pub(super) type Layout = Vec<Vec<(Counter, Encoding)>>;

/// How events are opened.
#[derive(Clone, Copy)]
pub(super) struct OpenOptions {
    /// Whether the kernel's work is left out.
    pub(super) user_only: bool,
    /// Whether the first event reports when it has counted a period.
    pub(super) sampled: bool,
}

/// An open group.
struct OpenGroup {
    leader: OwnedFd,
    /// Kept open: closing a member takes it out of the group.
    members: Vec<OwnedFd>,
    last: Vec<Span>,
}

/// All groups of one thread, or of one cgroup on one CPU.
pub(super) struct CountedPart {
    groups: Vec<OpenGroup>,
    /// The windows that end by this part's counts.
    joined: Option<Joined>,
}

impl CountedPart {
    /// Opens every group and starts counting.
    ///
    /// # Errors
    /// perf_event_open(2)'s; nothing stays open then.
    pub(super) fn open(
        layout: &Layout,
        scope: Scope<'_>,
        options: OpenOptions,
    ) -> io::Result<Self> {
        let mut groups = Vec::with_capacity(layout.len());
        for events in layout {
            let Some((&(_, first), rest)) = events.split_first() else { continue };
            let period = if options.sampled && groups.is_empty() { sys::NEVER } else { 0 };
            let leader = sys::open(first, scope, None, options.user_only, period)?;
            let members = rest
                .iter()
                .map(|&(_, event)| {
                    sys::open(event, scope, Some(leader.as_fd()), options.user_only, 0)
                })
                .collect::<io::Result<Vec<OwnedFd>>>()?;
            groups.push(OpenGroup { leader, members, last: vec![Span::default(); events.len()] });
        }
        for group in &groups {
            sys::enable(&group.leader)?;
        }
        Ok(Self { groups, joined: None })
    }

    /// Passes each counter's count since the last call to `add`.
    ///
    /// # Errors
    /// read(2)'s.
    pub(super) fn read(
        &mut self,
        layout: &Layout,
        mut add: impl FnMut(Counter, Span),
    ) -> io::Result<()> {
        for (group, events) in self.groups.iter_mut().zip(layout) {
            for ((&(field, _), now), last) in events.iter().zip(spans(group)?).zip(&mut group.last)
            {
                add(field, now.since(*last));
                *last = now;
            }
        }
        Ok(())
    }

    /// Its events in the layout's order, with their counts so far.
    ///
    /// # Errors
    /// read(2)'s.
    pub(super) fn counted(&self) -> io::Result<Vec<(BorrowedFd<'_>, Span)>> {
        let mut all = Vec::new();
        for group in &self.groups {
            let events = std::iter::once(&group.leader).chain(&group.members);
            all.extend(events.map(OwnedFd::as_fd).zip(spans(group)?));
        }
        Ok(all)
    }

    /// Lets windows end by its counts; none did before.
    pub(super) fn join(&mut self, joined: Joined) {
        self.leave();
        self.joined = Some(joined);
    }

    /// Stops ending windows by its counts; its first event overflows no more.
    ///
    /// # Errors
    /// ioctl(2)'s.
    pub(super) fn depart(&mut self) -> io::Result<()> {
        if self.joined.is_none() {
            return Ok(());
        }
        self.leave();
        self.set_period(sys::NEVER)
    }

    /// Whether windows end by its counts.
    pub(super) const fn is_joined(&self) -> bool {
        self.joined.is_some()
    }

    /// Sets the period after which its first event overflows.
    ///
    /// # Errors
    /// ioctl(2)'s.
    pub(super) fn set_period(&self, period: u64) -> io::Result<()> {
        self.groups.first().map_or(Ok(()), |group| sys::set_period(&group.leader, period))
    }

    fn leave(&mut self) {
        if let Some(joined) = self.joined.take() {
            let last: Vec<Span> =
                self.groups.iter().flat_map(|group| &group.last).copied().collect();
            joined.leave(&last);
        }
    }
}

/// Reports its counts up to its last reading to its windows.
impl Drop for CountedPart {
    fn drop(&mut self) {
        self.leave();
    }
}

fn spans(group: &OpenGroup) -> io::Result<Vec<Span>> {
    let now = sys::read(&group.leader, group.last.len())?;
    Ok(now
        .values
        .into_iter()
        .map(|value| Span { value, enabled: now.enabled, running: now.running })
        .collect())
}
