//! Phases, and the performance table of each (§3.1, §3.3, Table 1).

use alloc::vec::Vec;

use fairways_core::{Counters, MAX_WAYS, Q32};

use super::parameters::{Parameters, over, reaches};

/// What is known of a workload in one phase.
#[derive(Clone, Debug, Default)]
pub(super) struct Phase {
    /// L1 references and instructions of its windows but the last, which may reach into the next phase.
    sum: Option<(u64, u64)>,
    last: Option<(u64, u64)>,
    /// At `w - 1`: IPC with `w` ways, where it was seen.
    ipc: [Option<Q32>; MAX_WAYS],
    pub(super) verdict: Verdict,
    /// A Receiver that has stopped in this phase is not tried again (decision dCat 4).
    pub(super) tried: bool,
    /// The fewest ways that it may give down to; what it has with fewer was found to be too little.
    pub(super) floor: u32,
}

/// Whether a phase reuses what it has cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may.
    #[default]
    Open,
    /// It did not.
    Streaming,
    /// It did not gain from more ways, but lost from fewer.
    Refuted,
}

impl Phase {
    /// IPC with so many ways, if it was seen.
    pub(super) fn ipc(&self, ways: u32) -> Option<Q32> {
        *self.ipc.get(ways.checked_sub(1)? as usize)?
    }

    pub(super) fn record(&mut self, ways: u32, ipc: Q32) {
        let place = ways.checked_sub(1).map(|place| place as usize);
        if let Some(entry) = place.and_then(|place| self.ipc.get_mut(place)) {
            *entry = Some(ipc).filter(|ipc| ipc.raw() > 0);
        }
    }

    /// IPC with `ways` ways, normalised to that with `baseline` ways; `None` if one was not seen.
    pub(super) fn normalised(&self, ways: u32, baseline: u32) -> Option<Q32> {
        Some(Q32::ratio(self.ipc(ways)?.raw(), self.ipc(baseline)?.raw()))
    }

    /// Whether IPC with `ways` ways is higher than with `fewer` by `ipc_imp_thr` of the baseline's;
    /// `None` if one of the three was not seen.
    pub(super) fn improves(&self, fewer: u32, ways: u32, baseline: u32, thr: Q32) -> Option<bool> {
        let (before, after) = (self.ipc(fewer)?, self.ipc(ways)?);
        Some(after > before && reaches(over(after, before), thr, self.ipc(baseline)?))
    }

    /// The fewest ways, from the baseline on, whose IPC is within `ipc_imp_thr` of the best (Table 1's
    /// mark; decision dCat 5). Without a baseline there is no telling.
    pub(super) fn preferred(&self, baseline: u32, thr: Q32) -> Option<u32> {
        let unit = self.ipc(baseline)?;
        let seen = (baseline..).zip(&self.ipc[baseline as usize - 1..]);
        let seen = seen.filter_map(|(ways, ipc)| Some((ways, (*ipc)?)));
        let best = seen.clone().map(|(_, ipc)| ipc).max()?;
        let mut good = seen.filter(|&(_, ipc)| !reaches(over(best, ipc), thr, unit) || ipc == best);
        good.next().map(|(ways, _)| ways)
    }

    /// How much of its normalised IPC the last of `ways` ways brought: of the ways since the next
    /// smaller count that was seen, an equal share. Nothing where nothing was seen.
    pub(super) fn last_way(&self, ways: u32, baseline: u32) -> Q32 {
        let here = self.normalised(ways, baseline);
        let below = (1..ways).rev().find_map(|w| Some((w, self.normalised(w, baseline)?)));
        let (Some(here), Some((fewer, there))) = (here, below) else { return Q32::default() };
        Q32::from_raw(over(here, there).raw() / u64::from(ways - fewer))
    }

    /// Whether a window of so many L1 references in so many instructions is of another phase: the
    /// ratios differ by `thr` percent of the smaller, at least.
    fn differs(&self, window: (u64, u64), thr: Q32) -> bool {
        let Some(own) = self.sum.or(self.last) else { return false };
        let [a, b] = [own, window].map(|(references, of)| Q32::ratio(references, of));
        a != b && reaches(over(a.max(b), a.min(b)), thr, a.min(b))
    }

    fn add(&mut self, window: (u64, u64)) {
        let last = self.last.replace(window);
        self.sum = match (self.sum, last) {
            (Some(sum), Some(last)) => {
                Some((sum.0.saturating_add(last.0), sum.1.saturating_add(last.1)))
            }
            (sum, last) => sum.or(last),
        };
    }
}

/// The phases of a workload.
#[derive(Clone, Debug, Default)]
pub(super) struct Phases {
    /// The one that was seen last is the last.
    known: Vec<Phase>,
    now: Now,
}

/// The phase that a workload is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Now {
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
pub(super) enum Detected {
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
        if self.now == Now::Known { self.known.last() } else { None }
    }

    pub(super) fn current_mut(&mut self) -> Option<&mut Phase> {
        if self.now == Now::Known { self.known.last_mut() } else { None }
    }

    /// Forgets what it knew of this phase: it is another.
    pub(super) fn forget_current(&mut self) {
        if self.now == Now::Known {
            self.known.pop();
        }
        self.now = Now::Unseen;
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
            (phase.floor, phase.verdict) = (0, Verdict::Open);
        }
    }

    /// Takes in a window (§3.3). Where L1 references could not be counted, everything but idleness is
    /// one phase.
    pub(super) fn detect(
        &mut self,
        counters: &Counters,
        idle: bool,
        parameters: &Parameters,
    ) -> Detected {
        if idle {
            self.leave();
            self.now = Now::Idle;
            return Detected::Idle;
        }
        let window = counters.l1_references.zip(counters.instructions);
        let thr = parameters.phase_change_thr;
        let differs = |phase: &Phase| window.is_some_and(|window| phase.differs(window, thr));
        let add = |phase: &mut Phase| {
            if let Some(window) = window {
                phase.add(window);
            }
        };
        let was = self.now;
        if let Some(phase) = self.current_mut() {
            if !differs(phase) {
                add(phase);
                return Detected::Same;
            }
            phase.last = None;
            self.leave();
        }
        if let Some(place) = self.known.iter().rposition(|phase| !differs(phase)) {
            let mut phase = self.known.remove(place);
            add(&mut phase);
            self.known.push(phase);
            self.now = Now::Known;
            return Detected::Back;
        }
        if was != Now::Unseen {
            // This window may reach back into the phase before: the next is the measure.
            self.now = Now::Unseen;
            return Detected::New;
        }
        let most = (parameters.most_phases as usize).max(1);
        while self.known.len() >= most {
            self.known.remove(0);
        }
        let mut phase = Phase::default();
        add(&mut phase);
        self.known.push(phase);
        self.now = Now::Known;
        Detected::Same
    }

    /// Leaves a phase; one of which nothing was learnt is forgotten.
    fn leave(&mut self) {
        if self.current().is_some_and(|phase| phase.ipc.iter().all(Option::is_none)) {
            self.known.pop();
        }
        self.now = Now::Unseen;
    }
}
