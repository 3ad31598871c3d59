//! Carrying out plans: from the policies' ways to classes, each step so that it can be undone.

use std::collections::{BTreeMap, BTreeSet};

use fairways_core::{AppId, BandwidthLevel, LimitScope, Partition};

use super::Actuator;
use super::managed::ManagedResctrl;
use crate::error::{Error, Refused};
use crate::groups::classes::Step;
use crate::groups::confine::confine_io;
use crate::offer::domain::Offers;
use crate::plan::limits::Carried;
use crate::plan::outcome::{Applied, Placed, Plans};
use crate::plan::refine::{Plan, PlannedShare, Target, assign, refine};

impl Actuator {
    /// Carries out a plan for each of these domains, in offered ways; other domains' plans stay in
    /// force. A program has one class in all domains: the classes are the common refinement of the
    /// clusters, or, where there are too few, fewer ([`Applied::merged`]). Programs without a place
    /// anywhere go to the root's group, and so do all in a domain of which [nothing can be given
    /// out](Self::gives_out). No plan at all puts the plans in force into effect again.
    ///
    /// # Errors
    /// If a plan can't be carried out: [`Refused`]. The arrangement before is in force then.
    pub fn apply(&mut self, plans: &[(u32, &Partition)], reason: &str) -> Result<Applied, Refused> {
        let done = self.try_to_apply(plans, reason);
        if let Err(why) = &done {
            self.managed.mount.errors.refused(why);
        }
        done
    }

    fn try_to_apply(
        &mut self,
        plans: &[(u32, &Partition)],
        reason: &str,
    ) -> Result<Applied, Refused> {
        let mut wanted = self.managed.plans.by_domain.clone();
        for &(id, partition) in plans {
            let domain = self.managed.found.domain(id).ok_or(Refused::NoDomain(id))?;
            let placed = partition.placements().iter().map(|place| place.app);
            let known = placed.filter(|app| self.managed.programs.by_id.contains_key(app));
            let checked = partition.check_levers(domain.levers(), known.collect::<BTreeSet<_>>());
            checked.map_err(|why| Refused::Partition { domain: id, why })?;
            let is_shared = domain.bandwidth.is_some_and(|of| of.scope == LimitScope::Class);
            let places = partition.placements().iter().filter_map(|place| {
                let resources = partition.clusters().get(place.cluster as usize)?;
                let level = resources.bandwidth;
                let shared_by = Some(place.cluster).filter(|_| is_shared && level.is_some());
                let mask = domain.physical(resources.mask);
                Some((place.app, PlannedShare { mask, level, shared_by }))
            });
            wanted.insert(id, places.collect::<Plan>());
        }
        for (&id, plan) in &mut wanted {
            if self.managed.found.domain(id).is_some() && !self.gives_out(id) {
                plan.clear();
            }
        }
        let most = self.managed.found.offers.classes as usize;
        let ManagedResctrl { mount, found, programs, .. } = &self.managed;
        let taken = &mount.state.ledger.tasks;
        let carried = Carried::of(programs.placed(), taken, &mount.tree, found);
        let mut carried = carried.map_err(Refused::Failed)?;
        let by_cache = self.managed.by_cache(&wanted);
        let (targets, merged) =
            refine(&self.managed.found.offers.rooms(), &by_cache, &carried, most);
        carried.divide(&self.managed.found, targets.iter().map(|target| &target.members[..]));
        let groups = self.enforcement.carry_out(&mut self.managed, &targets, &carried, reason)?;
        if merged > 0 {
            tracing::warn!(target: "fairways::actuate", merged, classes = most, reason, "too few classes");
        }
        let applied = Applied { placed: self.managed.placed(&targets, groups, &carried), merged };
        self.managed.plans = Plans { by_domain: wanted, applied: applied.clone() };
        Ok(applied)
    }

    /// The partition in force in a domain, in offered ways, by the schemata that were read last. A
    /// dry run makes no classes: this is the partition that would be in force. A program without a
    /// place is in the root's group. `None` if the domain does not exist.
    #[must_use]
    pub fn in_force(&self, domain: u32) -> Option<Partition> {
        let domain = self.managed.found.domain(domain)?;
        Some(self.enforcement.in_force(&self.managed, domain))
    }
}

impl ManagedResctrl {
    /// The plans by cache: nodes that share one have their programs' places in one `schemata`.
    fn by_cache(&self, wanted: &BTreeMap<u32, Plan>) -> BTreeMap<u32, Plan> {
        let mut by_cache: BTreeMap<u32, Plan> = BTreeMap::new();
        for (&domain, plan) in wanted {
            if let Some(cache) = self.found.cache_of(domain) {
                by_cache.entry(cache).or_default().extend(plan.clone());
            }
        }
        by_cache
    }

    /// What is in force, according to the files.
    fn placed(&self, targets: &[Target], names: Vec<String>, carried: &Carried) -> Vec<Placed> {
        let mut placed: Vec<Placed> = names
            .into_iter()
            .zip(targets)
            .map(|(group, target)| {
                let class = self.classes.get(&group);
                let side = self.found.survey.sides[0];
                let masks = self.found.domains.iter().filter_map(|domain| {
                    let now = class.and_then(|class| class.now.get(&(side, domain.cache_id)));
                    let mask = now.or_else(|| target.masks.get(&domain.cache_id))?;
                    Some((domain.id, domain.offered(*mask)))
                });
                let of_caches: BTreeMap<u32, BandwidthLevel> = match class {
                    Some(class) => class
                        .levels
                        .keys()
                        .filter_map(|&cache| {
                            Some((cache, class.level_in_force(&self.found, cache)?))
                        })
                        .collect(),
                    None => self.found.levels_for(&target.members, &target.levels, carried),
                };
                let levels = self
                    .found
                    .domains
                    .iter()
                    .filter_map(|domain| Some((domain.id, *of_caches.get(&domain.cache_id)?)));
                let (masks, levels) = (masks.collect(), levels.collect());
                Placed { masks, levels, programs: target.members.clone(), group }
            })
            .collect();
        placed.sort_by(|one, other| one.group.cmp(&other.group));
        placed
    }

    /// Makes and sets the groups, and names them by target; or leaves everything as it was.
    pub(crate) fn carry_out(
        &mut self,
        targets: &[Target],
        carried: &Carried,
        reason: &str,
    ) -> Result<Vec<String>, Refused> {
        let _lock = self.mount.lock().map_err(Refused::Failed)?;
        let replaced =
            self.classes.see_replaced(&mut self.mount, &mut self.programs, &mut self.pending);
        replaced.map_err(Refused::Failed)?;
        let ours = |name: &str| self.is_ours(name);
        let survey = self.survey(&ours);
        let mut survey = survey.map_err(Refused::Failed)?;
        if let Some(now) = &mut survey {
            now.idle_only_as_in(&self.found.survey);
        }
        let Self { mount, found, classes, programs, pending, .. } = self;
        let offers =
            survey.map(|survey| Offers::find(&survey, &mount.settings, found.cap)).transpose();
        if offers.map_err(Refused::Failed)?.as_ref() != Some(&found.offers) {
            return Err(Refused::Changed);
        }
        classes.see(mount, found, programs, pending).map_err(Refused::Failed)?;
        let mut done = Vec::new();
        let names = match self.steps(targets, carried, reason, &mut done) {
            Ok(names) => names,
            Err(why) => {
                // Only a step that makes a class fails like this.
                let scarce = why.scarce();
                let held = self.classes.list.len();
                let refused = self.undo(done, why);
                if let (Some(scarce), Refused::Failed(_)) = (scarce, &refused) {
                    self.found.set_cap(held, scarce);
                    return Err(Refused::Exhausted(held));
                }
                return Err(refused);
            }
        };
        self.classes.tidy(&mut self.mount, &self.programs);
        self.classes.say_tightened(&self.found, &self.programs, carried);
        // The ledger must be able to identify groups that replaced ours, whenever this process
        // ends.
        if let Err(error) = self.mount.state.settle().map_err(Error::from) {
            tracing::error!(target: "fairways::actuate", %error, "ledger not written");
            self.mount.errors.came(&error);
        }
        Ok(names)
    }

    fn steps(
        &mut self,
        targets: &[Target],
        carried: &Carried,
        reason: &str,
        done: &mut Vec<Step>,
    ) -> Result<Vec<String>, Error> {
        let Self { mount, found, classes, root, programs, .. } = self;
        let groups: Vec<Vec<AppId>> =
            classes.list.iter().map(|class| programs.in_class(&class.name)).collect();
        let mut names = Vec::new();
        for group in assign(&groups, targets) {
            let name = match group {
                Some(at) => classes.list[at].name.clone(),
                None => classes.make(mount, found, done)?,
            };
            names.push(name);
        }
        // No thread is ever limited less: until a class holds just the threads that it is to hold,
        // it has the stricter of its old and its new limits.
        for (target, name) in targets.iter().zip(&names) {
            classes.plan_levels(name, &target.levels, done);
            let limits = classes.wanted_limits(found, name, &target.members, carried);
            classes.limit(&mount.tree, found, name, &limits, true, done)?;
            if let Some(class) = classes.get_mut(name) {
                let sides = found.survey.sides;
                class.set_masks(&mount.tree, sides, &target.masks, reason, done)?;
            }
        }
        root.confine(mount, found, reason, done)?;
        confine_io(mount, found, reason);
        let mut class: BTreeMap<AppId, &str> = BTreeMap::new();
        for (target, name) in targets.iter().zip(&names) {
            class.extend(target.members.iter().map(|&app| (app, name.as_str())));
        }
        for app in programs.ids() {
            let to = class.get(&app).copied().unwrap_or_default();
            programs.change_class(mount, app, to, reason, done)?;
        }
        for (target, name) in targets.iter().zip(&names) {
            let limits = classes.wanted_limits(found, name, &target.members, carried);
            classes.limit(&mount.tree, found, name, &limits, false, done)?;
        }
        // Others may monitor in a class that no program of ours is in any longer.
        let names_before: Vec<String> =
            classes.list.iter().map(|class| class.name.clone()).collect();
        for name in names_before.iter().filter(|name| !names.contains(name)) {
            classes.plan_levels(name, &BTreeMap::new(), done);
            let limits = classes.wanted_limits(found, name, &[], carried);
            classes.limit(&mount.tree, found, name, &limits, false, done)?;
        }
        Ok(names)
    }

    /// Undoes steps, the last one first.
    fn undo(&mut self, done: Vec<Step>, why: Error) -> Refused {
        tracing::error!(target: "fairways::actuate", error = %why, "plan refused");
        let Self { mount, found, classes, programs, .. } = self;
        let mut left = Vec::new();
        for step in done.into_iter().rev() {
            let undone = match step {
                Step::Made(name) => classes.remove(mount, &name),
                Step::Moved(app, from) => {
                    let reason = "the plan was refused";
                    programs.change_class(mount, app, &from, reason, &mut Vec::new())
                }
                Step::Levels(group, before) => {
                    classes.plan_levels(&group, &before, &mut Vec::new());
                    Ok(())
                }
                Step::Limits(group, before) => {
                    classes.limits_again(&mount.tree, found, &group, &before)
                }
                Step::Masks(group, before) => {
                    classes.masks_again(&mount.tree, found.survey.sides, &group, &before)
                }
            };
            if let Err(error) = undone {
                left.push(error.to_string());
            }
        }
        if left.is_empty() { Refused::Failed(why) } else { Refused::Halfway { why, left } }
    }
}
