//! Threads that were taken from others, and go back.

use std::collections::HashSet;

use super::error::Error;
use super::foreign::members;
use super::ledger::{Made, Taken};
use super::restored::{Restored, Thing};
use super::settings::Settings;
use super::threads::{apart, give_back, is_still};
use super::tree::Tree;

/// Puts threads back that are still in groups of ours; those that could not be.
pub(super) fn tasks(
    tree: &Tree,
    taken: &[Taken],
    groups: &[(Made, String)],
    settings: &Settings,
    restored: &mut Restored,
) -> Vec<Taken> {
    let mut failed = Vec::new();
    if taken.is_empty() {
        return failed;
    }
    let mut ours: HashSet<i32> = HashSet::new();
    let mut unread = None;
    for (_, path) in groups {
        match members(tree, path) {
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

/// Where a thread is that was taken.
enum Whereabouts {
    /// Where it was.
    There,
    /// Where we put it.
    Ours,
    /// Where others put it.
    Elsewhere,
}

/// Where a thread is, if some of ours are in these groups.
fn whereabouts(tree: &Tree, task: &Taken, ours: &HashSet<i32>) -> Result<Whereabouts, Error> {
    if ours.contains(&task.thread) {
        return Ok(Whereabouts::Ours);
    }
    let is_in = |group: &str| Ok(members(tree, group)?.contains(&task.thread));
    // In the class of that group, it was half put back. A program that can't be monitored and has no place is in the root's group.
    let (class, _) = apart(&task.group);
    if is_in(&task.group)? {
        Ok(Whereabouts::There)
    } else if is_in(class)? || is_in("")? {
        Ok(Whereabouts::Ours)
    } else {
        Ok(Whereabouts::Elsewhere)
    }
}
