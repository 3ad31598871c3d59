//! Divides the ways among given clusters: each gets what it needs for the plan to beat another one,
//! the slowest gets the next way, then single ways are traded as long as that helps.

use alloc::vec::Vec;

use super::clusters::{Clusters, Row};
use super::limits::Limits;
use super::objective::{Aim, Outcome};

/// The ways of each cluster, and working memory to find them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Division {
    ways: Vec<u32>,
    /// The ways of another division to compare.
    improved: Vec<u32>,
    /// The fewest ways of each cluster in any division that could be better.
    fewest: Vec<u32>,
    /// The best sum of the first clusters for each number of ways, and how many ways the last of
    /// them has then.
    best: Vec<(u64, u32)>,
}

impl Division {
    /// The ways of each cluster, as divided last.
    pub(crate) fn ways(&self) -> &[u32] {
        &self.ways
    }

    /// Divides the ways among the clusters of these rows. Each gets the least ways and those
    /// promised to its programs; if the cache has too few, a promise is broken.
    pub(crate) fn divide(
        &mut self,
        aim: Aim,
        clusters: &mut Clusters,
        rows: &[Row],
        limits: Limits,
    ) -> Outcome {
        self.fewest.clear();
        self.fewest.extend(rows.iter().map(|&row| clusters.least(row, limits.least_ways)));
        let Some(spare) = limits.ways.checked_sub(self.fewest.iter().sum()) else {
            self.ways.clear();
            self.ways.resize(rows.len(), 0);
            return Outcome::BROKEN;
        };
        for (&row, &fewest) in rows.iter().zip(&self.fewest) {
            clusters.evaluate(row, fewest + spare);
        }
        let all = Rows { clusters, rows, fewest: &self.fewest, elsewhere: limits.elsewhere };
        if aim.is_sum() {
            divide_for_sum(&mut self.ways, &mut self.best, all, limits.ways);
            return all.sum(&self.ways);
        }
        give_to_the_slowest(&mut self.ways, all, spare);
        trade(&mut self.ways, aim, all)
    }

    /// Divides the ways among the clusters of these rows. Each needs at least its fewest ways; the
    /// smallest slowdown of all is at most the ceiling.
    ///
    /// `None` if the result does not beat `to_beat`, which bounds often show before any way is
    /// divided or traded; the ways are then void.
    pub(crate) fn divide_beyond(
        &mut self,
        aim: Aim,
        clusters: &mut Clusters,
        (rows, fewest, ceiling): (&[Row], &[u32], u64),
        limits: Limits,
        to_beat: &Outcome,
    ) -> Option<Outcome> {
        self.fewest.clear();
        self.fewest.extend_from_slice(fewest);
        let spare = limits.ways.checked_sub(self.fewest.iter().sum())?;
        if aim.is_sum() {
            let bound = self.bound(clusters, rows, spare).with(&limits.elsewhere);
            if !aim.is_better(&bound, to_beat) {
                return None;
            }
            let all = Rows { clusters, rows, fewest: &self.fewest, elsewhere: limits.elsewhere };
            divide_for_sum(&mut self.ways, &mut self.best, all, limits.ways);
            let divided = all.sum(&self.ways);
            return aim.is_better(&divided, to_beat).then_some(divided);
        }
        let (mut bound, spare) =
            self.raise(aim, clusters, rows, (spare, ceiling), (to_beat, &limits.elsewhere))?;
        if spare == 0 {
            self.ways.clone_from(&self.fewest);
            return Some(bound);
        }
        let all = Rows { clusters, rows, fewest: &self.fewest, elsewhere: limits.elsewhere };
        let slowest = give_to_the_slowest(&mut self.ways, all, spare);
        bound.largest = slowest.max(limits.elsewhere.largest);
        if !aim.is_better(&bound, to_beat) {
            return None;
        }
        let traded = trade(&mut self.ways, aim, all);
        aim.is_better(&traded, to_beat).then_some(traded)
    }

    /// Raises the fewest ways of each cluster to those that it has in every division that beats an
    /// outcome. Returns a bound on these divisions, and the ways that are left; `None` if there is
    /// none.
    fn raise(
        &mut self,
        aim: Aim,
        clusters: &mut Clusters,
        rows: &[Row],
        (mut spare, mut smallest): (u32, u64),
        (to_beat, elsewhere): (&Outcome, &Outcome),
    ) -> Option<(Outcome, u32)> {
        loop {
            let slowest = aim.most_slowdown(to_beat, smallest);
            // New clusters come last: the others may already leave too few ways.
            for is_new in [false, true] {
                for (&row, fewest) in rows.iter().zip(&mut self.fewest) {
                    if clusters.is_new(row) == is_new {
                        let needed = clusters.fewest(row, *fewest..=*fewest + spare, slowest)?;
                        spare -= needed - *fewest;
                        *fewest = needed;
                    }
                }
            }
            let bound = self.bound(clusters, rows, spare).with(elsewhere);
            if !aim.is_better(&bound, to_beat) {
                return None;
            }
            if bound.smallest >= smallest {
                return Some((bound, spare));
            }
            smallest = bound.smallest;
        }
    }

    /// A bound on the outcomes of all divisions in which each cluster has its fewest ways and any
    /// number of the spare ones.
    fn bound(&self, clusters: &mut Clusters, rows: &[Row], spare: u32) -> Outcome {
        let mut bound = Outcome::NONE;
        for (&row, &fewest) in rows.iter().zip(&self.fewest) {
            clusters.evaluate(row, fewest + spare);
            let mut best = clusters.outcome(row, fewest);
            for ways in fewest + 1..=fewest + spare {
                best = best.best_of_each(&clusters.outcome(row, ways));
            }
            bound = bound.with(&best);
        }
        bound
    }

    /// Trades ways, starting from a plan's; keeps the previous division, whose outcome is given, if
    /// that is no worse.
    pub(crate) fn improve(
        &mut self,
        aim: Aim,
        clusters: &Clusters,
        (rows, elsewhere): (&[Row], Outcome),
        planned: &[u32],
        outcome: Outcome,
    ) -> Outcome {
        let all = Rows { clusters, rows, fewest: &self.fewest, elsewhere };
        if planned.iter().zip(all.fewest).any(|(ways, fewest)| ways < fewest) {
            return outcome;
        }
        self.improved.clear();
        self.improved.extend_from_slice(planned);
        let improved = trade(&mut self.improved, aim, all);
        if aim.is_better(&improved, &outcome) {
            core::mem::swap(&mut self.ways, &mut self.improved);
            return improved;
        }
        outcome
    }
}

/// Gives the slowest cluster as many ways as it takes to make it faster; if all the rest would not
/// make it faster, it gets the rest. Returns the largest slowdown before that: no division has a
/// smaller one, as each way given until then was needed for it.
fn give_to_the_slowest(ways: &mut Vec<u32>, clusters: Rows<'_>, mut free: u32) -> u64 {
    ways.clear();
    ways.extend_from_slice(clusters.fewest);
    loop {
        let slowest = (0..clusters.rows.len()).max_by_key(|&cluster| {
            (clusters.at(cluster, ways[cluster]).largest, core::cmp::Reverse(cluster))
        });
        let Some(slowest) = slowest else { return 0 };
        let here = clusters.at(slowest, ways[slowest]).largest;
        // Look past a plateau, if there are enough ways.
        let more =
            (1..=free).find(|more| clusters.at(slowest, ways[slowest] + more).largest < here);
        let Some(more) = more else {
            ways[slowest] += free;
            return here;
        };
        ways[slowest] += more;
        free -= more;
    }
}

/// Divides for the largest sum, adding one cluster after another, with every number of ways.
fn divide_for_sum(ways: &mut Vec<u32>, best: &mut Vec<(u64, u32)>, clusters: Rows<'_>, total: u32) {
    let width = total as usize + 1;
    best.clear();
    best.resize(width * (clusters.rows.len() + 1), (0, 0));
    let mut before = 0;
    for number in 0..clusters.rows.len() {
        let (done, rest) = best.split_at_mut(width * (number + 1));
        let sums = &done[width * number..];
        let least = clusters.fewest[number];
        let last = number + 1 == clusters.rows.len();
        let low = before + least;
        for sum in if last { total..=total } else { low..=total } {
            let mut choice = (0, least);
            // All ways are given out: the first cluster gets what the others leave.
            let fewest = if number == 0 { sum } else { least };
            for own in fewest..=sum.saturating_sub(before) {
                let stp = sums[(sum - own) as usize].0.saturating_add(clusters.at(number, own).stp);
                if stp > choice.0 {
                    choice = (stp, own);
                }
            }
            rest[sum as usize] = choice;
        }
        before = low;
    }
    ways.clear();
    ways.resize(clusters.rows.len(), 0);
    let mut sum = total;
    for number in (0..clusters.rows.len()).rev() {
        ways[number] = best[width * (number + 1) + sum as usize].1;
        sum -= ways[number].min(sum);
    }
}

/// Moves single ways between clusters as long as that improves the outcome; returns the outcome.
fn trade(ways: &mut [u32], aim: Aim, clusters: Rows<'_>) -> Outcome {
    let mut outcome = clusters.sum(ways);
    loop {
        let mut best: Option<(Outcome, usize, usize)> = None;
        let extremes = Extremes::new(clusters, ways);
        for taker in 0..clusters.rows.len() {
            let is_slowest = clusters.at(taker, ways[taker]).largest == outcome.largest;
            for giver in 0..clusters.rows.len() {
                let gives = clusters.at(giver, ways[giver]);
                // Otherwise neither the largest nor the smallest slowdown changes.
                let changes =
                    aim.weighs_throughput() || is_slowest || gives.smallest == outcome.smallest;
                if !changes || giver == taker || ways[giver] <= clusters.fewest[giver] {
                    continue;
                }
                let to_beat = best.as_ref().map_or(outcome, |best| best.0);
                let best_case = extremes
                    .without([giver, taker])
                    .with(&Outcome { stp: 0, ..clusters.elsewhere })
                    .with(&clusters.at(giver, ways[giver] - 1))
                    .with(&clusters.at(taker, ways[taker] + 1));
                if !aim.is_better(&best_case, &to_beat) {
                    continue;
                }
                ways[giver] -= 1;
                ways[taker] += 1;
                let traded = clusters.sum(ways);
                ways[giver] += 1;
                ways[taker] -= 1;
                if aim.is_better(&traded, &to_beat) {
                    best = Some((traded, giver, taker));
                }
            }
        }
        let Some((traded, giver, taker)) = best else { return outcome };
        ways[giver] -= 1;
        ways[taker] += 1;
        outcome = traded;
    }
}

/// The three largest and the three smallest slowdowns, each with its cluster: enough to know the
/// extremes without any two clusters.
struct Extremes {
    largest: [(u64, usize); 3],
    smallest: [(u64, usize); 3],
}

impl Extremes {
    fn new(clusters: Rows<'_>, ways: &[u32]) -> Self {
        let mut largest = [(0, usize::MAX); 3];
        let mut smallest = [(u64::MAX, usize::MAX); 3];
        for (cluster, &ways) in ways.iter().enumerate() {
            let outcome = clusters.at(cluster, ways);
            if let Some(place) = largest.iter().position(|known| outcome.largest > known.0) {
                largest[place..].rotate_right(1);
                largest[place] = (outcome.largest, cluster);
            }
            if let Some(place) = smallest.iter().position(|known| outcome.smallest < known.0) {
                smallest[place..].rotate_right(1);
                smallest[place] = (outcome.smallest, cluster);
            }
        }
        Self { largest, smallest }
    }

    /// The outcome of all clusters but these two, with the best possible throughput.
    fn without(&self, two: [usize; 2]) -> Outcome {
        let largest = self.largest.iter().find(|(_, cluster)| !two.contains(cluster));
        let smallest = self.smallest.iter().find(|(_, cluster)| !two.contains(cluster));
        Outcome {
            largest: largest.map_or(0, |known| known.0),
            smallest: smallest.map_or(u64::MAX, |known| known.0),
            stp: u64::MAX,
        }
    }
}

/// The clusters that ways are divided among.
#[derive(Clone, Copy)]
struct Rows<'a> {
    clusters: &'a Clusters,
    rows: &'a [Row],
    /// The fewest ways that each may have.
    fewest: &'a [u32],
    elsewhere: Outcome,
}

impl Rows<'_> {
    /// The outcome of a cluster with this number of ways.
    fn at(&self, cluster: usize, ways: u32) -> Outcome {
        self.clusters.outcome(self.rows[cluster], ways)
    }

    /// The outcome of all, elsewhere too.
    fn sum(&self, ways: &[u32]) -> Outcome {
        let each = ways.iter().enumerate().map(|(cluster, &ways)| self.at(cluster, ways));
        each.fold(self.elsewhere, |all, one| all.with(&one))
    }
}
