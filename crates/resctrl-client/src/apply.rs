//! Carrying out plans.

use std::collections::{BTreeMap, BTreeSet};

use fairways_core::{AppId, Partition};
use rustix::io::Errno;

use super::actuator::Actuator;
use super::applied::{Applied, Placed};
use super::confine::confinement;
use super::domain::Offers;
use super::error::{Error, Refused};
use super::limits::Carried;
use super::refine::{Plan, Target, assign, refine};
use super::step::Step;
use super::survey::Survey;

impl Actuator {
    /// Carries out a plan for each of these domains, in offered ways; other domains' plans stay in force. A program has one class in all
    /// domains: the classes are the common refinement of the clusters, or, where there are too few, fewer
    /// ([`Applied::merged`]). Programs without a place anywhere go to the root's group. No plan at all puts the plans in force into effect
    /// again.
    ///
    /// # Errors
    /// If a plan can't be: [`Refused`]. The arrangement before is in force then.
    pub fn apply(&mut self, plans: &[(u32, &Partition)], reason: &str) -> Result<Applied, Refused> {
        let done = self.try_to_apply(plans, reason);
        if let Err(why) = &done {
            self.mount.errors.refused(why);
        }
        done
    }

    fn try_to_apply(
        &mut self,
        plans: &[(u32, &Partition)],
        reason: &str,
    ) -> Result<Applied, Refused> {
        let mut wanted = self.plans.by_domain.clone();
        for &(id, partition) in plans {
            let domain = self.found.domain(id).ok_or(Refused::NoDomain(id))?;
            let placed = partition.placements().iter().map(|place| place.app);
            let known = placed.filter(|app| self.programs.by_id.contains_key(app));
            let checked = partition.check(&domain.llc, known.collect::<BTreeSet<_>>());
            checked.map_err(|why| Refused::Partition { domain: id, why })?;
            let masks = partition.placements().iter().filter_map(|place| {
                let mask = partition.mask(place.cluster)?;
                Some((place.app, domain.physical(mask)))
            });
            wanted.insert(id, masks.collect::<Plan>());
        }
        let most = self.found.offers.classes as usize;
        let carried = Carried::of(&self.programs, &self.mount, &self.found);
        let carried = carried.map_err(Refused::Failed)?;
        let (targets, merged) = refine(&self.found.offers.rooms(), &wanted, &carried, most);
        let names = if self.mount.settings.dry_run {
            say(&targets, reason);
            let (before, after) =
                confinement(&self.mount.tree, &self.found).map_err(Refused::Failed)?;
            for ((line, domain), after) in after {
                let before = before.get(&(line, domain)).copied().unwrap_or_default();
                if before != after {
                    tracing::info!(
                        target: "fairways::actuate", group = "/", resource = line, domain, %before, %after, reason,
                        "others would be confined"
                    );
                }
            }
            (0..targets.len()).map(|number| number.to_string()).collect()
        } else {
            self.carry_out(&targets, &carried, reason)?
        };
        (self.plans.by_domain, self.plans.merged) = (wanted, merged);
        if merged > 0 {
            tracing::warn!(target: "fairways::actuate", merged, classes = most, reason, "too few classes");
        }
        let applied = Applied { placed: self.placed(&targets, names), merged };
        if self.mount.settings.dry_run {
            self.plans.foreseen.clone_from(&applied);
        }
        Ok(applied)
    }

    /// The partition in force in a domain, in offered ways, by the schemata that were read last. In
    /// a dry run, which makes no classes: the one that would be. A program without a place is in
    /// the root's group. `None` if there is no such domain.
    #[must_use]
    pub fn in_force(&self, domain: u32) -> Option<Partition> {
        let of = self.found.domain(domain)?;
        if self.mount.settings.dry_run {
            return Some(self.plans.foreseen.partition(domain));
        }
        let mut partition = Partition::default();
        for class in &self.classes.list {
            let mask = class.now.get(&(self.found.survey.sides[0], domain));
            let members = self.programs.in_class(&class.name);
            if let Some(&mask) = mask.filter(|_| !members.is_empty()) {
                let cluster = partition.add_cluster(of.offered(mask));
                members.into_iter().for_each(|app| partition.place(app, cluster));
            }
        }
        Some(partition)
    }

    /// What is in force, by what the files say.
    fn placed(&self, targets: &[Target], names: Vec<String>) -> Vec<Placed> {
        let mut placed: Vec<Placed> = names
            .into_iter()
            .zip(targets)
            .map(|(group, target)| {
                let class = self.classes.get(&group);
                let side = self.found.survey.sides[0];
                let masks = self.found.domains.iter().filter_map(|domain| {
                    let now = class.and_then(|class| class.now.get(&(side, domain.id)));
                    let mask = now.or_else(|| target.masks.get(&domain.id))?;
                    Some((domain.id, domain.offered(*mask)))
                });
                Placed { masks: masks.collect(), programs: target.members.clone(), group }
            })
            .collect();
        placed.sort_by(|one, other| one.group.cmp(&other.group));
        placed
    }

    /// Brings the groups about, and names them by target; or leaves everything as it was.
    fn carry_out(
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
        let survey = Survey::read(&self.mount.tree, Some(&self.found.survey), &ours);
        let survey = survey.map_err(Refused::Failed)?;
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
                // Only what makes classes has none to give.
                let is_exhausted = why.errno() == Some(Errno::NOSPC);
                let held = self.classes.list.len();
                let refused = self.undo(done, why);
                if is_exhausted && matches!(refused, Refused::Failed(_)) {
                    self.found.set_cap(held);
                    return Err(Refused::Exhausted(held));
                }
                return Err(refused);
            }
        };
        self.classes.tidy(&mut self.mount, &self.programs);
        self.classes.say_tightened(&self.found, &self.programs, carried);
        // By what was made another group in its place is told, whenever this process ends.
        if let Err(error) = self.mount.state.settle() {
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
        // No thread is ever limited less: a class has the strictest of what it had and what it is to
        // have until those that are in it are those that are to be.
        for (target, name) in targets.iter().zip(&names) {
            let limits = found.limits_for(&target.members, carried);
            classes.limit(&mount.tree, found, name, &limits, true, done)?;
            classes.set_masks(&mount.tree, found, name, &target.masks, reason, done)?;
        }
        root.confine(mount, found, reason, done)?;
        let mut class: BTreeMap<AppId, &str> = BTreeMap::new();
        for (target, name) in targets.iter().zip(&names) {
            class.extend(target.members.iter().map(|&app| (app, name.as_str())));
        }
        for app in programs.ids() {
            let to = class.get(&app).copied().unwrap_or_default();
            programs.change_class(mount, app, to, reason, done)?;
        }
        for (target, name) in targets.iter().zip(&names) {
            let limits = found.limits_for(&target.members, carried);
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
                Step::Limits(group, before) => {
                    let tree = &mount.tree;
                    classes.limit(tree, found, &group, &before, false, &mut Vec::new()).map(drop)
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

/// What a dry run does instead.
fn say(targets: &[Target], reason: &str) {
    for (number, target) in targets.iter().enumerate() {
        for (domain, mask) in &target.masks {
            let programs = target.members.iter().map(|app| app.0.to_string());
            let programs = programs.collect::<Vec<_>>().join(" ");
            tracing::info!(
                target: "fairways::actuate", class = number, domain, after = %mask, programs, reason, "would be set"
            );
        }
    }
}
