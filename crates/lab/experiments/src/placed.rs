//! One mix on a machine with several caches, under several policies.

use fairways_core::{
    AppId, Levers, MachineCache, Partition, PartitionError, Policy, Ways, Wish, run,
};
use fairways_optimum::{Goal, PlacedProblem, SharingKind, place};
use fairways_policy::fairways::{Fairways, Parameters, PlacedProgram, Placer};
use fairways_policy::stock::Stock;
use fairways_profiles::{FairnessMetrics, Mix, PlacedScorer, ProfileTable};

use crate::compare::{CompareError, Comparison, KnownProgram, PolicyOutcome, known_programs};
use crate::{OPTIMUM, StaticMachine};

/// The machine, and what its programs' owners ask for.
#[derive(Clone, Debug)]
pub struct PlacedSettings {
    /// The caches, whose ways are of equal size.
    pub caches: Vec<MachineCache>,
    /// What the owner of each program asks for, by index; missing entries ask for nothing.
    pub wishes: Vec<Wish>,
    /// The parameters by which `fairways` places and divides.
    pub fairways: Parameters,
}

impl PlacedSettings {
    /// The cache of each of some programs if they are dealt to the caches in turn, each to the next
    /// one that has a CPU; `None` if there are not enough.
    #[must_use]
    pub fn dealt(&self, programs: usize) -> Option<Vec<usize>> {
        let mut free: Vec<u32> = self.caches.iter().map(|cache| cache.cpus).collect();
        let (mut next, mut dealt) = (0, Vec::with_capacity(programs));
        for _ in 0..programs {
            let mut places = (0..free.len()).map(|step| (next + step) % free.len());
            let cache = places.find(|&cache| free[cache] > 0)?;
            free[cache] -= 1;
            next = cache + 1;
            dealt.push(cache);
        }
        Some(dealt)
    }

    /// Places the programs of a mix, and divides the caches, by `fairways`.
    ///
    /// # Errors
    /// If the programs do not fit, or a cache has no plan.
    pub fn placed(&self, table: &ProfileTable, mix: &Mix) -> Result<PolicyOutcome, CompareError> {
        let known = known_programs(table, mix, &self.wishes);
        let programs: Vec<PlacedProgram<'_>> = known
            .iter()
            .filter_map(|(profile, wish)| {
                let profile = profile.as_deref()?;
                Some(PlacedProgram { profile, wish: *wish, threads: 1, cache: None })
            })
            .collect();
        let mut placer = Placer::default();
        let placed = placer.place(&self.fairways, &self.caches, &programs);
        let caches = placed.map(<[usize]>::to_vec);
        let caches = caches.ok_or_else(|| self.no_room(mix))?;
        let mut divided = self.divided(table, mix, &caches, &|cache| {
            let mut policy = Fairways::new(self.fairways);
            if let Some(elsewhere) = placer.elsewhere(cache) {
                policy.count_elsewhere(elsewhere);
            }
            Box::new(policy)
        })?;
        divided.reason = format!("the best placement that was found; {}", divided.reason);
        Ok(divided)
    }

    fn no_room(&self, mix: &Mix) -> CompareError {
        let (programs, cpus) = (mix.programs.len(), self.caches.iter().map(|cache| cache.cpus));
        CompareError::NoRoom { mix: mix.name.clone(), programs, cpus: cpus.sum() }
    }

    /// Divides each cache by a policy of its own, and scores the whole.
    ///
    /// # Errors
    /// If a policy makes no plan.
    pub fn divided(
        &self,
        table: &ProfileTable,
        mix: &Mix,
        caches: &[usize],
        policy: &dyn Fn(usize) -> Box<dyn Policy>,
    ) -> Result<PolicyOutcome, CompareError> {
        let known = known_programs(table, mix, &self.wishes);
        let (mut plans, mut reasons) = (Vec::new(), Vec::new());
        for (number, cache) in self.caches.iter().enumerate() {
            let there = (0..known.len()).filter(|&at| caches[at] == number);
            let there: Vec<usize> = there.collect();
            let decided = divide(cache, &known, &there, policy(number).as_mut());
            let (partition, reason) = decided.map_err(|why| no_plan(mix, policy, why))?;
            plans.push(partition);
            if !there.is_empty() && !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        Ok(self.scored(table, mix, (policy(0).name(), reasons.join("; ")), plans))
    }

    /// Places the programs of a mix, and divides the caches, as well as possible.
    ///
    /// # Errors
    /// If there is no such placement, or there are too many programs.
    pub fn best(&self, table: &ProfileTable, mix: &Mix) -> Result<PolicyOutcome, CompareError> {
        let problem = PlacedProblem {
            profiles: table,
            mix: &mix.programs,
            caches: &self.caches,
            kind: SharingKind::Clustering,
            goal: Goal::Unfairness,
        };
        let best = place(&problem, None, |_, _| ());
        let best = best.map_err(|why| CompareError::Impossible { mix: mix.name.clone(), why })?;
        let reason = "the fairest placement and plan there is".to_owned();
        Ok(self.scored(table, mix, (OPTIMUM, reason), best.plans))
    }

    /// The slowdowns of some of the programs of a mix that are alone on a cache, in their order.
    ///
    /// # Errors
    /// If the policy makes no plan.
    pub fn on_one(
        &self,
        table: &ProfileTable,
        mix: &Mix,
        cache: usize,
        there: &[usize],
        policy: &dyn Fn(usize) -> Box<dyn Policy>,
    ) -> Result<Vec<f64>, CompareError> {
        let known = known_programs(table, mix, &self.wishes);
        let (plan, _) = divide(&self.caches[cache], &known, there, policy(cache).as_mut())
            .map_err(|why| no_plan(mix, policy, why))?;
        let mut slowdowns = Vec::new();
        let scorer = PlacedScorer::new(table, &mix.programs, &self.ways());
        scorer.score_one(cache, &plan, &mut |_, slowdown| slowdowns.push(slowdown));
        Ok(slowdowns)
    }

    fn ways(&self) -> Vec<Ways> {
        self.caches.iter().map(|cache| cache.llc.ways).collect()
    }

    /// How programs fare under a plan.
    fn scored(
        &self,
        table: &ProfileTable,
        mix: &Mix,
        (policy, reason): (&'static str, String),
        plans: Vec<Partition>,
    ) -> PolicyOutcome {
        let slowdowns = PlacedScorer::new(table, &mix.programs, &self.ways()).score(&plans);
        let metrics = FairnessMetrics::from_slowdowns(&slowdowns);
        PolicyOutcome { policy, plans, reason, slowdowns, metrics }
    }
}

/// A mix under each policy. `fairways` and `optimum` place the programs; under the others they are
/// dealt to the caches in turn, in the mix's order, and each cache is divided by a policy of its
/// own, which `make` makes.
///
/// # Errors
/// If the programs do not fit, or a policy makes no plan.
pub fn compare_placed(
    table: &ProfileTable,
    mix: &Mix,
    settings: &PlacedSettings,
    policies: &[&'static str],
    make: &dyn Fn(&str) -> Box<dyn Policy>,
) -> Result<Comparison, CompareError> {
    let dealt = settings.dealt(mix.programs.len()).ok_or_else(|| settings.no_room(mix))?;
    let stock = settings.divided(table, mix, &dealt, &|_| Box::new(Stock::default()))?.metrics;
    let outcomes = policies.iter().map(|&policy| match policy {
        OPTIMUM => settings.best(table, mix),
        "fairways" => settings.placed(table, mix),
        policy => settings.divided(table, mix, &dealt, &|_| make(policy)),
    });
    Ok(Comparison { stock, outcomes: outcomes.collect::<Result<_, _>>()? })
}

fn no_plan(
    mix: &Mix,
    policy: &dyn Fn(usize) -> Box<dyn Policy>,
    why: Option<PartitionError>,
) -> CompareError {
    CompareError::NoPlan { mix: mix.name.clone(), policy: policy(0).name(), why }
}

/// The plan of a cache on which some of the programs run, and its reason.
fn divide(
    cache: &MachineCache,
    known: &[KnownProgram],
    there: &[usize],
    policy: &mut dyn Policy,
) -> Result<(Partition, String), Option<PartitionError>> {
    if there.is_empty() {
        return Ok(Default::default());
    }
    let levers = Levers { llc: cache.llc, bandwidth: None };
    let mut machine = StaticMachine::new(levers, there.iter().map(|&at| known[at].clone()));
    run(&mut machine, policy, &mut []);
    let (None, Some((partition, reason))) = (machine.refused(), machine.partition()) else {
        return Err(machine.refused());
    };
    let mut plan = Partition::default();
    partition.clusters().iter().for_each(|&cluster| {
        plan.add(cluster);
    });
    for placement in partition.placements() {
        let at = there[placement.app.0 as usize];
        plan.place(AppId(u32::try_from(at).unwrap_or(u32::MAX)), placement.cluster);
    }
    Ok((plan, reason.to_owned()))
}
