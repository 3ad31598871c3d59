//! The counter groups of one thread, or of one cgroup on one CPU.

use fairways_core::Counter;

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use super::events::Encoding;
use super::sampler::Joined;
use super::sys::{self, Whom};
use super::tally::Span;

/// Which events make a group: they are put on counters together or not at all.
pub(super) type Layout = Vec<Vec<(Counter, Encoding)>>;

/// How events are opened.
#[derive(Clone, Copy)]
pub(super) struct How {
    /// Whether what the kernel does is left out.
    pub(super) user_only: bool,
    /// Whether the first of all is to tell that it has counted so much.
    pub(super) sampled: bool,
}

/// An open group.
struct Group {
    leader: OwnedFd,
    /// Held open: closing one takes it out of the group.
    members: Vec<OwnedFd>,
    last: Vec<Span>,
}

/// All groups of one thread, or of one cgroup on one CPU.
pub(super) struct Part {
    groups: Vec<Group>,
    /// The windows that end by what it counts.
    joined: Option<Joined>,
}

impl Part {
    /// Opens every group, and lets it count.
    ///
    /// # Errors
    /// perf_event_open(2)'s; nothing stays open then.
    pub(super) fn open(layout: &Layout, whom: Whom<'_>, how: How) -> io::Result<Self> {
        let mut groups = Vec::with_capacity(layout.len());
        for events in layout {
            let Some((&(_, first), rest)) = events.split_first() else { continue };
            let period = if how.sampled && groups.is_empty() { sys::NEVER } else { 0 };
            let leader = sys::open(first, whom, None, how.user_only, period)?;
            let member = |&(_, event): &(Counter, Encoding)| {
                sys::open(event, whom, Some(leader.as_fd()), how.user_only, 0)
            };
            let members = rest.iter().map(member).collect::<io::Result<Vec<OwnedFd>>>()?;
            groups.push(Group { leader, members, last: vec![Span::default(); events.len()] });
        }
        for group in &groups {
            sys::enable(&group.leader)?;
        }
        Ok(Self { groups, joined: None })
    }

    /// Tells what each counter counted since the last call.
    ///
    /// # Errors
    /// read(2)'s.
    pub(super) fn read(
        &mut self,
        layout: &Layout,
        mut tell: impl FnMut(Counter, Span),
    ) -> io::Result<()> {
        for (group, events) in self.groups.iter_mut().zip(layout) {
            for ((&(field, _), now), last) in events.iter().zip(spans(group)?).zip(&mut group.last)
            {
                tell(field, now.since(*last));
                *last = now;
            }
        }
        Ok(())
    }

    /// Its events in the layout's order, and what each has counted by now.
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

    /// Lets windows end by what it counts, and none that did so before.
    pub(super) fn join(&mut self, joined: Joined) {
        self.leave();
        self.joined = Some(joined);
    }

    /// Lets no window end by what it counts; its first event overflows no more.
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

    /// Whether windows end by what it counts.
    pub(super) const fn is_joined(&self) -> bool {
        self.joined.is_some()
    }

    /// Lets its first event overflow so often.
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

/// What it counted until it was last read, windows are told of.
impl Drop for Part {
    fn drop(&mut self) {
        self.leave();
    }
}

fn spans(group: &Group) -> io::Result<Vec<Span>> {
    let now = sys::read(&group.leader, group.last.len())?;
    let of = |value| Span { value, enabled: now.enabled, running: now.running };
    Ok(now.values.into_iter().map(of).collect())
}
