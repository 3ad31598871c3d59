//! Services with an objective: Locpart's control decides the fewest ways of each (Locpart §III-B,
//! by the margin rule). They count as promised to it; the search divides the others.

use alloc::sync::Arc;
use alloc::vec::Vec;

use fairways_core::{Action, AppId, Latencies, Llc, Profile, Time, WayMask, WindowLength};

use super::Fairways;
use super::learner::flat;
use crate::announce::Announcer;
use crate::locpart::{Parameters, Party, WayTransfer, announce_services, control};
use crate::program::RunningProgram;
use crate::running::{Change, RunningPrograms};

/// The services that run, and Locpart's state of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Services {
    parameters: Parameters,
    /// Each service with its fewest ways, then all other programs together.
    parties: Vec<Party>,
    /// When the period at hand ends, and how many have ended.
    end: Option<Time>,
    period: u64,
    /// The curves of a service: it gains nothing by more ways than its fewest.
    pub(crate) curves: Option<Arc<Profile>>,
}

impl Services {
    /// The fewest ways of a service.
    pub(crate) fn ways_of(&self, app: AppId) -> Option<u32> {
        self.parties.iter().find(|party| party.occupant == Some(app)).map(|party| party.ways)
    }

    /// Adapts to what programs run, and to what their owners request. A new service is entitled to
    /// an equal share.
    fn follow(&mut self, llc: &Llc, programs: &[RunningProgram]) {
        let services = programs.iter().filter(|program| program.wish.objective.is_some());
        let share = llc.ways.get() / u32::try_from(programs.len()).unwrap_or(u32::MAX).max(1);
        let mut old = core::mem::take(&mut self.parties);
        for program in services {
            let known = old.iter().position(|party| party.occupant == Some(program.app));
            let mut party = match known {
                Some(known) => old.swap_remove(known),
                None => Party::new(Some(program.app)),
            };
            if party.is_new() {
                party.ways = share.max(llc.min_ways());
            }
            party.set_objective(program.wish.objective, self.period);
            self.parties.push(party);
        }
        if self.parties.is_empty() {
            return;
        }
        // Others need ways, too.
        let has_others = self.parties.len() < programs.len();
        let least = if has_others { llc.min_ways() } else { 0 };
        while self.rest(llc, programs) < least {
            let most = self.parties.iter_mut().max_by_key(|party| party.ways);
            let Some(most) = most.filter(|party| party.ways > llc.min_ways()) else { break };
            most.ways -= 1;
        }
        self.parties.push(Party::new(None));
        if self
            .curves
            .as_ref()
            .is_none_or(|curves| curves.ipc.values().len() != llc.ways.get() as usize)
        {
            self.curves = Some(Arc::new(flat(llc.ways)));
        }
    }

    /// The ways that are promised to nobody.
    fn rest(&self, llc: &Llc, programs: &[RunningProgram]) -> u32 {
        let services = self.parties.iter().filter(|party| party.occupant.is_some());
        let served: u32 = services.map(|party| party.ways).sum();
        let others = programs.iter().filter(|program| program.wish.objective.is_none());
        let promised = others.filter_map(|program| program.wish.baseline_ways);
        promised.fold(llc.ways.get().saturating_sub(served), u32::saturating_sub)
    }

    /// Ends a period. Services go by the ways that they have; the others have what is not promised
    /// to anybody. Whether ways are to move.
    fn control(&mut self, at: Time, llc: &Llc, running: &RunningPrograms) -> bool {
        self.period += 1;
        for party in &mut self.parties {
            let mask = party.occupant.and_then(|app| running.mask_of(app));
            party.ways = mask.map_or(party.ways, WayMask::count);
        }
        let rest = self.rest(llc, running.programs());
        if let Some(others) = self.parties.last_mut() {
            others.ways = rest;
        }
        control(&mut self.parties, at, self.period, llc.min_ways(), &self.parameters);
        self.parties.iter().any(|party| party.transfer != WayTransfer::No)
    }

    /// Announces the services whose class or ways changed.
    pub(crate) fn announce(&self, announcer: &mut Announcer<'_>) {
        announce_services(&self.parties, announcer);
    }
}

impl Fairways {
    /// Adapts to what the owners of programs request; requests the windows of services.
    pub(super) fn follow_objectives(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let Some(llc) = self.running.llc() else { return };
        let Self { services, running, .. } = self;
        let period = services.parameters.period();
        for program in running.programs() {
            if program.wish.objective.is_some() && services.ways_of(program.app).is_none() {
                act(Action::Watch { app: program.app, every: WindowLength::Time(period) });
            }
        }
        services.follow(&llc, running.programs());
        if services.parties.is_empty() {
            services.end = None;
        } else if services.end.is_none() {
            services.end = Some(at.after(period));
            self.arm(at, act);
        }
    }

    /// Records the latencies of a service.
    pub(super) fn answered(&mut self, at: Time, latencies: &Latencies) {
        let Services { parties, parameters, .. } = &mut self.services;
        if let Some(party) = parties.iter_mut().find(|party| party.occupant == Some(latencies.app))
        {
            party.record(at, latencies, parameters);
        }
    }

    /// Ends a period of services if it is time.
    pub(super) fn judge_services(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let (Some(llc), Some(end)) = (self.running.llc(), self.services.end) else { return };
        if at < end {
            return;
        }
        self.services.end = Some(at.after(self.services.parameters.period()));
        if self.services.control(at, &llc, &self.running) {
            self.decide(at, Some(Change::Wish { is_promise: true }), act);
        } else {
            self.services.announce(&mut self.running.announcer(act));
        }
    }
}
