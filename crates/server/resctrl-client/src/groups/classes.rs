//! The classes of service that are ours: CTRL_MON groups with their masks, and the steps by which a
//! plan changes them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use fairways_core::{AppId, BandwidthLevel, WayMask};

use super::others_changes::{Changes, note};
use super::programs::Programs;
use super::traffic_counters::free_new_class;
use crate::backoff::Backoff;
use crate::error::Error;
use crate::ledger::MadeGroup;
use crate::ledger::mount::Mount;
use crate::offer::domain::Cap;
use crate::offer::findings::Findings;
use crate::plan::limits::Limits;
use crate::tree::schemata::{Masks, masks, masks_in, schemata, write_masks};
use crate::tree::{Tree, monitor_in, of};

/// A class of service of ours.
#[derive(Debug, Default)]
pub(crate) struct Class {
    /// The name of its group.
    pub(crate) name: String,
    /// Its masks, as its `schemata` showed last.
    pub(crate) now: Masks,
    /// Its planned masks, in the domains that have a plan.
    pub(crate) wanted: BTreeMap<u32, WayMask>,
    /// Its other values, as last read from its `schemata`; none if they could not be read.
    pub(crate) limits: Limits,
    /// Its planned levels of memory bandwidth, in the domains that have one.
    pub(crate) levels: BTreeMap<u32, BandwidthLevel>,
    /// The bandwidths that others have written to its `schemata`: limits, like those of the groups
    /// that its programs came from. Changed unknown lines are not touched.
    pub(crate) set_by_others: Limits,
    /// Whether some of these have not been reported yet.
    pub(crate) set_lately: bool,
    /// The limits that were requested last, and what was read then.
    pub(crate) limits_taken: Option<(Limits, Limits)>,
    /// Programs for which it was logged that these limits are stricter than where they came from.
    pub(crate) tightened: Vec<AppId>,
    /// Where hardware set other ways than requested: the request, and the result.
    pub(crate) rounded: BTreeMap<(&'static str, u32), (WayMask, WayMask)>,
    /// Attempts to write masks again that others changed, and to remove the class.
    pub(crate) rewriting: Backoff,
    pub(crate) removal: Backoff,
}

impl Class {
    /// The level of memory bandwidth in force for a cache, if one was planned there and it is
    /// known.
    pub(crate) fn level_in_force(&self, found: &Findings, cache: u32) -> Option<BandwidthLevel> {
        self.levels.get(&cache).and_then(|_| found.level_of(&self.limits, cache))
    }

    /// Records the limits read from its `schemata` after we wrote these, if any. Other bandwidths
    /// that differ from the last reading were written by others, and count as limits from now on.
    pub(crate) fn saw_limits(&mut self, now: Limits, written: &Limits) {
        let mut changed = now.changed_bandwidths(&self.limits);
        changed.remove(written);
        let mut lines = now.changed_lines(&self.limits);
        lines.remove(written);
        self.limits = now;
        if self.set_by_others.leave(&lines) {
            tracing::warn!(
                target: "fairways::actuate", group = self.name, lines = lines.shown(),
                "a line of schemata that is not known has changed: it is left alone from now on"
            );
        }
        if changed.is_empty() {
            return;
        }
        tracing::warn!(
            target: "fairways::actuate", group = self.name, limits = changed.shown(),
            "somebody wrote a bandwidth: it is a limit from now on"
        );
        self.set_by_others.extend(changed);
        self.set_lately = true;
    }

    /// Lets it fill these ways in each domain, with code and data alike; in other domains, its
    /// [limits](Self::limits) apply. Writes only what differs, all at once.
    pub(crate) fn set_masks(
        &mut self,
        tree: &Tree,
        sides: &[&'static str],
        wanted: &BTreeMap<u32, WayMask>,
        reason: &str,
        done: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let before = self.now.clone();
        let mask = |key: &(&'static str, u32)| Some((*key, *wanted.get(&key.1)?));
        let after: Masks = before.keys().filter_map(mask).collect();
        let known = self.known(&after);
        // Recorded first, since a failed step may have had an effect.
        done.push(Step::Masks(self.name.clone(), before));
        if let Some(now) = write_masks(tree, sides, &self.name, &known, &after, reason)? {
            self.saw(now, &after);
        }
        self.wanted.clone_from(wanted);
        // An operation that failed before may be possible now.
        self.rewriting.reset();
        self.removal.reset();
        Ok(())
    }

    /// Its masks. If hardware changed this request, the requested mask, which is in force as far as
    /// possible.
    pub(crate) fn known(&self, asked: &Masks) -> Masks {
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

    /// Records what was read after a request was written.
    pub(crate) fn saw(&mut self, now: Masks, asked: &Masks) {
        for (key, &mask) in asked {
            match now.get(key) {
                Some(&took) if took != mask => drop(self.rounded.insert(*key, (mask, took))),
                _ => drop(self.rounded.remove(key)),
            }
        }
        self.now = now;
    }
}

/// A completed step of a plan, with what is needed to undo it.
#[derive(Debug)]
pub(crate) enum Step {
    /// A class was made.
    Made(String),
    /// Masks of a group were changed from these; the root's name is empty.
    Masks(String, Masks),
    /// Limits of a class were changed from these.
    Limits(String, Limits),
    /// The planned levels of memory bandwidth of a class were changed from these.
    Levels(String, BTreeMap<u32, BandwidthLevel>),
    /// A program was moved from this class.
    Moved(AppId, String),
}

/// All classes of service of ours.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    pub(crate) list: Vec<Class>,
    /// Resources with unknown lines that the kernel refused to copy.
    pub(crate) refused_lines: BTreeSet<String>,
}

impl Classes {
    pub(crate) fn get(&self, name: &str) -> Option<&Class> {
        self.list.iter().find(|class| class.name == name)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Class> {
        self.list.iter_mut().find(|class| class.name == name)
    }

    /// Reads the masks of our classes again. Forgets classes that are gone, and where their tasks
    /// were: the kernel has moved them to the root (`rdtgroup_rmdir_ctrl`).
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

    /// Forgets groups of ours that were replaced by a group of the same name: that one belongs to
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

    /// Removes classes without programs. A class that can't be removed is used again.
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

    /// Restores the masks that a group had before a plan.
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

    /// Writes the planned masks of our classes again, if they are still possible.
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

    /// From time to time, and `now` if another manager's group was removed, tests whether more
    /// classes are available: makes classes until there is one more than the cap, and removes the
    /// new ones again. Returns the cap from then on; `None` if there is none.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The levels of two domains.
    fn mb(levels: [u32; 2]) -> Limits {
        let levels = levels.map(|level| BandwidthLevel::new(level).unwrap());
        Limits::of_levels((0..).zip(levels))
    }

    /// A change beside our own write was made by others, even if it is seen with ours.
    #[test]
    fn a_bandwidth_that_changes_while_we_write_another_is_somebody_elses() {
        let mut class = Class { limits: mb([100, 100]), ..Class::default() };
        let written = mb([50, 100]).differing(&class.limits);
        class.saw_limits(mb([50, 30]), &written);
        assert_eq!(class.set_by_others, mb([100, 30]).differing(&mb([100, 100])));
        assert!(class.set_lately);
    }

    /// Hardware may set more ways than requested; writing the same mask again changes nothing.
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
        // It is changed from outside.
        class.now = masks(0xf);
        assert_eq!(class.known(&masks(0x1)), masks(0xf));
        class.saw(masks(0x4), &masks(0x4));
        assert_eq!(class.known(&masks(0x1)), masks(0x4));
    }
}
