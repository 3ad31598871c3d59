//! Recent losses, on a machine that runs for months.

use core::time::Duration;

use fairways_core::{Event, Time};

use crate::{Attribution, MemoryLatency};

/// Losses over the most recent span of time. What was seen of programs before that still says how
/// often they miss.
///
/// Two spans are counted at a time. They begin by turns, each every two spans, so the older one
/// covers between one span and two, or everything since the start.
#[derive(Clone, Debug)]
pub struct RecentAttribution {
    attribution: Attribution,
    span: Duration,
    turns_at: Time,
}

impl RecentAttribution {
    /// An attribution that covers at least the last `span`, and at most twice as much.
    #[must_use]
    pub fn new(latency: Option<MemoryLatency>, since: Time, span: Duration) -> Self {
        let mut attribution = Attribution::new(latency, since);
        attribution.begin_next(since);
        Self { attribution, span, turns_at: since.after(span) }
    }

    /// Like [`Attribution::estimate_by`]: estimates occupancies that can't be read; `None` stops
    /// it.
    pub const fn estimate_by(&mut self, lines_per_way: Option<u64>) {
        self.attribution.estimate_by(lines_per_way);
    }

    /// Takes in an event, which happened at time `at`.
    pub fn handle(&mut self, at: Time, event: &Event) {
        if at >= self.turns_at {
            self.attribution.turn(at);
            self.turns_at = at.after(self.span);
        }
        self.attribution.handle(at, event);
    }

    /// The losses from [`since`](Attribution::since) on.
    #[must_use]
    pub const fn recent(&self) -> &Attribution {
        &self.attribution
    }
}
