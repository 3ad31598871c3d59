//! The counter groups of one thread, or of one cgroup on one CPU.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use super::events::{Encoding, Field};
use super::sys::{self, Whom};
use super::tally::Span;

/// Which events make a group: they are put on counters together or not at all.
pub(super) type Layout = Vec<Vec<(Field, Encoding)>>;

/// An open group.
struct Group {
    leader: OwnedFd,
    /// Held open: closing one takes it out of the group.
    _members: Vec<OwnedFd>,
    last: Vec<Span>,
}

/// All groups of one thread, or of one cgroup on one CPU.
pub(super) struct Part {
    groups: Vec<Group>,
}

impl Part {
    /// Opens every group, and lets it count.
    ///
    /// # Errors
    /// perf_event_open(2)'s; nothing stays open then.
    pub(super) fn open(layout: &Layout, whom: Whom<'_>, user_only: bool) -> io::Result<Self> {
        let mut groups = Vec::with_capacity(layout.len());
        for events in layout {
            let Some((&(_, first), rest)) = events.split_first() else { continue };
            let leader = sys::open(first, whom, None, user_only)?;
            let member = |&(_, event): &(Field, Encoding)| {
                sys::open(event, whom, Some(leader.as_fd()), user_only)
            };
            let members = rest.iter().map(member).collect::<io::Result<Vec<OwnedFd>>>()?;
            groups.push(Group {
                leader,
                _members: members,
                last: vec![Span::default(); events.len()],
            });
        }
        for group in &groups {
            sys::enable(&group.leader)?;
        }
        Ok(Self { groups })
    }

    /// Tells what each field counted since the last call.
    ///
    /// # Errors
    /// read(2)'s.
    pub(super) fn read(
        &mut self,
        layout: &Layout,
        mut tell: impl FnMut(Field, Span),
    ) -> io::Result<()> {
        for (group, events) in self.groups.iter_mut().zip(layout) {
            let now = sys::read(&group.leader, events.len())?;
            for ((&(field, _), &value), last) in events.iter().zip(&now.values).zip(&mut group.last)
            {
                let span = Span { value, enabled: now.enabled, running: now.running };
                tell(field, span.since(*last));
                *last = span;
            }
        }
        Ok(())
    }
}
