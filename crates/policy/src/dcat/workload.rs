//! A workload: what it has, what it may have, and what it is held to be.

use core::time::Duration;

use fairways_core::{AppId, Counters, Q32, Time};

use super::detector::Phases;
use super::phase::Phase;

/// The states of Figure 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadClass {
    /// It has what it needs: fewer ways would harm it, more would not help.
    Keeper,
    /// It does not need what it has.
    Donor,
    /// It misses, and whether more ways would help is being found out.
    Unknown,
    /// More ways help it.
    Receiver,
    /// It misses, and more ways do not help.
    Streaming,
    /// It is to have its baseline back.
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
    /// The ways it has a right to.
    pub(super) baseline: u32,
    /// The fewest that anybody can have.
    pub(super) least: u32,
    pub(super) ways: u32,
    /// The ways that it is to have before anybody is given spare ones; at most the baseline.
    pub(super) claim: u32,
    /// What a phase that came back preferred: to be given with the claim, where there is so much.
    pub(super) jump: Option<u32>,
    pub(super) class: WorkloadClass,
    pub(super) reason: &'static str,
    pub(super) phases: Phases,
    /// The ways before the last one was given, while what it brought was not seen.
    pub(super) ways_before_growth: Option<u32>,
    /// Why it gave away ways.
    pub(super) donation: Donation,
    /// When its window began; `None`: it is not watched yet.
    pub(super) since: Option<Time>,
    /// Whether that has still to end.
    pub(super) is_awaited: bool,
    /// Whether its ways have stayed the same since.
    pub(super) is_steady: bool,
    /// What was counted, and in what time.
    pub(super) window: Option<(Counters, Duration)>,
    /// Whether the last round told what it does with what it has.
    pub(super) is_measured: bool,
    /// Its ways by the last plan, and by the one before.
    pub(super) planned: u32,
    pub(super) before: u32,
    /// What it really has under the last plan, where that is not what was planned.
    pub(super) actual: Option<u32>,
    /// What it has still to go down to, as a plan that was refused had it.
    pub(super) owed: Option<u32>,
}

/// Why a Donor gave ways away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Donation {
    Nothing,
    /// It hardly referenced the LLC, or was idle: all but one, at once.
    Quiet,
    /// It hardly missed: one each round.
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

    /// Its ways by the last plan, or what the machine has made of them. What it has made of the
    /// baseline counts as that (decision dCat 25): there is no other to compare with.
    pub(super) fn ways_in_force(&self) -> u32 {
        self.actual.filter(|_| self.planned != self.baseline).unwrap_or(self.planned)
    }

    /// The ways that it was given, or, once they are planned, what is in force of them.
    pub(super) fn effective_ways(&self) -> u32 {
        if self.ways == self.planned { self.ways_in_force() } else { self.ways }
    }

    /// What the machine has made of its ways from then on: `None`, what was planned. A window that
    /// began before tells of neither.
    pub(super) fn set_actual(&mut self, at: Time, actual: Option<u32>) {
        self.is_steady &= self.actual == actual || self.since == Some(at);
        self.actual = actual;
    }

    /// Whether it is to get a spare way.
    pub(super) fn wants(&self) -> bool {
        self.is_measured
            && matches!(self.class, WorkloadClass::Unknown | WorkloadClass::Receiver)
            && self.ways >= self.baseline
    }

    /// Whether it has given away all that it can.
    pub(super) fn has_the_least(&self) -> bool {
        matches!(self.class, WorkloadClass::Donor | WorkloadClass::Streaming)
            && self.ways == self.least
    }

    /// It has another baseline: it goes there.
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

    /// It goes back to its baseline, at once.
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

    /// Down to so many ways.
    pub(super) fn give(&mut self, ways: u32, gave: Donation) {
        (self.ways, self.claim, self.ways_before_growth, self.donation) = (ways, ways, None, gave);
    }

    /// Another took its last way.
    pub(super) fn lose_way(&mut self) {
        self.ways -= 1;
        self.ways_before_growth = None;
        if self.class == WorkloadClass::Keeper {
            self.set_class(WorkloadClass::Receiver, "ways that helped it were taken");
        }
    }

    /// The last plan was not carried out.
    pub(super) fn undo(&mut self) {
        if self.class == WorkloadClass::Keeper && (self.baseline..self.ways).contains(&self.before)
        {
            self.set_class(WorkloadClass::Receiver, "the machine refused the ways that it prefers");
        }
        // What it was to give it is still to give.
        self.owed = Some(self.ways).filter(|&ways| ways < self.before);
        (self.ways, self.planned, self.ways_before_growth) = (self.before, self.before, None);
    }

    /// It gives what a refused plan had it give, if that still holds.
    pub(super) fn pay(&mut self) {
        if let Some(ways) = self.owed.take()
            && matches!(self.class, WorkloadClass::Keeper | WorkloadClass::Streaming)
        {
            self.ways = self.ways.min(ways);
        }
    }

    /// The pool is too small for what its phase prefers: it may grow there.
    pub(super) fn miss_jump(&mut self) {
        if let Some(phase) = self.phases.current_mut() {
            phase.tried = false;
        }
    }

    /// It goes from its baseline to what its phase preferred when it was seen before.
    pub(super) fn jump_to(&mut self, to: u32) {
        self.ways = to;
        self.set_class(WorkloadClass::Keeper, "the phase is known, and so is what it prefers");
        if let Some(phase) = self.phases.current_mut() {
            phase.tried = true;
        }
    }

    /// IPC with `ways` ways over that with the baseline, in this phase; `None` if it was not seen.
    pub(super) fn normalised(&self, ways: u32) -> Option<Q32> {
        self.phases.current()?.normalised(ways, self.baseline)
    }

    /// The ways that it prefers in this phase, as far as is known; `None` without a baseline.
    pub(super) fn preferred(&self, thr: Q32) -> Option<u32> {
        self.phases.current()?.preferred(self.baseline, thr)
    }

    /// What its last way brought.
    pub(super) fn last_way(&self) -> Q32 {
        let phase: Option<&Phase> = self.phases.current();
        phase.map_or(Q32::default(), |phase| phase.last_way(self.effective_ways(), self.baseline))
    }
}
