//! Threads that come to a program and leave it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use fairways_core::AppId;

use super::actuator::Actuator;
use super::error::Error;
use super::foreign::{members, residents, residents_by_cpu};
use super::ledger::Taken;
use super::threads::{enter, give_back, inherited, is_still, started};

/// How often a program that forks all the time is gone through at once; what it forks then inherits its group, and the next
/// call sees to the rest.
const PASSES: usize = 8;

/// What became of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Threads that were put into the program's group.
    pub moved: Vec<i32>,
    /// Threads that are in other managers' groups, each with the group's path, and were left there.
    pub others: Vec<(i32, String)>,
}

impl Actuator {
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
            let _lock = if self.settings.dry_run { None } else { Some(self.lock()?) };
            let some = self.admit(app, &listed)?;
            all.moved.extend(some.moved);
            all.others.extend(some.others);
        }
        Ok(all)
    }

    /// How many of a program's threads were left in each group of others when they were last listed.
    pub(crate) fn left(&self, app: AppId) -> BTreeMap<String, usize> {
        let mut left = BTreeMap::new();
        for group in self.programs.get(&app).into_iter().flat_map(|of| of.others.values()) {
            *left.entry(group.clone()).or_default() += 1;
        }
        left
    }

    /// Puts new threads into a program's group, but those that are others'.
    pub(super) fn admit(&mut self, app: AppId, tasks: &[i32]) -> Result<Moved, Error> {
        let mut group = self.programs.get(&app).ok_or(Error::Unknown(app))?.group();
        let theirs = self.others_threads(&group, tasks)?;
        let (mut others, free): (Vec<i32>, Vec<i32>) =
            tasks.iter().partition(|thread| theirs.contains_key(thread));
        let mut ours = free;
        let mut left = Vec::new();
        let mut along = self.adopt(app, &theirs, tasks)?;
        others.retain(|thread| !along.contains(thread));
        // What threads of an adopted group make meanwhile is born in it.
        along.extend(self.adopted_threads(app)?.intersection(&ours.iter().copied().collect()));
        ours.retain(|thread| !along.contains(thread));
        if self.settings.dry_run {
            let said =
                if self.settings.take_over { "would be taken over" } else { "left to others" };
            for thread in &others {
                let group = theirs.get(thread);
                tracing::info!(target: "fairways::actuate", app = app.0, thread, group, "{said}");
            }
        }
        if self.settings.take_over && !self.settings.dry_run && !others.is_empty() {
            let from = others.iter().filter_map(|thread| theirs.get(thread));
            if self.make_ready(app, from)? {
                group = self.programs.get(&app).ok_or(Error::Unknown(app))?.group();
            } else {
                // No class is free that could limit them so.
                let of = |thread: i32| Some((thread, theirs.get(&thread)?.clone()));
                left = std::mem::take(&mut others).into_iter().filter_map(of).collect();
            }
        }
        if self.settings.take_over {
            self.take(&others, &theirs)?;
            self.inherit(&group, &ours)?;
            ours.extend(others);
        } else {
            let of = |thread: i32| Some((thread, theirs.get(&thread)?.clone()));
            left = others.into_iter().filter_map(of).collect();
        }
        let program = self.programs.get_mut(&app).ok_or(Error::Unknown(app))?;
        program.others.extend(left.iter().cloned());
        let mut moved = Vec::new();
        if !self.settings.dry_run {
            enter(&self.tree, &group, ours.iter().copied(), &mut moved)?;
        }
        program.placed.extend(ours);
        program.placed.extend(along);
        Ok(Moved { moved, others: left })
    }

    /// The threads in others' groups; and, where they are left there, those of `tasks` that are by their CPUs.
    fn others_threads(&self, group: &str, tasks: &[i32]) -> Result<HashMap<i32, String>, Error> {
        let is_ours = |name: &str| self.is_ours(name);
        let mut theirs = residents(&self.tree, &is_ours)?;
        if self.settings.take_over {
            return Ok(theirs);
        }
        // In a group of ours, a thread has our class on every CPU.
        let inside: HashSet<i32> = if group.is_empty() {
            HashSet::new()
        } else {
            members(&self.tree, group)?.into_iter().collect()
        };
        let placed = |thread: &i32| self.programs.values().any(|of| of.placed.contains(thread));
        let mut rest = tasks.to_vec();
        rest.retain(|thread| {
            !theirs.contains_key(thread) && !inside.contains(thread) && !placed(thread)
        });
        theirs.extend(residents_by_cpu(&self.tree, &self.settings.proc, &rest, &is_ours)?);
        Ok(theirs)
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
        self.write_down(taken)
    }

    /// Writes down where threads would be that were born in a program's group, to parents that were taken.
    fn inherit(&mut self, group: &str, threads: &[i32]) -> Result<(), Error> {
        let taken = &self.state.ledger.tasks;
        if taken.is_empty() || group.is_empty() {
            return Ok(());
        }
        let proc = &self.settings.proc;
        let inside: HashSet<i32> = members(&self.tree, group)?.into_iter().collect();
        let is_known =
            |thread: i32| taken.iter().any(|task| task.thread == thread && is_still(proc, task));
        let born = threads.iter().copied();
        let born = born.filter(|&thread| inside.contains(&thread) && !is_known(thread));
        let born: Vec<Taken> =
            born.filter_map(|thread| inherited(proc, thread, taken, &inside)).collect();
        self.write_down(born)
    }

    fn write_down(&mut self, taken: Vec<Taken>) -> Result<(), Error> {
        if taken.is_empty() || self.settings.dry_run {
            return Ok(());
        }
        let threads: HashSet<i32> = taken.iter().map(|task| task.thread).collect();
        self.state.record(|ledger| {
            ledger.tasks.retain(|task| !threads.contains(&task.thread));
            ledger.tasks.extend(taken);
        })
    }

    /// Puts threads back that the program gives up, if they are still in its group: into the group that they were taken from, or
    /// the root's. Where they were taken from stays written down for those that are in another program's.
    pub(super) fn release(&mut self, app: AppId, threads: &[i32]) -> Result<(), Error> {
        let Some(program) = self.programs.get_mut(&app) else { return Ok(()) };
        program.placed.retain(|thread| !threads.contains(thread));
        if self.settings.dry_run {
            return Ok(());
        }
        if !program.adopted.is_empty() {
            self.give_back_with(app, Some(threads))?;
        }
        let Some(program) = self.programs.get_mut(&app) else { return Ok(()) };
        let (group, monitored) = (program.group(), program.monitored);
        let proc = &self.settings.proc;
        // Of those that have ended, which nearly all have, another thread may have the id.
        let ended = |task: &Taken| threads.contains(&task.thread) && !is_still(proc, task);
        if self.state.ledger.tasks.iter().any(ended) {
            self.state.note(|ledger| ledger.tasks.retain(|task| !ended(task)));
        }
        let here = |thread: &i32| started(proc, *thread).is_some();
        let alive: Vec<i32> = threads.iter().copied().filter(here).collect();
        if alive.is_empty() {
            return Ok(());
        }
        let _lock = self.lock()?;
        let placed = |thread: i32| self.programs.values().any(|of| of.placed.contains(&thread));
        let inside: HashSet<i32> = members(&self.tree, &group)?.into_iter().collect();
        let mut known = Vec::new();
        let mut free = Vec::new();
        for thread in alive {
            // A class's own threads may be those of any program in it.
            let is_here = inside.contains(&thread) && (monitored || !placed(thread));
            if !is_here {
                known.extend((!placed(thread)).then_some(thread));
                continue;
            }
            let taken = self.state.ledger.tasks.iter().find(|task| task.thread == thread);
            let back = match taken {
                Some(task) => give_back(&self.tree, task)?,
                None => false,
            };
            known.push(thread);
            if !back {
                free.push(thread);
            }
        }
        if !group.is_empty() {
            enter(&self.tree, "", free, &mut Vec::new())?;
        }
        // Another program that had it too may fetch it.
        for program in self.programs.values_mut() {
            program.placed.retain(|thread| !known.contains(thread));
        }
        if self.state.ledger.tasks.iter().any(|task| known.contains(&task.thread)) {
            self.state.note(|ledger| ledger.tasks.retain(|task| !known.contains(&task.thread)));
        }
        Ok(())
    }
}
