//! Those that have ways of their own: who they are, and what one that comes or goes leaves the others.

use alloc::vec::Vec;
use core::cmp::Reverse;

use fairways_core::{Llc, Objective, Time};

use super::margin::Margin;
use super::service::Service;
use crate::layout::Occupant;
use crate::program::RunningProgram;
use crate::split::evenly;

/// A service, or a batch program, or all those that share.
#[derive(Clone, Debug)]
pub(super) struct Party {
    /// The program; `None` for those that share.
    pub(super) owner: Occupant,
    pub(super) ways: u32,
    /// Before the last period's end.
    pub(super) before: u32,
    /// What it really has under the last plan, where that is not what was planned.
    pub(super) actual: Option<u32>,
    /// Whether ways changed hands at the last period's end.
    pub(super) transfer: WayTransfer,
    /// `None` for batch.
    pub(super) service: Option<Service>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum WayTransfer {
    #[default]
    No,
    Took,
    Gave,
}

impl Party {
    pub(super) const fn is_batch(&self) -> bool {
        self.service.is_none()
    }
}

/// Why everybody has the ways that he has, where there is something to say.
pub(super) const CROWDED: &str =
    "more services than can have ways of their own: the last to start share";

/// Who is to have ways of his own: the first `services` services, and every batch program unless
/// they share.
struct Admission {
    services: usize,
    is_shared: bool,
    is_crowded: bool,
}

fn shape(llc: &Llc, programs: &[RunningProgram]) -> Admission {
    let most = llc.max_clusters() as usize;
    let services = programs.iter().filter(|program| program.wish.objective.is_some()).count();
    if programs.len() <= most {
        return Admission { services, is_shared: false, is_crowded: false };
    }
    let room = most - 1;
    Admission { services: services.min(room), is_shared: true, is_crowded: services > room }
}

/// Makes parties of the programs that run. Those that were there keep their ways, the others have none yet.
/// Returns whether the parties are others now, and whether services share.
pub(super) fn form(
    parties: &mut Vec<Party>,
    llc: &Llc,
    programs: &[RunningProgram],
    period: u64,
) -> (bool, bool) {
    let shape = shape(llc, programs);
    let mut old = core::mem::take(parties);
    let mut same = true;
    let mut left = shape.services;
    let mut add = |owner: Occupant, objective: Option<Objective>| {
        let found = old.iter().position(|party| party.owner == owner);
        same &= found.is_some();
        let mut party = found.map_or_else(
            || Party {
                owner,
                ways: 0,
                before: 0,
                actual: None,
                transfer: WayTransfer::No,
                service: None,
            },
            |index| old.swap_remove(index),
        );
        match (objective, &mut party.service) {
            (None, service) => *service = None,
            (Some(objective), None) => party.service = Some(Service::new(objective, period)),
            (Some(objective), Some(service)) if service.objective != objective => {
                // What it took is as it was; what was made of it is not.
                let since = service.margin.since;
                service.objective = objective;
                service.margin = Margin::new(since);
                (service.margin_before, service.known) = (service.margin.clone(), period);
            }
            _ => {}
        }
        parties.push(party);
    };
    for program in programs {
        match program.wish.objective {
            Some(objective) if left > 0 => {
                left -= 1;
                add(Some(program.app), Some(objective));
            }
            None if !shape.is_shared => add(Some(program.app), None),
            _ => {}
        }
    }
    if shape.is_shared {
        add(None, None);
    }
    (!same || !old.is_empty(), shape.is_crowded)
}

/// An equal portion for each (Algorithm 1: initially).
pub(super) fn equal(parties: &mut [Party], llc: &Llc) {
    let count = u32::try_from(parties.len()).unwrap_or(u32::MAX);
    for (party, ways) in parties.iter_mut().zip(evenly(llc.ways.get(), count)) {
        party.ways = ways;
    }
}

/// Gives those that have no ways some, and all that is left to batch. A service is entitled to an equal share,
/// and so is who is there because a program has just `joined`; batch programs that shared before part
/// what they had.
pub(super) fn share(parties: &mut [Party], llc: &Llc, joined: bool) {
    let least = llc.min_ways();
    let count = u32::try_from(parties.len()).unwrap_or(u32::MAX).max(1);
    let equal = llc.ways.get() / count;
    let mut pool = llc.ways.get().saturating_sub(parties.iter().map(|party| party.ways).sum());
    // Batch programs share what is left; only the first of them is given what services have.
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

/// Who gives a way to one that has too few.
fn donor(
    parties: &[Party],
    taker: usize,
    (equal, least): (u32, u32),
    first: bool,
) -> Option<usize> {
    let most = |batch: bool, above: u32| {
        let each = parties.iter().enumerate();
        let each = each
            .filter(|&(index, one)| index != taker && one.is_batch() == batch && one.ways > above);
        each.max_by_key(|&(index, one)| (one.ways, Reverse(index))).map(|(index, _)| index)
    };
    let has = parties[taker].ways;
    // Between batch programs, the one that came is no better than the one that was there.
    let batch = parties[taker].is_batch();
    let least_of_batch = if batch { least.max(has + 1) } else { least };
    let needs = has < least;
    most(true, equal)
        .or_else(|| most(true, least_of_batch))
        .or_else(|| most(false, equal).filter(|_| needs || first || !batch))
        .or_else(|| most(true, least).filter(|_| needs))
        .or_else(|| most(false, least).filter(|_| needs))
}

/// Starts the memory of those whose ways are not what they were anew.
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
