//! Classes get the limits of the groups that their programs came from.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;

use fairways_core::{AppId, BandwidthLevel, WayMask};

use super::classes::{Class, Classes, Step};
use super::programs::Programs;
use crate::error::Error;
use crate::ledger::mount::Mount;
use crate::offer::findings::Findings;
use crate::plan::limits::{Carried, Limits};
use crate::tree::schemata::masks;
use crate::tree::{Tree, apart, of};

/// How often to write limits if another process writes to them at the same time.
const ATTEMPTS: usize = 4;

impl Classes {
    /// The limits for a class with these programs: the strictest of the limits that they had
    /// before, of those that others wrote to the class, and of its planned levels of bandwidth.
    pub(crate) fn wanted_limits(
        &self,
        found: &Findings,
        name: &str,
        members: &[AppId],
        carried: &Carried,
    ) -> Limits {
        let inherited = found.limits_for(members, carried);
        let Some(class) = self.get(name) else { return inherited };
        let others = found.stricter(&inherited, &class.set_by_others);
        found.stricter(&others, &found.of_levels(&class.levels))
    }

    /// Sets the planned levels of memory bandwidth of a class. They are written like other
    /// [limits](Self::limit).
    pub(crate) fn plan_levels(
        &mut self,
        name: &str,
        levels: &BTreeMap<u32, BandwidthLevel>,
        done: &mut Vec<Step>,
    ) {
        if let Some(class) = self.get_mut(name)
            && class.levels != *levels
        {
            let before = std::mem::replace(&mut class.levels, levels.clone());
            done.push(Step::Levels(name.to_owned(), before));
        }
    }

    /// Limits a class to these values and to what others have written to it, even while we write.
    /// With `tighter`, values only become stricter, as the class may have threads with other
    /// limits. A line that is not known is copied unchanged, unless the kernel has refused that
    /// before. Returns whether the limits were different.
    pub(crate) fn limit(
        &mut self,
        tree: &Tree,
        found: &Findings,
        name: &str,
        wanted: &Limits,
        tighter: bool,
        done: &mut Vec<Step>,
    ) -> Result<bool, Error> {
        let Self { list, refused_lines } = self;
        let class = list.iter_mut().find(|class| class.name == name);
        let Some(class) = class else { return Ok(false) };
        let wanted = wanted.clone().without_lines(refused_lines);
        if wanted.are_known(&class.limits) && class.request(found, &wanted, tighter).is_none() {
            return Ok(false);
        }
        let path = of(name, "schemata");
        for _ in 0..ATTEMPTS {
            // Another process may have written to it since it was read, so it is read again. What
            // is written after this reading is lost: nothing may come between it and the write.
            let file = tree.to_write(&path)?;
            class.read_limits(tree, found)?;
            let Some(wanted) = class.request(found, &wanted, tighter) else { return Ok(true) };
            let before = class.limits.clone();
            let writing = wanted.differing(&before);
            done.push(Step::Limits(name.to_owned(), before.clone()));
            let written = write_limits(tree, &file, name, &writing, refused_lines);
            // A failed write may have had an effect, which is no change by others. Until the limits
            // are read again, they are not known.
            let now = found.read_limits(tree, name);
            let seen = now.as_ref().ok().cloned().flatten().unwrap_or_default();
            let theirs = if written.is_ok() {
                found.not_made_of(&writing, &seen)
            } else {
                Limits::default()
            };
            let mut ours = writing.clone();
            ours.remove(&theirs);
            class.saw_limits(seen, &ours);
            written.inspect_err(|error| {
                tracing::error!(target: "fairways::actuate", group = name, %error, "limits refused");
            })?;
            let now = now?.unwrap_or_default();
            tracing::info!(
                target: "fairways::actuate", group = name, before = before.shown(),
                requested = wanted.shown(), after = now.shown(), "limits changed"
            );
            if theirs.is_empty() {
                class.limits_taken = Some((wanted, now));
                return Ok(true);
            }
        }
        Err(Error::Overwritten { path: tree.root().join(path) })
    }

    /// Restores the limits that a class had before a plan.
    pub(crate) fn limits_again(
        &mut self,
        tree: &Tree,
        found: &Findings,
        name: &str,
        before: &Limits,
    ) -> Result<(), Error> {
        if let Some(class) = self.get_mut(name) {
            class.read_limits(tree, found)?;
        }
        self.limit(tree, found, name, before, false, &mut Vec::new()).map(drop)
    }

    /// Logs, once for each change, the programs with stricter limits than in the groups that their
    /// threads came from.
    pub(crate) fn say_tightened(
        &mut self,
        found: &Findings,
        programs: &Programs,
        carried: &Carried,
    ) {
        let root = found.root_limits();
        for class in &mut self.list {
            let mut members = programs.in_class(&class.name);
            let strictest = found.undivided_limits_for(&members, carried);
            members.retain(|app| *carried.by_program.get(app).unwrap_or(&root) != strictest);
            if members == class.tightened {
                continue;
            }
            if !members.is_empty() {
                let apps: Vec<String> = members.iter().map(|app| app.0.to_string()).collect();
                tracing::warn!(
                    target: "fairways::actuate", group = class.name, limits = class.limits.shown(),
                    programs = apps.join(" "), "too few classes: programs have stricter limits than where they came from"
                );
            }
            class.tightened = members;
        }
    }

    /// Updates the limits of our classes after changes in the groups that their programs came from.
    /// Returns whether any changed.
    pub(crate) fn follow_limits(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        programs: &Programs,
    ) -> Result<bool, Error> {
        let mut carried =
            Carried::of(programs.placed(), &mount.state.ledger.tasks, &mount.tree, found)?;
        let classes =
            self.list.iter().map(|class| (class.name.clone(), programs.in_class(&class.name)));
        let classes: Vec<(String, Vec<AppId>)> =
            classes.filter(|(_, members)| !members.is_empty()).collect();
        carried.divide(found, classes.iter().map(|(_, members)| &members[..]));
        let mut changed = false;
        for (name, members) in classes {
            let wanted = self.wanted_limits(found, &name, &members, &carried);
            match self.limit(&mount.tree, found, &name, &wanted, false, &mut Vec::new()) {
                Ok(did) => changed |= did,
                // The next look tries again.
                Err(error) => mount.errors.came(&error),
            }
        }
        Ok(changed)
    }

    /// Prepares a program's class for threads from these groups, so that they keep their limits
    /// from the moment at which they enter it. The class is made if the program is still in the
    /// root's group, and limited first. Returns whether that was possible.
    pub(crate) fn make_ready<'a>(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        programs: &mut Programs,
        app: AppId,
        from: impl Iterator<Item = &'a String>,
    ) -> Result<bool, Error> {
        let groups: BTreeSet<&str> = from.map(|group| apart(group).0).collect();
        let root = found.root_limits();
        let class = &programs.get(app)?.class;
        let before = match self.get_mut(class) {
            Some(class) => class.read_limits(&mount.tree, found)?.clone(),
            None => root.clone(),
        };
        let mut wanted = before.clone();
        if class.is_empty() && !groups.is_empty() {
            // A new class has no lines yet that its threads would lose.
            wanted = wanted.with_lines_of(&Limits::default());
        }
        for group in groups {
            // Read it now, as it may just have been written.
            let read = found.read_limits(&mount.tree, group)?;
            wanted = found.stricter(&wanted, read.as_ref().unwrap_or(&root));
        }
        if wanted == before {
            return Ok(true);
        }
        if !wanted.lines_can_be_had(&before, &self.refused_lines) {
            return Ok(false);
        }
        if !class.is_empty() {
            self.limit(&mount.tree, found, class, &wanted, true, &mut Vec::new())?;
            return Ok(wanted.lines_can_be_had(&before, &self.refused_lines));
        }
        let mut done = Vec::new();
        let made = match self.make(mount, found, &mut done) {
            Ok(name) => name,
            Err(error) if error.is_exhausted() => return Ok(false),
            Err(error) => return Err(error),
        };
        let masks = masks(&mount.tree, "", found.survey.sides)?.unwrap_or_default();
        let side = found.survey.sides[0];
        let masks: BTreeMap<u32, WayMask> = masks
            .into_iter()
            .filter(|((of, domain), _)| *of == side && found.offers.are_free(*domain))
            .map(|((_, domain), mask)| (domain, mask))
            .collect();
        let reason = "limits of the program's group";
        self.limit(&mount.tree, found, &made, &wanted, true, &mut done)?;
        // The class is used for the next plan, or removed after it.
        if !wanted.lines_can_be_had(&before, &self.refused_lines) {
            return Ok(false);
        }
        if let Some(class) = self.get_mut(&made) {
            class.set_masks(&mount.tree, found.survey.sides, &masks, reason, &mut done)?;
        }
        programs.change_class(mount, app, &made, reason, &mut done)?;
        Ok(true)
    }
}

impl Class {
    /// Reads its limits again.
    fn read_limits(&mut self, tree: &Tree, found: &Findings) -> Result<&Limits, Error> {
        let now = found.read_limits(tree, &self.name)?.unwrap_or_default();
        self.saw_limits(now, &Limits::default());
        Ok(&self.limits)
    }

    /// The values to write, so that it is limited to these; `None` if it is already, as far as
    /// possible.
    fn request(&self, found: &Findings, wanted: &Limits, tighter: bool) -> Option<Limits> {
        let mut wanted = found.stricter(wanted, &self.set_by_others);
        if tighter {
            // Unknown lines can't be compared, so the class gets those of the threads that enter.
            wanted = found.stricter(&self.limits, &wanted).with_lines_of(&wanted);
        }
        let is_as_requested = wanted.differing(&self.limits).is_empty()
            || self.limits_taken.as_ref() == Some(&(wanted.clone(), self.limits.clone()));
        (!is_as_requested).then_some(wanted)
    }
}

/// Writes limits to a group: the known values at once, as the kernel accepts all or none, then each
/// unknown line by itself. Lines that the kernel refuses are recorded, and not written again.
fn write_limits(
    tree: &Tree,
    file: &OwnedFd,
    group: &str,
    limits: &Limits,
    refused: &mut BTreeSet<String>,
) -> Result<(), Error> {
    let path = of(group, "schemata");
    let values = limits.lines();
    if !values.is_empty() {
        tree.write_to(file, &path, &values)?;
    }
    for (resource, line) in limits.unknown_lines() {
        match tree.write_to(file, &path, &line) {
            Err(error) if error.is_refused_value() => {
                tracing::warn!(
                    target: "fairways::actuate", group, %error,
                    "a line of schemata that is not known can't be copied: it is left alone"
                );
                refused.insert(resource.to_owned());
            }
            written => written?,
        }
    }
    Ok(())
}
