//! The plan before: whether it can stay, and whether a new one is worth its cost.

use super::limits::Limits;
use super::objective::{Gain, Outcome};
use super::parameters::Parameters;
use super::planner::{Outlook, Planner};
use super::search::first;

impl Planner {
    /// Brings the plan before up to date: removes programs that ended, and gives the ways of empty
    /// clusters to the largest cluster. Returns whether it has all known programs.
    pub(super) fn follow(&mut self, limits: Limits) -> bool {
        let Self { known, placed, planned_ways, planned_sets, .. } = self;
        planned_sets.clear();
        planned_sets.resize(planned_ways.len(), 0);
        for (number, program) in known.iter().enumerate() {
            let Some(&(_, cluster)) = placed.iter().find(|(app, _)| *app == program.app) else {
                return false;
            };
            planned_sets[cluster] |= 1 << number;
        }
        let mut place = 0;
        let mut free = 0;
        while place < planned_sets.len() {
            if planned_sets[place] == 0 {
                planned_sets.remove(place);
                free += planned_ways.remove(place);
            } else {
                place += 1;
            }
        }
        if let Some(largest) = planned_ways.iter_mut().max() {
            *largest += free;
        }
        planned_ways.iter().sum::<u32>() == limits.ways
            && planned_ways.len() <= limits.clusters
            && planned_ways.iter().all(|&ways| ways >= limits.least_ways)
    }

    /// Whether one cluster of all programs is about as good as the search's plan. Estimates err by
    /// more than a quarter of what a plan must gain if every line moves.
    pub(super) fn needs_no_clusters(&mut self, p: &Parameters, limits: Limits) -> bool {
        let Self { clusters, search, .. } = self;
        let best = search.best_sets().iter().copied().zip(search.best_ways().iter().copied());
        let best = clusters.outcome_of(best, limits);
        self.one_cluster(limits).is_some_and(|whole| {
            let gain = u128::from(p.objective.gain(&whole, &best));
            gain * 400 < u128::from(p.move_cost_percent) << 32
        })
    }

    /// The outcome of one cluster of all programs; `None` if that breaks a promise.
    fn one_cluster(&mut self, limits: Limits) -> Option<Outcome> {
        let all = (first(self.known.len()), limits.ways);
        let whole = self.clusters.outcome_of([all].into_iter(), limits);
        (whole != Outcome::BROKEN).then_some(whole)
    }

    /// The outcome of one cluster of all programs, and what the plan gains over it.
    pub(super) fn gain_over_one_cluster(
        &mut self,
        p: &Parameters,
        limits: Limits,
    ) -> Option<(Outcome, u64)> {
        let whole = self.one_cluster(limits)?;
        let plan = self.planned_sets.iter().copied().zip(self.planned_ways.iter().copied());
        let planned = self.clusters.outcome_of(plan, limits);
        Some((whole, p.objective.gain(&whole, &planned)))
    }

    /// What the search's plan gains over the plan before, beyond the error of estimates, if that is
    /// worth the lines that move, or their cost does not matter.
    pub(super) fn gain(&mut self, p: &Parameters, limits: Limits, outlook: &Outlook) -> Gain {
        let Self { clusters, search, planned_sets, planned_ways, lines, .. } = self;
        lines.clear();
        lines.resize(self.known.len(), [0; 2]);
        let plans: [(&[u64], &[u32]); 2] =
            [(planned_sets, planned_ways), (search.best_sets(), search.best_ways())];
        for (place, (sets, ways)) in plans.into_iter().enumerate() {
            for (&set, &owned) in sets.iter().zip(ways) {
                clusters.slowdowns(set, owned, |program, _, occupied| {
                    lines[program][place] = occupied;
                });
            }
        }
        let [before, after] = plans.map(|(sets, ways)| {
            clusters.outcome_of(sets.iter().copied().zip(ways.iter().copied()), limits)
        });
        if before == Outcome::BROKEN {
            return Gain::Needed;
        }
        let aim = search.aim(p.objective);
        if !aim.is_better(&after, &before) {
            return Gain::None;
        }
        let (share, by_most) = aim.gain(&before, &after);
        let Some(share) = share.checked_sub(outlook.doubt) else { return Gain::None };
        if outlook.has_turned {
            return by_most;
        }
        let moved: u64 = lines.iter().map(|[before, after]| after.saturating_sub(*before)).sum();
        // Estimates err by up to half of what a plan must gain if every line moves.
        let moved = moved.max(u64::from(limits.ways) << 31);
        // The gain lasts as long as the plan; the cost is paid once.
        let gain = (u128::from(share) * 100 * u128::from(limits.ways))
            .saturating_mul(outlook.lasts.as_millis());
        if gain >= u128::from(p.move_cost_percent) * u128::from(moved) * 1000 {
            by_most
        } else {
            Gain::None
        }
    }
}
