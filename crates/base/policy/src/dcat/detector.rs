//! The detection of a workload's phase (§3.3).

use alloc::vec::Vec;

use fairways_core::{Counters, Q32};

use super::parameters::{Parameters, over};
use super::phase::{Phase, ReferenceCount, StreamingVerdict, differ, ratio};

/// The phases of a workload.
#[derive(Clone, Debug, Default)]
pub(super) struct Phases {
    /// The phase that was seen last comes last.
    known: Vec<Phase>,
    current_phase: CurrentPhase,
}

/// The phase that a workload is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CurrentPhase {
    /// A phase of which no whole window was seen yet.
    #[default]
    Unseen,
    /// It does nothing.
    Idle,
    /// The last of the known phases.
    Known,
}

/// What a window shows of the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detection {
    /// It is idle.
    Idle,
    /// It is in the phase of the window before, or the first whole window of a phase ended.
    Same,
    /// It is in a phase that was not seen before.
    New,
    /// It is in a phase that was seen before.
    Back,
}

impl Phases {
    /// The current phase, if a whole window of it was seen.
    pub(super) fn current(&self) -> Option<&Phase> {
        if self.current_phase == CurrentPhase::Known { self.known.last() } else { None }
    }

    pub(super) fn current_mut(&mut self) -> Option<&mut Phase> {
        if self.current_phase == CurrentPhase::Known { self.known.last_mut() } else { None }
    }

    /// Forgets the current phase: it turned out to be another one.
    pub(super) fn forget_current(&mut self) {
        if self.current_phase == CurrentPhase::Known {
            self.known.pop();
        }
        self.current_phase = CurrentPhase::Unseen;
    }

    /// Allows what has stopped to be tried again, as the neighbours or the baseline have changed.
    pub(super) fn retry(&mut self) {
        for phase in &mut self.known {
            phase.tried = false;
        }
    }

    /// Forgets which ways were too few or did not help, as the baseline has changed.
    pub(super) fn rebase(&mut self) {
        self.retry();
        for phase in &mut self.known {
            (phase.floor, phase.verdict, phase.tried_with) = (0, StreamingVerdict::Open, None);
        }
    }

    /// Handles a window (§3.3). If L1 references can't be counted, everything but idleness is one
    /// phase.
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
        let was = self.current_phase;
        if let Some(phase) = self.current_mut() {
            if !window.is_some_and(|window| phase.ended(window, thr)) {
                window.into_iter().for_each(|window| phase.add(window));
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
            // This window may reach back into the phase before: the next one counts.
            self.current_phase = CurrentPhase::Unseen;
            return Detection::New;
        }
        let most = (parameters.most_phases as usize).max(1);
        while self.known.len() >= most {
            self.known.remove(0);
        }
        let mut phase = Phase::default();
        window.into_iter().for_each(|window| phase.add(window));
        self.known.push(phase);
        self.current_phase = CurrentPhase::Known;
        Detection::Same
    }

    /// The index of the known phase that a window is most like, if it is like one.
    fn find(&self, window: Option<ReferenceCount>, thr: Q32) -> Option<usize> {
        let Some(window) = window.map(ratio) else { return self.known.len().checked_sub(1) };
        let means = self.known.iter().enumerate();
        let means = means.filter_map(|(place, phase)| Some((place, phase.mean()?)));
        let alike = means.filter(|&(_, mean)| !differ(mean, window, thr));
        let nearest = alike.min_by_key(|&(_, mean)| over(mean.max(window), mean.min(window)));
        nearest.map(|(place, _)| place)
    }

    /// Leaves the current phase; if nothing was learnt of it, it is forgotten.
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
