//! Threads that were taken from others' groups, and are put back.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use fairways_ledger::{Restored, Thing};
use fairways_linux::stat::started;
use fairways_linux::status;

use super::mount::Mount;
use super::{MadeGroup, TakenThread};
use crate::error::Error;
use crate::settings::Settings;
use crate::tree::{Tree, apart};

/// The longest chain of parents that is followed.
const GENERATIONS: usize = 64;

impl Mount {
    /// Records the groups from which threads are taken.
    pub(crate) fn take(
        &mut self,
        threads: &[i32],
        from: &HashMap<i32, String>,
    ) -> Result<(), Error> {
        let mut taken = Vec::new();
        for &thread in threads {
            let Some(group) = from.get(&thread).cloned() else { continue };
            let started = started(&self.settings.proc, thread);
            if let (Some(started), Some(inode)) = (started, self.tree.find(&group)?) {
                taken.push(TakenThread { thread, started, group, inode });
            }
        }
        self.write_down(taken)
    }

    /// Records where threads that were born in a program's group, as children of taken ones, would
    /// be otherwise.
    pub(crate) fn inherit(&mut self, group: &str, threads: &[i32]) -> Result<(), Error> {
        let taken = &self.state.ledger.tasks;
        if taken.is_empty() || group.is_empty() {
            return Ok(());
        }
        let proc = &self.settings.proc;
        let inside: HashSet<i32> = self.tree.members(group)?.into_iter().collect();
        let is_known =
            |thread: i32| taken.iter().any(|task| task.thread == thread && is_still(proc, task));
        let born = threads.iter().copied();
        let born = born.filter(|&thread| inside.contains(&thread) && !is_known(thread));
        let born: Vec<TakenThread> =
            born.filter_map(|thread| inherited(proc, thread, taken, &inside)).collect();
        self.write_down(born)
    }

    fn write_down(&mut self, taken: Vec<TakenThread>) -> Result<(), Error> {
        if taken.is_empty() {
            return Ok(());
        }
        let threads: HashSet<i32> = taken.iter().map(|task| task.thread).collect();
        self.state.record(|ledger| {
            ledger.tasks.retain(|task| !threads.contains(&task.thread));
            ledger.tasks.extend(taken);
        })?;
        Ok(())
    }
}

/// Puts back threads that are still in groups of ours; returns those that could not be put back.
pub(crate) fn put_back(
    tree: &Tree,
    taken: &[TakenThread],
    groups: &[(MadeGroup, String)],
    settings: &Settings,
    restored: &mut Restored,
) -> Vec<TakenThread> {
    let mut failed = Vec::new();
    if taken.is_empty() {
        return failed;
    }
    let mut ours: HashSet<i32> = HashSet::new();
    let mut unread = None;
    for (_, path) in groups {
        match tree.members(path) {
            Ok(threads) => ours.extend(threads),
            Err(error) => unread = Some(error),
        }
    }
    for task in taken.iter().filter(|task| is_still(&settings.proc, task)) {
        let thing = Thing::Task(task.thread, task.group.clone());
        let back = match whereabouts(tree, task, &ours) {
            Ok(Whereabouts::There) => continue,
            Ok(Whereabouts::Elsewhere) if unread.is_none() => {
                restored.left.push((thing, "it was moved to another group since".to_owned()));
                continue;
            }
            Ok(Whereabouts::Elsewhere) => Err(unread.as_ref().map(ToString::to_string)),
            Ok(Whereabouts::Ours) => give_back(tree, task).map_err(|why| Some(why.to_string())),
            Err(error) => Err(Some(error.to_string())),
        };
        match back {
            Ok(true) => restored.done.push(thing),
            Ok(false) => restored.left.push((thing, "that group is gone".to_owned())),
            Err(why) => {
                restored.failed.push((thing, why.unwrap_or_default()));
                failed.push(task.clone());
            }
        }
    }
    failed
}

/// Where a taken thread is now.
enum Whereabouts {
    /// In its original group.
    There,
    /// Where we put it: a group of ours, its original group's class, or the root's group.
    Ours,
    /// Where others have moved it.
    Elsewhere,
}

/// Where a taken thread is now; `ours` are the threads in our groups.
fn whereabouts(tree: &Tree, task: &TakenThread, ours: &HashSet<i32>) -> Result<Whereabouts, Error> {
    if ours.contains(&task.thread) {
        return Ok(Whereabouts::Ours);
    }
    let is_in = |group: &str| tree.members(group).map(|inside| inside.contains(&task.thread));
    // If it is in the class of its original group, it was put back only halfway. A program that
    // can't be monitored and has no place is in the root's group.
    let (class, _) = apart(&task.group);
    if is_in(&task.group)? {
        Ok(Whereabouts::There)
    } else if is_in(class)? || is_in("")? {
        Ok(Whereabouts::Ours)
    } else {
        Ok(Whereabouts::Elsewhere)
    }
}

/// Puts a thread back into its original group; returns whether that still exists.
pub(crate) fn give_back(tree: &Tree, task: &TakenThread) -> Result<bool, Error> {
    if tree.find(&task.group)? != Some(task.inode) {
        return Ok(false);
    }
    tree.enter(&task.group, [task.thread], &mut Vec::new())?;
    Ok(true)
}

/// Whether a thread still is the one that was taken.
pub(crate) fn is_still(proc: &Path, task: &TakenThread) -> bool {
    started(proc, task.thread) == Some(task.started)
}

/// The group in which a thread born `inside` our groups would be if its parents had not been taken:
/// the group that they left, first that of its thread group, as a new thread or process starts in
/// its maker's group (resctrl.rst, "Resource alloc and monitor groups").
pub(crate) fn inherited(
    proc: &Path,
    thread: i32,
    taken: &[TakenThread],
    inside: &HashSet<i32>,
) -> Option<TakenThread> {
    let mut at = thread;
    for _ in 0..GENERATIONS {
        let (leader, parent) = status::family(&status::text(proc, at)?)?;
        let of = |id: i32| taken.iter().find(|task| task.thread == id && is_still(proc, task));
        if let Some(origin) = of(leader).or_else(|| of(parent)) {
            return Some(TakenThread { thread, started: started(proc, thread)?, ..origin.clone() });
        }
        if !inside.contains(&parent) {
            return None;
        }
        at = parent;
    }
    None
}
