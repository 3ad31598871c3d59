//! The plans from which searches begin.

use fairways_core::{Llc, Q32};

use super::limits::Limits;
use super::memory::Contention;
use super::objective::Aim;
use super::parameters::Parameters;
use super::planner::{Knowledge, Planner};
use super::program::SharingProgram;
use super::search::first;
use crate::occupancy::below_one;
use crate::slowdown::slowdowns_over;

impl Planner {
    /// Searches from LFOC+'s plan, from one cluster, from a cluster for each program, and from the
    /// plan before if it was for the same programs; with the memory's capacity, if known.
    pub(super) fn search_all(
        &mut self,
        p: &Parameters,
        llc: &Llc,
        memory_mbps: Option<u32>,
        is_same: bool,
    ) {
        self.rules.plan(llc, &self.known, &mut self.start);
        self.search_at(p, llc, Contention::default(), is_same);
        if let Some(capacity_mbps) = memory_mbps {
            self.weigh_memory(p, llc, capacity_mbps);
        }
    }

    /// Searches with this contention at memory.
    pub(super) fn search_at(
        &mut self,
        p: &Parameters,
        llc: &Llc,
        contention: Contention,
        is_same: bool,
    ) {
        let limits = self.limits_beside_others(p, llc);
        self.restart_clusters(p, llc, contention);
        self.search.begin();
        self.search_from_starts(Aim::Alone(p.objective), limits, is_same);
        let Self { search, clusters, .. } = self;
        if let Some(aim) = search.weigh(p.objective, p.fairness_tolerance_percent) {
            search.run(aim, limits, clusters);
            self.search_from_starts(aim, limits, is_same);
        }
    }

    /// Restarts the clusters with the known programs, at this contention at memory.
    pub(super) fn restart_clusters(&mut self, p: &Parameters, llc: &Llc, contention: Contention) {
        let Self { known, knowledge, promises, clusters, .. } = self;
        let largest = self.elsewhere.map_or(llc.ways, |others| others.largest);
        let tolerated = 100 + u128::from(p.tolerance_percent);
        // Programs without profiles may stream, or begin another phase.
        let are_sure = knowledge
            .iter()
            .all(|knowledge| matches!(knowledge, Knowledge::Profiled | Knowledge::Served));
        let sharing = known.iter().zip(&*knowledge).filter_map(|(program, &knowledge)| {
            let profile = program.profile.as_deref()?;
            let best = p.reference.ipc(&profile.ipc, largest);
            let alone = slowdowns_over(best, &profile.ipc, llc.ways);
            let slowdowns = contention.slow_down_all(&alone, &profile.bandwidth_mbps, llc);
            let promise = promises.ways_of(program.app).map(|ways| {
                let there = u128::from(slowdowns.at(ways).raw()) * tolerated / 100;
                let may_share = are_sure && knowledge == Knowledge::Profiled;
                (ways, if may_share { u64::try_from(there).unwrap_or(u64::MAX) } else { 0 })
            });
            let pressures = profile.llcmpkc.resized(llc.ways);
            // Beside a service with its fewest ways, the best is not to slow the others down at
            // all.
            let is_best_effort = program.wish.best_effort || knowledge == Knowledge::Served;
            let weight = p.objective.weight(program.wish.importance);
            let slowest = match knowledge {
                Knowledge::Observed { least_ipc: Some(least_ipc) } => {
                    let slowest = Q32::ratio(best.raw(), least_ipc.raw().max(1));
                    slowest.clamp(slowdowns.at(1), Q32::MAX_IN_CURVE)
                }
                _ => below_one(&slowdowns),
            };
            let slowest = slowest.raw();
            Some(SharingProgram { slowdowns, pressures, slowest, promise, is_best_effort, weight })
        });
        clusters.restart(llc.ways.get(), sharing);
    }

    /// The programs of a cluster of the plan to start from.
    pub(super) fn set_in_start(&self, cluster: u32) -> u64 {
        let placements = self.start.placements();
        let set = self.known.iter().enumerate().filter(|(_, program)| {
            placements.iter().any(|at| at.app == program.app && at.cluster == cluster)
        });
        set.fold(0, |set, (program, _)| set | 1 << program)
    }

    /// Searches from each start.
    fn search_from_starts(&mut self, aim: Aim, limits: Limits, is_same: bool) {
        for (cluster, mask) in (0..).zip(self.start.masks()) {
            self.search.start_with(self.set_in_start(cluster), mask.count());
        }
        let Self { known, promises, clusters, search, .. } = self;
        search.run(aim, limits, clusters);
        // A local search may end before the best plan, so others begin elsewhere.
        search.start_with(first(known.len()), limits.ways);
        search.run(aim, limits, clusters);
        if known.len() <= limits.clusters {
            (0..known.len()).for_each(|program| search.start_with(1 << program, 0));
            search.run(aim, limits, clusters);
        }
        // Without promises, that is one cluster again.
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
