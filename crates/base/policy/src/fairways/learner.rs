//! A program without a profile: its curves come from observation.

use alloc::sync::Arc;
use core::time::Duration;

use fairways_core::{AppId, Curve, MAX_WAYS, Profile, Q32, Sample, Ways};

use super::observed::Observed;
use super::phases::ObservedPhases;
use super::rates::ObservedRates;

/// If the occupancy changes by more than this in a window, in ways, its rates are not used.
const BLURRED: u64 = 2 << 32;

/// An occupancy that changes by at most this in a window, in ways, is steady.
const STEADY: u64 = (1 << 32) / 32;

/// Stands for all phases of a program together.
pub(crate) const ALL_PHASES: u32 = u32::MAX;

/// The largest occupancy, so that sums of occupancies do not overflow.
const MOST: Q32 = Q32::from_raw((MAX_WAYS as u64) << 32);

/// The curves of a program that does not use the cache.
pub(crate) fn flat(ways: Ways) -> Profile {
    let none = Curve::from_fn(ways, |_| Q32::default());
    Profile {
        ipc: Curve::from_fn(ways, |_| Q32::ONE),
        llcmpkc: none,
        llcmpki: none,
        bandwidth_mbps: none,
        stalls_l2_miss: none,
    }
}

/// A program without a profile.
#[derive(Clone, Debug)]
pub(crate) struct LearnedProgram {
    pub(crate) app: AppId,
    phases: ObservedPhases,
    /// Its occupancy when its last window ended.
    pub(crate) occupancy: Option<Q32>,
    /// Whether its occupancy was ever read; if so, a missing reading means unknown.
    was_read: bool,
    /// The mean of its windows in which only a lower bound on its occupancy is known, because it
    /// ran before it was monitored.
    of_unknown_size: Option<ObservedRates>,
    /// Whether its occupancy hardly changed in its last window.
    is_steady: bool,
    /// Short windows that are still to come after its start.
    pub(crate) first_windows: u32,
    /// Short windows after its start in which it did not run.
    pub(crate) idle_windows: u32,
    /// The decisions until it may be sampled again, and how many samplings in a row were given up.
    pub(crate) put_off: u32,
    pub(crate) given_up: u32,
    /// The curves of the present phase; `None` before its first windows have ended.
    pub(crate) profile: Option<Arc<Profile>>,
    /// Its IPC with hardly any cache; `None` if no phase that is kept shows it.
    pub(crate) least_ipc: Option<Q32>,
    /// Whether the observed curves differ from those in the profile.
    pub(crate) has_changed: bool,
    /// Whether another phase has begun since the last decision.
    has_turned: bool,
    /// How long the present phase has lasted, and about how long earlier ones did, in nanoseconds.
    phase_nanos: u64,
    phases_last: u64,
}

impl LearnedProgram {
    /// A program of which at most the occupancy is known.
    pub(crate) fn new(app: AppId, first_windows: u32, occupancy: Option<Q32>) -> Self {
        Self {
            app,
            phases: ObservedPhases::new(),
            occupancy,
            was_read: false,
            of_unknown_size: None,
            is_steady: false,
            first_windows,
            idle_windows: 0,
            put_off: 0,
            given_up: 0,
            profile: None,
            least_ipc: None,
            has_changed: false,
            has_turned: false,
            phase_nanos: 0,
            phases_last: 0,
        }
    }

    /// The observations in the present phase.
    pub(crate) fn observed(&self) -> &Observed {
        self.phases.current()
    }

    /// How many phases have begun.
    pub(crate) const fn phases_begun(&self) -> u32 {
        self.phases.begun
    }

    /// The number of the present phase; the same number for all phases if they last less than this.
    pub(crate) fn phase(&self, least: Duration) -> u32 {
        let is_short = self.phases_last().is_some_and(|nanos| u128::from(nanos) < least.as_nanos());
        if is_short { ALL_PHASES } else { self.phases.current().number }
    }

    /// About how long its phases last, in nanoseconds; `None` if it has had only one.
    pub(crate) const fn phases_last(&self) -> Option<u64> {
        if self.phases_last == 0 { None } else { Some(self.phases_last) }
    }

    /// Ends its sampling; if it `is_complete`, every size that it can have was seen.
    pub(crate) fn set_sampled(&mut self, is_complete: bool) {
        let observed = self.phases.current_mut();
        (observed.is_sampled, observed.is_unfinished) = (is_complete, !is_complete);
    }

    /// Whether no window shows the effect of more or fewer lines.
    pub(crate) fn is_of_unknown_size(&self) -> bool {
        self.first_windows == 0 && !self.is_seen() && self.of_unknown_size.is_some()
    }

    /// Forgets all observations, as the cache is another one.
    pub(crate) fn forget(&mut self, first_windows: u32) {
        self.phases.clear();
        (self.occupancy, self.was_read, self.of_unknown_size) = (None, false, None);
        (self.profile, self.has_changed) = (None, false);
        (self.first_windows, self.idle_windows) = (first_windows, 0);
        (self.put_off, self.given_up) = (0, 0);
    }

    /// Handles a window of a program with these ways of its own. If occupancies can't be read, it
    /// counts as filling them. Returns the occupancy at the end, if known.
    pub(crate) fn add(&mut self, sample: &Sample, own: Option<Q32>) -> Option<Q32> {
        self.was_read |= sample.occupancy.is_some();
        self.is_steady = false;
        let nanos = u64::try_from(sample.window.as_nanos()).unwrap_or(u64::MAX);
        self.phase_nanos = self.phase_nanos.saturating_add(nanos);
        if let Some(least) = sample.occupancy_at_least.filter(|_| sample.occupancy.is_none()) {
            self.add_of_unknown_size(sample, least.min(MOST));
            return Some(least.min(MOST));
        }
        let own = own.filter(|_| !self.was_read);
        let Some(end) = sample.occupancy.or(own).map(|end| end.min(MOST).raw()) else {
            // If a reading is lost, the next one is compared with the last one before the lost one.
            self.occupancy = self.occupancy.filter(|_| self.was_read);
            return None;
        };
        let before = self.occupancy.replace(Q32::from_raw(end))?.raw();
        self.is_steady = !sample.straddled && before.abs_diff(end) <= STEADY;
        let mean = Q32::from_raw(before / 2 + end / 2);
        let rates = ObservedRates::new(&sample.counters, mean, sample.window);
        if let Some(rates) = rates.filter(|_| !sample.straddled && before.abs_diff(end) <= BLURRED)
        {
            let begun = self.phases.begun;
            self.has_changed |= self.phases.add(&rates);
            if self.phases.begun != begun {
                self.turn();
            }
        }
        Some(Q32::from_raw(end))
    }

    /// Another phase has begun.
    fn turn(&mut self) {
        let lasted = core::mem::take(&mut self.phase_nanos);
        self.phases_last =
            if self.phases_last == 0 { lasted } else { (self.phases_last + lasted) / 2 };
        self.has_turned = true;
        if self.given_up == 0 {
            // What could not be found out was about the phase before.
            self.put_off = 0;
        }
    }

    /// Whether another phase has begun since the last call, if the program's phases last this long.
    pub(crate) fn take_turn(&mut self, least: Duration) -> bool {
        let is_lasting = u128::from(self.phases_last) >= least.as_nanos();
        core::mem::take(&mut self.has_turned) && is_lasting
    }

    /// Handles a window of a program that occupies at least this. It counts for the curves only if
    /// a larger or smaller occupancy would make no difference.
    fn add_of_unknown_size(&mut self, sample: &Sample, least: Q32) {
        (self.was_read, self.occupancy) = (true, None);
        let rates = ObservedRates::new(&sample.counters, least, sample.window);
        let Some(rates) = rates.filter(|_| !sample.straddled) else { return };
        match &mut self.of_unknown_size {
            Some(mean) => mean.blend(&rates),
            None => self.of_unknown_size = Some(rates),
        }
        if rates.hardly_uses_the_cache() {
            self.has_changed |= self.phases.add(&rates);
        }
    }

    /// Handles a window in which it did not run. Others may have taken its lines meanwhile.
    pub(crate) fn idled(&mut self, occupancy: Option<Q32>) {
        self.occupancy = occupancy.map(|now| now.min(MOST)).or(self.occupancy);
        self.is_steady = false;
    }

    /// Records how many of its own ways it fills, if its last window was steady.
    pub(crate) fn reach(&mut self, own: Q32) {
        if let Some(filled) = self.occupancy.filter(|_| self.is_steady) {
            self.has_changed |= self.phases.current_mut().reach(own, filled);
        }
    }

    /// Assumes flat curves until the program is known.
    pub(crate) fn assume(&mut self, ways: Ways) {
        let Profile { ipc, llcmpkc, .. } = flat(ways);
        self.set_curves(ways, [ipc, llcmpkc]);
    }

    /// Whether it was seen at any size in the present phase.
    pub(crate) fn is_seen(&self) -> bool {
        self.observed().range().is_some()
    }

    /// Whether its curves have changed since the profile was updated.
    pub(crate) fn is_news(&self) -> bool {
        self.first_windows == 0 && self.has_changed
    }

    /// Updates the profile.
    pub(crate) fn refresh(&mut self, ways: Ways) {
        if !self.is_news() {
            return;
        }
        let Some((curves, least_ipc)) = self.phases.curves(ways) else { return };
        (self.has_changed, self.least_ipc) = (false, least_ipc);
        self.set_curves(ways, curves);
    }

    fn set_curves(&mut self, ways: Ways, [ipc, llcmpkc]: [Curve; 2]) {
        if let Some(profile) = self.profile.as_mut().and_then(Arc::get_mut) {
            (profile.ipc, profile.llcmpkc) = (ipc, llcmpkc);
            return;
        }
        // The other curves are not used.
        let none = Curve::from_fn(ways, |_| Q32::default());
        let profile =
            Profile { ipc, llcmpkc, llcmpki: none, bandwidth_mbps: none, stalls_l2_miss: none };
        self.profile = Some(Arc::new(profile));
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use fairways_core::Counters;

    use super::*;

    const EIGHT: Ways = Ways::new(8).unwrap();

    fn window(occupancy: Q32) -> Sample {
        let counters = Counters {
            instructions: Some(1000),
            cycles: Some(1000),
            llc_misses: Some(1),
            ..Counters::default()
        };
        Sample {
            occupancy: Some(occupancy),
            ..Sample::new(AppId(0), counters, Duration::from_millis(1))
        }
    }

    #[test]
    fn no_program_occupies_more_ways_than_a_cache_has() {
        let mut learner = LearnedProgram::new(AppId(0), 0, Some(Q32::default()));
        for _ in 0..2 {
            assert_eq!(learner.add(&window(Q32::from_raw(u64::MAX)), None), Some(MOST));
        }
        assert_eq!(learner.observed().range(), Some((MOST, MOST)));
        learner.refresh(EIGHT);
        assert!(learner.profile.is_some());
    }

    /// While it slept it lost its lines; afterwards it has only those that are left.
    #[test]
    fn a_program_that_slept_has_the_lines_that_are_left() {
        let mut learner = LearnedProgram::new(AppId(0), 0, Some(Q32::from_int(8)));
        learner.idled(Some(Q32::ONE));
        learner.add(&window(Q32::ONE), None);
        assert_eq!(learner.observed().range(), Some((Q32::ONE, Q32::ONE)));
    }

    /// While it fills four ways, one reading is lost.
    #[test]
    fn a_lost_occupancy_is_not_that_of_full_ways() {
        let mut learner = LearnedProgram::new(AppId(0), 0, Some(Q32::default()));
        let own = Some(Q32::from_int(4));
        assert_eq!(learner.add(&window(Q32::ONE), own), Some(Q32::ONE));
        let lost = Sample { occupancy: None, ..window(Q32::ONE) };
        assert_eq!(learner.add(&lost, own), None);
        assert_eq!(learner.observed().range().unwrap().1, Q32::from_raw(1 << 31));
        // Compared with the reading before the lost one.
        learner.add(&window(Q32::from_int(3)), own);
        assert_eq!(learner.observed().range().unwrap().1, Q32::from_int(2));
        let mut unread = LearnedProgram::new(AppId(0), 0, Some(Q32::default()));
        assert_eq!(unread.add(&lost, own), own);
    }

    fn counted(llc_references: u64) -> Sample {
        let Sample { counters, .. } = window(Q32::ONE);
        let counters = Counters { llc_references: Some(llc_references), ..counters };
        Sample { counters, occupancy: None, occupancy_at_least: Some(Q32::ONE), ..window(Q32::ONE) }
    }

    #[test]
    fn a_lower_bound_of_its_lines_is_no_size() {
        let mut learner = LearnedProgram::new(AppId(0), 0, None);
        assert_eq!(learner.add(&counted(1), Some(Q32::from_int(4))), Some(Q32::ONE));
        assert!(learner.is_of_unknown_size());
        // The first window with a full count began with lines that were not counted.
        learner.add(&window(Q32::from_int(3)), None);
        assert!(learner.is_of_unknown_size());
        learner.add(&window(Q32::from_int(5)), None);
        assert_eq!(learner.observed().range().unwrap().0, Q32::from_int(4));
        assert!(!learner.is_of_unknown_size());
    }

    #[test]
    fn a_program_with_hardly_a_reference_needs_no_size() {
        let mut idle = LearnedProgram::new(AppId(0), 0, None);
        idle.add(&counted(0), None);
        assert!(!idle.is_of_unknown_size() && idle.is_news());
    }

    #[test]
    fn curves_that_are_assumed_are_no_news() {
        let mut learner = LearnedProgram::new(AppId(0), 0, Some(Q32::default()));
        learner.assume(EIGHT);
        assert!(!learner.is_news());
        learner.add(&window(Q32::ONE), None);
        assert!(learner.is_news());
    }

    #[test]
    fn on_another_cache_a_program_may_be_sampled_at_once() {
        let mut learner = LearnedProgram::new(AppId(0), 0, Some(Q32::default()));
        (learner.put_off, learner.given_up) = (8, 2);
        learner.forget(10);
        assert_eq!((learner.put_off, learner.given_up), (0, 0));
    }
}
