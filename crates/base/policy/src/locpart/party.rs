//! The parties that divide the cache, and how a party that comes or goes changes the ways of the
//! others.

use alloc::vec::Vec;
use core::cmp::Reverse;

use fairways_core::{Latencies, Llc, Objective, Time};

use super::margin::Margin;
use super::parameters::Parameters;
use super::service::Service;
use crate::layout::Occupant;
use crate::program::RunningProgram;
use crate::split::evenly;

/// A service, a batch program, or all programs that share a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Party {
    /// The program; `None` for those that share.
    pub(crate) occupant: Occupant,
    pub(crate) ways: u32,
    /// Its ways before the last period's end.
    pub(super) before: u32,
    /// Its actual ways under the last plan, where they are not the planned ones.
    pub(crate) actual: Option<u32>,
    /// How its ways changed at the last period's end.
    pub(crate) transfer: WayTransfer,
    /// Its state as a service; `None` for batch.
    pub(super) service: Option<Service>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WayTransfer {
    #[default]
    No,
    Took,
    Gave,
}

impl Party {
    pub(crate) const fn new(occupant: Occupant) -> Self {
        Self {
            occupant,
            ways: 0,
            before: 0,
            actual: None,
            transfer: WayTransfer::No,
            service: None,
        }
    }

    pub(crate) fn set_objective(&mut self, objective: Option<Objective>, period: u64) {
        match (objective, &mut self.service) {
            (None, service) => *service = None,
            (Some(objective), None) => self.service = Some(Service::new(objective, period)),
            (Some(objective), Some(service)) if service.objective != objective => {
                // The measured latencies remain; the conclusions from them do not.
                let since = service.margin.since;
                service.objective = objective;
                service.margin = Margin::new(since);
                (service.margin_before, service.known_in) = (service.margin.clone(), period);
            }
            _ => {}
        }
    }

    /// It really has these ways. Where that is news, what its margin knows of its tail is not of
    /// them.
    pub(crate) fn has(&mut self, at: Time, ways: u32) {
        let before = self.actual.replace(ways).unwrap_or(ways);
        if let Some(service) = self.service.as_mut().filter(|_| before != ways) {
            service.margin.moved(at, ways > before);
        }
    }

    /// Whether no period has ended since it came.
    pub(crate) const fn is_new(&self) -> bool {
        self.before == 0
    }

    /// Records the latencies of a service.
    pub(crate) fn record(&mut self, at: Time, latencies: &Latencies, parameters: &Parameters) {
        if let Some(service) = &mut self.service {
            service.tails.push(at, latencies, parameters.reach());
        }
    }

    /// Whether it misses its objective with all available ways.
    pub(super) fn is_hopeless(&self) -> bool {
        self.service.as_ref().is_some_and(|service| service.margin.is_hopeless())
    }

    pub(super) const fn is_batch(&self) -> bool {
        self.service.is_none()
    }
}

/// The reason of a plan that can't give every service ways of its own.
pub(super) const CROWDED: &str =
    "more services than can have ways of their own: the last to start share";

/// Which programs have ways of their own: the first `services` services, and every batch program
/// unless they share.
struct Admission {
    services: usize,
    is_shared: bool,
    is_crowded: bool,
}

fn admit(llc: &Llc, programs: &[RunningProgram]) -> Admission {
    let most = llc.max_clusters() as usize;
    let services = programs.iter().filter(|program| program.wish.objective.is_some()).count();
    if programs.len() <= most {
        return Admission { services, is_shared: false, is_crowded: false };
    }
    let room = most - 1;
    Admission { services: services.min(room), is_shared: true, is_crowded: services > room }
}

/// Makes parties of the programs that run. Parties that existed keep their ways; new ones have none
/// yet. Returns whether the parties have changed, and whether services share.
pub(super) fn form(
    parties: &mut Vec<Party>,
    llc: &Llc,
    programs: &[RunningProgram],
    period: u64,
) -> (bool, bool) {
    let admission = admit(llc, programs);
    let mut old = core::mem::take(parties);
    let mut same = true;
    let mut left = admission.services;
    let own = programs.iter().filter_map(|program| {
        let objective = program.wish.objective;
        let has_own = if objective.is_some() { left > 0 } else { !admission.is_shared };
        left -= usize::from(has_own && objective.is_some());
        has_own.then_some((Some(program.app), objective))
    });
    let shared = admission.is_shared.then_some((None, None));
    for (occupant, objective) in own.chain(shared) {
        let index = old.iter().position(|party| party.occupant == occupant);
        same &= index.is_some();
        let mut party = index.map_or_else(|| Party::new(occupant), |index| old.swap_remove(index));
        party.set_objective(objective, period);
        parties.push(party);
    }
    (!same || !old.is_empty(), admission.is_crowded)
}

/// Gives each party an equal portion (Algorithm 1: initially).
pub(super) fn equal(parties: &mut [Party], llc: &Llc) {
    let count = u32::try_from(parties.len()).unwrap_or(u32::MAX);
    for (party, ways) in parties.iter_mut().zip(evenly(llc.ways.get(), count)) {
        party.ways = ways;
    }
}

/// Gives ways to the parties that have none, and all spare ways to batch. A service is entitled to
/// an equal share, and so is a party that exists because a program has just `joined`. Batch
/// programs that shared before divide the ways that they shared.
pub(super) fn share(parties: &mut [Party], llc: &Llc, joined: bool) {
    let least = llc.min_ways();
    let count = u32::try_from(parties.len()).unwrap_or(u32::MAX).max(1);
    let equal = llc.ways.get() / count;
    let mut pool = llc.ways.get().saturating_sub(parties.iter().map(|party| party.ways).sum());
    // Batch programs share the spare ways; only the first of them is given ways of services.
    let first = pool == 0 && !parties.iter().any(|party| party.is_batch() && party.ways > 0);
    for index in 0..parties.len() {
        if parties[index].ways > 0 {
            continue;
        }
        let entitled = joined || !parties[index].is_batch();
        let wanted = if entitled { equal } else { least };
        while parties[index].ways < wanted {
            if pool > 0 {
                pool -= 1;
            } else if let Some(donor) = donor(parties, index, (equal, least), first) {
                parties[donor].ways -= 1;
            } else {
                break;
            }
            parties[index].ways += 1;
        }
    }
    let batch = parties.iter().any(Party::is_batch);
    while pool > 0 {
        let takers = parties.iter_mut().filter(|party| party.is_batch() || !batch);
        let Some(fewest) = takers.min_by_key(|party| party.ways) else { break };
        fewest.ways += 1;
        pool -= 1;
    }
}

/// The party that gives a way to one that has too few.
fn donor(
    parties: &[Party],
    taker: usize,
    (equal, least): (u32, u32),
    first: bool,
) -> Option<usize> {
    // The party of this kind with the most ways, if they are more than `above`.
    let most = |is_batch: bool, above: u32| {
        let each = parties.iter().enumerate();
        let each = each.filter(|&(index, party)| {
            index != taker && party.is_batch() == is_batch && party.ways > above
        });
        each.max_by_key(|&(index, party)| (party.ways, Reverse(index))).map(|(index, _)| index)
    };
    let has = parties[taker].ways;
    // A new batch program has no priority over one that was there before.
    let batch = parties[taker].is_batch();
    let least_of_batch = if batch { least.max(has + 1) } else { least };
    let needs = has < least;
    most(true, equal)
        .or_else(|| most(true, least_of_batch))
        .or_else(|| most(false, equal).filter(|_| needs || first || !batch))
        .or_else(|| most(true, least).filter(|_| needs))
        .or_else(|| most(false, least).filter(|_| needs))
}

/// Restarts the margins of the services whose ways have changed.
pub(super) fn restart_margins(parties: &mut [Party], at: Time) {
    for party in parties {
        let Some(service) = &mut party.service else { continue };
        service.margin.forget_unattainable();
        if party.ways != party.before {
            service.margin.moved(at, party.ways > party.before);
        }
        party.before = party.ways;
    }
}
