//! Programs: their tasks, and a MON group for each.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fairways_core::AppId;

use super::Error;
use super::actuator::Actuator;
use super::events::Events;
use super::foreign::{members, residents};
use super::ledger::{Made, Taken};
use super::restore::{enter, give_back, started};
use super::tree::of;

/// How often a program that forks all the time is gone through at once; what it forks then inherits its group, and the next
/// call sees to the rest.
const PASSES: usize = 8;

/// The longest name of a group that a program's name becomes part of; the kernel's is 255 bytes.
const LONGEST: usize = 64;

/// What became of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Threads that were put into the program's group.
    pub moved: Vec<i32>,
    /// Threads that are in other managers' groups, each with the group's path, and were left there.
    pub others: Vec<(i32, String)>,
}

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
    pub(super) events: Events,
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
            return Ok(Added { monitored: self.free_monitors() > 0, tasks: Moved::default() });
        }
        let _lock = self.lock()?;
        let monitored = self.monitor(app)?;
        Ok(Added { monitored, tasks: self.admit(app, tasks)? })
    }

    /// Lists a program's threads by `list`, and puts those into its group that came, until none came. Threads that are not listed any
    /// longer but run on are put back to where they were.
    ///
    /// # Errors
    /// If it is not managed, or a thread can't be moved that runs.
    pub fn tasks(
        &mut self,
        app: AppId,
        list: &mut dyn FnMut(&mut Vec<i32>),
    ) -> Result<Moved, Error> {
        let mut all = Moved::default();
        let mut listed = Vec::new();
        for pass in 0..PASSES {
            listed.clear();
            list(&mut listed);
            let program = self.programs.get_mut(&app).ok_or(Error::Unknown(app))?;
            if self.settings.dry_run {
                break;
            }
            let is_known = |thread: &i32| {
                program.placed.contains(thread) || program.others.contains_key(thread)
            };
            let known = program.placed.len() + program.others.len();
            if listed.len() == known && listed.iter().all(is_known) {
                break;
            }
            if pass == 0 {
                let now: BTreeSet<i32> = listed.iter().copied().collect();
                program.others.retain(|thread, _| now.contains(thread));
                let left: Vec<i32> = program.placed.difference(&now).copied().collect();
                self.release(app, &left)?;
            }
            let program = self.programs.get(&app).ok_or(Error::Unknown(app))?;
            let known = |thread: &i32| {
                program.placed.contains(thread) || program.others.contains_key(thread)
            };
            listed.retain(|thread| !known(thread));
            if listed.is_empty() {
                break;
            }
            let _lock = self.lock()?;
            let some = self.admit(app, &listed)?;
            all.moved.extend(some.moved);
            all.others.extend(some.others);
        }
        Ok(all)
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
        let threads = if program.monitored {
            members(&self.tree, &program.group())?
        } else {
            program.placed.iter().copied().collect()
        };
        let released = self.release(app, &threads);
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
        let theirs = 1 + self.survey.foreign.len() + self.survey.monitors.len();
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
            Ok(()) => (Some(Made { inode: self.tree.inode(&path).ok().flatten(), ..made }), None),
            Err(error) => (before, Some(error)),
        };
        self.state.note(|ledger| {
            ledger.groups.retain(|made| made.name != name);
            ledger.groups.extend(now);
        });
        if let Some(error) = error.as_ref().filter(|error| !error.is_exhausted()) {
            tracing::error!(target: "fairways::actuate", group = path, %error, "not monitored");
        }
        Ok(error.is_none())
    }

    /// Puts new threads into a program's group, but those that are others'.
    fn admit(&mut self, app: AppId, tasks: &[i32]) -> Result<Moved, Error> {
        let theirs = residents(&self.tree, &|name| self.is_ours(name))?;
        let (others, free): (Vec<i32>, Vec<i32>) =
            tasks.iter().partition(|thread| theirs.contains_key(thread));
        let mut ours = free;
        let mut left = Vec::new();
        if self.settings.take_over {
            self.take(&others, &theirs)?;
            ours.extend(others);
        } else {
            let of = |thread: i32| Some((thread, theirs.get(&thread)?.clone()));
            left = others.into_iter().filter_map(of).collect();
        }
        let program = self.programs.get_mut(&app).ok_or(Error::Unknown(app))?;
        program.others.extend(left.iter().cloned());
        let mut moved = Vec::new();
        enter(&self.tree, &program.group(), ours.iter().copied(), &mut moved)?;
        program.placed.extend(ours);
        Ok(Moved { moved, others: left })
    }

    /// Writes down where threads are taken from.
    fn take(&mut self, threads: &[i32], from: &HashMap<i32, String>) -> Result<(), Error> {
        let mut taken = Vec::new();
        for &thread in threads {
            let Some(group) = from.get(&thread).cloned() else { continue };
            let started = started(&self.settings.proc, thread);
            if let (Some(started), Some(inode)) = (started, self.tree.inode(&group)?) {
                taken.push(Taken { thread, started, group, inode });
            }
        }
        if taken.is_empty() {
            return Ok(());
        }
        self.state.record(|ledger| {
            ledger.tasks.retain(|task| !threads.contains(&task.thread));
            ledger.tasks.extend(taken);
        })
    }

    /// Puts threads back that the program gives up, if they are still in its group: into the group that they were taken from, or
    /// the root's.
    fn release(&mut self, app: AppId, threads: &[i32]) -> Result<(), Error> {
        let Some(program) = self.programs.get_mut(&app) else { return Ok(()) };
        program.placed.retain(|thread| !threads.contains(thread));
        // Those that have ended, which nearly all have, are in no group.
        let here = |thread: &&i32| started(&self.settings.proc, **thread).is_some();
        let alive: Vec<i32> = threads.iter().filter(here).copied().collect();
        let ended = |thread: i32| threads.contains(&thread) && !alive.contains(&thread);
        if self.state.ledger.tasks.iter().any(|task| ended(task.thread)) {
            self.state.note(|ledger| ledger.tasks.retain(|task| !ended(task.thread)));
        }
        if alive.is_empty() {
            return Ok(());
        }
        let group = program.group();
        let _lock = self.lock()?;
        let inside = members(&self.tree, &group)?;
        let mut free = Vec::new();
        for thread in alive.iter().copied().filter(|thread| inside.contains(thread)) {
            let taken = self.state.ledger.tasks.iter().find(|task| task.thread == thread);
            let back = match taken {
                Some(task) => give_back(&self.tree, task)?,
                None => false,
            };
            if !back {
                free.push(thread);
            }
        }
        if !group.is_empty() {
            enter(&self.tree, "", free, &mut Vec::new())?;
        }
        if self.state.ledger.tasks.iter().any(|task| alive.contains(&task.thread)) {
            self.state.note(|ledger| ledger.tasks.retain(|task| !alive.contains(&task.thread)));
        }
        Ok(())
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
