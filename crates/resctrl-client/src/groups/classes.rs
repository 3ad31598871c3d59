//! The classes of service that are ours: CTRL_MON groups.

use std::collections::BTreeSet;
use std::time::Instant;

use super::class::{Class, Step};
use super::others_changes::{Changes, note};
use super::programs::Programs;
use super::traffic_counters::free_new_class;
use crate::error::Error;
use crate::ledger::MadeGroup;
use crate::ledger::mount::Mount;
use crate::offer::domain::Cap;
use crate::offer::findings::Findings;
use crate::plan::limits::Limits;
use crate::tree::schemata::{Masks, masks, masks_in, schemata, write_masks};
use crate::tree::{Tree, monitor_in, of};

/// All classes of service of ours.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    pub(crate) list: Vec<Class>,
    /// Resources whose lines are not known, and which the kernel did not let be copied.
    pub(crate) refused_lines: BTreeSet<String>,
}

impl Classes {
    pub(crate) fn get(&self, name: &str) -> Option<&Class> {
        self.list.iter().find(|class| class.name == name)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Class> {
        self.list.iter_mut().find(|class| class.name == name)
    }

    /// Reads the masks of our classes again. Those that are gone are forgotten, and so is where
    /// their tasks were: the kernel has moved them to the root (`rdtgroup_rmdir_ctrl`).
    pub(crate) fn see(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        programs: &mut Programs,
        changes: &mut Changes,
    ) -> Result<(), Error> {
        for at in (0..self.list.len()).rev() {
            let class = &mut self.list[at];
            if let Some(now) = schemata(&mount.tree, &class.name)? {
                class.now = masks_in(&now, found.survey.sides);
                class.saw_limits(found.limits_in(&now), &Limits::default());
                changes.limits |= std::mem::take(&mut class.set_lately);
                continue;
            }
            let name = class.name.clone();
            self.lose(mount, programs, &name);
            tracing::warn!(target: "fairways::actuate", group = name, "somebody removed the class");
            note(&mut changes.lost, name);
        }
        Ok(())
    }

    /// Forgets a class that is gone, or that belongs to another manager now.
    fn lose(&mut self, mount: &mut Mount, programs: &mut Programs, name: &str) {
        self.list.retain(|class| class.name != name);
        for app in programs.in_class(name) {
            programs.lose_all_adopted(mount, app);
        }
        for program in programs.by_id.values_mut().filter(|program| program.class == name) {
            let inode = mount.tree.made(&monitor_in(name, &program.name));
            program.lost();
            mount.strike_group(&program.name, inode);
        }
        mount.strike_group(name, mount.tree.made(name));
        mount.tree.forget(name);
    }

    /// Forgets groups of ours that another group of the same name has replaced: that one belongs to
    /// another manager, and ours gets another name when it is made again.
    pub(crate) fn see_replaced(
        &mut self,
        mount: &mut Mount,
        programs: &mut Programs,
        changes: &mut Changes,
    ) -> Result<(), Error> {
        let warning =
            "somebody removed the group and made another of its name, which is left alone";
        let names: Vec<String> = self.list.iter().map(|class| class.name.clone()).collect();
        for name in names {
            if mount.tree.is_replaced(&name)? {
                self.lose(mount, programs, &name);
                tracing::warn!(target: "fairways::actuate", group = name, "{warning}");
                note(&mut changes.lost, name);
            }
        }
        programs.see_replaced(mount, changes, warning)
    }

    /// Makes a class, and returns its name. The kernel chooses its masks.
    pub(crate) fn make(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        done: &mut Vec<Step>,
    ) -> Result<String, Error> {
        let Mount { tree, state, .. } = mount;
        let there = tree.classes()?;
        let mut names = (0..).map(|number: u32| format!("fairways.{number}"));
        let name = names.find(|name| !there.contains(name) && !state.ledger.has_group(name));
        let name = name.unwrap_or_default();
        let made = MadeGroup { name: name.clone(), monitors: false, inode: None };
        state.record(|ledger| ledger.groups.push(made))?;
        let forget = |made: &MadeGroup| made.monitors || made.name != name;
        if let Err(error) = tree.mkdir(&name) {
            state.note(|ledger| ledger.groups.retain(forget));
            return Err(error);
        }
        done.push(Step::Made(name.clone()));
        self.list.push(Class { name: name.clone(), ..Class::default() });
        let inode = tree.inode(&name)?;
        if let Some(inode) = inode {
            tree.keep(&name, inode);
        }
        state.note(|ledger| {
            let made = ledger.groups.iter_mut().filter(|made| !forget(made));
            made.for_each(|made| made.inode = inode);
        });
        free_new_class(mount, &found.traffic, &name);
        let given = schemata(&mount.tree, &name)?.unwrap_or_default();
        if let Some(class) = self.list.last_mut() {
            class.now = masks_in(&given, found.survey.sides);
            class.limits = found.limits_in(&given);
        }
        tracing::info!(target: "fairways::actuate", group = name, "class made");
        Ok(name)
    }

    /// Removes classes in which no program is. What can't be removed is used again.
    pub(crate) fn tidy(&mut self, mount: &mut Mount, programs: &Programs) {
        for at in (0..self.list.len()).rev() {
            let name = self.list[at].name.clone();
            let is_waiting = self.list[at].removal.is_waiting();
            if is_waiting || !programs.in_class(&name).is_empty() {
                continue;
            }
            let others = mount.tree.directories(&of(&name, "mon_groups"));
            if others.is_ok_and(|others| !others.is_empty()) {
                continue;
            }
            if let Err(error) = self.remove(mount, &name) {
                self.list[at].removal.fail();
                tracing::error!(target: "fairways::actuate", group = name, %error, "class not removed");
                mount.errors.came(&error);
            }
        }
    }

    pub(crate) fn remove(&mut self, mount: &mut Mount, name: &str) -> Result<(), Error> {
        let inode = mount.tree.made(name);
        mount.tree.rmdir(name)?;
        self.list.retain(|class| class.name != name);
        mount.strike_group(name, inode);
        tracing::info!(target: "fairways::actuate", group = name, "class removed");
        Ok(())
    }

    /// Gives a group the masks again that it had before a plan.
    pub(crate) fn masks_again(
        &mut self,
        tree: &Tree,
        sides: &[&'static str],
        group: &str,
        before: &Masks,
    ) -> Result<(), Error> {
        let now = masks(tree, group, sides)?.unwrap_or_default();
        let reason = "the plan was refused";
        let now = write_masks(tree, sides, group, &now, before, reason)?.unwrap_or(now);
        if let Some(class) = self.get_mut(group) {
            class.wanted.retain(|domain, _| before.contains_key(&(sides[0], *domain)));
            for (domain, mask) in &mut class.wanted {
                *mask = before.get(&(sides[0], *domain)).copied().unwrap_or(*mask);
            }
            class.now = now;
        }
        Ok(())
    }

    /// Gives our classes the masks that they are to have, if these are still possible.
    pub(crate) fn write_again(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        changes: &mut Changes,
    ) {
        let offers = &found.offers.of;
        for class in self.list.iter_mut().filter(|class| !class.rewriting.is_waiting()) {
            let after: Masks = class
                .now
                .keys()
                .filter_map(|&(side, domain)| {
                    let mask = *class.wanted.get(&domain)?;
                    let possible = offers.get(&domain).filter(|offer| offer.is_free)?.ways;
                    let fits = mask.bits() & !possible.bits() == 0;
                    fits.then_some(((side, domain), mask))
                })
                .collect();
            let (sides, known) = (found.survey.sides, class.known(&after));
            let reason = "it was changed by others, or its domain returned";
            match write_masks(&mount.tree, sides, &class.name, &known, &after, reason) {
                Ok(Some(now)) => {
                    note(&mut changes.rewritten, class.name.clone());
                    class.rewriting.reset();
                    class.saw(now, &after);
                }
                Ok(None) => class.rewriting.reset(),
                // The next plan tries again, and reports a failure.
                Err(error) => {
                    class.rewriting.fail();
                    tracing::warn!(target: "fairways::actuate", group = class.name, %error, "masks not written again");
                    mount.errors.came(&error);
                }
            }
        }
    }

    /// From time to time, and `now` if another manager's group went, tries whether the classes have
    /// come back by making one more than were available, and removing them again. Returns the cap
    /// from then on; `None` if they have.
    pub(crate) fn try_for_more(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        cap: Cap,
        now: bool,
    ) -> Result<Option<Cap>, Error> {
        if !now && cap.found.elapsed() < mount.settings.try_again {
            return Ok(Some(cap));
        }
        let more = (cap.classes as usize + 1).saturating_sub(self.list.len());
        let mut done = Vec::new();
        let tried = (0..more).try_for_each(|_| self.make(mount, found, &mut done).map(drop));
        for step in done {
            if let Step::Made(name) = step {
                self.remove(mount, &name)?;
            }
        }
        match tried {
            Ok(()) => {
                tracing::info!(target: "fairways::actuate", "classes of service have come back");
                Ok(None)
            }
            Err(error) => match error.scarce() {
                Some(lacks) => Ok(Some(Cap { lacks, found: Instant::now(), ..cap })),
                None if error.is_exhausted() => Ok(Some(Cap { found: Instant::now(), ..cap })),
                None => Err(error),
            },
        }
    }
}
