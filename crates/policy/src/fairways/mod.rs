//! `fairways`: the clustering that a local search finds, as fair as the exact optimum on nearly
//! every mix.
//!
//! LFOC and LFOC+ build a plan by rules: streaming programs confined, sensitive ones alone or in
//! pairs. The exact optimum (`fairways optimum`) is a few percent fairer, but takes seconds with
//! sixteen programs. This policy starts from LFOC+'s plan and improves it in small steps: a program
//! moves to another cluster or to a new one (`search.rs`); where no move helps, two programs swap
//! their clusters; where no swap helps, two clusters merge. After each step the ways are divided
//! again: the slowest cluster gets the next way, then single ways are traded (`divide.rs`). The
//! best step is taken until none is better, or until the trials run out.
//!
//! How a cluster fares depends on its programs and its ways alone, so each set of programs is
//! evaluated once, for every number of ways, by the published model of shared ways
//! (`clusters.rs`). What better means is a parameter (`objective.rs`).
//!
//! Programs are known from their profiles. Those without one share a cluster of the width that
//! an even split would give them, as under `ucp`. Beyond 64 programs the plan is LFOC+'s.
//!
//! Integers only; a decision reuses the memory of the one before.

mod clusters;
mod divide;
mod objective;
mod parameters;
mod search;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use fairways_core::{Action, Event, Llc, Partition, Policy, Q32, Time};

use crate::announce::{Announcer, cluster_name, raw, raw_ways};
use crate::lfoc;
use crate::program::RunningProgram;
use crate::running::{RunningPrograms, leave_unpartitioned};
use crate::slowdown::slowdown_table;
use crate::split::Stack;
use crate::table::{Descriptor, KnowledgeSource, make};
use crate::ucp::even_share;
use crate::words;
use clusters::{Clusters, MOST_PROGRAMS};
use divide::Limits;
use search::{Search, members};

pub use objective::Objective;
pub use parameters::Parameters;

/// `fairways`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    knows: KnowledgeSource::Profiles,
    ..Descriptor::new::<Parameters>(
        "fairways",
        "the fairest clustering that a local search finds, from LFOC+'s on",
        |given| make(Parameters::default(), Fairways::new, given),
    )
};

/// The `fairways` policy.
#[derive(Clone, Debug, Default)]
pub struct Fairways {
    parameters: Parameters,
    running: RunningPrograms,
    planner: Planner,
}

/// What a decision computes with; reused.
#[derive(Clone, Debug, Default)]
struct Planner {
    rules: lfoc::Rules,
    /// The programs with a profile, by their numbers in the search.
    known: Vec<RunningProgram>,
    start: Partition,
    clusters: Clusters,
    search: Search,
}

impl Fairways {
    /// The policy with these parameters.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, ..Self::default() }
    }
}

impl Policy for Fairways {
    fn name(&self) -> &'static str {
        "fairways"
    }

    fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        if self.running.update_programs(event) {
            let Self { parameters, running, planner } = self;
            running.plan(act, |llc, programs, partition, announcer| {
                planner.plan(parameters, llc, programs, partition, announcer)
            });
        }
    }
}

/// Why a plan is not by the search.
const UNPARTITIONED: &str = "too few profiles, or one class of service: no partitioning";
const BY_RULES: &str = "more than 64 programs: clustered as by lfoc-plus";

/// Announces the cluster of each program of a plan that is not by the search: the numbers that an
/// earlier search estimated are void.
fn announce_classes(partition: &Partition, reason: &'static str, announcer: &mut Announcer<'_>) {
    for at in partition.placements() {
        announcer.announce_class(at.app, cluster_name(at.cluster), reason);
    }
}

impl Planner {
    /// Fills the partition, and reports the slowdown to expect of each program; the reason.
    fn plan(
        &mut self,
        p: &Parameters,
        llc: &Llc,
        programs: &[RunningProgram],
        partition: &mut Partition,
        announcer: &mut Announcer<'_>,
    ) -> &'static str {
        self.known.clear();
        self.known.extend(programs.iter().filter(|program| program.profile.is_some()).cloned());
        let (known, unknown) = (self.known.len(), programs.len() - self.known.len());
        let most = llc.max_clusters() - u32::from(unknown > 0 && llc.max_clusters() > 1);
        if known == 0 || (unknown > 0 && llc.max_clusters() == 1) {
            leave_unpartitioned(llc, programs, partition);
            announce_classes(partition, UNPARTITIONED, announcer);
            return UNPARTITIONED;
        }
        if known > MOST_PROGRAMS {
            self.rules.plan(llc, programs, partition);
            announce_classes(partition, BY_RULES, announcer);
            return BY_RULES;
        }
        let ways_for_unknown = if unknown == 0 { 0 } else { even_share(llc, unknown, known) };
        let free = llc.ways.get() - ways_for_unknown;
        let limits = Limits {
            clusters: most.min(free / llc.min_ways()) as usize,
            ways: free,
            least_ways: llc.min_ways(),
            trials: p.trials,
        };
        let mut stack = Stack::new(llc);
        self.search(p, llc, limits);
        for (&set, &owned) in self.search.best_sets().iter().zip(self.search.best_ways()) {
            let cluster = partition.add_cluster(stack.next(owned));
            let name = cluster_name(cluster);
            self.clusters.slowdowns(set, owned, |program, slowdown| {
                let app = self.known[program].app;
                announcer.announce_class(app, name, "as fair as the search found");
                let slowdown = raw(Q32::from_raw(slowdown));
                announcer.announce_numbers(
                    app,
                    [words::WAYS, words::SLOWDOWN],
                    [raw_ways(owned), slowdown],
                );
            });
            for program in members(set) {
                partition.place(self.known[program as usize].app, cluster);
            }
        }
        if unknown > 0 {
            let cluster = partition.add_cluster(stack.next(ways_for_unknown));
            for program in programs.iter().filter(|program| program.profile.is_none()) {
                announcer.announce_class(
                    program.app,
                    "unknown",
                    "no profile; an even share of the ways",
                );
                partition.place(program.app, cluster);
            }
        }
        match p.objective {
            Objective::Unfairness => "no clustering nearby is fairer",
            Objective::Stp => "no clustering nearby has a higher throughput",
            Objective::MaxSlowdown => "no clustering nearby has a smaller largest slowdown",
        }
    }

    /// Searches from LFOC+'s plan, from one cluster, and from a cluster for each program.
    fn search(&mut self, p: &Parameters, llc: &Llc, limits: Limits) {
        let Self { rules, known, start, clusters, search } = self;
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
        // A local search may end before the best plan: two more begin elsewhere.
        search.start_with(u64::MAX >> (u64::BITS as usize - known.len()), limits.ways);
        search.run(p.objective, limits, clusters);
        if known.len() <= limits.clusters {
            (0..known.len()).for_each(|program| search.start_with(1 << program, 0));
            search.run(p.objective, limits, clusters);
        }
    }
}
