//! Plans: asked for, and what they have come to.

use std::collections::{BTreeMap, BTreeSet};

use fairways_core::{AppId, Partition, PlanId};

use super::{Cluster, Seen, Status};

/// The plans of a domain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plans {
    /// Those that the machine has not answered yet.
    asked: Vec<InForce>,
    in_force: Option<InForce>,
}

/// A plan, and what it has come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InForce {
    /// Its number.
    pub plan: PlanId,
    /// Why it was made.
    pub reason: String,
    /// What was planned.
    pub planned: Partition,
    /// What is in force.
    pub actual: Partition,
}

impl Plans {
    pub(super) fn ask(&mut self, plan: PlanId, planned: Partition, reason: String) {
        self.asked.push(InForce { plan, reason, planned, actual: Partition::default() });
    }

    /// Drops the plans that are still not answered: no answer comes any more.
    pub(super) fn forget(&mut self) {
        self.asked.clear();
    }

    /// A plan was answered; `None` if nobody asked for it.
    fn applied(&mut self, plan: PlanId, actual: &Partition) -> Option<&InForce> {
        if let Some(at) = self.asked.iter().position(|of| of.plan == plan) {
            self.in_force = Some(self.asked.remove(at));
        }
        let of = self.in_force.as_mut().filter(|of| of.plan == plan)?;
        of.actual.clone_from(actual);
        Some(of)
    }
}

impl Status {
    /// The plan in force in a domain, and what it has come to.
    pub fn in_force(&self, domain: u32) -> Option<&InForce> {
        self.plans.get(&domain)?.in_force.as_ref()
    }

    /// Whether a plan waits for its answer.
    pub fn is_asked(&self, domain: u32) -> bool {
        self.plans.get(&domain).is_some_and(|of| !of.asked.is_empty())
    }

    /// What a plan says that is in force or waits for its answer.
    pub(super) fn planned(&self, domain: u32, plan: PlanId) -> Option<&Partition> {
        let of = self.plans.get(&domain)?;
        let mut all = of.asked.iter().chain(&of.in_force);
        all.find(|of| of.plan == plan).map(|of| &of.planned)
    }

    /// The programs of a domain whose ways are not those of the plan, a line each.
    pub fn otherwise(&self, domain: u32) -> impl Iterator<Item = String> {
        let here = self.programs.iter().filter(move |of| of.domain == domain);
        here.filter_map(|of| {
            let planned = of.planned_mask.as_deref()?;
            Some(match &of.mask {
                Some(mask) => format!("{} has ways {mask}, planned {planned}", of.name),
                None => format!("{} is not held to its planned ways {planned}", of.name),
            })
        })
    }

    /// Takes in a plan that waits for its answer.
    pub(super) fn asked(&mut self, domain: u32, plan: PlanId, planned: Partition, reason: String) {
        self.plans.entry(domain).or_default().ask(plan, planned, reason);
    }

    /// A plan has come to this.
    pub(super) fn applied(
        &mut self,
        domain: u32,
        plan: PlanId,
        actual: &Partition,
        seen: &dyn Seen,
    ) {
        let plans = self.plans.get_mut(&domain);
        let Some(of) = plans.and_then(|plans| plans.applied(plan, actual)) else { return };
        let (planned, reason) = (of.planned.clone(), of.reason.clone());
        let is_as_planned = actual.agrees_with(&planned);
        let mut clusters = clusters(domain, actual, seen);
        let mut others =
            if is_as_planned { Vec::new() } else { self::clusters(domain, &planned, seen) };
        let places = |of: &Partition| -> BTreeMap<u32, u32> {
            of.placements().iter().map(|place| (place.app.0, place.cluster)).collect()
        };
        let (here, there) = (places(actual), places(&planned));
        let apps: BTreeSet<u32> = here.keys().chain(there.keys()).copied().collect();
        let before = self.index.placed(domain, apps.iter().copied().collect());
        // In the order in which they began.
        let all: BTreeSet<usize> = apps
            .into_iter()
            .chain(before)
            .filter_map(|app| self.index.seek(&self.programs, domain, app))
            .collect();
        for place in all {
            let of = &mut self.programs[place];
            let app = AppId(of.app);
            let mask = actual.mask_of(app);
            of.ways = mask.map(|mask| mask.count());
            of.cluster = here.get(&of.app).copied().filter(|_| mask.is_some());
            let own = of.cluster.and_then(|cluster| clusters.get_mut(cluster as usize));
            match own {
                Some(cluster) => {
                    of.mask.get_or_insert_default().clone_from(&cluster.mask);
                    cluster.programs.push(of.name.clone());
                    seen.tasks(app, &mut cluster.tasks);
                }
                None => of.mask = None,
            }
            (of.planned_mask, of.planned_ways) = (None, None);
            let other = there.get(&of.app).and_then(|&cluster| others.get_mut(cluster as usize));
            let Some(other) = other else { continue };
            other.programs.push(of.name.clone());
            if of.mask.as_ref() != Some(&other.mask) {
                of.planned_mask = Some(other.mask.clone());
                of.planned_ways = planned.mask_of(app).map(|mask| mask.count());
            }
        }
        let of = self.domain(domain);
        (of.plan, of.reason, of.refused) = (Some(plan.0), Some(reason), None);
        of.clusters = clusters;
        of.planned = (!is_as_planned).then_some(others);
    }
}

/// The clusters of a partition, still without their programs.
fn clusters(domain: u32, partition: &Partition, seen: &dyn Seen) -> Vec<Cluster> {
    partition.masks().map(|mask| Cluster::new(seen.physical(domain, mask))).collect()
}
