//! A program that started without a profile: its curves are what was observed of it.

use alloc::sync::Arc;

use fairways_core::{AppId, Curve, Profile, Q32, Sample, Ways};

use super::observed::Observed;
use super::phases::ObservedPhases;
use super::rates::ObservedRates;

/// Lines that move in a window beyond this, in ways, blur what it shows.
const BLURRED: u64 = 2 << 32;

/// A program without a profile.
#[derive(Clone, Debug)]
pub(crate) struct LearnedProgram {
    pub(crate) app: AppId,
    phases: ObservedPhases,
    /// Its occupancy when its last window ended.
    occupancy: Option<Q32>,
    /// Short windows that are still to come after its start.
    pub(crate) first_windows: u32,
    /// Decisions until it may be sampled again, and samplings in a row that were given up.
    pub(crate) put_off: u32,
    pub(crate) given_up: u32,
    /// The curves of the phase at hand; `None` before its first windows are over.
    pub(crate) profile: Option<Arc<Profile>>,
    /// Whether they are other curves than those of the profile.
    pub(crate) has_changed: bool,
}

impl LearnedProgram {
    /// A program that has just started, and occupies nothing.
    pub(crate) fn new(app: AppId, first_windows: u32) -> Self {
        Self {
            app,
            phases: ObservedPhases::new(),
            occupancy: Some(Q32::default()),
            first_windows,
            put_off: 0,
            given_up: 0,
            profile: None,
            has_changed: false,
        }
    }

    /// What was observed in the phase at hand.
    pub(crate) fn observed(&self) -> &Observed {
        self.phases.current()
    }

    /// Sampling has seen every size that it can.
    pub(crate) fn set_sampled(&mut self) {
        self.phases.current_mut().is_sampled = true;
    }

    /// Forgets all, on another cache.
    pub(crate) fn forget(&mut self, first_windows: u32) {
        self.phases.clear();
        (self.occupancy, self.profile, self.has_changed) = (None, None, false);
        self.first_windows = first_windows;
    }

    /// Handles a window. Where occupancies can't be read, a program that has `ways` ways for itself
    /// occupies them. Returns the occupancy at the end.
    pub(crate) fn add(&mut self, sample: &Sample, ways: Option<u32>) -> Option<Q32> {
        let end = sample.occupancy.or(ways.map(Q32::from_int));
        let before = core::mem::replace(&mut self.occupancy, end);
        let (end, before) = (end?.raw(), before?.raw());
        let rates = ObservedRates::new(&sample.counters, Q32::from_raw(before / 2 + end / 2));
        if let Some(rates) = rates.filter(|_| !sample.straddled && before.abs_diff(end) <= BLURRED)
        {
            self.has_changed |= self.phases.add(&rates);
        }
        Some(Q32::from_raw(end))
    }

    /// Assumes any curves, until it is known.
    pub(crate) fn assume(&mut self, ways: Ways) {
        let flat = Curve::from_fn(ways, |_| Q32::ONE);
        self.set_curves(ways, [flat, Curve::from_fn(ways, |_| Q32::default())]);
        self.has_changed = true;
    }

    /// Whether it was seen at any size in the phase at hand.
    pub(crate) fn is_seen(&self) -> bool {
        self.observed().range().is_some()
    }

    /// Whether its curves have changed since its profile was brought up to date.
    pub(crate) fn is_news(&self) -> bool {
        self.first_windows == 0 && self.has_changed
    }

    /// Brings the profile up to date.
    pub(crate) fn refresh(&mut self, ways: Ways) {
        if !self.is_news() {
            return;
        }
        let Some(curves) = self.phases.current().curves(ways) else { return };
        self.has_changed = false;
        self.set_curves(ways, curves);
    }

    fn set_curves(&mut self, ways: Ways, [ipc, llcmpkc]: [Curve; 2]) {
        if let Some(profile) = self.profile.as_mut().and_then(Arc::get_mut) {
            (profile.ipc, profile.llcmpkc) = (ipc, llcmpkc);
            return;
        }
        // Nothing looks at the other curves.
        let none = Curve::from_fn(ways, |_| Q32::default());
        let profile =
            Profile { ipc, llcmpkc, llcmpki: none, bandwidth_mbps: none, stalls_l2_miss: none };
        self.profile = Some(Arc::new(profile));
    }
}
