//! CTRL_MON groups: classes of service.

use std::collections::BTreeMap;

use fairways_core::WayMask;

use super::changes::{Changes, note};
use super::class::Class;
use super::error::Error;
use super::findings::Findings;
use super::foreign;
use super::ledger::Made;
use super::masks::{Masks, masks, masks_in, schemata, write_masks};
use super::mount::Mount;
use super::programs::Programs;
use super::step::Step;
use super::tree::{Tree, of};

/// All classes of service of ours.
#[derive(Debug, Default)]
pub(super) struct Classes {
    pub(super) list: Vec<Class>,
}

impl Classes {
    pub(super) fn get(&self, name: &str) -> Option<&Class> {
        self.list.iter().find(|class| class.name == name)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Class> {
        self.list.iter_mut().find(|class| class.name == name)
    }

    /// Reads the masks of our classes anew. Those that are gone are forgotten, and so is where
    /// their tasks were: the kernel has moved them to the root (`rdtgroup_rmdir_ctrl`).
    pub(super) fn see(
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
                class.limits = found.limits_in(&now);
                continue;
            }
            let name = class.name.clone();
            self.lose(mount, programs, &name);
            tracing::warn!(target: "fairways::actuate", group = name, "somebody removed the class");
            note(&mut changes.lost, name);
        }
        Ok(())
    }

    /// Forgets a class that is gone, or another's.
    fn lose(&mut self, mount: &mut Mount, programs: &mut Programs, name: &str) {
        self.list.retain(|class| class.name != name);
        for app in programs.in_class(name) {
            programs.lose_all_adopted(mount, app);
        }
        for program in programs.by_id.values_mut().filter(|program| program.class == name) {
            program.lost();
            mount.strike_group(&program.name);
        }
        mount.strike_group(name);
        mount.tree.forget(name);
    }

    /// Forgets groups of ours whose place another group of that name has taken: that one is
    /// somebody else's from now on, and ours gets another name when it is made again.
    pub(super) fn see_replaced(
        &mut self,
        mount: &mut Mount,
        programs: &mut Programs,
        changes: &mut Changes,
    ) -> Result<(), Error> {
        let told = "somebody removed the group and made another of its name, which is left alone";
        let names: Vec<String> = self.list.iter().map(|class| class.name.clone()).collect();
        for name in names {
            if mount.tree.is_replaced(&name)? {
                self.lose(mount, programs, &name);
                tracing::warn!(target: "fairways::actuate", group = name, "{told}");
                note(&mut changes.lost, name);
            }
        }
        programs.see_replaced(mount, changes, told)
    }

    /// Makes a class, and returns its name. What masks it has is the kernel's choice.
    pub(super) fn make(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        done: &mut Vec<Step>,
    ) -> Result<String, Error> {
        let Mount { tree, state, .. } = mount;
        let there = foreign::classes(tree)?;
        let mut names = (0..).map(|number: u32| format!("fairways.{number}"));
        let name = names.find(|name| !there.contains(name)).unwrap_or_default();
        let made = Made { name: name.clone(), monitors: false, inode: None };
        state.record(|ledger| ledger.groups.push(made))?;
        let forget = |made: &Made| made.monitors || made.name != name;
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
        let given = schemata(tree, &name)?.unwrap_or_default();
        if let Some(class) = self.list.last_mut() {
            class.now = masks_in(&given, found.survey.sides);
            class.limits = found.limits_in(&given);
        }
        tracing::info!(target: "fairways::actuate", group = name, "class made");
        Ok(name)
    }

    /// Lets a class fill these ways, in each domain, by code and data alike; what it may fill in
    /// others is one of its [limits](Class::limits). Only what differs is written, all at once.
    pub(super) fn set_masks(
        &mut self,
        tree: &Tree,
        found: &Findings,
        name: &str,
        wanted: &BTreeMap<u32, WayMask>,
        reason: &str,
        done: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let Some(class) = self.get_mut(name) else { return Ok(()) };
        let before = class.now.clone();
        let mask = |key: &(&'static str, u32)| Some((*key, *wanted.get(&key.1)?));
        let after: Masks = before.keys().filter_map(mask).collect();
        let known = class.known(&after);
        // Before, since what fails may have been done.
        done.push(Step::Masks(name.to_owned(), before));
        if let Some(now) = write_masks(tree, found.survey.sides, name, &known, &after, reason)? {
            class.saw(now, &after);
        }
        class.wanted.clone_from(wanted);
        Ok(())
    }

    /// Gives a group the masks again that it had before a plan.
    pub(super) fn masks_again(
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

    /// Gives our classes the masks that they are to have, where they are possible still.
    pub(super) fn write_again(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        changes: &mut Changes,
    ) {
        let possible = |domain: &u32| found.offers.of.get(domain).map(|offer| offer.ways.bits());
        for class in &mut self.list {
            let after: Masks = class
                .now
                .keys()
                .filter_map(|&(side, domain)| {
                    let mask = *class.wanted.get(&domain)?;
                    let fits = mask.bits() & !possible(&domain)? == 0;
                    fits.then_some(((side, domain), mask))
                })
                .collect();
            let (sides, known) = (found.survey.sides, class.known(&after));
            let reason = "it was changed by others, or its domain returned";
            match write_masks(&mount.tree, sides, &class.name, &known, &after, reason) {
                Ok(Some(now)) => {
                    note(&mut changes.rewritten, class.name.clone());
                    class.saw(now, &after);
                }
                Ok(None) => {}
                // The next plan tries again, and tells if it can't.
                Err(error) => {
                    tracing::warn!(target: "fairways::actuate", group = class.name, %error, "masks not written again");
                    mount.errors.came(&error);
                }
            }
        }
    }

    /// Removes classes in which no program is. What can't be removed is used again.
    pub(super) fn tidy(&mut self, mount: &mut Mount, programs: &Programs) {
        for at in (0..self.list.len()).rev() {
            let name = self.list[at].name.clone();
            if !programs.in_class(&name).is_empty() {
                continue;
            }
            let others = mount.tree.directories(&of(&name, "mon_groups"));
            if others.is_ok_and(|others| !others.is_empty()) {
                continue;
            }
            if let Err(error) = self.remove(mount, &name) {
                tracing::error!(target: "fairways::actuate", group = name, %error, "class not removed");
                mount.errors.came(&error);
            }
        }
    }

    pub(super) fn remove(&mut self, mount: &mut Mount, name: &str) -> Result<(), Error> {
        mount.tree.rmdir(name)?;
        self.list.retain(|class| class.name != name);
        mount.strike_group(name);
        tracing::info!(target: "fairways::actuate", group = name, "class removed");
        Ok(())
    }
}
