//! Programs: their tasks, and a MON group for each.

use std::collections::{BTreeMap, BTreeSet};

use fairways_core::AppId;

use super::actuator::Actuator;
use super::adopt::{Adopted, Counted};
use super::error::Error;
use super::events::Events;
use super::foreign::members;
use super::ledger::Made;
use super::tasks::Moved;
use super::tree::of;

/// The longest name of a group that a program's name becomes part of; the kernel's is 255 bytes.
const LONGEST: usize = 64;

/// What became of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// Whether it is monitored: has a MON group of its own.
    pub monitored: bool,
    /// Its tasks.
    pub tasks: Moved,
}

/// A program that is managed.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// Its MON group's name.
    pub(super) name: String,
    /// The CTRL_MON group that it is in; the root's is empty.
    pub(super) class: String,
    pub(super) monitored: bool,
    /// How often another group has taken its MON group's place.
    replaced: u32,
    pub(super) events: Events,
    /// Monitoring groups of others that came along, and what was counted in those that went.
    pub(super) adopted: Vec<Adopted>,
    pub(super) counted: Counted,
    /// Threads that were put into its group, as long as they are the program's.
    pub(super) placed: BTreeSet<i32>,
    /// Threads that were left in other managers' groups when they were last looked at.
    pub(super) others: BTreeMap<i32, String>,
}

impl Program {
    fn new(app: AppId, name: &str) -> Self {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        let name: String = format!("fairways.{}-{name}", app.0).chars().take(LONGEST).collect();
        Self { name: name.replace(|letter| !plain(letter), "_"), ..Self::default() }
    }

    /// Whose MON group would be called so.
    pub(super) fn owner(name: &str) -> Option<AppId> {
        let (app, _) = name.strip_prefix("fairways.")?.split_once('-')?;
        app.parse().ok().map(AppId)
    }

    /// The path of the MON group of that name in a class.
    pub(super) fn monitor_in(class: &str, name: &str) -> String {
        format!("{}/{name}", of(class, "mon_groups"))
    }

    /// The group that its tasks are in.
    pub(super) fn group(&self) -> String {
        if self.monitored { Self::monitor_in(&self.class, &self.name) } else { self.class.clone() }
    }

    /// Its class is gone, and its tasks are in the root's group.
    pub(super) fn lost(&mut self) {
        self.class.clear();
        self.unmonitored();
        self.placed.clear();
    }

    /// Another's MON group has its name now.
    pub(super) fn take_another_name(&mut self) {
        self.replaced += 1;
        let (first, _) = self.name.split_once('~').unwrap_or((&self.name, ""));
        self.name = format!("{first}~{}", self.replaced + 1);
    }

    /// Its MON group is gone.
    pub(super) fn unmonitored(&mut self) {
        self.monitored = false;
        self.events.begin_anew();
    }
}

impl Actuator {
    /// Takes a program on, in the root's group at first: makes a MON group for it, if monitoring ids suffice, and puts these threads
    /// into it.
    ///
    /// # Errors
    /// If a thread can't be moved that runs; the program is known then, and [`tasks`](Self::tasks) may be tried again.
    pub fn add(&mut self, app: AppId, name: &str, tasks: &[i32]) -> Result<Added, Error> {
        self.programs.insert(app, Program::new(app, name));
        if self.settings.dry_run {
            let monitored = self.free_monitors() > 0;
            return Ok(Added { monitored, tasks: self.admit(app, tasks)? });
        }
        let _lock = self.lock()?;
        let monitored = self.monitor(app)?;
        Ok(Added { monitored, tasks: self.admit(app, tasks)? })
    }

    /// Lets a program go: its threads that run are put back to where they were, and its groups removed if nobody else is in them.
    ///
    /// # Errors
    /// If it is not managed, or something can't be put back; it is not managed any longer then, and what is left is restored in
    /// the end.
    pub fn remove(&mut self, app: AppId) -> Result<(), Error> {
        if self.settings.dry_run {
            self.plans.values_mut().for_each(|plan| plan.retain(|of, _| *of != app));
            return self.programs.remove(&app).map(drop).ok_or(Error::Unknown(app));
        }
        let program = self.programs.get(&app).ok_or(Error::Unknown(app))?;
        if !program.adopted.is_empty()
            && let Err(error) = self.give_back_with(app, None)
        {
            // It is tried again in the end.
            tracing::error!(target: "fairways::actuate", app = app.0, %error, "monitoring groups not given back");
            self.erred(&error);
        }
        let program = self.programs.get(&app).ok_or(Error::Unknown(app))?;
        let mut threads = program.placed.clone();
        if program.monitored {
            threads.extend(members(&self.tree, &program.group())?);
        }
        let released = self.release(app, &threads.into_iter().collect::<Vec<i32>>());
        self.plans.values_mut().for_each(|plan| plan.retain(|of, _| *of != app));
        let Some(program) = self.programs.remove(&app) else { return released };
        let _lock = self.lock()?;
        if program.monitored {
            self.tree.rmdir(&program.group())?;
            self.state.note(|ledger| ledger.groups.retain(|made| made.name != program.name));
        }
        if !program.class.is_empty() {
            self.tidy();
        }
        released
    }

    /// How many more programs can be monitored: the ids that nobody uses, less one for each class that there can be, which takes one
    /// as well (`mkdir_rdt_prepare_rmid_alloc`).
    pub(super) fn free_monitors(&self) -> usize {
        let Some(monitoring) = &self.survey.monitoring else { return 0 };
        let used = self.programs.values().filter(|program| program.monitored).count();
        let adopted = self.programs.values().map(|program| program.adopted.len());
        let theirs = 1 + self.survey.foreign.len() + self.survey.monitors.len();
        let theirs = theirs + adopted.sum::<usize>();
        let free =
            (monitoring.rmids as usize).saturating_sub(theirs + self.offers.classes as usize);
        let most = self.settings.rmids.map_or(free, |most| free.min(most as usize));
        most.saturating_sub(used)
    }

    /// Makes a program's MON group, if an id is to be had; whether it has one.
    pub(super) fn monitor(&mut self, app: AppId) -> Result<bool, Error> {
        if self.free_monitors() == 0 {
            return Ok(false);
        }
        let program = self.programs.get(&app).ok_or(Error::Unknown(app))?;
        let (name, class) = (program.name.clone(), program.class.clone());
        let made = self.make_monitor(&class, &name)?;
        if let Some(program) = self.programs.get_mut(&app) {
            program.monitored = made;
        }
        Ok(made)
    }

    /// Makes a MON group in a class; whether that could be. One of that name in another class stays in the ledger until it is known
    /// that this one takes its place.
    pub(super) fn make_monitor(&mut self, class: &str, name: &str) -> Result<bool, Error> {
        let path = Program::monitor_in(class, name);
        let made = Made { name: name.to_owned(), monitors: true, inode: None };
        let before = self.state.ledger.groups.iter().find(|made| made.name == name).cloned();
        self.state.record(|ledger| {
            ledger.groups.retain(|made| made.name != name);
            ledger.groups.push(made.clone());
        })?;
        let (now, error) = match self.tree.mkdir(&path) {
            // If that can't be told, its name says enough.
            Ok(()) => {
                let inode = self.tree.inode(&path).ok().flatten();
                if let Some(inode) = inode {
                    self.tree.keep(&path, inode);
                }
                (Some(Made { inode, ..made }), None)
            }
            Err(error) => (before, Some(error)),
        };
        self.state.note(|ledger| {
            ledger.groups.retain(|made| made.name != name);
            ledger.groups.extend(now);
        });
        if let Some(error) = error.as_ref().filter(|error| !error.is_exhausted()) {
            tracing::error!(target: "fairways::actuate", group = path, %error, "not monitored");
            self.erred(error);
        }
        Ok(error.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_becomes_part_of_a_groups() {
        for (name, group) in [
            ("redis", "fairways.7-redis"),
            ("mlr:8M/../x\n", "fairways.7-mlr_8M_.._x_"),
            ("käse", "fairways.7-k_se"),
            ("", "fairways.7-"),
        ] {
            assert_eq!(Program::new(AppId(7), name).name, group);
            assert_eq!(Program::owner(group), Some(AppId(7)));
        }
        assert_eq!(Program::new(AppId(7), &"x".repeat(300)).name.len(), LONGEST);
    }
}
