//! A phase of a workload, and its performance table (§3.1, §3.5, Table 1).

use fairways_core::{Counters, MAX_WAYS, Q32};

use super::parameters::{Parameters, over, reaches};

/// What was learnt of a workload in one phase.
#[derive(Clone, Debug, Default)]
pub(super) struct Phase {
    /// L1 references and instructions of all its windows except the last, which may reach into the
    /// next phase.
    sum: Option<ReferenceCount>,
    /// The last two windows of this visit, the latest first.
    last: [Option<ReferenceCount>; 2],
    /// At `w - 1`: IPC with `w` ways, if it was seen.
    ipc: [Option<Q32>; MAX_WAYS],
    /// What this visit showed first, to distinguish phases by more than L1 references.
    first: FirstSeen,
    /// Whether it came back, and IPC with the baseline has not yet confirmed that it is the same
    /// phase.
    unconfirmed: bool,
    pub(super) verdict: StreamingVerdict,
    /// The most ways with which it was considered streaming because no more were spare.
    pub(super) tried_with: Option<u32>,
    /// Whether a Receiver stopped in this phase: it is not tried again (decision dCat 4).
    pub(super) tried: bool,
    /// The fewest ways that it may keep when it gives some away; fewer turned out to be too few.
    pub(super) floor: u32,
}

/// The first measurements of a visit to a phase.
#[derive(Clone, Copy, Debug, Default)]
struct FirstSeen {
    /// The way counts for which IPC was seen, one bit each.
    seen: u32,
    /// LLC references per 1000 instructions.
    references: Option<Q32>,
    /// The ways that it had, and LLC misses per 1000 instructions with them.
    misses: Option<(u32, Q32)>,
}

/// L1 references, and the instructions in the same time.
pub(super) type ReferenceCount = (u64, u64);

/// Whether two values differ by at least `thr` percent of the smaller.
pub(super) fn differ(a: Q32, b: Q32, thr: Q32) -> bool {
    a != b && reaches(over(a.max(b), a.min(b)), thr, a.min(b))
}

pub(super) fn ratio((references, instructions): ReferenceCount) -> Q32 {
    Q32::ratio(references, instructions)
}

/// Whether a phase reuses what it has cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StreamingVerdict {
    /// It may.
    #[default]
    Open,
    /// It did not.
    Streaming,
    /// It did not gain from more ways, but lost from fewer.
    Refuted,
}

impl Phase {
    /// IPC with `ways` ways, if it was seen.
    pub(super) fn ipc(&self, ways: u32) -> Option<Q32> {
        *self.ipc.get(ways.checked_sub(1)? as usize)?
    }

    pub(super) fn record(&mut self, ways: u32, ipc: Q32) {
        let place = ways.checked_sub(1).map(|place| place as usize);
        if let Some(entry) = place.and_then(|place| self.ipc.get_mut(place)) {
            *entry = Some(ipc).filter(|ipc| ipc.raw() > 0);
        }
    }

    /// Whether a window is of another phase although its L1 references are alike: with the same
    /// ways, IPC or the rate of LLC references differs, or misses have halved. The first
    /// measurement with these ways stays the reference, so that small steps add up.
    pub(super) fn departs(
        &mut self,
        ways: u32,
        ipc: Q32,
        counters: &Counters,
        parameters: &Parameters,
    ) -> bool {
        let Parameters { ipc_imp_thr, phase_change_thr, llc_ref_thr, .. } = *parameters;
        let [references, misses] = [counters.llc_references, counters.llc_misses]
            .map(|count| Some(Q32::ratio(count?.saturating_mul(1000), counters.instructions?)));
        let first = &mut self.first;
        let differs = first.references.zip(references).is_some_and(|(known, now)| {
            known.max(now) > llc_ref_thr && differ(known, now, phase_change_thr)
        });
        first.references = first.references.or(references);
        let halved = first.misses.filter(|&(with, _)| with == ways).zip(misses);
        if halved.is_none() {
            first.misses = misses.map(|misses| (ways, misses));
        }
        let halved = halved
            .is_some_and(|((_, known), now)| known > llc_ref_thr && now.raw() < known.raw() / 2);
        let bit = ways.checked_sub(1).and_then(|place| 1u32.checked_shl(place)).unwrap_or(0);
        let known = self.ipc(ways).filter(|_| self.first.seen & bit != 0);
        if known.is_none() {
            self.record(ways, ipc);
            self.first.seen |= bit;
        }
        differs || halved || known.is_some_and(|known| differ(known, ipc, ipc_imp_thr))
    }

    /// Handles IPC with the baseline's ways for the first time since the phase came back. If it is
    /// not as before, this is another phase, whatever its L1 references: what was learnt is
    /// dropped.
    pub(super) fn confirm(&mut self, baseline: u32, ipc: Q32, thr: Q32) {
        if self.unconfirmed && self.ipc(baseline).is_some_and(|known| differ(known, ipc, thr)) {
            let Self { sum, last, first, .. } = *self;
            *self = Self { sum, last, first, ..Self::default() };
        }
        self.unconfirmed = false;
    }

    /// IPC with `ways` ways over that with `baseline` ways; `None` if one was not seen.
    pub(super) fn normalised(&self, ways: u32, baseline: u32) -> Option<Q32> {
        Some(Q32::ratio(self.ipc(ways)?.raw(), self.ipc(baseline)?.raw()))
    }

    /// Whether IPC with `ways` ways is higher than with `fewer` by `ipc_imp_thr` of the baseline's;
    /// `None` if one of the three was not seen.
    pub(super) fn improves(&self, fewer: u32, ways: u32, baseline: u32, thr: Q32) -> Option<bool> {
        let (before, after) = (self.ipc(fewer)?, self.ipc(ways)?);
        Some(after > before && reaches(over(after, before), thr, self.ipc(baseline)?))
    }

    /// The fewest ways, from the baseline on, whose IPC is within `ipc_imp_thr` of the best (Table
    /// 1's mark; decision dCat 5). `None` without a baseline.
    pub(super) fn preferred(&self, baseline: u32, thr: Q32) -> Option<u32> {
        let unit = self.ipc(baseline)?;
        let seen = (baseline..).zip(&self.ipc[baseline as usize - 1..]);
        let seen = seen.filter_map(|(ways, ipc)| Some((ways, (*ipc)?)));
        let best = seen.clone().map(|(_, ipc)| ipc).max()?;
        let mut good = seen.filter(|&(_, ipc)| !reaches(over(best, ipc), thr, unit) || ipc == best);
        good.next().map(|(ways, _)| ways)
    }

    /// How much normalised IPC the last of `ways` ways brought: an equal share for each way since
    /// the next smaller count that was seen. 0 if nothing was seen.
    pub(super) fn last_way(&self, ways: u32, baseline: u32) -> Q32 {
        let here = self.normalised(ways, baseline);
        let below = (1..ways).rev().find_map(|w| Some((w, self.normalised(w, baseline)?)));
        let (Some(here), Some((fewer, there))) = (here, below) else { return Q32::default() };
        Q32::from_raw(over(here, there).raw() / u64::from(ways - fewer))
    }

    /// The mean by which it is recognised.
    pub(super) fn mean(&self) -> Option<Q32> {
        self.sum.or(self.last[0]).map(ratio)
    }

    /// Whether this window is of another phase: it differs from the mean, or from one of the last
    /// two windows. The last window may reach into both phases, and the mean may include such
    /// windows; the window before it does not.
    pub(super) fn ended(&self, window: ReferenceCount, thr: Q32) -> bool {
        let before = self.last.iter().flatten().map(|&window| ratio(window));
        self.mean().into_iter().chain(before).any(|own| differ(own, ratio(window), thr))
    }

    pub(super) fn add(&mut self, window: ReferenceCount) {
        if let Some(last) = self.last[0] {
            let sum = self.sum.unwrap_or_default();
            self.sum = Some((sum.0.saturating_add(last.0), sum.1.saturating_add(last.1)));
        }
        self.last = [Some(window), self.last[0]];
    }

    /// The phase came back: IPC with the baseline has to confirm that it is the same.
    pub(super) fn comes_back(&mut self) {
        self.unconfirmed = true;
    }

    /// The phase is over: what belongs to this visit alone is forgotten.
    pub(super) fn ends(&mut self) {
        self.sum = self.sum.or(self.last[0]);
        (self.last, self.first) = ([None; 2], FirstSeen::default());
    }

    /// Whether anything was learnt of it.
    pub(super) fn is_known(&self) -> bool {
        self.ipc.iter().any(Option::is_some)
    }
}
