//! Steps 1 to 4 of Figure 4: what a window shows of a workload, with the states of Figure 6.

use fairways_core::{Counters, Q32};

use super::detector::Detection;
use super::parameters::{Parameters, over, reaches};
use super::phase::StreamingVerdict;
use super::workload::{Donation, Workload, WorkloadClass};

impl Workload {
    /// Steps 1 to 4 of Figure 4: applies what a window shows of the phase, the baseline, and the
    /// class.
    pub(super) fn observe(&mut self, counters: &Counters, idle: bool, parameters: &Parameters) {
        let detected = self.phases.detect(counters, idle, parameters);
        let thr = parameters.ipc_imp_thr;
        match detected {
            Detection::Idle => {
                self.set_class(WorkloadClass::Donor, "it is idle");
                return self.give(self.ways.min(self.least), Donation::Quiet);
            }
            Detection::New => return self.reclaim("a phase began"),
            Detection::Back => {
                self.reclaim("a phase came back");
                let preferred = self.preferred(thr);
                self.jump = preferred.filter(|&ways| ways > self.baseline);
                return;
            }
            Detection::Same => {}
        }
        // There is no decision without a measurement.
        let Some(ipc) = counters.ipc().filter(|_| self.is_steady) else { return };
        let ways = self.effective_ways();
        let Some(phase) = self.phases.current_mut() else { return };
        if ways == self.baseline {
            phase.confirm(ways, ipc, thr);
        }
        if !parameters.reclaim_on_ipc {
            phase.record(ways, ipc);
        } else if phase.departs(ways, ipc, counters, parameters) {
            self.phases.forget_current();
            return self.reclaim("it behaves otherwise with the same ways");
        }
        if self.loses(ipc, thr) {
            return self.regret();
        }
        self.categorize(counters, parameters);
    }

    /// Whether it has fewer ways than its baseline, and less than the promised IPC.
    fn loses(&self, ipc: Q32, thr: Q32) -> bool {
        let baseline = self.phases.current().and_then(|phase| phase.ipc(self.baseline));
        // The window of the baseline began in a cold cache: a fifth of the threshold is the margin
        // for that.
        let thr = Q32::from_raw(thr.raw() / 5 * 4);
        self.effective_ways() < self.baseline
            && baseline.is_some_and(|unit| ipc < unit && reaches(over(unit, ipc), thr, unit))
    }

    /// Reacts to having given away too many ways.
    fn regret(&mut self) {
        let back = if self.donation == Donation::Hits { self.ways + 1 } else { self.baseline };
        if let Some(phase) = self.phases.current_mut() {
            phase.floor = phase.floor.max(back);
            if phase.verdict == StreamingVerdict::Streaming {
                phase.verdict = StreamingVerdict::Refuted;
            }
        }
        if self.donation == Donation::Hits {
            self.stop_giving("with a way less it would lose");
        } else {
            self.reclaim("with fewer ways it lost more than it may");
        }
    }

    /// Takes the last way back.
    fn stop_giving(&mut self, why: &'static str) {
        self.set_class(WorkloadClass::Keeper, why);
        self.claim = (self.ways + 1).min(self.baseline);
        self.donation = Donation::Nothing;
    }

    /// The transitions of Figure 6.
    fn categorize(&mut self, counters: &Counters, parameters: &Parameters) {
        let Counters { llc_references, llc_misses, .. } = *counters;
        let (Some(rate), Some(references)) = (per_kilo_instructions(counters), llc_references)
        else {
            return;
        };
        let quiet = rate <= parameters.llc_ref_thr;
        let floor = self.phases.current().map_or(0, |phase| phase.floor).max(self.least);
        let waits = self.ways < self.claim;
        let has_baseline = self.normalised(self.baseline).is_some();
        if quiet && floor == self.least && (has_baseline || waits) {
            self.set_class(WorkloadClass::Donor, "it hardly references the last-level cache");
            return self.give(self.ways.min(self.least), Donation::Quiet);
        }
        let Some(misses) = llc_misses else { return };
        self.is_measured = true;
        let rate = Q32::ratio(misses.saturating_mul(100), references.max(1));
        let trivial = quiet || rate <= parameters.llc_miss_rate_thr;
        if waits || !has_baseline {
            return;
        }
        match self.class {
            WorkloadClass::Donor if self.donation == Donation::Quiet => {
                self.reclaim("it references the last-level cache again");
            }
            WorkloadClass::Donor if !trivial && self.donation == Donation::Hits => {
                if let Some(phase) = self.phases.current_mut() {
                    phase.floor = phase.floor.max(self.ways + 1);
                }
                self.stop_giving("with a way less it missed");
            }
            WorkloadClass::Donor | WorkloadClass::Keeper | WorkloadClass::Reclaim if trivial => {
                self.hits(floor)
            }
            WorkloadClass::Donor | WorkloadClass::Keeper | WorkloadClass::Reclaim => {
                self.misses(parameters)
            }
            WorkloadClass::Unknown | WorkloadClass::Receiver => self.grows(trivial, parameters),
            WorkloadClass::Streaming if trivial => {
                self.set_class(WorkloadClass::Keeper, "its misses have become trivial");
            }
            WorkloadClass::Streaming => {}
        }
    }

    /// It hardly misses: it gives ways away one by one until it needs them.
    fn hits(&mut self, floor: u32) {
        if self.ways > self.baseline || self.ways <= floor {
            self.donation = Donation::Nothing;
            return self.set_class(
                if self.ways == self.least { WorkloadClass::Donor } else { WorkloadClass::Keeper },
                "it hardly misses with what it has",
            );
        }
        self.set_class(WorkloadClass::Donor, "it hardly misses");
        self.give(self.ways - 1, Donation::Hits);
    }

    /// It misses: it may need more ways.
    fn misses(&mut self, parameters: &Parameters) {
        self.donation = Donation::Nothing;
        let (ways, baseline) = (self.effective_ways(), self.baseline);
        let Some(phase) = self.phases.current_mut() else { return };
        if ways < baseline {
            // Before, it needed no more than these ways.
            phase.floor = baseline;
            return self.reclaim("it misses again");
        }
        if phase.verdict == StreamingVerdict::Streaming {
            return self.streams("the phase is known to stream");
        }
        if phase.tried {
            return self.set_class(WorkloadClass::Keeper, "more ways did not help");
        }
        match phase.improves(baseline, ways, baseline, parameters.ipc_imp_thr) {
            Some(true) => self.set_class(WorkloadClass::Receiver, "more ways have helped it"),
            _ => self.set_class(WorkloadClass::Unknown, "it misses"),
        }
    }

    /// Judges what another way has brought.
    fn grows(&mut self, trivial: bool, parameters: &Parameters) {
        let Parameters { ipc_imp_thr: thr, streaming_thr, .. } = *parameters;
        let (ways, baseline) = (self.effective_ways(), self.baseline);
        let Some(phase) = self.phases.current() else { return };
        if self.class == WorkloadClass::Unknown {
            // While it is Unknown, gains add up (decision dCat 24).
            if phase.improves(baseline, ways, baseline, thr) == Some(true) {
                self.set_class(WorkloadClass::Receiver, "more ways help it");
            } else if !trivial
                && ways >= baseline.saturating_mul(streaming_thr)
                && phase.ipc(ways).is_some()
            {
                if let Some(phase) = self.phases.current_mut() {
                    phase.tried_with = None;
                }
                return self.streams("it gained nothing up to the streaming threshold");
            }
        } else if let Some(before) =
            self.ways_before_growth.filter(|&before| self.is_steady && before != ways)
            && phase.improves(before, ways, baseline, thr) == Some(false)
        {
            return self.stops("the last way brought too little", thr);
        }
        self.ways_before_growth = None;
        if trivial && (self.class == WorkloadClass::Unknown || parameters.receiver_stops_on_misses)
        {
            self.stops("it hardly misses any more", thr);
        }
    }

    /// It keeps the ways that it prefers, and gives back the others.
    fn stops(&mut self, why: &'static str, thr: Q32) {
        self.set_class(WorkloadClass::Keeper, why);
        let preferred = self.preferred(thr);
        self.give(preferred.map_or(self.ways, |ways| ways.min(self.ways)), Donation::Nothing);
        self.claim = self.claim.min(self.baseline);
        if let Some(phase) = self.phases.current_mut() {
            phase.tried = true;
        }
    }

    /// It does not reuse what it caches, so the least number of ways is enough; unless that was
    /// refuted before.
    fn streams(&mut self, why: &'static str) {
        let Some(phase) = self.phases.current_mut() else { return };
        if phase.verdict == StreamingVerdict::Refuted {
            phase.tried = true;
            self.set_class(WorkloadClass::Keeper, "fewer ways harm it, and more do not help");
            let baseline = self.baseline.min(self.ways);
            return self.give(baseline, Donation::Nothing);
        }
        phase.verdict = StreamingVerdict::Streaming;
        self.set_class(WorkloadClass::Streaming, why);
        self.give(self.least, Donation::Nothing);
    }

    /// Whether it had spare ways, and gained nothing from them.
    pub(super) fn has_grown_in_vain(&self, parameters: &Parameters) -> bool {
        let (ways, baseline, thr) = (self.effective_ways(), self.baseline, parameters.ipc_imp_thr);
        let phase = self.phases.current();
        self.class == WorkloadClass::Unknown
            && ways > baseline
            && phase.and_then(|phase| phase.improves(baseline, ways, baseline, thr)) == Some(false)
    }

    /// It streams as far as could be seen: no spare way is left, and those that it had did not help
    /// (§3.4; decision dCat 3).
    pub(super) fn streams_for_now(&mut self) {
        let ways = self.effective_ways();
        self.streams("all spare ways are used, and it gained nothing");
        if let Some(phase) = self.phases.current_mut() {
            phase.tried_with = Some(phase.tried_with.map_or(ways, |before| before.max(ways)));
        }
    }

    /// Whether it streams only because there were no more ways to try, and now there are.
    pub(super) fn could_have_more_than_ever(&self, pool: u32) -> bool {
        let tried = self.phases.current().and_then(|phase| phase.tried_with);
        self.class == WorkloadClass::Streaming
            && tried.is_some_and(|tried| self.ways + pool > tried)
    }

    /// It is to be tried with more ways than before.
    pub(super) fn tries_again(&mut self) {
        if let Some(phase) = self.phases.current_mut() {
            phase.verdict = StreamingVerdict::Open;
        }
        self.reclaim("there are more spare ways than it was tried with");
    }
}

/// LLC references per 1000 instructions.
fn per_kilo_instructions(counters: &Counters) -> Option<Q32> {
    Some(Q32::ratio(counters.llc_references?.saturating_mul(1000), counters.instructions?))
}
