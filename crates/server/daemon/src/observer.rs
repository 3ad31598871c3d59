//! The features of the daemon, each in a file of its own: what watches a run on a host.

use fairways_core::{Action, Event, Time};
use fairways_host::machine::Host;

/// A feature of the daemon: an [`Observer`](fairways_core::Observer) of a host, whose events and
/// actions are of a domain. It also sees the host between events, and may keep an event to itself.
///
/// An event goes to all observers, then to the domain's policy; an action goes to all observers,
/// then to the host. Observers come in the order in which `Daemon::start` lists them.
pub(super) trait HostObserver {
    /// The daemon is ready: it manages the host from now on.
    fn ready(&mut self) {}

    /// Prepares the host before the loop waits for an event.
    fn before(&mut self, _host: &mut Host) {}

    /// Looks at the host while the loop waits: whenever it may have changed, and otherwise when the
    /// last look was a second ago or more.
    fn turn(&mut self, _host: &Host) {}

    /// Whether an event is of this observer alone: no policy requested it. The others and the
    /// policy do not get it.
    fn is_own(&mut self, _host: &Host, _domain: u32, _at: Time, _event: &Event) -> bool {
        false
    }

    /// Handles an event, which the policy gets next.
    fn event(&mut self, _host: &Host, _domain: u32, _at: Time, _event: &Event) {}

    /// Handles an action, which the host carries out next.
    fn action(&mut self, _host: &Host, _domain: u32, _at: Time, _action: &Action<'_>) {}

    /// Looks at the host once all actions that follow from an event are carried out, or after an
    /// event of one observer alone.
    fn handled(&mut self, _host: &Host, _at: Time, _event: &Event) {}

    /// Whether the run ends now, though more may happen.
    fn is_done(&self) -> bool {
        false
    }

    /// Ends, the last observer first, before the host is restored.
    fn end(self: Box<Self>, _run: &mut EndOfRun) {}
}

/// How a run ended.
#[derive(Debug)]
pub(super) struct EndOfRun {
    /// Whether a signal ended it.
    pub(super) was_ended: bool,
    /// Why the run managed nothing, if no plan was ever in force.
    pub(super) without_plan: Option<String>,
    /// Whether every journal is whole.
    pub(super) is_journal_whole: bool,
}

impl EndOfRun {
    pub(super) const fn new(was_ended: bool) -> Self {
        Self { was_ended, without_plan: None, is_journal_whole: true }
    }
}
