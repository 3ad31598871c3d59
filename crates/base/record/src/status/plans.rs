//! Plans: what was requested, and which part of it is in force.

use fairways_core::{AppId, BandwidthLevel, Partition, PlanId};

use super::{ClusterStatus, MachineView, ProgramStatus, Status};

/// The plans of a domain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plans {
    /// The plans that the machine has not answered yet.
    pending: Vec<TrackedPlan>,
    in_force: Option<TrackedPlan>,
}

/// A plan, with what is in force of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrackedPlan {
    /// The plan's number.
    pub plan: PlanId,
    /// The reason for it.
    pub reason: String,
    /// What was planned.
    pub planned: Partition,
    /// What is in force.
    pub actual: Partition,
}

impl Plans {
    pub(super) fn add(&mut self, plan: PlanId, planned: Partition, reason: String) {
        self.pending.push(TrackedPlan { plan, reason, planned, actual: Partition::default() });
    }

    /// Drops the plans that wait for an answer: none will come.
    pub(super) fn forget(&mut self) {
        self.pending.clear();
    }

    /// Notes the answer to a plan; `None` if no such plan was made.
    fn answer(&mut self, plan: PlanId, actual: &Partition) -> Option<&TrackedPlan> {
        if let Some(at) = self.pending.iter().position(|pending| pending.plan == plan) {
            self.in_force = Some(self.pending.remove(at));
        }
        let current = self.in_force.as_mut().filter(|current| current.plan == plan)?;
        current.actual.clone_from(actual);
        Some(current)
    }
}

impl Status {
    /// The plan in force in a domain, and what is in force of it.
    pub fn in_force(&self, domain: u32) -> Option<&TrackedPlan> {
        self.plans.get(&domain)?.in_force.as_ref()
    }

    /// Whether a plan waits for its answer.
    pub fn is_plan_pending(&self, domain: u32) -> bool {
        self.plans.get(&domain).is_some_and(|plans| !plans.pending.is_empty())
    }

    /// The partition of a plan that is in force or waits for its answer.
    pub(super) fn planned(&self, domain: u32, plan: PlanId) -> Option<&Partition> {
        let plans = self.plans.get(&domain)?;
        let mut all = plans.pending.iter().chain(&plans.in_force);
        all.find(|entry| entry.plan == plan).map(|plan| &plan.planned)
    }

    /// Whether plans are only observed (a dry run): the machine answers as if it carried them out,
    /// so that the policy goes on deciding, but nothing of them is in force.
    pub fn observes(&self) -> bool {
        ["observe", "counters-only"].contains(&self.mode.as_str())
    }

    /// How the programs of a domain differ from the plan, a line each; none if plans are only
    /// observed.
    pub fn differences(&self, domain: u32) -> impl Iterator<Item = String> {
        let all = (!self.observes()).then_some(&self.programs).into_iter().flatten();
        let here = all.filter(move |program| program.domain == domain);
        here.flat_map(|program| [program.other_ways(), self.other_level(program)]).flatten()
    }

    /// A program's level of memory bandwidth, if it differs from the plan's.
    fn other_level(&self, program: &ProgramStatus) -> Option<String> {
        let name = &program.name;
        let planned = self.level_text(program.domain, program.planned_bandwidth_level?);
        Some(match program.bandwidth_level {
            Some(level) => {
                let level = self.level_text(program.domain, level);
                format!("{name} is limited to {level} of memory bandwidth, planned {planned}")
            }
            None => format!("{name} is not limited to the planned {planned} of memory bandwidth"),
        })
    }

    /// Adds a plan that waits for its answer.
    pub(super) fn add_plan(
        &mut self,
        domain: u32,
        plan: PlanId,
        planned: Partition,
        reason: String,
    ) {
        self.plans.entry(domain).or_default().add(plan, planned, reason);
    }

    /// Records the answer to a plan.
    pub(super) fn answer_plan(
        &mut self,
        domain: u32,
        plan: PlanId,
        actual: &Partition,
        seen: &dyn MachineView,
    ) {
        let nothing = Partition::default();
        let actual = if self.observes() { &nothing } else { actual };
        let plans = self.plans.get_mut(&domain);
        let Some(tracked) = plans.and_then(|plans| plans.answer(plan, actual)) else { return };
        let (planned, reason) = (tracked.planned.clone(), tracked.reason.clone());
        let is_as_planned = actual.agrees_with(&planned);
        let mut clusters = clusters(domain, actual, seen);
        let mut others =
            if is_as_planned { Vec::new() } else { self::clusters(domain, &planned, seen) };
        let (here, there) = (places(actual), places(&planned));
        let mut apps: Vec<u32> = here.iter().chain(&there).map(|&(app, _)| app).collect();
        apps.sort_unstable();
        apps.dedup();
        let before = self.index.set_placed(domain, apps.clone());
        if before != apps {
            apps.extend(before);
            apps.sort_unstable();
            apps.dedup();
        }
        let lever = self.domains.iter().find(|of| of.id == domain).and_then(|of| of.bandwidth);
        let clusters_before = std::mem::take(&mut self.domain(domain).clusters);
        let mut spare: Vec<String> =
            clusters_before.into_iter().flat_map(|cluster| cluster.programs).collect();
        // In the order in which they began.
        let mut all: Vec<usize> = apps
            .into_iter()
            .filter_map(|app| self.index.look_up(&self.programs, domain, app))
            .collect();
        all.sort_unstable();
        for place in all {
            let program = &mut self.programs[place];
            let app = AppId(program.app);
            let own_cluster = cluster_of(&here, program.app);
            let planned_cluster = cluster_of(&there, program.app);
            let [given, wished] = [(actual, own_cluster), (&planned, planned_cluster)]
                .map(|(of, cluster)| of.clusters().get(cluster? as usize).copied());
            let mask = given.map(|of| of.mask);
            program.ways = mask.map(|mask| mask.count());
            let [level, wanted] = [given, wished].map(|of| of?.bandwidth);
            program.bandwidth_level = level.map(BandwidthLevel::get);
            // The highest level means no limit.
            let wanted =
                wanted.or_else(|| lever.map(|lever| lever.most).filter(|_| level.is_some()));
            program.planned_bandwidth_level =
                wanted.filter(|_| wanted != level).map(BandwidthLevel::get);
            program.cluster = own_cluster.filter(|_| mask.is_some());
            let own = program.cluster.and_then(|cluster| clusters.get_mut(cluster as usize));
            match own {
                Some(cluster) => {
                    program.mask.get_or_insert_default().clone_from(&cluster.mask);
                    // Reuses the memory of a previous name: most programs are in every plan.
                    let mut name = spare.pop().unwrap_or_default();
                    name.clone_from(&program.name);
                    cluster.programs.push(name);
                    seen.tasks(app, &mut cluster.tasks);
                }
                None => program.mask = None,
            }
            (program.planned_mask, program.planned_ways) = (None, None);
            let other = planned_cluster.and_then(|cluster| others.get_mut(cluster as usize));
            let Some(other) = other else { continue };
            other.programs.push(program.name.clone());
            seen.tasks(app, &mut other.tasks);
            if program.mask.as_ref() != Some(&other.mask) {
                program.planned_mask = Some(other.mask.clone());
                program.planned_ways = wished.map(|of| of.mask.count());
            }
        }
        let entry = self.domain(domain);
        (entry.plan, entry.reason, entry.refused) = (Some(plan.0), Some(reason), None);
        entry.clusters = clusters;
        entry.planned = (!is_as_planned).then_some(others);
    }
}

impl ProgramStatus {
    /// Its ways, if they differ from the plan's.
    fn other_ways(&self) -> Option<String> {
        let (name, planned) = (&self.name, self.planned_mask.as_deref()?);
        Some(match &self.mask {
            Some(mask) => format!("{name} has ways {mask}, planned {planned}"),
            None => format!("{name} is not limited to its planned ways {planned}"),
        })
    }
}

/// The clusters of a partition, without their programs.
fn clusters(domain: u32, partition: &Partition, seen: &dyn MachineView) -> Vec<ClusterStatus> {
    let all = partition.clusters().iter();
    all.map(|of| ClusterStatus::new(seen.physical(domain, of.mask), of.bandwidth)).collect()
}

/// The cluster of each program, in the order of their numbers; of several clusters, the last one.
fn places(partition: &Partition) -> Vec<(u32, u32)> {
    let placements = partition.placements().iter();
    let mut places: Vec<(u32, u32)> = placements.map(|of| (of.app.0, of.cluster)).collect();
    places.sort_by_key(|&(app, _)| app);
    places
}

/// The cluster of a program in such a list.
fn cluster_of(places: &[(u32, u32)], app: u32) -> Option<u32> {
    let beyond = places.partition_point(|&(other, _)| other <= app);
    let &(other, cluster) = places.get(beyond.checked_sub(1)?)?;
    (other == app).then_some(cluster)
}
