//! A MON group for each program, as far as there are monitoring ids.

use fairways_core::AppId;

use super::others_changes::{Changes, note};
use super::programs::Programs;
use crate::error::Error;
use crate::ledger::MadeGroup;
use crate::ledger::mount::Mount;
use crate::offer::findings::Findings;
use crate::settings::Settings;
use crate::tree::monitor_in;

impl Programs {
    /// How many more programs can be monitored: the number of free ids, less one for each class
    /// that may still be made, as a class needs one, too (`mkdir_rdt_prepare_rmid_alloc`).
    pub(crate) fn free_monitors(&self, found: &Findings, settings: &Settings) -> usize {
        let survey = &found.survey;
        if survey.monitoring.is_none() {
            return 0;
        }
        let adopted = self.by_id.values().map(|program| program.adopted.len());
        let theirs = 1 + survey.foreign.len() + survey.monitors.len() + adopted.sum::<usize>();
        let all = survey.rmids().map_or(usize::MAX, |rmids| rmids as usize);
        let free = all.saturating_sub(theirs + found.offers.classes as usize);
        let most = settings.rmids.map_or(free, |most| free.min(most as usize));
        most.saturating_sub(self.made_monitors())
    }

    /// Makes a program's MON group, if an id is available. Returns whether it has one.
    pub(crate) fn monitor(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        app: AppId,
    ) -> Result<bool, Error> {
        if self.free_monitors(found, &mount.settings) == 0 {
            return Ok(false);
        }
        let program = self.by_id.get_mut(&app).ok_or(Error::Unknown(app))?;
        // A group of that name is left that could not be removed yet.
        while mount.state.ledger.has_group(&program.name) {
            program.take_another_name();
        }
        program.monitored = make_monitor(mount, &program.class, &program.name)?;
        let is_monitored = program.monitored;
        self.take_new_counters(mount, &found.traffic, app);
        Ok(is_monitored)
    }

    /// Monitors programs that are not monitored yet, as far as there are ids: either all programs
    /// use the same ids, or each class has its own. After a refusal by the kernel it waits longer
    /// each time, but tries at once when a group was removed.
    pub(crate) fn monitor_more(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        changes: &mut Changes,
    ) -> Result<(), Error> {
        let waiting = self.by_id.iter().filter(|(_, program)| !program.monitored);
        let waiting: Vec<AppId> = waiting.map(|(&app, _)| app).collect();
        let others = found.survey.foreign.len() + found.survey.monitors.len();
        let used = others + self.monitored();
        if std::mem::replace(&mut self.ids_used, used) > used || waiting.is_empty() {
            self.monitoring.reset();
        }
        if self.monitoring.is_waiting() || self.free_monitors(found, &mount.settings) == 0 {
            return Ok(());
        }
        let mut is_refused = false;
        let mut full: Vec<String> = Vec::new();
        for app in waiting {
            // That is not a refusal.
            if self.free_monitors(found, &mount.settings) == 0 {
                break;
            }
            if full.contains(&self.get(app)?.class) {
                continue;
            }
            if !self.monitor(mount, found, app)? {
                is_refused = true;
                if !mount.tree.has_rmids_per_class() {
                    break;
                }
                full.push(self.get(app)?.class.clone());
                continue;
            }
            let program = self.get(app)?;
            let mut threads = mount.tree.members(&program.class)?;
            let along = self.adopted_threads(&mount.tree, app)?;
            threads.retain(|thread| program.placed.contains(thread) && !along.contains(thread));
            let entered =
                mount.tree.enter(&program.group(), threads.iter().copied(), &mut Vec::new());
            if let Err(error) = entered {
                // They are fetched when they are listed next.
                if let Some(program) = self.by_id.get_mut(&app) {
                    program.placed.retain(|thread| !threads.contains(thread));
                    program.lose(threads);
                }
                return Err(error);
            }
            note(&mut changes.monitored, app);
        }
        match is_refused {
            true => self.monitoring.fail(),
            false => self.monitoring.reset(),
        }
        self.ids_used = others + self.monitored();
        Ok(())
    }

    /// Finds the MON groups of ours that are gone.
    pub(crate) fn see_monitors(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        changes: &mut Changes,
    ) {
        for (&app, program) in self.by_id.iter_mut().filter(|(_, program)| program.monitored) {
            let group = program.group();
            let is_listed = found.survey.ours.contains(&group);
            if !is_listed && mount.tree.find(&group).is_ok_and(|now| now.is_none()) {
                let inode = mount.tree.made(&group);
                mount.tree.forget(&group);
                program.unmonitored();
                mount.strike_group(&program.name, inode);
                note(&mut changes.unmonitored, app);
            }
        }
    }

    /// Forgets MON groups of ours that another group of the same name has replaced.
    pub(crate) fn see_replaced(
        &mut self,
        mount: &mut Mount,
        changes: &mut Changes,
        warning: &str,
    ) -> Result<(), Error> {
        for (&app, program) in self.by_id.iter_mut().filter(|(_, program)| program.monitored) {
            let group = program.group();
            if mount.tree.is_replaced(&group)? {
                program.unmonitored();
                mount.strike_group(&program.name, mount.tree.made(&group));
                mount.tree.forget(&group);
                program.take_another_name();
                tracing::warn!(target: "fairways::actuate", group, "{warning}");
                note(&mut changes.unmonitored, app);
            }
        }
        Ok(())
    }
}

/// Makes a MON group in a class. Returns whether that was possible. If this one replaces a group of
/// that name in another class, the old one stays in the ledger; the caller removes it.
pub(crate) fn make_monitor(mount: &mut Mount, class: &str, name: &str) -> Result<bool, Error> {
    let path = monitor_in(class, name);
    let made = MadeGroup { name: name.to_owned(), monitors: true, inode: None };
    let Mount { tree, state, errors, .. } = mount;
    state.record(|ledger| ledger.groups.push(made))?;
    let done = tree.mkdir(&path);
    // Where the inode is unknown, the name is enough.
    let inode = done.as_ref().ok().and_then(|()| tree.inode(&path).ok().flatten());
    if let Some(inode) = inode {
        tree.keep(&path, inode);
    }
    let error = done.err();
    state.note(|ledger| {
        let made = ledger.groups.iter().rposition(|made| made.name == name && made.inode.is_none());
        match made {
            Some(at) if error.is_some() => drop(ledger.groups.remove(at)),
            Some(at) => ledger.groups[at].inode = inode,
            None => {}
        }
    });
    if let Some(error) = error.as_ref().filter(|error| !error.is_exhausted()) {
        tracing::error!(target: "fairways::actuate", group = path, %error, "not monitored");
        errors.came(error);
    }
    Ok(error.is_none())
}
