//! Threads: which exist, whose they are, and how they come into a group.

use std::collections::HashSet;
use std::path::Path;

use fairways_linux::stat::started;
use fairways_linux::status;

use super::TakenThread;
use crate::error::Error;
use crate::tree::{Tree, of};

/// The longest line of parents that is followed.
const GENERATIONS: usize = 64;

/// Puts a thread back into the group that it was taken from. Returns whether that still exists.
pub(crate) fn give_back(tree: &Tree, task: &TakenThread) -> Result<bool, Error> {
    if tree.find(&task.group)? != Some(task.inode) {
        return Ok(false);
    }
    enter(tree, &task.group, [task.thread], &mut Vec::new())?;
    Ok(true)
}

/// Puts threads into a group. Those for a MON group go by way of its class: threads of another
/// class can't be moved into it (`__rdtgroup_move_task`).
pub(crate) fn enter(
    tree: &Tree,
    group: &str,
    threads: impl IntoIterator<Item = i32>,
    moved: &mut Vec<i32>,
) -> Result<(), Error> {
    let path = of(group, "tasks");
    let (class, is_monitor) = apart(group);
    if !is_monitor {
        return tree.write_threads(&path, threads, moved);
    }
    let mut entered = Vec::new();
    tree.write_threads(&of(class, "tasks"), threads, &mut entered)?;
    tree.write_threads(&path, entered, moved)
}

/// The CTRL_MON group that a group is in, itself if it is one; and whether it is a MON group in it.
pub(crate) fn apart(group: &str) -> (&str, bool) {
    match group.rsplit_once("mon_groups/") {
        Some((class, _)) => (class.trim_end_matches('/'), true),
        None => (group, false),
    }
}

/// Whether a thread still is the one that was taken.
pub(crate) fn is_still(proc: &Path, task: &TakenThread) -> bool {
    started(proc, task.thread) == Some(task.started)
}

/// Where a thread that was born `inside` our groups would be if its parents had not been taken: in
/// the group that they left, its thread group's first, since a new thread or process is in the
/// group of the one that made it (resctrl.rst, "Resource alloc and monitor groups").
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
