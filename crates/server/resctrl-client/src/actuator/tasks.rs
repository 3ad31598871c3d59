//! Programs that come and go, and their threads.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use fairways_core::AppId;

use super::Actuator;
use super::managed::ManagedResctrl;
use crate::error::Error;
use crate::groups::programs::Program;
use crate::offer::foreign::{residents, residents_by_cpu};
use crate::tree::lock::Lock;

/// The most passes over a program that forks all the time. Its later children inherit its group,
/// and the next call handles the rest.
const PASSES: usize = 8;

/// The outcome for a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// Whether it is monitored, by its own MON group.
    pub monitored: bool,
    /// Its tasks.
    pub tasks: Moved,
}

/// The outcome for threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Threads that were put into the program's group.
    pub moved: Vec<i32>,
    /// Threads that stay in other managers' groups, each with the group's path.
    pub others: Vec<(i32, String)>,
}

impl Actuator {
    /// Adds a program, in the root's group at first: makes a MON group for it, if there are enough
    /// monitoring ids, and puts these threads into it.
    ///
    /// # Errors
    /// If a running thread can't be moved. The program is known then, and [`tasks`](Self::tasks)
    /// may be tried again.
    pub fn add(&mut self, app: AppId, name: &str, tasks: &[i32]) -> Result<Added, Error> {
        self.managed.programs.by_id.insert(app, Program::new(app, name));
        let _lock = self.lock_for(app, tasks)?;
        let monitored = self.enforcement.monitor(&mut self.managed, app)?;
        Ok(Added { monitored, tasks: self.admit(app, tasks)? })
    }

    /// Removes a program: puts its running threads back to where they were, and removes its groups
    /// if no other threads are in them.
    ///
    /// # Errors
    /// If it is not managed, or something can't be put back. It is no longer managed then, and the
    /// rest is restored on exit.
    pub fn remove(&mut self, app: AppId) -> Result<(), Error> {
        let program = self.managed.programs.get(app)?;
        if !program.adopted.is_empty()
            && let Err(error) =
                self.managed.programs.give_back_with(&mut self.managed.mount, app, None)
        {
            // It is tried again on exit.
            tracing::error!(target: "fairways::actuate", app = app.0, %error, "monitoring groups not given back");
            self.managed.mount.errors.came(&error);
        }
        let program = self.managed.programs.get(app)?;
        let mut threads = program.placed.clone();
        if program.monitored {
            threads.extend(self.managed.mount.tree.members(&program.group())?);
        }
        let threads: Vec<i32> = threads.into_iter().collect();
        let Self { enforcement, managed, .. } = self;
        let ManagedResctrl { mount, programs, .. } = managed;
        let released = enforcement.release(programs, mount, app, &threads);
        self.managed.plans.forget(app);
        let Some(mut program) = self.managed.programs.by_id.remove(&app) else { return released };
        let _lock = self.managed.mount.lock()?;
        program.end_stays(&mut self.managed.mount);
        if program.monitored {
            let inode = self.managed.mount.tree.made(&program.group());
            self.managed.mount.tree.rmdir(&program.group())?;
            self.managed.mount.strike_group(&program.name, inode);
        }
        if !program.class.is_empty() {
            self.managed.classes.tidy(&mut self.managed.mount, &self.managed.programs);
        }
        released
    }

    /// Lists a program's threads with `list`, and puts new ones into its group, until none is new.
    /// Threads that are no longer listed but still run are put back to where they were.
    ///
    /// # Errors
    /// If it is not managed, or a running thread can't be moved.
    pub fn tasks(
        &mut self,
        app: AppId,
        list: &mut dyn FnMut(&mut Vec<i32>),
    ) -> Result<Moved, Error> {
        let mut all = Moved::default();
        let mut listed = Vec::new();
        let mut has_changed = false;
        for pass in 0..PASSES {
            listed.clear();
            list(&mut listed);
            let program = self.managed.programs.by_id.get_mut(&app).ok_or(Error::Unknown(app))?;
            if !program.uncounted.is_empty() {
                let now: BTreeSet<i32> = listed.iter().copied().collect();
                program.uncounted.retain(|thread| now.contains(thread));
            }
            let known = program.placed.len() + program.others.len();
            if listed.len() == known && listed.iter().all(|&thread| program.knows(thread)) {
                break;
            }
            has_changed = true;
            if pass == 0 {
                let now: BTreeSet<i32> = listed.iter().copied().collect();
                program.others.retain(|thread, _| now.contains(thread));
                let left: Vec<i32> = program.placed.difference(&now).copied().collect();
                let Self { enforcement, managed, .. } = self;
                let ManagedResctrl { mount, programs, .. } = managed;
                enforcement.release(programs, mount, app, &left)?;
            }
            let program = self.managed.programs.get(app)?;
            listed.retain(|&thread| !program.knows(thread));
            if listed.is_empty() {
                break;
            }
            let _lock = self.lock_for(app, &listed)?;
            let some = self.admit(app, &listed)?;
            all.moved.extend(some.moved);
            all.others.extend(some.others);
        }
        let ManagedResctrl { mount, programs, .. } = &mut self.managed;
        if has_changed || programs.get(app)?.others.is_empty() {
            programs.settle_staying(mount, app)?;
        }
        Ok(all)
    }

    /// Puts a new thread into a program's group, unless it belongs to others. The next call of
    /// [`tasks`](Self::tasks) must list it.
    ///
    /// # Errors
    /// As for [`tasks`](Self::tasks).
    pub fn add_task(&mut self, app: AppId, thread: i32) -> Result<Moved, Error> {
        if self.managed.programs.get(app)?.knows(thread) {
            return Ok(Moved::default());
        }
        let _lock = self.lock_for(app, &[thread])?;
        self.admit(app, &[thread])
    }

    /// The lock, for new threads of a program; without it no group counts them.
    fn lock_for(&mut self, app: AppId, threads: &[i32]) -> Result<Option<Lock>, Error> {
        let ManagedResctrl { mount, programs, .. } = &mut self.managed;
        mount.lock().inspect_err(|_| programs.lose(app, threads))
    }

    /// How many of a program's threads stay in each group of others, as last listed.
    #[must_use]
    pub fn left(&self, app: AppId) -> BTreeMap<String, usize> {
        let mut left = BTreeMap::new();
        for group in
            self.managed.programs.by_id.get(&app).into_iter().flat_map(|of| of.others.values())
        {
            *left.entry(group.clone()).or_default() += 1;
        }
        left
    }

    /// Puts new threads into a program's group, except those that belong to others. If that fails,
    /// no group counts the rest. The caller has the lock.
    fn admit(&mut self, app: AppId, tasks: &[i32]) -> Result<Moved, Error> {
        self.try_to_admit(app, tasks).inspect_err(|_| self.managed.programs.lose(app, tasks))
    }

    fn try_to_admit(&mut self, app: AppId, tasks: &[i32]) -> Result<Moved, Error> {
        let mut group = self.managed.programs.get(app)?.group();
        let theirs = self.managed.others_threads(&group, tasks)?;
        let (mut others, free): (Vec<i32>, Vec<i32>) =
            tasks.iter().partition(|thread| theirs.contains_key(thread));
        let mut ours = free;
        let ManagedResctrl { mount, programs, .. } = &mut self.managed;
        let mut along = programs.adopt(mount, app, &theirs, tasks)?;
        others.retain(|thread| !along.contains(thread));
        // Children of an adopted group's threads are born in it.
        let adopted = programs.adopted_threads(&mount.tree, app)?;
        along.extend(adopted.intersection(&ours.iter().copied().collect()));
        ours.retain(|thread| !along.contains(thread));
        let is_taken = self.enforcement.take(&mut self.managed, app, &others, &theirs)?;
        let Self { enforcement, managed, .. } = self;
        let ManagedResctrl { mount, programs, .. } = managed;
        if mount.settings.take_over {
            group = programs.get(app)?.group();
            mount.inherit(&group, &ours)?;
        }
        let mut left = Vec::new();
        if is_taken {
            ours.extend(others);
        } else {
            left = others
                .into_iter()
                .filter_map(|thread: i32| Some((thread, theirs.get(&thread)?.clone())))
                .collect();
        }
        let program = programs.by_id.get_mut(&app).ok_or(Error::Unknown(app))?;
        let moved = enforcement.enter(&mount.tree, &group, &ours)?;
        for thread in ours.into_iter().chain(along) {
            program.uncounted.remove(&thread);
            program.placed.insert(thread);
        }
        program.others.extend(left.iter().cloned());
        enforcement.count_staying(managed, app)?;
        Ok(Moved { moved, others: left })
    }
}

impl ManagedResctrl {
    /// The threads in others' groups; if they stay there, also those of `tasks` that are in these
    /// groups because of their CPUs.
    fn others_threads(&self, group: &str, tasks: &[i32]) -> Result<HashMap<i32, String>, Error> {
        let is_ours = |name: &str| self.is_ours(name);
        let mut theirs = residents(&self.mount.tree, &is_ours)?;
        if self.mount.settings.take_over {
            return Ok(theirs);
        }
        let mut rest = tasks.to_vec();
        rest.retain(|thread| !theirs.contains_key(thread) && !self.programs.have_placed(*thread));
        let proc = &self.mount.settings.proc;
        let by_cpu = residents_by_cpu(&self.mount.tree, proc, &rest, &is_ours)?;
        if by_cpu.is_empty() || group.is_empty() {
            theirs.extend(by_cpu);
            return Ok(theirs);
        }
        // In a group of ours, a thread has our class on every CPU.
        let inside: HashSet<i32> = self.mount.tree.members(group)?.into_iter().collect();
        theirs.extend(by_cpu.into_iter().filter(|(thread, _)| !inside.contains(thread)));
        Ok(theirs)
    }
}
