//! AllocLLC: both sides of a change in one plan (Algorithm 1, lines 10 to 24; decision Locpart 6).

use core::cmp::Reverse;

use super::margin::TailVerdict;
use super::party::{Party, WayTransfer};

/// Lets services take ways from batch programs and give ways to them, at most `w` each; every party
/// keeps `least` ways.
pub(super) fn schedule(parties: &mut [Party], w: u32, least: u32) {
    for party in &mut *parties {
        party.before = party.ways;
        party.transfer = WayTransfer::No;
    }
    // Each service has one turn. Those that take come first, as their tails are the longest.
    while let Some(index) = next(parties) {
        let party = &mut parties[index];
        let Some(service) = &mut party.service else { return };
        service.is_waiting = false;
        let verdict = service.verdict;
        match verdict {
            TailVerdict::More if party.transfer == WayTransfer::No => {
                take(parties, index, w, least)
            }
            TailVerdict::Down(to) if party.transfer == WayTransfer::No => {
                let ways = (party.ways - to).min(w);
                let takers = parties.iter().enumerate();
                let takers = takers
                    .filter(|(_, party)| party.is_batch() && party.transfer != WayTransfer::Gave);
                let taker = takers.min_by_key(|(_, party)| party.ways).map(|(taker, _)| taker);
                if let Some(taker) = taker {
                    pass(parties, index, taker, ways);
                }
            }
            _ => {}
        }
    }
}

/// The service that is furthest over its objective, of those that have not had their turn.
fn next(parties: &[Party]) -> Option<usize> {
    let waiting = parties.iter().enumerate().filter_map(|(index, party)| {
        Some((index, party.service.as_ref().filter(|service| service.is_waiting)?))
    });
    let most = waiting.max_by(|(i, a), (j, b)| a.compare(b).then(j.cmp(i)));
    most.map(|(index, _)| index)
}

/// Gives the party ways that another party can spare.
fn take(parties: &mut [Party], taker: usize, w: u32, least: u32) {
    let donor = batch(parties, least)
        .or_else(|| slack(parties))
        .or_else(|| hopeless(parties, taker, least));
    if let Some((donor, spare)) = donor {
        pass(parties, donor, taker, spare.min(w));
    }
}

/// The batch party with the most ways, and its ways above the least.
fn batch(parties: &[Party], least: u32) -> Option<(usize, u32)> {
    let batch =
        parties.iter().enumerate().filter(|(_, party)| party.is_batch() && party.ways > least);
    let most = batch.max_by_key(|&(index, party)| (party.ways, Reverse(index)));
    most.map(|(index, party)| (index, party.ways - least))
}

/// The service with the most slack of those that can give ways, and the ways that it can give.
fn slack(parties: &[Party]) -> Option<(usize, u32)> {
    let each = parties.iter().enumerate().filter(|(_, party)| party.transfer == WayTransfer::No);
    let down = each.filter_map(|(index, party)| {
        let service = party.service.as_ref()?;
        let TailVerdict::Down(to) = service.verdict else { return None };
        Some((index, party.ways - to, service))
    });
    let most = down.min_by(|(.., a), (.., b)| a.compare(b));
    most.map(|(index, spare, _)| (index, spare))
}

/// A service that misses its objective with all ways, and has more than an equal share; `None` if
/// that also applies to the taker.
fn hopeless(parties: &[Party], taker: usize, least: u32) -> Option<(usize, u32)> {
    if parties[taker].is_hopeless() {
        return None;
    }
    let (count, ways) =
        parties.iter().fold((0, 0), |(count, ways), party| (count + 1, ways + party.ways));
    let share = (ways / count).max(least);
    let each = parties.iter().enumerate();
    let each = each.filter(|(_, party)| {
        party.is_hopeless() && party.ways > share && party.transfer != WayTransfer::Took
    });
    let most = each.max_by_key(|&(index, party)| (party.ways, Reverse(index)));
    most.map(|(index, party)| (index, party.ways - share))
}

fn pass(parties: &mut [Party], donor: usize, taker: usize, ways: u32) {
    parties[donor].ways -= ways;
    parties[donor].transfer = WayTransfer::Gave;
    parties[taker].ways += ways;
    parties[taker].transfer = WayTransfer::Took;
}
