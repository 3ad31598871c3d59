//! The goal of a plan: how programs fare, in three numbers, and which of two outcomes is better.

use core::cmp::Ordering;

use crate::parameter::choices;

/// What the search optimizes; the other objectives decide between equals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// The largest slowdown over the smallest: LFOC's measure of unfairness (§2.1).
    #[default]
    Unfairness,
    /// The sum of 1 / slowdown: system throughput (LFOC §2.1).
    Stp,
    /// The largest slowdown.
    MaxSlowdown,
    /// The sum of importance / slowdown: throughput, in which a program counts as many times as its
    /// owner requests (decision Fairways 1).
    Weighted,
}

choices!(Objective {
    Unfairness = "unfairness",
    Stp = "stp",
    MaxSlowdown = "max-slowdown",
    Weighted = "weighted"
});

impl Objective {
    /// Whether it is a sum over all programs.
    pub(crate) const fn is_sum(self) -> bool {
        matches!(self, Self::Stp | Self::Weighted)
    }

    /// How many times a program of this importance counts for throughput.
    pub(crate) fn weight(self, importance: Option<u32>) -> u64 {
        if self == Self::Weighted { importance.map_or(1, u64::from) } else { 1 }
    }
}

/// How programs fare: their largest and smallest slowdown, and their throughput, in which each
/// program counts by its weight; in units of 2^-32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) largest: u64,
    pub(crate) smallest: u64,
    pub(crate) stp: u64,
}

impl Outcome {
    /// The outcome of no program.
    pub(crate) const NONE: Self = Self { largest: 0, smallest: u64::MAX, stp: 0 };

    /// The outcome of a plan that breaks a promise: worse than every other.
    pub(crate) const BROKEN: Self = Self { largest: u64::MAX, smallest: 1, stp: 0 };

    /// Adds a program with this slowdown, which is above 0, and this weight.
    pub(crate) fn add(&mut self, slowdown: u64, weight: u64) {
        self.largest = self.largest.max(slowdown);
        self.smallest = self.smallest.min(slowdown);
        self.add_throughput(slowdown, weight);
    }

    /// Adds a program whose slowdown counts for throughput only. The smallest slowdown then counts
    /// as 1 at most: a plan is fair if it does not slow the others down at all.
    pub(crate) fn add_best_effort(&mut self, slowdown: u64, weight: u64) {
        self.smallest = self.smallest.min(1 << 32);
        self.add_throughput(slowdown, weight);
    }

    fn add_throughput(&mut self, slowdown: u64, weight: u64) {
        // 2^64 over a slowdown in units of 2^-32 is its inverse in those units.
        let inverse = u64::MAX / slowdown.max(1);
        self.stp = self.stp.saturating_add(inverse.saturating_mul(weight));
    }

    /// The outcome of both together.
    pub(crate) fn with(self, other: &Self) -> Self {
        Self {
            largest: self.largest.max(other.largest),
            smallest: self.smallest.min(other.smallest),
            stp: self.stp.saturating_add(other.stp),
        }
    }

    /// The better value of each of the three numbers.
    pub(crate) fn best_of_each(self, other: &Self) -> Self {
        Self {
            largest: self.largest.min(other.largest),
            smallest: self.smallest.max(other.smallest),
            stp: self.stp.max(other.stp),
        }
    }

    /// Compares unfairness: `Less` is fairer.
    fn compare_unfairness(&self, other: &Self) -> Ordering {
        let [ours, theirs] = [(self, other), (other, self)]
            .map(|(one, two)| u128::from(one.largest) * u128::from(two.smallest));
        ours.cmp(&theirs)
    }

    /// Compares throughput: `Less` is faster.
    fn compare_stp(&self, other: &Self) -> Ordering {
        other.stp.cmp(&self.stp)
    }
}

/// What another plan gains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Gain {
    /// No gain that is worth its cost.
    None,
    /// This share, in units of 2^-32.
    Worth(u64),
    /// This share of throughput, while the objective hardly changes.
    Faster(u64),
    /// No plan gains enough over one cluster of all programs.
    Small,
    /// The plan before can't stay, so a new one is needed.
    #[default]
    Needed,
}

impl Objective {
    /// Compares two outcomes of the same programs: `Less` is better.
    pub(crate) fn compare(self, one: &Outcome, other: &Outcome) -> Ordering {
        match self {
            Self::Unfairness => one.compare_unfairness(other).then_with(|| one.compare_stp(other)),
            Self::Stp | Self::Weighted => {
                one.compare_stp(other).then_with(|| one.compare_unfairness(other))
            }
            Self::MaxSlowdown => {
                one.largest.cmp(&other.largest).then_with(|| Self::Unfairness.compare(one, other))
            }
        }
    }

    /// Whether the second of two outcomes is better, if the objective may get worse by this
    /// percentage in exchange for throughput.
    pub(crate) fn is_better_within(self, percent: u32, one: &Outcome, other: &Outcome) -> bool {
        let alone = Aim::Alone(self);
        let best = if alone.is_better(other, one) { other } else { one };
        Aim::exchange(self, best, percent).unwrap_or(alone).is_better(other, one)
    }

    /// Compares the objective's value divided by throughput; not for an objective that is a sum.
    fn over_throughput(self, one: &Outcome, other: &Outcome) -> Ordering {
        // Products of three fit if each has a few bits less.
        let [ours, theirs] = [(one, other), (other, one)].map(|(one, other)| {
            let smallest = if self == Self::MaxSlowdown { 1 << 32 } else { other.smallest };
            let value = u128::from(one.largest >> 8) * u128::from(smallest >> 8);
            value.saturating_mul(u128::from(other.stp >> 8))
        });
        ours.cmp(&theirs)
    }

    /// How much better the second of two outcomes of the same programs is, as a share of the first,
    /// in units of 2^-32.
    pub(crate) fn gain(self, before: &Outcome, after: &Outcome) -> u64 {
        let [worse, better] = match self {
            Self::Unfairness => [
                u128::from(before.largest) * u128::from(after.smallest),
                u128::from(after.largest) * u128::from(before.smallest),
            ],
            Self::Stp | Self::Weighted => [u128::from(after.stp), u128::from(before.stp)],
            Self::MaxSlowdown => [u128::from(before.largest), u128::from(after.largest)],
        };
        // 96 bits of the larger leave room for 32 more.
        let spare = (u128::BITS - worse.leading_zeros()).saturating_sub(96);
        let (worse, better) = (worse >> spare, better >> spare);
        let share = (worse.saturating_sub(better) << 32) / worse.max(1);
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// The largest slowdown with which an outcome is no worse than another one, if its smallest is
    /// this; not for an objective that is a sum.
    pub(crate) fn most_slowdown(self, to_beat: &Outcome, smallest: u64) -> u64 {
        if self == Self::MaxSlowdown {
            return to_beat.largest;
        }
        let most = u128::from(to_beat.largest) * u128::from(smallest);
        u64::try_from(most / u128::from(to_beat.smallest.max(1))).unwrap_or(u64::MAX)
    }
}

/// What a search optimizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// The objective; the others decide between equals.
    Alone(Objective),
    /// The objective's value divided by throughput, among the outcomes that are hardly worse than
    /// the best by the objective (decision Fairways 7).
    Exchange {
        objective: Objective,
        /// The largest and the smallest slowdown of the worst outcome that is tolerated.
        largest: u64,
        smallest: u64,
    },
}

impl Aim {
    /// Continues from the best outcome by an objective, which may get worse by this percentage;
    /// `None` for an objective that is a sum.
    pub(crate) fn exchange(objective: Objective, best: &Outcome, percent: u32) -> Option<Self> {
        if objective.is_sum() || percent == 0 || *best == Outcome::BROKEN {
            return None;
        }
        let most = u128::from(best.largest) * (100 + u128::from(percent)) / 100;
        let largest = u64::try_from(most).unwrap_or(u64::MAX);
        Some(Self::Exchange { objective, largest, smallest: best.smallest })
    }

    /// The objective itself.
    const fn objective(self) -> Objective {
        match self {
            Self::Alone(objective) | Self::Exchange { objective, .. } => objective,
        }
    }

    /// Whether it is a sum over all programs.
    pub(crate) const fn is_sum(self) -> bool {
        matches!(self, Self::Alone(objective) if objective.is_sum())
    }

    /// Whether throughput also decides between outcomes with different extremes.
    pub(crate) const fn weighs_throughput(self) -> bool {
        self.is_sum() || matches!(self, Self::Exchange { .. })
    }

    /// Whether an outcome is within the tolerated loss of the objective.
    pub(crate) fn tolerates(self, outcome: &Outcome) -> bool {
        let Self::Exchange { objective, largest, smallest } = self else { return true };
        let worst = Outcome { largest, smallest, stp: 0 };
        match objective {
            Objective::MaxSlowdown => outcome.largest <= largest,
            _ => outcome.compare_unfairness(&worst) != Ordering::Greater,
        }
    }

    /// Compares two outcomes of the same programs: `Less` is better.
    fn compare(self, one: &Outcome, other: &Outcome) -> Ordering {
        let Self::Exchange { objective, .. } = self else {
            return self.objective().compare(one, other);
        };
        match (self.tolerates(one), self.tolerates(other)) {
            (true, true) => {
                objective.over_throughput(one, other).then_with(|| objective.compare(one, other))
            }
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => objective.compare(one, other),
        }
    }

    /// Whether one outcome is better than another.
    pub(crate) fn is_better(self, one: &Outcome, other: &Outcome) -> bool {
        self.compare(one, other) == Ordering::Less
    }

    /// The largest slowdown with which an outcome may be better than another one, if its smallest
    /// is this; not for an objective that is a sum.
    pub(crate) fn most_slowdown(self, to_beat: &Outcome, smallest: u64) -> u64 {
        match self {
            Self::Exchange { objective, largest, smallest: then } if self.tolerates(to_beat) => {
                let worst = Outcome { largest, smallest: then, stp: 0 };
                objective.most_slowdown(&worst, smallest)
            }
            _ => self.objective().most_slowdown(to_beat, smallest),
        }
    }

    /// How much better the second of two outcomes of the same programs is, as a share of the first,
    /// in units of 2^-32: by the objective, or if the first one is tolerated, by its value divided
    /// by throughput. Also returns the larger of the gains by the objective and by throughput.
    pub(crate) fn gain(self, before: &Outcome, after: &Outcome) -> (u64, Gain) {
        let objective = self.objective();
        let by_objective = objective.gain(before, after);
        if matches!(self, Self::Alone(_)) || !self.tolerates(before) {
            return (by_objective, Gain::Worth(by_objective));
        }
        // Small shares add up.
        let faster = Objective::Stp.gain(before, after);
        let lost = objective.gain(after, before) + Objective::Stp.gain(after, before);
        let is_faster = faster > by_objective;
        let by_most = if is_faster { Gain::Faster(faster) } else { Gain::Worth(by_objective) };
        ((by_objective + faster).saturating_sub(lost), by_most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn outcome(largest: u64, smallest: u64, stp: u64) -> Outcome {
        Outcome { largest: largest << 32, smallest: smallest << 32, stp: stp << 32 }
    }

    #[test]
    fn each_objective_prefers_its_own_and_the_others_decide_between_equals() {
        let (fair, fast, short) = (outcome(6, 3, 1), outcome(9, 3, 4), outcome(5, 1, 2));
        assert!(Aim::Alone(Objective::Unfairness).is_better(&fair, &fast));
        assert!(Aim::Alone(Objective::Stp).is_better(&fast, &fair));
        assert!(Aim::Alone(Objective::MaxSlowdown).is_better(&short, &fair));
        let faster = outcome(4, 2, 3);
        assert!(Aim::Alone(Objective::Unfairness).is_better(&faster, &fair));
        assert!(!Aim::Alone(Objective::Unfairness).is_better(&fair, &fair));
    }

    /// An outcome that is hardly less fair but faster by more is better; one that is less fair than
    /// tolerated is not, however fast.
    #[test]
    fn throughput_is_weighed_against_what_is_tolerated() {
        let (fair, fast, hardly_fast) =
            (outcome(100, 100, 90), outcome(101, 100, 100), outcome(101, 100, 90));
        let (unfair, faster) = (outcome(102, 100, 1000), outcome(101, 100, 110));
        for objective in [Objective::Unfairness, Objective::MaxSlowdown] {
            let aim = Aim::exchange(objective, &fair, 1).unwrap();
            assert!(aim.is_better(&fast, &fair) && aim.is_better(&faster, &fast));
            assert!(aim.is_better(&fair, &hardly_fast) && aim.is_better(&hardly_fast, &unfair));
            assert!(aim.tolerates(&fast) && !aim.tolerates(&unfair));
            // No tolerated outcome exceeds the bound by which steps are ruled out.
            assert_eq!(aim.most_slowdown(&fair, 100 << 32), 101 << 32);
            // 10 % faster, and 1 % less fair.
            let percent = (1 << 32) / 100;
            let (share, by_most) = aim.gain(&fair, &fast);
            assert!((8 * percent..10 * percent).contains(&share), "{share}");
            assert!(matches!(by_most, Gain::Faster(share) if share > 9 * percent));
            assert_eq!(aim.gain(&fast, &fair).0, 0);
            // If the outcome before is too unfair, the objective decides.
            let (share, by_most) = aim.gain(&unfair, &fair);
            assert_eq!(by_most, Gain::Worth(share));
        }
        let anything = Aim::exchange(Objective::Unfairness, &fair, u32::MAX).unwrap();
        assert!(anything.tolerates(&unfair));
        assert_eq!(Aim::exchange(Objective::Unfairness, &fair, 0), None);
        assert_eq!(Aim::exchange(Objective::Stp, &fair, 1), None);
        assert_eq!(Aim::exchange(Objective::Unfairness, &Outcome::BROKEN, 1), None);
    }

    #[test]
    fn outcomes_add_up() {
        let mut one = Outcome::NONE;
        one.add(2 << 32, 1);
        one.add(4 << 32, 1);
        // 1/2 and 1/4, each rounded down.
        assert_eq!((one.largest, one.smallest), (4 << 32, 2 << 32));
        assert!(one.stp.abs_diff(3 << 30) <= 2, "{}", one.stp);
        let mut other = Outcome::NONE;
        other.add(1 << 32, 1);
        let both = one.with(&other);
        assert_eq!((both.largest, both.smallest), (4 << 32, 1 << 32));
    }

    #[test]
    fn a_program_of_importance_two_counts_as_two() {
        let weight = Objective::Weighted.weight(Some(2));
        assert_eq!([weight, Objective::Weighted.weight(None)], [2, 1]);
        assert_eq!(Objective::Stp.weight(Some(2)), 1);
        let (mut important, mut twice) = (Outcome::NONE, Outcome::NONE);
        important.add(3 << 32, weight);
        twice.add(3 << 32, 1);
        twice.add(3 << 32, 1);
        assert_eq!(important, twice);
    }
}
