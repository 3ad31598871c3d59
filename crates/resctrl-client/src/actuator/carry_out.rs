//! Decisions are carried out.

use std::collections::{BTreeMap, HashMap};

use fairways_core::{AppId, Partition, Resources};
use fairways_ledger::{OpenError, Restored};

use super::enforcement::Enforcement;
use super::managed::ManagedResctrl;
use crate::error::{Error, Refused};
use crate::groups::class::Step;
use crate::groups::confine::confine_io;
use crate::groups::programs::Programs;
use crate::ledger::State;
use crate::ledger::mount::Mount;
use crate::ledger::recover::recover;
use crate::offer::domain::{Domain, Offers};
use crate::plan::limits::Carried;
use crate::plan::refine::{Target, assign};
use crate::settings::Settings;
use crate::tree::Tree;

/// Decisions are carried out.
#[derive(Debug)]
pub(crate) struct Enforced;

impl Enforcement for Enforced {
    fn open(&self, tree: &Tree, settings: &Settings) -> Result<State, OpenError> {
        let (mut state, found) = State::open(&settings.state)?;
        let mut restored = recover(tree, &mut state, found.ledger, settings)?;
        restored.failed.extend(found.damaged);
        for line in restored.to_string().lines() {
            tracing::warn!(target: "fairways::actuate", "from before: {line}");
        }
        Ok(state)
    }

    fn monitor(&self, managed: &mut ManagedResctrl, app: AppId) -> Result<bool, Error> {
        managed.programs.monitor(&mut managed.mount, &managed.found, app)
    }

    fn take(
        &self,
        managed: &mut ManagedResctrl,
        app: AppId,
        threads: &[i32],
        from: &HashMap<i32, String>,
    ) -> Result<bool, Error> {
        let ManagedResctrl { mount, found, classes, programs, .. } = managed;
        if !mount.settings.take_over {
            return Ok(false);
        }
        let groups = threads.iter().filter_map(|thread| from.get(thread));
        // Where no class is free that could limit the threads as their own groups do, they stay.
        if !threads.is_empty() && !classes.make_ready(mount, found, programs, app, groups)? {
            return Ok(false);
        }
        mount.take(threads, from)?;
        Ok(true)
    }

    fn count_staying(&self, managed: &mut ManagedResctrl, app: AppId) -> Result<(), Error> {
        managed.programs.count_staying(&mut managed.mount, &managed.found, app)
    }

    fn release(
        &self,
        programs: &mut Programs,
        mount: &mut Mount,
        app: AppId,
        threads: &[i32],
    ) -> Result<(), Error> {
        programs.release(mount, app, threads)
    }

    fn enter(&self, tree: &Tree, group: &str, threads: &[i32]) -> Result<Vec<i32>, Error> {
        let mut moved = Vec::new();
        tree.enter(group, threads.iter().copied(), &mut moved)?;
        Ok(moved)
    }

    fn carry_out(
        &self,
        managed: &mut ManagedResctrl,
        targets: &[Target],
        carried: &Carried,
        reason: &str,
    ) -> Result<Vec<String>, Refused> {
        managed.carry_out(targets, carried, reason)
    }

    fn in_force(&self, managed: &ManagedResctrl, domain: &Domain) -> Partition {
        let ManagedResctrl { found, classes, programs, .. } = managed;
        let mut partition = Partition::default();
        for class in &classes.list {
            let mask = class.now.get(&(found.survey.sides[0], domain.cache_id));
            let members = programs.in_class(&class.name);
            if let Some(&mask) = mask.filter(|_| !members.is_empty()) {
                let bandwidth = class.level_in_force(found, domain.cache_id);
                let mask = domain.offered(mask);
                let cluster = partition.add(Resources { mask, bandwidth });
                members.into_iter().for_each(|app| partition.place(app, cluster));
            }
        }
        partition
    }

    fn keep_up(&self, managed: &mut ManagedResctrl) -> Result<(), Error> {
        managed.keep_up()
    }

    fn close(&self, managed: ManagedResctrl) -> Restored {
        managed.put_everything_back()
    }
}

impl ManagedResctrl {
    /// Makes and sets the groups, and names them by target; or leaves everything as it was.
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
