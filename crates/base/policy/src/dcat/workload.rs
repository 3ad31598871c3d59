//! A workload: its ways, its baseline, and its class.

use core::time::Duration;

use fairways_core::{AppId, Counters, Q32, Time};

use super::detector::Phases;
use super::phase::Phase;

/// The states of Figure 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadClass {
    /// It has the ways that it needs: fewer would harm it, more would not help.
    Keeper,
    /// It does not need all its ways.
    Donor,
    /// It misses, and it is not yet known whether more ways help.
    Unknown,
    /// More ways help it.
    Receiver,
    /// It misses, and more ways do not help.
    Streaming,
    /// It gets its baseline back.
    Reclaim,
}

impl WorkloadClass {
    /// The class in a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keeper => "keeper",
            Self::Donor => "donor",
            Self::Unknown => "unknown",
            Self::Receiver => "receiver",
            Self::Streaming => "streaming",
            Self::Reclaim => "reclaim",
        }
    }
}

/// A workload that has ways of its own.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    pub(super) app: AppId,
    /// The ways that it was promised, or that count as promised.
    pub(super) baseline: u32,
    /// The fewest ways that a workload can have.
    pub(super) least: u32,
    pub(super) ways: u32,
    /// The ways that it gets before any spare ways are given out; at most the baseline.
    pub(super) claim: u32,
    /// The ways that a phase preferred that came back: they are given with the claim if there are
    /// enough.
    pub(super) jump: Option<u32>,
    pub(super) class: WorkloadClass,
    pub(super) reason: &'static str,
    pub(super) phases: Phases,
    /// Its ways before the last one was given, until the effect of that is seen.
    pub(super) ways_before_growth: Option<u32>,
    /// Why it gave ways away.
    pub(super) donation: Donation,
    /// When its window began; `None` if it is not watched yet.
    pub(super) since: Option<Time>,
    /// Whether its window has not ended yet.
    pub(super) is_awaited: bool,
    /// Whether its ways have stayed the same since its window began.
    pub(super) is_steady: bool,
    /// The counters of its last window, and the window's length.
    pub(super) window: Option<(Counters, Duration)>,
    /// Whether the last round measured it with its ways.
    pub(super) is_measured: bool,
    /// Its ways by the last plan.
    pub(super) planned: u32,
    /// Its ways by the plan before that.
    pub(super) before: u32,
    /// Its actual ways under the last plan, where they are not the planned ones.
    pub(super) actual: Option<u32>,
    /// The ways that a refused plan took it down to, while that is still to be done.
    pub(super) owed: Option<u32>,
}

/// Why a Donor gave ways away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Donation {
    Nothing,
    /// It hardly referenced the LLC, or was idle: it gave all but the least, at once.
    Quiet,
    /// It hardly missed: it gave one way each round.
    Hits,
}

impl Workload {
    pub(super) fn new(app: AppId) -> Self {
        Self {
            app,
            baseline: 0,
            least: 1,
            ways: 0,
            claim: 0,
            jump: None,
            class: WorkloadClass::Keeper,
            reason: "it has started",
            phases: Phases::default(),
            ways_before_growth: None,
            donation: Donation::Nothing,
            since: None,
            is_awaited: false,
            is_steady: false,
            window: None,
            is_measured: false,
            planned: 0,
            before: 0,
            actual: None,
            owed: None,
        }
    }

    /// Its ways by the last plan, or those that the machine made of them. What the machine made of
    /// the baseline counts as the baseline (decision dCat 25), as there is nothing else to compare
    /// with.
    pub(super) fn ways_in_force(&self) -> u32 {
        self.actual.filter(|_| self.planned != self.baseline).unwrap_or(self.planned)
    }

    /// The ways that it was given; once they are planned, the ways in force.
    pub(super) fn effective_ways(&self) -> u32 {
        if self.ways == self.planned { self.ways_in_force() } else { self.ways }
    }

    /// Handles what the machine made of its ways from `at` on; `None` is as planned. A window that
    /// began before that counts for neither number of ways.
    pub(super) fn set_actual(&mut self, at: Time, actual: Option<u32>) {
        self.is_steady &= self.actual == actual || self.since == Some(at);
        self.actual = actual;
    }

    /// Whether it wants a spare way.
    pub(super) fn wants(&self) -> bool {
        self.is_measured
            && matches!(self.class, WorkloadClass::Unknown | WorkloadClass::Receiver)
            && self.ways >= self.baseline
    }

    /// Whether it has given away all the ways that it can.
    pub(super) fn has_the_least(&self) -> bool {
        matches!(self.class, WorkloadClass::Donor | WorkloadClass::Streaming)
            && self.ways == self.least
    }

    /// Sets another baseline, and goes there.
    pub(super) fn rebase(&mut self, baseline: u32) {
        let started = self.baseline == 0;
        if baseline == self.baseline {
            return;
        }
        self.baseline = baseline;
        self.phases.rebase();
        if started {
            self.claim = baseline;
        } else if self.donation != Donation::Quiet {
            self.reclaim("its baseline has changed");
        }
    }

    /// Takes it back to its baseline, at once.
    pub(super) fn reclaim(&mut self, why: &'static str) {
        (self.class, self.reason) = (WorkloadClass::Reclaim, why);
        self.ways = self.ways.min(self.baseline);
        self.claim = self.baseline;
        (self.ways_before_growth, self.donation, self.jump) = (None, Donation::Nothing, None);
    }

    pub(super) fn set_class(&mut self, class: WorkloadClass, why: &'static str) {
        if self.class != class {
            (self.class, self.reason) = (class, why);
        }
    }

    /// Goes down to this number of ways.
    pub(super) fn give(&mut self, ways: u32, gave: Donation) {
        (self.ways, self.claim, self.ways_before_growth, self.donation) = (ways, ways, None, gave);
    }

    /// Loses its last way to another workload.
    pub(super) fn lose_way(&mut self) {
        self.ways -= 1;
        self.ways_before_growth = None;
        if self.class == WorkloadClass::Keeper {
            self.set_class(WorkloadClass::Receiver, "ways that helped it were taken");
        }
    }

    /// Goes back to the plan before, as the last one was refused.
    pub(super) fn undo(&mut self) {
        if self.class == WorkloadClass::Keeper && (self.baseline..self.ways).contains(&self.before)
        {
            self.set_class(WorkloadClass::Receiver, "the machine refused the ways that it prefers");
        }
        // The ways that it was to give away are still to be given.
        self.owed = Some(self.ways).filter(|&ways| ways < self.before);
        (self.ways, self.planned, self.ways_before_growth) = (self.before, self.before, None);
    }

    /// Gives the ways that a refused plan took from it, if that still applies.
    pub(super) fn pay(&mut self) {
        if let Some(ways) = self.owed.take()
            && matches!(self.class, WorkloadClass::Keeper | WorkloadClass::Streaming)
        {
            self.ways = self.ways.min(ways);
        }
    }

    /// The pool is too small for the ways that its phase prefers: it may grow towards them.
    pub(super) fn miss_jump(&mut self) {
        if let Some(phase) = self.phases.current_mut() {
            phase.tried = false;
        }
    }

    /// Goes from its baseline to the ways that its phase preferred before.
    pub(super) fn jump_to(&mut self, to: u32) {
        self.ways = to;
        self.set_class(WorkloadClass::Keeper, "the phase is known, and so is what it prefers");
        if let Some(phase) = self.phases.current_mut() {
            phase.tried = true;
        }
    }

    /// IPC with `ways` ways over that with the baseline, in this phase; `None` if one was not seen.
    pub(super) fn normalised(&self, ways: u32) -> Option<Q32> {
        self.phases.current()?.normalised(ways, self.baseline)
    }

    /// The ways that it prefers in this phase, as far as was seen; `None` without a baseline.
    pub(super) fn preferred(&self, thr: Q32) -> Option<u32> {
        self.phases.current()?.preferred(self.baseline, thr)
    }

    /// How much normalised IPC its last way brought.
    pub(super) fn last_way(&self) -> Q32 {
        let phase: Option<&Phase> = self.phases.current();
        phase.map_or(Q32::default(), |phase| phase.last_way(self.effective_ways(), self.baseline))
    }
}
