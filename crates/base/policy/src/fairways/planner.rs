//! Makes a plan from the curves of the programs.

use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{AppId, Llc, Partition, Q32, Ways};

use super::clusters::{Clusters, MOST_PROGRAMS};
use super::limits::Limits;
use super::memory::MemoryWeighing;
use super::objective::{Gain, Outcome};
use super::parameters::Parameters;
use super::placer::Elsewhere;
use super::promises::KeptPromises;
use super::reasons::reason;
use super::search::{Search, first};
use crate::announce::{Announcer, raw, raw_ways};
use crate::lfoc::{self, Class, Evidence};
use crate::program::RunningProgram;
use crate::running::leave_unpartitioned;
use crate::split::Stack;
use crate::words;

/// The working memory of a decision; reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planner {
    pub(crate) rules: lfoc::Rules,
    /// The programs whose curves are known, in the order of their numbers in the search.
    pub(crate) known: Vec<RunningProgram>,
    /// The source of each one's curves.
    pub(crate) knowledge: Vec<Knowledge>,
    pub(crate) promises: KeptPromises,
    pub(crate) start: Partition,
    pub(crate) clusters: Clusters,
    pub(crate) search: Search,
    pub(crate) memory: MemoryWeighing,
    /// How the programs of the machine's other caches fare.
    pub(crate) elsewhere: Option<Elsewhere>,
    /// The expected slowdown of each known program, in units of 2^-32.
    pub(crate) slowdowns: Vec<u64>,
    kind: PlanKind,
    /// The plan's gain over the one before it.
    gain: Gain,
    /// The cluster of each program in the plan, and the ways of each cluster.
    pub(crate) placed: Vec<(AppId, usize)>,
    pub(crate) planned_ways: Vec<u32>,
    /// The clusters as sets of the programs that are known now.
    pub(crate) planned_sets: Vec<u64>,
    /// The lines of each program under two plans, in ways times 2^32.
    pub(crate) lines: Vec<[u64; 2]>,
}

/// The circumstances that a plan is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outlook {
    /// The memory's capacity in MB/s, if known.
    pub(crate) memory_mbps: Option<u32>,
    /// Whether a new phase has begun: the plan before was made for another one.
    pub(crate) has_turned: bool,
    /// The error of estimates, in units of 2^-32.
    pub(crate) doubt: u64,
    /// How long the plan may last.
    pub(crate) lasts: Duration,
}

/// The source of a program's curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Knowledge {
    /// Not known yet: it has the ways that were promised to it, and shares no promised ways.
    Assumed,
    /// Its windows. They do not distinguish all phases, so it shares no ways if it was promised
    /// some.
    Observed {
        /// Its IPC with hardly any cache, which its curves do not have; `None` if no phase that is
        /// kept shows it with part of a way.
        least_ipc: Option<Q32>,
    },
    /// Not needed: it is a service, which has its fewest ways.
    Served,
    /// Its profile.
    Profiled,
}

/// How a plan was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PlanKind {
    #[default]
    Unpartitioned,
    Rules,
    Search,
}

/// Why a plan does not come from the search.
pub(crate) const UNPARTITIONED: &str =
    "not enough programs are known yet, or there is one class of service: no partitioning";
const REFUSED: &str = "more ways are promised than exist: this promise is not kept";
const UNKNOWN: &str = "not known yet; in the largest cluster";
const CROWDED: &str = "more services than can have ways of their own; in the largest cluster";
pub(crate) const BY_RULES: &str = "more than 64 programs: clustered as by lfoc-plus";

impl Planner {
    /// Decides on a plan for these programs; those in `known` have curves. Returns whether it
    /// differs from the plan before.
    pub(crate) fn decide(
        &mut self,
        p: &Parameters,
        llc: &Llc,
        programs: &[RunningProgram],
        outlook: &Outlook,
    ) -> bool {
        let known = self.known.len();
        let before = self.kind;
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
            return self.kind == PlanKind::Rules || self.kind != before;
        }
        let limits = self.limits_beside_others(p, llc);
        // If there are only profiles, earlier events must not influence the plan.
        let is_observed =
            self.knowledge.iter().any(|one| matches!(one, Knowledge::Observed { .. }));
        let clusters = self.planned_ways.len();
        let is_kept = is_observed && self.follow(limits);
        // All programs of a cluster have ended.
        let is_emptied = self.planned_ways.len() < clusters;
        self.search_all(p, llc, outlook.memory_mbps, is_kept);
        let mut is_another = true;
        if is_observed && self.needs_no_clusters(p, limits) {
            self.gain = Gain::Small;
            is_another = !is_kept || self.planned_sets.len() > 1;
            self.search.settle_on(&[first(known)], &[limits.ways]);
        } else if is_kept {
            self.gain = self.gain(p, limits, outlook);
            is_another = self.gain != Gain::None;
        } else {
            self.gain = Gain::Needed;
        }
        if is_another {
            self.planned_sets.clear();
            self.planned_sets.extend_from_slice(self.search.best_sets());
            self.planned_ways.clear();
            self.planned_ways.extend_from_slice(self.search.best_ways());
        }
        self.settle(programs);
        is_another || is_emptied
    }

    /// The limits of a search.
    pub(crate) const fn limits(p: &Parameters, llc: &Llc) -> Limits {
        Limits {
            clusters: llc.max_clusters() as usize,
            ways: llc.ways.get(),
            least_ways: llc.min_ways(),
            trials: p.trials,
            elsewhere: Outcome::NONE,
        }
    }

    /// The same where the machine has other caches, whose programs count in what a plan is worth.
    pub(super) fn limits_beside_others(&self, p: &Parameters, llc: &Llc) -> Limits {
        let alone = Self::limits(p, llc);
        let elsewhere = self.elsewhere.map_or(alone.elsewhere, |others| others.outcome);
        Limits { elsewhere, ..alone }
    }

    /// Whether the plan comes from the search.
    pub(crate) fn is_by_search(&self) -> bool {
        self.kind == PlanKind::Search
    }

    /// The estimated gain of the plan over the one before it, in units of 2^-32.
    pub(crate) const fn promised_gain(&self) -> u64 {
        match self.gain {
            Gain::Worth(share) | Gain::Faster(share) => share,
            _ => 0,
        }
    }

    /// Makes one cluster of all programs the plan.
    pub(crate) fn leave_one_cluster(&mut self, programs: &[RunningProgram], limits: Limits) {
        self.planned_sets.clear();
        self.planned_sets.push(first(self.known.len()));
        self.planned_ways.clear();
        self.planned_ways.push(limits.ways);
        self.gain = Gain::None;
        self.settle(programs);
    }

    /// Returns to an earlier plan, if it is for these programs.
    pub(crate) fn go_back(
        &mut self,
        (placed, ways): (&[(AppId, usize)], &[u32]),
        programs: &[RunningProgram],
        limits: Limits,
    ) -> bool {
        self.placed.clear();
        self.placed.extend_from_slice(placed);
        self.planned_ways.clear();
        self.planned_ways.extend_from_slice(ways);
        self.gain = Gain::None;
        let is_possible = self.follow(limits);
        if is_possible {
            self.settle(programs);
        }
        is_possible
    }

    /// Computes how programs fare under the plan, and the cluster of each.
    fn settle(&mut self, programs: &[RunningProgram]) {
        let Self { clusters, slowdowns, planned_sets, planned_ways, .. } = self;
        for (&set, &owned) in planned_sets.iter().zip(&*planned_ways) {
            clusters.slowdowns(set, owned, |program, slowdown, _| slowdowns[program] = slowdown);
        }
        self.place(programs);
    }

    /// Puts each program into its cluster; one that is not known goes into the largest one, as in
    /// LFOC (decision LFOC 8).
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

    /// Fills the partition with the plan that was decided on, and announces the expected slowdown
    /// of each program whose bandwidth is not limited; returns the reason.
    pub(crate) fn fill(
        &mut self,
        p: &Parameters,
        llc: &Llc,
        programs: &[RunningProgram],
        limited: &[AppId],
        (partition, announcer): (&mut Partition, &mut Announcer<'_>),
    ) -> &'static str {
        match self.kind {
            PlanKind::Unpartitioned => {
                leave_unpartitioned(llc, programs, partition);
                self.announce_classes(llc, programs, UNPARTITIONED, announcer);
                return UNPARTITIONED;
            }
            PlanKind::Rules => {
                self.rules.plan(llc, &self.known, partition);
                let known = &self.known;
                let unknown = programs.iter().filter(|program| !is_among(known, program.app));
                for program in unknown {
                    partition.place(program.app, 0);
                }
                self.announce_classes(llc, programs, BY_RULES, announcer);
                return BY_RULES;
            }
            PlanKind::Search => {}
        }
        let mut stack = Stack::new(llc);
        for (cluster, &owned) in self.planned_ways.iter().enumerate() {
            partition.add_cluster(stack.next(owned));
            for &(app, _) in self.placed.iter().filter(|(_, own)| *own == cluster) {
                partition.place(app, u32::try_from(cluster).unwrap_or(u32::MAX));
                let Some(known) = self.known.iter().position(|known| known.app == app) else {
                    let program = programs.iter().find(|program| program.app == app);
                    let is_service = program.is_some_and(|one| one.wish.objective.is_some());
                    let reason = if is_service { CROWDED } else { UNKNOWN };
                    announcer.announce_class(app, lfoc::UNKNOWN, reason);
                    continue;
                };
                if self.knowledge[known] == Knowledge::Served || limited.contains(&app) {
                    continue;
                }
                if self.knowledge[known] == Knowledge::Assumed {
                    let reason = "not known yet; it shares no promised ways";
                    announcer.announce_class(app, lfoc::UNKNOWN, reason);
                    continue;
                }
                let is_refused = self.known[known].wish.baseline_ways.is_some()
                    && self.promises.ways_of(app).is_none();
                let Some(class) = self.class_of(known, llc.ways) else { continue };
                let by = match self.knowledge[known] {
                    Knowledge::Observed { .. } => Evidence::Windows,
                    _ => Evidence::Profile,
                };
                let reason = if is_refused { REFUSED } else { lfoc::reason(class, by) };
                announcer.announce_class(app, class.name(), reason);
                let slowdown = raw(Q32::from_raw(self.slowdowns[known]));
                let numbers = [raw_ways(owned), slowdown];
                announcer.announce_numbers(app, [words::WAYS, words::SLOWDOWN], numbers);
            }
        }
        reason(p.objective, self.gain)
    }

    /// LFOC's class of a program, from its curves (Table 1).
    fn class_of(&self, known: usize, ways: Ways) -> Option<Class> {
        let profile = self.known[known].profile.as_deref()?;
        Some(lfoc::classify(profile, ways, &lfoc::Parameters::plus()))
    }

    /// Announces the class of each program of a plan that does not come from the search; this voids
    /// the numbers that an earlier search estimated.
    pub(crate) fn announce_classes(
        &self,
        llc: &Llc,
        programs: &[RunningProgram],
        reason: &'static str,
        announcer: &mut Announcer<'_>,
    ) {
        for app in programs.iter().map(|program| program.app) {
            let known = self.known.iter().position(|known| known.app == app);
            let class = match known.map(|known| (known, self.knowledge[known])) {
                // Locpart's control announces it.
                Some((_, Knowledge::Served)) => continue,
                Some((known, Knowledge::Observed { .. } | Knowledge::Profiled)) => {
                    self.class_of(known, llc.ways)
                }
                Some((_, Knowledge::Assumed)) | None => None,
            };
            announcer.announce_class(app, class.map_or(lfoc::UNKNOWN, Class::name), reason);
        }
    }
}

fn is_among(known: &[RunningProgram], app: AppId) -> bool {
    known.iter().any(|program| program.app == app)
}
