//! Where searches begin.

use fairways_core::{Llc, Q32};

use super::divide::Limits;
use super::objective::Aim;
use super::parameters::Parameters;
use super::planner::{Knowledge, Planner};
use super::program::SharingProgram;
use super::search::first;
use crate::occupancy::below_one;
use crate::slowdown::slowdown_table;

impl Planner {
    /// Searches from LFOC+'s plan, from one cluster, from a cluster for each program, and from the
    /// plan before if it was of the same programs.
    pub(super) fn search_all(&mut self, p: &Parameters, llc: &Llc, limits: Limits, is_same: bool) {
        let Self { rules, known, knowledge, promises, start, clusters, search, .. } = self;
        let tolerated = 100 + u128::from(p.tolerance_percent);
        // Programs without profiles may stream, or begin another phase.
        let are_sure = knowledge
            .iter()
            .all(|knowledge| matches!(knowledge, Knowledge::Profiled | Knowledge::Served));
        let sharing = known.iter().zip(&*knowledge).filter_map(|(program, &knowledge)| {
            let profile = program.profile.as_deref()?;
            let slowdowns = slowdown_table(&profile.ipc, llc.ways, p.reference);
            let promise = promises.ways_of(program.app).map(|ways| {
                let there = u128::from(slowdowns.at(ways).raw()) * tolerated / 100;
                let may_share = are_sure && knowledge == Knowledge::Profiled;
                (ways, if may_share { u64::try_from(there).unwrap_or(u64::MAX) } else { 0 })
            });
            let pressures = profile.llcmpkc.resized(llc.ways);
            // Beside a service that has its fewest ways, nothing is to slow the others down.
            let is_best_effort = program.wish.best_effort || knowledge == Knowledge::Served;
            let weight = p.objective.weight(program.wish.importance);
            let slowest = match knowledge {
                Knowledge::Observed { least_ipc: Some(least_ipc) } => {
                    let best = p.reference.ipc(&profile.ipc, llc.ways);
                    let slowest = Q32::ratio(best.raw(), least_ipc.raw().max(1));
                    slowest.clamp(slowdowns.at(1), Q32::MAX_IN_CURVE)
                }
                _ => below_one(&slowdowns),
            };
            let slowest = slowest.raw();
            Some(SharingProgram { slowdowns, pressures, slowest, promise, is_best_effort, weight })
        });
        clusters.restart(limits.ways, sharing);
        rules.plan(llc, known, start);
        search.begin();
        self.search_from_starts(Aim::Alone(p.objective), limits, is_same);
        let Self { search, clusters, .. } = self;
        if let Some(aim) = search.weigh(p.objective, p.fairness_tolerance_percent) {
            search.run(aim, limits, clusters);
            self.search_from_starts(aim, limits, is_same);
        }
    }

    /// Searches from each start.
    fn search_from_starts(&mut self, aim: Aim, limits: Limits, is_same: bool) {
        let Self { known, promises, start, clusters, search, .. } = self;
        for (cluster, mask) in (0..).zip(start.masks()) {
            let set = known.iter().enumerate().filter(|(_, program)| {
                start.placements().iter().any(|at| at.app == program.app && at.cluster == cluster)
            });
            let set = set.fold(0, |set, (program, _)| set | 1 << program);
            search.start_with(set, mask.count());
        }
        search.run(aim, limits, clusters);
        // A local search may end before the best plan: others begin elsewhere.
        search.start_with(first(known.len()), limits.ways);
        search.run(aim, limits, clusters);
        if known.len() <= limits.clusters {
            (0..known.len()).for_each(|program| search.start_with(1 << program, 0));
            search.run(aim, limits, clusters);
        }
        // Where nothing is promised, that is one cluster again.
        if !promises.is_empty() {
            let mut others = 0;
            for (number, program) in known.iter().enumerate() {
                match promises.ways_of(program.app) {
                    Some(_) => search.start_with(1 << number, 0),
                    None => others |= 1 << number,
                }
            }
            search.start_with(others, 0);
            search.run(aim, limits, clusters);
        }
        if is_same {
            for (&set, &ways) in self.planned_sets.iter().zip(&self.planned_ways) {
                search.start_with(set, ways);
            }
            search.run(aim, limits, clusters);
        }
    }
}
