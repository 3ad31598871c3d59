//! Dividing the ways among given clusters: the slowest gets the next way, then single ways are
//! traded while that helps.

use alloc::vec::Vec;

use super::clusters::{Clusters, Row};
use super::objective::{Objective, Outcome};

/// What a plan may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Clusters at most.
    pub(crate) clusters: usize,
    /// Ways in all.
    pub(crate) ways: u32,
    /// Ways of a cluster at least.
    pub(crate) least_ways: u32,
    /// Divisions that are tried at most, after which the best so far is the answer.
    pub(crate) trials: u32,
}

/// The ways of each cluster, and the memory that they are found in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Division {
    ways: Vec<u32>,
    /// The ways of a division that is compared with it.
    spare: Vec<u32>,
    /// The best sum of the first clusters for each number of ways, and the ways of the last of
    /// them.
    best: Vec<(u64, u32)>,
}

impl Division {
    /// The ways of each cluster, as divided last.
    pub(crate) fn ways(&self) -> &[u32] {
        &self.ways
    }

    /// Divides `total` ways among the clusters of these rows. Each gets `least` ways at least, and
    /// what was promised to its programs; if there are not enough for that, a promise is broken.
    ///
    /// `None` if that is no better than the outcome to beat, which bounds often show before any way
    /// is divided or traded; the ways are void then.
    pub(crate) fn divide(
        &mut self,
        objective: Objective,
        clusters: &Clusters,
        rows: &[Row],
        (total, least): (u32, u32),
        to_beat: Option<&Outcome>,
    ) -> Option<Outcome> {
        let all = Rows { clusters, rows, least };
        let mut best_case = all.best_case();
        if !objective.beats(&best_case, to_beat) {
            return None;
        }
        if (0..rows.len()).map(|cluster| all.least(cluster)).sum::<u32>() > total {
            self.ways.clear();
            self.ways.resize(rows.len(), 0);
            return objective.beats(&Outcome::BROKEN, to_beat).then_some(Outcome::BROKEN);
        }
        if objective.is_sum() {
            self.divide_for_sum(all, total);
            let divided = all.sum(&self.ways);
            return objective.beats(&divided, to_beat).then_some(divided);
        }
        best_case.largest = self.give_to_the_slowest(all, total);
        if !objective.beats(&best_case, to_beat) {
            return None;
        }
        let traded = self.trade(objective, all);
        objective.beats(&traded, to_beat).then_some(traded)
    }

    /// Trades ways from those of a plan on, and keeps what was divided last, whose outcome is
    /// given, where that is no worse.
    pub(crate) fn improve(
        &mut self,
        objective: Objective,
        clusters: &Clusters,
        rows: &[Row],
        planned: &[u32],
        (limits, outcome): (Limits, Outcome),
    ) -> Outcome {
        let all = Rows { clusters, rows, least: limits.least_ways };
        if planned.iter().enumerate().any(|(cluster, &ways)| ways < all.least(cluster)) {
            return outcome;
        }
        core::mem::swap(&mut self.ways, &mut self.spare);
        self.ways.clear();
        self.ways.extend_from_slice(planned);
        let improved = self.trade(objective, all);
        if objective.is_better(&improved, &outcome) {
            return improved;
        }
        core::mem::swap(&mut self.ways, &mut self.spare);
        outcome
    }

    /// Gives the slowest cluster as many ways as it takes to make it faster; the ways that no
    /// cluster gains from so go to the slowest, too. Returns the largest slowdown before the
    /// latter: no division has a smaller one, as each way given out until then was needed for that.
    fn give_to_the_slowest(&mut self, clusters: Rows<'_>, total: u32) -> u64 {
        let Self { ways, .. } = self;
        ways.clear();
        ways.extend((0..clusters.rows.len()).map(|cluster| clusters.least(cluster)));
        let mut free = total.saturating_sub(ways.iter().sum());
        loop {
            let slowest = (0..clusters.rows.len()).max_by_key(|&cluster| {
                (clusters.at(cluster, ways[cluster]).largest, core::cmp::Reverse(cluster))
            });
            let Some(slowest) = slowest else { return 0 };
            let here = clusters.at(slowest, ways[slowest]).largest;
            // Past a plateau, if the ways reach so far.
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

    /// Divides for the largest sum: of each cluster with every number of ways, one after another.
    fn divide_for_sum(&mut self, clusters: Rows<'_>, total: u32) {
        let Self { ways, best, .. } = self;
        let width = total as usize + 1;
        best.clear();
        best.resize(width * (clusters.rows.len() + 1), (0, 0));
        let mut before = 0;
        for number in 0..clusters.rows.len() {
            let (done, rest) = best.split_at_mut(width * (number + 1));
            let sums = &done[width * number..];
            let least = clusters.least(number);
            let last = number + 1 == clusters.rows.len();
            let low = before + least;
            for sum in if last { total..=total } else { low..=total } {
                let mut choice = (0, least);
                // All ways are given out: the first cluster gets what the others leave.
                let fewest = if number == 0 { sum } else { least };
                for own in fewest..=sum.saturating_sub(before) {
                    let stp =
                        sums[(sum - own) as usize].0.saturating_add(clusters.at(number, own).stp);
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

    /// Moves single ways between clusters as long as the outcome gets better; the outcome.
    fn trade(&mut self, objective: Objective, clusters: Rows<'_>) -> Outcome {
        let mut outcome = clusters.sum(&self.ways);
        loop {
            let mut best: Option<(Outcome, usize, usize)> = None;
            let extremes = Extremes::new(clusters, &self.ways);
            for taker in 0..clusters.rows.len() {
                let is_slowest = clusters.at(taker, self.ways[taker]).largest == outcome.largest;
                for giver in 0..clusters.rows.len() {
                    let gives = clusters.at(giver, self.ways[giver]);
                    // Only then is the largest or the smallest slowdown another one.
                    let changes = is_slowest || gives.smallest == outcome.smallest;
                    if !changes || giver == taker || self.ways[giver] <= clusters.least(giver) {
                        continue;
                    }
                    let to_beat = best.as_ref().map_or(outcome, |best| best.0);
                    let best_case = extremes
                        .without([giver, taker])
                        .with(clusters.at(giver, self.ways[giver] - 1))
                        .with(clusters.at(taker, self.ways[taker] + 1));
                    if !objective.is_better(&best_case, &to_beat) {
                        continue;
                    }
                    self.ways[giver] -= 1;
                    self.ways[taker] += 1;
                    let traded = clusters.sum(&self.ways);
                    self.ways[giver] += 1;
                    self.ways[taker] -= 1;
                    if objective.is_better(&traded, &to_beat) {
                        best = Some((traded, giver, taker));
                    }
                }
            }
            let Some((traded, giver, taker)) = best else { return outcome };
            self.ways[giver] -= 1;
            self.ways[taker] += 1;
            outcome = traded;
        }
    }
}

/// The three largest and the three smallest slowdowns, each with its cluster: enough to know the
/// extremes of all clusters but two.
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

    /// The slowdowns of all clusters but these two, at a throughput that is as good as any.
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
    /// The fewest ways that a cluster may have.
    least: u32,
}

impl Rows<'_> {
    /// The fewest ways that this cluster may have.
    fn least(&self, cluster: usize) -> u32 {
        self.clusters.least(self.rows[cluster], self.least)
    }

    /// The outcome of a cluster with this number of ways.
    fn at(&self, cluster: usize, ways: u32) -> &Outcome {
        self.clusters.outcome(self.rows[cluster], ways)
    }

    /// A bound on the outcomes of all divisions of the ways.
    fn best_case(&self) -> Outcome {
        let each = self.rows.iter().map(|&row| self.clusters.best_case(row));
        each.fold(Outcome::NONE, Outcome::with)
    }

    /// The outcome of all.
    fn sum(&self, ways: &[u32]) -> Outcome {
        let each = ways.iter().enumerate().map(|(cluster, &ways)| self.at(cluster, ways));
        each.fold(Outcome::NONE, Outcome::with)
    }
}
