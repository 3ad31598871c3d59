//! CTRL_MON groups: classes of service, and the root's masks.

use std::collections::BTreeMap;

use fairways_core::{AppId, WayMask};

use super::actuator::Actuator;
use super::changes::note;
use super::error::Error;
use super::foreign;
use super::ledger::{Changed, Made};
use super::limits::Limits;
use super::masks::{Masks, masks, masks_in, schemata};
use super::step::Step;
use super::tree::of;

/// A class of service of ours.
#[derive(Debug, Default)]
pub(super) struct Class {
    /// Its group's.
    pub(super) name: String,
    /// What its `schemata` said last.
    pub(super) now: Masks,
    /// What it is to be, in the domains that were planned.
    pub(super) wanted: BTreeMap<u32, WayMask>,
    /// What others decide on, as its `schemata` said last.
    pub(super) limits: Limits,
    /// Limits that were asked for last, and what was read then.
    pub(super) limits_taken: Option<(Limits, Limits)>,
    /// Programs that it was said of that these are stricter than where they came from.
    pub(super) tightened: Vec<AppId>,
    /// Where hardware took other bits than it was asked for: what was asked, and what it took.
    pub(super) rounded: BTreeMap<(&'static str, u32), (WayMask, WayMask)>,
}

impl Class {
    /// Its masks, where hardware took others for these those that were asked for: they are in force as far as can be.
    pub(super) fn known(&self, asked: &Masks) -> Masks {
        let mut known = self.now.clone();
        for (key, mask) in &mut known {
            match (self.rounded.get(key), asked.get(key)) {
                (Some(&(asked, took)), Some(&wanted)) if asked == wanted && took == *mask => {
                    *mask = wanted;
                }
                _ => {}
            }
        }
        known
    }

    /// What was read after these were written.
    pub(super) fn saw(&mut self, now: Masks, asked: &Masks) {
        for (key, &mask) in asked {
            match now.get(key) {
                Some(&took) if took != mask => drop(self.rounded.insert(*key, (mask, took))),
                _ => drop(self.rounded.remove(key)),
            }
        }
        self.now = now;
    }
}

impl Actuator {
    /// The programs of a class.
    pub(super) fn members(&self, class: &str) -> Vec<AppId> {
        let of = self.programs.iter().filter(|(_, program)| program.class == class);
        of.map(|(&app, _)| app).collect()
    }

    /// Reads the masks of our classes anew. Those that are gone are forgotten, and so is where their tasks were: the kernel has moved
    /// them to the root (`rdtgroup_rmdir_ctrl`).
    pub(super) fn see_classes(&mut self) -> Result<(), Error> {
        for at in (0..self.classes.len()).rev() {
            let name = &self.classes[at].name;
            if let Some(found) = schemata(&self.tree, name)? {
                self.classes[at].now = masks_in(&found, self.survey.sides);
                self.classes[at].limits = self.limits_in(&found);
                continue;
            }
            let name = self.classes[at].name.clone();
            self.lose_class(&name);
            tracing::warn!(target: "fairways::actuate", group = name, "somebody removed the class");
            note(&mut self.pending.lost, name);
        }
        Ok(())
    }

    /// Forgets a class that is gone, or another's.
    fn lose_class(&mut self, name: &str) {
        self.classes.retain(|class| class.name != name);
        for app in self.members(name) {
            self.lose_all_adopted(app);
        }
        for program in self.programs.values_mut().filter(|program| program.class == name) {
            program.lost();
            let monitor = program.name.clone();
            self.state.note(|ledger| ledger.groups.retain(|made| made.name != monitor));
        }
        self.state.note(|ledger| ledger.groups.retain(|made| made.name != name));
        self.tree.forget(name);
    }

    /// Forgets groups of ours whose place another group of that name has taken: that one is
    /// somebody else's from now on, and ours gets another name when it is made again.
    pub(super) fn see_replaced(&mut self) -> Result<(), Error> {
        let told = "somebody removed the group and made another of its name, which is left alone";
        let names: Vec<String> = self.classes.iter().map(|class| class.name.clone()).collect();
        for name in names {
            if self.tree.is_replaced(&name)? {
                self.lose_class(&name);
                tracing::warn!(target: "fairways::actuate", group = name, "{told}");
                note(&mut self.pending.lost, name);
            }
        }
        for (&app, program) in self.programs.iter_mut().filter(|(_, program)| program.monitored) {
            let group = program.group();
            if self.tree.is_replaced(&group)? {
                program.unmonitored();
                self.state.note(|ledger| ledger.groups.retain(|made| made.name != program.name));
                self.tree.forget(&group);
                program.take_another_name();
                tracing::warn!(target: "fairways::actuate", group, "{told}");
                note(&mut self.pending.unmonitored, app);
            }
        }
        Ok(())
    }

    /// Makes a class, and returns its name. What masks it has is the kernel's choice.
    pub(super) fn make_class(&mut self, done: &mut Vec<Step>) -> Result<String, Error> {
        let there = foreign::classes(&self.tree)?;
        let mut names = (0..).map(|number: u32| format!("fairways.{number}"));
        let name = names.find(|name| !there.contains(name)).unwrap_or_default();
        let made = Made { name: name.clone(), monitors: false, inode: None };
        self.state.record(|ledger| ledger.groups.push(made))?;
        let forget = |made: &Made| made.monitors || made.name != name;
        if let Err(error) = self.tree.mkdir(&name) {
            self.state.note(|ledger| ledger.groups.retain(forget));
            return Err(error);
        }
        done.push(Step::Made(name.clone()));
        self.classes.push(Class { name: name.clone(), ..Class::default() });
        let inode = self.tree.inode(&name)?;
        if let Some(inode) = inode {
            self.tree.keep(&name, inode);
        }
        self.state.note(|ledger| {
            let made = ledger.groups.iter_mut().filter(|made| !forget(made));
            made.for_each(|made| made.inode = inode);
        });
        let found = schemata(&self.tree, &name)?.unwrap_or_default();
        let limits = self.limits_in(&found);
        if let Some(class) = self.classes.last_mut() {
            class.now = masks_in(&found, self.survey.sides);
            class.limits = limits;
        }
        tracing::info!(target: "fairways::actuate", group = name, "class made");
        Ok(name)
    }

    /// Lets a class fill these ways, in each domain, by code and data alike; what it may fill in
    /// others is one of its [limits](Limits). Only what differs is written, all at once.
    pub(super) fn set_masks(
        &mut self,
        name: &str,
        wanted: &BTreeMap<u32, WayMask>,
        reason: &str,
        done: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let Some(at) = self.classes.iter().position(|class| class.name == name) else {
            return Ok(());
        };
        let before = self.classes[at].now.clone();
        let mask = |key: &(&'static str, u32)| Some((*key, *wanted.get(&key.1)?));
        let after: Masks = before.keys().filter_map(mask).collect();
        let known = self.classes[at].known(&after);
        // Before, since what fails may have been done.
        done.push(Step::Masks(name.to_owned(), before));
        if let Some(now) = self.write_masks(name, &known, &after, reason)? {
            self.classes[at].saw(now, &after);
        }
        self.classes[at].wanted.clone_from(wanted);
        Ok(())
    }

    /// Writes the masks that differ, and reads what came of it: hardware may give more bits than were asked for. `None` if none
    /// differs.
    pub(super) fn write_masks(
        &self,
        group: &str,
        before: &Masks,
        after: &Masks,
        reason: &str,
    ) -> Result<Option<Masks>, Error> {
        let mut text = String::new();
        for &side in self.survey.sides {
            let of =
                after.iter().filter(|&(key, mask)| key.0 == side && before.get(key) != Some(mask));
            let values: Vec<String> =
                of.map(|(key, mask)| format!("{}={:x}", key.1, mask.bits())).collect();
            if !values.is_empty() {
                text.push_str(&format!("{side}:{}\n", values.join(";")));
            }
        }
        if text.is_empty() {
            return Ok(None);
        }
        self.tree.write(&of(group, "schemata"), &text).inspect_err(|error| {
            tracing::error!(target: "fairways::actuate", group, reason, %error, "masks refused");
        })?;
        let now = masks(&self.tree, group, self.survey.sides)?.unwrap_or_default();
        for (key @ (resource, domain), mask) in after {
            let (old, got) = (before.get(key), now.get(key).unwrap_or(mask));
            if old != Some(mask) {
                let before = old.map(ToString::to_string).unwrap_or_default();
                tracing::info!(
                    target: "fairways::actuate", group, resource, domain, before, after = %got, reason, "mask changed"
                );
            }
            if got != mask {
                tracing::warn!(
                    target: "fairways::actuate", group, domain, asked = %mask, got = %got, "hardware took another mask"
                );
            }
        }
        Ok(Some(now))
    }

    /// The root's masks, and what they are to be.
    pub(super) fn confinement(&self) -> Result<(Masks, Masks), Error> {
        let before = masks(&self.tree, "", self.survey.sides)?.unwrap_or_default();
        let mut after = before.clone();
        for ((_, domain), mask) in &mut after {
            if let Some(others) = self.offers.of.get(domain).and_then(|offer| offer.others) {
                *mask = others;
            }
        }
        Ok((before, after))
    }

    /// Gives the root's group the ways that others are confined to, where they are.
    pub(super) fn confine(&mut self, reason: &str, done: &mut Vec<Step>) -> Result<(), Error> {
        if self.settings.confine_others.is_none() {
            return Ok(());
        }
        let (before, after) = self.confinement()?;
        self.root.now.clone_from(&before);
        let known = self.root.known(&after);
        if known == after {
            return Ok(());
        }
        self.state.record(|ledger| {
            for (key @ &(line, domain), mask) in &after {
                let was = before.get(key).copied().unwrap_or_default().bits();
                let of = ledger.values.iter_mut().find(|of| of.line == line && of.domain == domain);
                match of {
                    Some(of) if of.ours.contains(&was) || of.before == was => {
                        of.ours.push(mask.bits())
                    }
                    // Others have written it since; that is what it is to be again.
                    Some(of) => (of.before, of.ours) = (was, vec![mask.bits()]),
                    None if was == mask.bits() => {}
                    None => ledger.values.push(Changed {
                        line: line.to_owned(),
                        domain,
                        before: was,
                        ours: vec![mask.bits()],
                    }),
                }
            }
        })?;
        done.push(Step::Masks(String::new(), before));
        if let Some(now) = self.write_masks("", &known, &after, reason)? {
            // What hardware took is ours as well, and put back in the end.
            self.state.record(|ledger| {
                for of in &mut ledger.values {
                    let key = now.iter().find(|(key, _)| key.0 == of.line && key.1 == of.domain);
                    let took = key.filter(|(key, took)| after.get(*key) != Some(*took));
                    of.ours.extend(took.map(|(_, took)| took.bits()));
                }
            })?;
            self.root.saw(now, &after);
        }
        Ok(())
    }

    /// Removes classes in which no program is. What can't be removed is used again.
    pub(super) fn tidy(&mut self) {
        for at in (0..self.classes.len()).rev() {
            let name = self.classes[at].name.clone();
            if !self.members(&name).is_empty() {
                continue;
            }
            let others = self.tree.directories(&of(&name, "mon_groups"));
            if others.is_ok_and(|others| !others.is_empty()) {
                continue;
            }
            if let Err(error) = self.remove_class(&name) {
                tracing::error!(target: "fairways::actuate", group = name, %error, "class not removed");
                self.erred(&error);
            }
        }
    }

    pub(super) fn remove_class(&mut self, name: &str) -> Result<(), Error> {
        self.tree.rmdir(name)?;
        self.classes.retain(|class| class.name != name);
        self.state.note(|ledger| ledger.groups.retain(|made| made.name != name));
        tracing::info!(target: "fairways::actuate", group = name, "class removed");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hardware may take more ways than it is asked for; writing the same again changes nothing.
    #[test]
    fn masks_that_hardware_rounds_are_in_force_until_others_are_wanted() {
        let key = ("L3", 0);
        let masks = |bits: u32| Masks::from([(key, WayMask::from_bits(bits))]);
        let mut class = Class { now: masks(0xff), ..Class::default() };
        assert_eq!(class.known(&masks(0x1)), masks(0xff));
        class.saw(masks(0x3), &masks(0x1));
        assert_eq!(class.known(&masks(0x1)), masks(0x1), "as far as can be");
        assert_eq!(class.known(&masks(0x3)), masks(0x3));
        assert_eq!(class.known(&masks(0x4)), masks(0x3));
        // Somebody changes it.
        class.now = masks(0xf);
        assert_eq!(class.known(&masks(0x1)), masks(0xf));
        class.saw(masks(0x4), &masks(0x4));
        assert_eq!(class.known(&masks(0x1)), masks(0x4));
    }
}
