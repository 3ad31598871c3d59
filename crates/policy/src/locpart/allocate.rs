//! AllocLLC: both sides of a change at once (Algorithm 1, lines 10 to 24; decision Locpart 6).

use core::cmp::Reverse;

use super::margin::TailVerdict;
use super::party::{Party, WayTransfer};

/// Lets services take from batch programs and give to them, `w` ways each at most, so that every party keeps
/// `least`.
pub(super) fn schedule(parties: &mut [Party], w: u32, least: u32) {
    for party in &mut *parties {
        party.before = party.ways;
        party.transfer = WayTransfer::No;
    }
    // Each service gets its turn once: those that take come first, for their tails are the longest.
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
                let takers =
                    takers.filter(|(_, one)| one.is_batch() && one.transfer != WayTransfer::Gave);
                let taker = takers.min_by_key(|(_, one)| one.ways).map(|(taker, _)| taker);
                if let Some(taker) = taker {
                    pass(parties, index, taker, ways);
                }
            }
            _ => {}
        }
    }
}

/// The service that is most over its objective, of those that have not had their turn.
fn next(parties: &[Party]) -> Option<usize> {
    let waiting = parties.iter().enumerate().filter_map(|(index, party)| {
        Some((index, party.service.as_ref().filter(|service| service.is_waiting)?))
    });
    let most = waiting.max_by(|(i, a), (j, b)| a.compare(b).then(j.cmp(i)));
    most.map(|(index, _)| index)
}

/// Gives the party what another has to give.
fn take(parties: &mut [Party], taker: usize, w: u32, least: u32) {
    let donor = batch(parties, least)
        .or_else(|| slack(parties))
        .or_else(|| hopeless(parties, taker, least));
    if let Some((donor, spare)) = donor {
        pass(parties, donor, taker, spare.min(w));
    }
}

/// The batch party with most ways, and what it has above the least.
fn batch(parties: &[Party], least: u32) -> Option<(usize, u32)> {
    let batch = parties.iter().enumerate().filter(|(_, one)| one.is_batch() && one.ways > least);
    let most = batch.max_by_key(|&(index, one)| (one.ways, Reverse(index)));
    most.map(|(index, one)| (index, one.ways - least))
}

/// The service with most slack of those that could do with fewer ways.
fn slack(parties: &[Party]) -> Option<(usize, u32)> {
    let each = parties.iter().enumerate().filter(|(_, one)| one.transfer == WayTransfer::No);
    let down = each.filter_map(|(index, one)| {
        let service = one.service.as_ref()?;
        let TailVerdict::Down(to) = service.verdict else { return None };
        Some((index, one.ways - to, service))
    });
    let most = down.min_by(|(.., a), (.., b)| a.compare(b));
    most.map(|(index, spare, _)| (index, spare))
}

/// A service that misses its objective even so, and has more than an equal share; unless this is the case
/// of the one that would take.
fn hopeless(parties: &[Party], taker: usize, least: u32) -> Option<(usize, u32)> {
    let misses = |one: &Party| one.service.as_ref().is_some_and(|one| one.margin.is_hopeless());
    if misses(&parties[taker]) {
        return None;
    }
    let (count, ways) =
        parties.iter().fold((0, 0), |(count, ways), one| (count + 1, ways + one.ways));
    let share = (ways / count).max(least);
    let each = parties.iter().enumerate();
    let each = each
        .filter(|(_, one)| misses(one) && one.ways > share && one.transfer != WayTransfer::Took);
    let most = each.max_by_key(|&(index, one)| (one.ways, Reverse(index)));
    most.map(|(index, one)| (index, one.ways - share))
}

fn pass(parties: &mut [Party], donor: usize, taker: usize, ways: u32) {
    parties[donor].ways -= ways;
    parties[donor].transfer = WayTransfer::Gave;
    parties[taker].ways += ways;
    parties[taker].transfer = WayTransfer::Took;
}
