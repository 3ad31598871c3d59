//! Carrying out plans.

use std::collections::{BTreeMap, BTreeSet};

use fairways_core::{AppId, Partition};
use rustix::io::Errno;

use super::actuator::Actuator;
use super::applied::{Applied, Placed};
use super::domain::Offers;
use super::error::{Error, Refused};
use super::foreign::members;
use super::limits::Carried;
use super::masks::{Masks, masks};
use super::program::Program;
use super::refine::{Plan, Target, assign, refine};
use super::step::Step;
use super::survey::Survey;
use super::threads::enter;

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
            self.refused(why);
        }
        done
    }

    fn try_to_apply(
        &mut self,
        plans: &[(u32, &Partition)],
        reason: &str,
    ) -> Result<Applied, Refused> {
        let mut wanted = self.plans.clone();
        for &(id, partition) in plans {
            let domain = self.domains.iter().find(|domain| domain.id == id);
            let domain = domain.ok_or(Refused::NoDomain(id))?;
            let placed = partition.places().iter().map(|place| place.app);
            let known = placed.filter(|app| self.programs.contains_key(app));
            let checked = partition.check(&domain.llc, known.collect::<BTreeSet<_>>());
            checked.map_err(|why| Refused::Partition { domain: id, why })?;
            let masks = partition.places().iter().filter_map(|place| {
                let mask = partition.mask(place.cluster)?;
                Some((place.app, domain.physical(mask)))
            });
            wanted.insert(id, masks.collect::<Plan>());
        }
        let most = self.offers.classes as usize;
        let carried = self.carried().map_err(Refused::Failed)?;
        let (targets, merged) = refine(&self.offers.rooms(), &wanted, &carried, most);
        let names = if self.settings.dry_run {
            say(&targets, reason);
            let (before, after) = self.confinement().map_err(Refused::Failed)?;
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
        (self.plans, self.merged) = (wanted, merged);
        if merged > 0 {
            tracing::warn!(target: "fairways::actuate", merged, classes = most, reason, "too few classes");
        }
        let applied = Applied { placed: self.placed(&targets, names), merged };
        if self.settings.dry_run {
            self.foreseen.clone_from(&applied);
        }
        Ok(applied)
    }

    /// The partition in force in a domain, in offered ways, by the schemata that were read last. In
    /// a dry run, which makes no classes: the one that would be. A program without a place is in
    /// the root's group. `None` if there is no such domain.
    #[must_use]
    pub fn in_force(&self, domain: u32) -> Option<Partition> {
        let of = self.domains.iter().find(|of| of.id == domain)?;
        if self.settings.dry_run {
            return Some(self.foreseen.partition(domain));
        }
        let mut partition = Partition::default();
        for class in &self.classes {
            let mask = class.now.get(&(self.survey.sides[0], domain));
            let members = self.members(&class.name);
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
                let class = self.classes.iter().find(|class| class.name == group);
                let side = self.survey.sides[0];
                let masks = self.domains.iter().filter_map(|domain| {
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
        let _lock = self.lock().map_err(Refused::Failed)?;
        self.see_replaced().map_err(Refused::Failed)?;
        let ours = |name: &str| self.is_ours(name);
        let survey =
            Survey::read(&self.tree, Some(&self.survey), &ours).map_err(Refused::Failed)?;
        let offers =
            survey.map(|survey| Offers::find(&survey, &self.settings, self.cap)).transpose();
        if offers.map_err(Refused::Failed)?.as_ref() != Some(&self.offers) {
            return Err(Refused::Changed);
        }
        self.see_classes().map_err(Refused::Failed)?;
        let mut done = Vec::new();
        let names = match self.steps(targets, carried, reason, &mut done) {
            Ok(names) => names,
            Err(why) => {
                // Only what makes classes has none to give.
                let is_exhausted = why.errno() == Some(Errno::NOSPC);
                let held = self.classes.len();
                let refused = self.undo(done, why);
                if is_exhausted && matches!(refused, Refused::Failed(_)) {
                    self.cap(held);
                    return Err(Refused::Exhausted(held));
                }
                return Err(refused);
            }
        };
        self.tidy();
        self.say_tightened(carried);
        // By what was made another group in its place is told, whenever this process ends.
        if let Err(error) = self.state.settle() {
            tracing::error!(target: "fairways::actuate", %error, "ledger not written");
            self.erred(&error);
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
        let groups: Vec<Vec<AppId>> =
            self.classes.iter().map(|class| self.members(&class.name)).collect();
        let mut names = Vec::new();
        for group in assign(&groups, targets) {
            let name = match group {
                Some(at) => self.classes[at].name.clone(),
                None => self.make_class(done)?,
            };
            names.push(name);
        }
        // No thread is ever limited less: a class has the strictest of what it had and what it is to
        // have until those that are in it are those that are to be.
        for (target, name) in targets.iter().zip(&names) {
            let limits = self.limits_for(&target.members, carried);
            self.limit(name, &limits, true, done)?;
            self.set_masks(name, &target.masks, reason, done)?;
        }
        self.confine(reason, done)?;
        let mut class: BTreeMap<AppId, &str> = BTreeMap::new();
        for (target, name) in targets.iter().zip(&names) {
            class.extend(target.members.iter().map(|&app| (app, name.as_str())));
        }
        let apps: Vec<AppId> = self.programs.keys().copied().collect();
        for app in apps {
            self.move_program(app, class.get(&app).copied().unwrap_or_default(), reason, done)?;
        }
        for (target, name) in targets.iter().zip(&names) {
            let limits = self.limits_for(&target.members, carried);
            self.limit(name, &limits, false, done)?;
        }
        Ok(names)
    }

    /// Moves a program to another class, with its MON group.
    pub(super) fn move_program(
        &mut self,
        app: AppId,
        to: &str,
        reason: &str,
        done: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let Some(program) = self.programs.get_mut(&app).filter(|program| program.class != to)
        else {
            return Ok(());
        };
        let (name, from) = (program.name.clone(), program.class.clone());
        let old = Program::monitor_in(&from, &name);
        let mut renamed = false;
        let is_gone = !from.is_empty() && self.tree.inode(&from)?.is_none();
        if is_gone {
            self.lose_all_adopted(app);
        } else {
            self.move_adopted(app, &from, to)?;
        }
        let Some(program) = self.programs.get_mut(&app) else { return Ok(()) };
        if is_gone {
            // The class went a moment ago; the kernel moved the threads to the root, from where they are fetched as new ones.
            program.lost();
            self.tree.forget(&from);
            self.state.note(|ledger| ledger.groups.retain(|made| made.name != name));
        } else if program.monitored {
            match self.tree.rename(&old, &Program::monitor_in(to, &name)) {
                Ok(()) => renamed = true,
                // Before Linux 6.5, and where monitoring ids are of their class (Arm MPAM).
                Err(error) if error.errno() == Some(Errno::PERM) => {}
                Err(error) if error.is_gone() && self.tree.inode(&old)?.is_none() => {
                    self.tree.forget(&old);
                    program.unmonitored();
                    self.state.note(|ledger| ledger.groups.retain(|made| made.name != name));
                }
                Err(error) => return Err(error),
            }
        }
        if !renamed {
            self.move_anew(app, to)?;
        }
        if let Some(program) = self.programs.get_mut(&app) {
            to.clone_into(&mut program.class);
        }
        tracing::info!(
            target: "fairways::actuate", app = app.0, before = shown(&from), after = shown(to), reason, "program moved"
        );
        done.push(Step::Moved(app, from));
        Ok(())
    }

    /// Moves a program's threads one by one, to a MON group that is made anew if it has one. Where that fails, they go back.
    fn move_anew(&mut self, app: AppId, to: &str) -> Result<(), Error> {
        let program = self.programs.get(&app).ok_or(Error::Unknown(app))?;
        let (monitored, name, from) = (program.monitored, program.name.clone(), program.group());
        let made = self.state.ledger.groups.iter().find(|made| made.name == name).cloned();
        let mut threads = members(&self.tree, &from)?;
        if !monitored {
            threads.retain(|thread| program.placed.contains(thread));
        }
        let anew = monitored && self.make_monitor(to, &name)?;
        let into = if anew { Program::monitor_in(to, &name) } else { to.to_owned() };
        if let Err(error) = enter(&self.tree, &into, threads.iter().copied(), &mut Vec::new()) {
            let back = enter(&self.tree, &from, threads, &mut Vec::new());
            if let Err(error) = back {
                tracing::error!(target: "fairways::actuate", group = from, %error, "threads not moved back");
                self.erred(&error);
            }
            if anew {
                self.tree.rmdir(&into)?;
                self.state.note(|ledger| {
                    ledger.groups.retain(|made| made.name != name);
                    ledger.groups.extend(made);
                });
            }
            return Err(error);
        }
        if monitored {
            self.tree.rmdir(&from)?;
            if let Some(program) = self.programs.get_mut(&app) {
                program.unmonitored();
                program.monitored = anew;
            }
            if !self.told_of_loss {
                self.told_of_loss = true;
                tracing::warn!(
                    target: "fairways::actuate", group = from,
                    "MON groups can't be moved between classes here: what moves between two readings is not counted"
                );
            }
        }
        Ok(())
    }

    /// Undoes steps, the last one first.
    fn undo(&mut self, done: Vec<Step>, why: Error) -> Refused {
        tracing::error!(target: "fairways::actuate", error = %why, "plan refused");
        let mut left = Vec::new();
        for step in done.into_iter().rev() {
            let undone = match step {
                Step::Made(name) => self.remove_class(&name),
                Step::Moved(app, from) => {
                    self.move_program(app, &from, "the plan was refused", &mut Vec::new())
                }
                Step::Limits(group, before) => {
                    self.limit(&group, &before, false, &mut Vec::new()).map(drop)
                }
                Step::Masks(group, before) => self.masks_again(&group, &before),
            };
            if let Err(error) = undone {
                left.push(error.to_string());
            }
        }
        if left.is_empty() { Refused::Failed(why) } else { Refused::Halfway { why, left } }
    }

    fn masks_again(&mut self, group: &str, before: &Masks) -> Result<(), Error> {
        let now = masks(&self.tree, group, self.survey.sides)?.unwrap_or_default();
        let now = self.write_masks(group, &now, before, "the plan was refused")?.unwrap_or(now);
        let side = self.survey.sides[0];
        if let Some(class) = self.classes.iter_mut().find(|class| class.name == group) {
            class.wanted.retain(|domain, _| before.contains_key(&(side, *domain)));
            for (domain, mask) in &mut class.wanted {
                *mask = before.get(&(side, *domain)).copied().unwrap_or(*mask);
            }
            class.now = now;
        }
        Ok(())
    }
}

/// The root's group has no name.
fn shown(group: &str) -> &str {
    if group.is_empty() { "/" } else { group }
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
