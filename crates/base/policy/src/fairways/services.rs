//! Services with an objective. Locpart's control decides the fewest ways of each (Locpart §III-B,
//! by the margin rule). These count as promised to the service, and the search divides the other
//! ways.

use alloc::sync::Arc;
use alloc::vec::Vec;

use fairways_core::{Action, AppId, Latencies, Llc, Profile, Time, WayMask, WindowLength};

use super::Fairways;
use super::clusters::MOST_PROGRAMS;
use super::learner::flat;
use super::promises::KeptPromises;
use crate::announce::Announcer;
use crate::locpart::{Parameters, Party, WayTransfer, announce_services, control};
use crate::program::RunningProgram;
use crate::running::{Change, RunningPrograms};

/// The services that run, and Locpart's state for each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Services {
    parameters: Parameters,
    /// Each service with its fewest ways, then all other programs together.
    parties: Vec<Party>,
    /// The end of the present period, and how many periods have ended.
    end: Option<Time>,
    period: u64,
    /// Whether the machine refused the last plan.
    pub(crate) is_refused: bool,
    /// The curves of a service: it gains nothing from more than its fewest ways.
    pub(crate) curves: Option<Arc<Profile>>,
}

impl Services {
    /// The fewest ways of a service.
    pub(crate) fn ways_of(&self, app: AppId) -> Option<u32> {
        self.parties.iter().find(|party| party.occupant == Some(app)).map(|party| party.ways)
    }

    /// Each service with its fewest ways, and all other programs together.
    pub(crate) fn parties(&self) -> &[Party] {
        &self.parties
    }

    /// How many services have ways of their own.
    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.parties.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// Adapts to the running programs and to their owners' requests. The first services get ways of
    /// their own, as far as there are clusters. A new service is entitled to an equal share; so are
    /// all other programs together once a program `joined`.
    fn follow(&mut self, llc: &Llc, programs: &[RunningProgram], joined: bool) {
        let requested = programs.iter().filter(|program| program.wish.objective.is_some()).count();
        let clusters = llc.max_clusters() as usize;
        let are_all = requested == programs.len() && requested <= clusters;
        let room = if are_all { clusters } else { clusters - 1 };
        let share = llc.ways.get() / u32::try_from(programs.len()).unwrap_or(u32::MAX).max(1);
        let share = share.max(llc.min_ways());
        let mut old = core::mem::take(&mut self.parties);
        let services = programs.iter().filter(|program| program.wish.objective.is_some());
        for program in services.take(room) {
            let known = old.iter().position(|party| party.occupant == Some(program.app));
            let mut party = match known {
                Some(known) => old.swap_remove(known),
                None => Party::new(Some(program.app)),
            };
            if party.is_new() {
                party.ways = share;
            }
            party.set_objective(program.wish.objective, self.period);
            self.parties.push(party);
        }
        if self.parties.is_empty() {
            return;
        }
        self.parties.push(Party::new(None));
        let mut promises = KeptPromises::default();
        promises.admit(llc, programs, &self.parties);
        while joined && self.parties.len() <= programs.len() && self.rest(llc, &promises) < share {
            let most = self.parties.iter_mut().max_by_key(|party| party.ways);
            let Some(most) = most.filter(|party| party.ways > share) else { break };
            most.ways -= 1;
        }
        let ways = llc.ways.get() as usize;
        if self.curves.as_ref().is_none_or(|curves| curves.ipc.values().len() != ways) {
            self.curves = Some(Arc::new(flat(llc.ways)));
        }
    }

    /// The ways that are promised to no program.
    fn rest(&self, llc: &Llc, promises: &KeptPromises) -> u32 {
        let served: u32 =
            self.parties.iter().filter_map(|party| party.occupant.map(|_| party.ways)).sum();
        let promised = promises.all().filter(|(app, _)| self.ways_of(*app).is_none());
        let promised: u32 = promised.map(|(_, ways)| ways).sum();
        llc.ways.get().saturating_sub(served + promised)
    }

    /// Ends a period; each service is judged with the ways that it really has. Returns whether ways
    /// are to move.
    fn control(
        &mut self,
        at: Time,
        llc: &Llc,
        running: &RunningPrograms,
        promises: &KeptPromises,
    ) -> bool {
        self.period += 1;
        for party in &mut self.parties {
            let Some(app) = party.occupant else { continue };
            party.ways = promises.ways_of(app).unwrap_or(party.ways);
            party.has(at, running.mask_of(app).map_or(party.ways, WayMask::count));
        }
        let rest = self.rest(llc, promises);
        if let Some(others) = self.parties.last_mut() {
            others.ways = rest;
        }
        control(&mut self.parties, at, self.period, llc.min_ways(), &self.parameters);
        let mut are_moved = false;
        for party in &mut self.parties {
            if party.transfer != WayTransfer::No {
                are_moved = true;
                party.actual = Some(party.ways);
            }
        }
        are_moved
    }

    /// Announces the services whose class or ways changed.
    pub(crate) fn announce(&self, announcer: &mut Announcer<'_>) {
        announce_services(&self.parties, announcer);
    }
}

impl Fairways {
    /// Adapts to a change of the programs or of their owners' requests; requests windows of
    /// services.
    pub(super) fn follow_objectives(
        &mut self,
        at: Time,
        joined: bool,
        act: &mut dyn FnMut(Action<'_>),
    ) {
        let Some(llc) = self.running.llc() else { return };
        let Self { services, running, .. } = self;
        let period = services.parameters.period();
        for program in running.programs() {
            if program.wish.objective.is_some() && services.ways_of(program.app).is_none() {
                act(Action::Watch { app: program.app, every: WindowLength::Time(period) });
            }
        }
        services.follow(&llc, running.programs(), joined);
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
        // The measurements belong to ways that no plan set, or no plan can set any.
        if self.services.is_refused || self.running.programs().len() > MOST_PROGRAMS {
            return;
        }
        let Self { services, running, planner, .. } = self;
        if services.control(at, &llc, running, &planner.promises) {
            self.decide(at, Some(Change::Wish { is_promise: true }), act);
        } else {
            services.announce(&mut running.announcer(act));
        }
    }
}
