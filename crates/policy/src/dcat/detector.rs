//! Which phase a workload is in (§3.3).

use alloc::vec::Vec;

use fairways_core::{Counters, Q32};

use super::parameters::{Parameters, over};
use super::phase::{Phase, ReferenceCount, StreamingVerdict, differ, ratio};

/// The phases of a workload.
#[derive(Clone, Debug, Default)]
pub(super) struct Phases {
    /// The one that was seen last is the last.
    known: Vec<Phase>,
    current_phase: CurrentPhase,
}

/// The phase that a workload is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CurrentPhase {
    /// One of which no whole window was seen yet.
    #[default]
    Unseen,
    /// It does nothing.
    Idle,
    /// The last of those that are known.
    Known,
}

/// What a window said of the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detection {
    /// It is idle.
    Idle,
    /// It is the phase of the window before, or of the first whole window of a phase.
    Same,
    /// It is one that was not seen before.
    New,
    /// It is one that was seen before.
    Back,
}

impl Phases {
    /// The phase that it is in, if a whole window of it was seen.
    pub(super) fn current(&self) -> Option<&Phase> {
        if self.current_phase == CurrentPhase::Known { self.known.last() } else { None }
    }

    pub(super) fn current_mut(&mut self) -> Option<&mut Phase> {
        if self.current_phase == CurrentPhase::Known { self.known.last_mut() } else { None }
    }

    /// Forgets what it knew of this phase: it is another.
    pub(super) fn forget_current(&mut self) {
        if self.current_phase == CurrentPhase::Known {
            self.known.pop();
        }
        self.current_phase = CurrentPhase::Unseen;
    }

    /// There are other neighbours, or another baseline: what has stopped may be tried again.
    pub(super) fn retry(&mut self) {
        for phase in &mut self.known {
            phase.tried = false;
        }
    }

    /// There is another baseline: what was too little may be enough.
    pub(super) fn rebase(&mut self) {
        self.retry();
        for phase in &mut self.known {
            (phase.floor, phase.verdict, phase.tried_with) = (0, StreamingVerdict::Open, None);
        }
    }

    /// Takes in a window (§3.3). Where L1 references could not be counted, everything but idleness is
    /// one phase.
    pub(super) fn detect(
        &mut self,
        counters: &Counters,
        idle: bool,
        parameters: &Parameters,
    ) -> Detection {
        if idle {
            self.leave();
            self.current_phase = CurrentPhase::Idle;
            return Detection::Idle;
        }
        let window = counters.l1_references.zip(counters.instructions);
        let thr = parameters.phase_change_thr;
        let add = |phase: &mut Phase| {
            if let Some(window) = window {
                phase.add(window);
            }
        };
        let was = self.current_phase;
        if let Some(phase) = self.current_mut() {
            if !window.is_some_and(|window| phase.ended(window, thr)) {
                add(phase);
                return Detection::Same;
            }
            self.leave();
        }
        if let Some(place) = self.find(window, thr) {
            let mut phase = self.known.remove(place);
            phase.comes_back();
            self.known.push(phase);
            self.current_phase = CurrentPhase::Known;
            return Detection::Back;
        }
        if was != CurrentPhase::Unseen {
            // This window may reach back into the phase before: the next is the measure.
            self.current_phase = CurrentPhase::Unseen;
            return Detection::New;
        }
        let most = (parameters.most_phases as usize).max(1);
        while self.known.len() >= most {
            self.known.remove(0);
        }
        let mut phase = Phase::default();
        add(&mut phase);
        self.known.push(phase);
        self.current_phase = CurrentPhase::Known;
        Detection::Same
    }

    /// The phase that a window is most like, if it is one of those that are known.
    fn find(&self, window: Option<ReferenceCount>, thr: Q32) -> Option<usize> {
        let Some(window) = window.map(ratio) else { return self.known.len().checked_sub(1) };
        let mean = |phase: &Phase| phase.mean().filter(|&mean| !differ(mean, window, thr));
        let known = self.known.iter().enumerate();
        let like = known.filter_map(|(place, phase)| Some((place, mean(phase)?)));
        let apart = |mean: Q32| over(mean.max(window), mean.min(window));
        like.min_by_key(|&(_, mean)| apart(mean)).map(|(place, _)| place)
    }

    /// Leaves a phase; one of which nothing was learnt is forgotten.
    fn leave(&mut self) {
        if let Some(phase) = self.current_mut() {
            phase.ends();
        }
        if self.current().is_some_and(|phase| !phase.is_known()) {
            self.known.pop();
        }
        self.current_phase = CurrentPhase::Unseen;
    }
}
