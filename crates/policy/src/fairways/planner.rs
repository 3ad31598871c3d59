//! From the curves of the programs to a plan.

use alloc::vec::Vec;

use fairways_core::{AppId, Llc, Partition, Q32};

use super::clusters::{Clusters, MOST_PROGRAMS};
use super::objective::{Objective, Outcome};
use super::parameters::Parameters;
use super::search::{Limits, Search};
use crate::announce::{Announcer, cluster_name, raw, raw_ways};
use crate::lfoc;
use crate::program::RunningProgram;
use crate::running::leave_unpartitioned;
use crate::slowdown::slowdown_table;
use crate::split::Stack;
use crate::words;

/// What a decision computes with; reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planner {
    pub(crate) rules: lfoc::Rules,
    /// The programs whose curves are known, by their numbers in the search.
    pub(crate) known: Vec<RunningProgram>,
    pub(crate) start: Partition,
    pub(crate) clusters: Clusters,
    pub(crate) search: Search,
    /// The slowdown to expect of each, in units of 2^-32.
    pub(crate) slowdowns: Vec<u64>,
    kind: PlanKind,
    /// The cluster of each program in the plan, and the ways of each cluster.
    placed: Vec<(AppId, usize)>,
    planned_ways: Vec<u32>,
    /// The clusters by the programs that are known now.
    planned_sets: Vec<u64>,
    /// The lines of each program under one plan and under another, in ways times 2^32.
    lines: Vec<[u64; 2]>,
}

/// Where a plan comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PlanKind {
    #[default]
    Unpartitioned,
    Rules,
    Search,
}

/// Why a plan is not by the search.
pub(crate) const UNPARTITIONED: &str = "too few profiles, or one class of service: no partitioning";
pub(crate) const BY_RULES: &str = "more than 64 programs: clustered as by lfoc-plus";

impl Planner {
    /// Decides on a plan for these programs, of which those of `known` have curves. Returns whether
    /// it is another plan than before.
    pub(crate) fn decide(
        &mut self,
        p: &Parameters,
        llc: &Llc,
        programs: &[RunningProgram],
    ) -> bool {
        let known = self.known.len();
        self.kind = if known == 0 || (known < programs.len() && llc.max_clusters() == 1) {
            PlanKind::Unpartitioned
        } else if known > MOST_PROGRAMS {
            PlanKind::Rules
        } else {
            PlanKind::Search
        };
        self.slowdowns.clear();
        self.slowdowns.resize(known, Q32::ONE.raw());
        if self.kind != PlanKind::Search {
            self.placed.clear();
            return true;
        }
        let limits = Limits {
            clusters: llc.max_clusters() as usize,
            ways: llc.ways.get(),
            least_ways: llc.min_ways(),
            trials: p.trials,
        };
        let is_kept = self.follow(limits);
        self.search_all(p, llc, limits, is_kept);
        let is_another = !is_kept || self.is_worth_its_cost(p, limits);
        if is_another {
            self.planned_sets.clear();
            self.planned_sets.extend_from_slice(self.search.best_sets());
            self.planned_ways.clear();
            self.planned_ways.extend_from_slice(self.search.best_ways());
        }
        let Self { clusters, slowdowns, planned_sets, planned_ways, .. } = self;
        for (&set, &owned) in planned_sets.iter().zip(&*planned_ways) {
            clusters.slowdowns(set, owned, |program, slowdown, _| slowdowns[program] = slowdown);
        }
        self.place(programs);
        is_another
    }

    /// Brings the plan before up to date: programs that are gone leave it, and the largest cluster
    /// gets the ways of clusters that have none left. Whether it is a plan of all known programs.
    fn follow(&mut self, limits: Limits) -> bool {
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

    /// Puts each program into its cluster: one that is not known into the largest, as in LFOC
    /// (decision LFOC 8).
    fn place(&mut self, programs: &[RunningProgram]) {
        let Self { known, placed, planned_ways, planned_sets, .. } = self;
        let largest = (0..planned_ways.len())
            .max_by_key(|&cluster| (planned_ways[cluster], core::cmp::Reverse(cluster)));
        placed.clear();
        placed.extend(programs.iter().map(|program| {
            let number = known.iter().position(|known| known.app == program.app);
            let own = number
                .and_then(|number| planned_sets.iter().position(|set| set >> number & 1 == 1));
            (program.app, own.or(largest).unwrap_or(0))
        }));
    }

    /// Whether the search's plan gains more than it costs to move lines from the plan before to it.
    fn is_worth_its_cost(&mut self, p: &Parameters, limits: Limits) -> bool {
        let Self { clusters, search, planned_sets, planned_ways, lines, .. } = self;
        lines.clear();
        lines.resize(self.known.len(), [0; 2]);
        let plans: [(&[u64], &[u32]); 2] =
            [(planned_sets, planned_ways), (search.best_sets(), search.best_ways())];
        let mut outcomes = [Outcome::NONE; 2];
        for (place, (sets, ways)) in plans.into_iter().enumerate() {
            for (&set, &owned) in sets.iter().zip(ways) {
                clusters.slowdowns(set, owned, |program, slowdown, occupied| {
                    outcomes[place].add(slowdown);
                    lines[program][place] = occupied;
                });
            }
        }
        let [before, after] = outcomes;
        if !p.objective.is_better(&after, &before) {
            return false;
        }
        let moved: u64 = lines.iter().map(|[before, after]| after.saturating_sub(*before)).sum();
        let gain = u128::from(p.objective.gain(&before, &after));
        let all = u128::from(limits.ways);
        gain * 100 * all >= u128::from(p.move_cost_percent) * u128::from(moved)
    }

    /// Fills the partition with the plan that was decided on, and announces the slowdown to expect
    /// of each program; the reason.
    pub(crate) fn fill(
        &mut self,
        p: &Parameters,
        llc: &Llc,
        programs: &[RunningProgram],
        partition: &mut Partition,
        announcer: &mut Announcer<'_>,
    ) -> &'static str {
        match self.kind {
            PlanKind::Unpartitioned => {
                leave_unpartitioned(llc, programs, partition);
                announce_classes(partition, UNPARTITIONED, announcer);
                return UNPARTITIONED;
            }
            PlanKind::Rules => {
                self.rules.plan(llc, &self.known, partition);
                let known = &self.known;
                let unknown = programs.iter().filter(|program| !is_among(known, program.app));
                for program in unknown {
                    partition.place(program.app, 0);
                }
                announce_classes(partition, BY_RULES, announcer);
                return BY_RULES;
            }
            PlanKind::Search => {}
        }
        let mut stack = Stack::new(llc);
        for (cluster, &owned) in self.planned_ways.iter().enumerate() {
            let name = cluster_name(partition.add_cluster(stack.next(owned)));
            for &(app, _) in self.placed.iter().filter(|(_, own)| *own == cluster) {
                partition.place(app, u32::try_from(cluster).unwrap_or(u32::MAX));
                let Some(known) = self.known.iter().position(|known| known.app == app) else {
                    let reason = "not known yet; in the largest cluster";
                    announcer.announce_class(app, "unknown", reason);
                    continue;
                };
                announcer.announce_class(app, name, "as fair as the search found");
                let slowdown = raw(Q32::from_raw(self.slowdowns[known]));
                let numbers = [raw_ways(owned), slowdown];
                announcer.announce_numbers(app, [words::WAYS, words::SLOWDOWN], numbers);
            }
        }
        match p.objective {
            Objective::Unfairness => "no clustering nearby is fairer",
            Objective::Stp => "no clustering nearby has a higher throughput",
            Objective::MaxSlowdown => "no clustering nearby has a smaller largest slowdown",
        }
    }

    /// Searches from LFOC+'s plan, from one cluster, from a cluster for each program, and from the
    /// plan before if it was of the same programs.
    fn search_all(&mut self, p: &Parameters, llc: &Llc, limits: Limits, is_same: bool) {
        let Self { rules, known, start, clusters, search, .. } = self;
        clusters.restart(
            limits.ways,
            known.iter().filter_map(|program| program.profile.as_deref()).map(|profile| {
                let slowdowns = slowdown_table(&profile.ipc, llc.ways, p.reference);
                (slowdowns, profile.llcmpkc.resized(llc.ways))
            }),
        );
        rules.plan(llc, known, start);
        search.begin();
        for (cluster, mask) in (0..).zip(start.masks()) {
            let set = known.iter().enumerate().filter(|(_, program)| {
                start.placements().iter().any(|at| at.app == program.app && at.cluster == cluster)
            });
            let set = set.fold(0, |set, (program, _)| set | 1 << program);
            search.start_with(set, mask.count());
        }
        search.run(p.objective, limits, clusters);
        // A local search may end before the best plan: others begin elsewhere.
        search.start_with(u64::MAX >> (u64::BITS as usize - known.len()), limits.ways);
        search.run(p.objective, limits, clusters);
        if known.len() <= limits.clusters {
            (0..known.len()).for_each(|program| search.start_with(1 << program, 0));
            search.run(p.objective, limits, clusters);
        }
        if is_same {
            for (&set, &ways) in self.planned_sets.iter().zip(&self.planned_ways) {
                search.start_with(set, ways);
            }
            search.run(p.objective, limits, clusters);
        }
    }
}

fn is_among(known: &[RunningProgram], app: AppId) -> bool {
    known.iter().any(|program| program.app == app)
}

/// Announces the cluster of each program of a plan that is not by the search: the numbers that an
/// earlier search estimated are void.
fn announce_classes(partition: &Partition, reason: &'static str, announcer: &mut Announcer<'_>) {
    for at in partition.placements() {
        announcer.announce_class(at.app, cluster_name(at.cluster), reason);
    }
}
