//! Putting back what was changed, as far as it is still as Fairways left it.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::path::Path;

use fairways_resctrl::language::{Schemata, Value};

use super::foreign::{classes, members};
use super::ledger::{Changed, Ledger, Made, State, Taken};
use super::lock::Lock;
use super::tree::{Tree, of};
use super::{Error, OpenError, Settings};

/// What was made or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A group, by its path.
    Group(String),
    /// A mask of the root's: the line of `schemata`, and the domain.
    Mask(String, u32),
    /// A thread, and the group that it was taken from.
    Task(i32, String),
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(path) => write!(f, "group {path}"),
            Self::Mask(line, domain) => write!(f, "{line}:{domain} of the root's schemata"),
            Self::Task(thread, group) => write!(f, "task {thread} of group {group}"),
        }
    }
}

/// What became of it in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// What is as it was before: groups are gone, masks and tasks put back.
    pub done: Vec<Thing>,
    /// What was left as it is, and why.
    pub left: Vec<(Thing, String)>,
}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for thing in &self.done {
            writeln!(f, "restored {thing}")?;
        }
        for (thing, why) in &self.left {
            writeln!(f, "left {thing}: {why}")?;
        }
        Ok(())
    }
}

/// Puts right what a fairways that was killed has left (`fairways restore`). What is of another boot or another mount is not
/// there any more; its ledger is put aside.
///
/// # Errors
/// If resctrl or the state directory can't be used, or another fairways uses it.
pub fn restore(settings: &Settings) -> Result<Restored, OpenError> {
    let (mut state, found) = State::open(&settings.state)?;
    let tree = match Tree::open(&settings.root) {
        Ok(tree) => tree,
        Err(_) if found.is_none() => return Ok(Restored::default()),
        Err(error) => return Err(error.into()),
    };
    Ok(recover(&tree, &mut state, found, settings)?)
}

/// Restores what a ledger tells, and begins a new one.
pub(super) fn recover(
    tree: &Tree,
    state: &mut State,
    found: Option<Ledger>,
    settings: &Settings,
) -> Result<Restored, Error> {
    let boot = fs::read_to_string(&settings.boot_id)
        .map_err(|why| Error::State { path: settings.boot_id.clone(), why: why.to_string() })?;
    let boot = boot.trim().to_owned();
    if let Some(ledger) = found {
        let stale = if ledger.boot != boot {
            Some("it is of another boot")
        } else if ledger.device != tree.device() {
            Some("resctrl was mounted anew since")
        } else {
            None
        };
        if let Some(why) = stale {
            state.put_aside(why)?;
        } else {
            state.ledger = ledger;
            return put_back(tree, state, settings);
        }
    }
    state.begin(boot, tree.device());
    Ok(Restored::default())
}

/// Restores what the ledger tells; what could not be stays in it, and is tried again the next time. It can be broken off anywhere
/// and done again: what is restored already is not ours any more.
pub(super) fn put_back(
    tree: &Tree,
    state: &mut State,
    settings: &Settings,
) -> Result<Restored, Error> {
    let _lock = Lock::take(tree, &settings.proc, settings.patience)?;
    let mut restored = Restored::default();
    let ledger = state.ledger.clone();
    let mut failed = Ledger::default();
    let groups = places(tree, &ledger.groups)?;
    failed.tasks = tasks(tree, &ledger.tasks, &groups, &settings.proc, &mut restored)?;
    // MON groups first: a class takes those in it along.
    for (made, path) in groups.iter().rev() {
        match remove(tree, made, path) {
            Ok(None) => restored.done.push(Thing::Group(path.clone())),
            Ok(Some(why)) => restored.left.push((Thing::Group(path.clone()), why)),
            Err(error) => {
                tracing::error!(target: "fairways::actuate", group = path, %error, "not removed");
                restored.left.push((Thing::Group(path.clone()), error.to_string()));
                failed.groups.push(made.clone());
            }
        }
    }
    for value in &ledger.values {
        let thing = Thing::Mask(value.line.clone(), value.domain);
        match mask(tree, value) {
            Ok(None) => restored.done.push(thing),
            Ok(Some(why)) if why.is_empty() => {}
            Ok(Some(why)) => restored.left.push((thing, why)),
            Err(error) => {
                tracing::error!(target: "fairways::actuate", %error, "not restored");
                restored.left.push((thing, error.to_string()));
                failed.values.push(value.clone());
            }
        }
    }
    state.record(|ledger| {
        (ledger.groups, ledger.values, ledger.tasks) = (failed.groups, failed.values, failed.tasks);
    })?;
    for name in classes(tree)?.into_iter().filter(|name| name.starts_with("fairways.")) {
        if !restored.left.iter().any(|(thing, _)| *thing == Thing::Group(name.clone())) {
            let why = "it is not in the ledger".to_owned();
            restored.left.push((Thing::Group(name), why));
        }
    }
    Ok(restored)
}

/// Removes a group; or why it is left.
fn remove(tree: &Tree, made: &Made, path: &str) -> Result<Option<String>, Error> {
    if made.inode.is_some() && tree.inode(path)? != made.inode {
        return Ok(Some("another group of that name is there".to_owned()));
    }
    // Those of ours are removed already.
    let monitors =
        if made.monitors { Vec::new() } else { tree.directories(&of(path, "mon_groups"))? };
    if !monitors.is_empty() {
        return Ok(Some(format!("others monitor in it: {}", monitors.join(", "))));
    }
    tree.rmdir(path).map(|_| None)
}

/// Where the groups are, classes first; those that are gone are left out.
fn places(tree: &Tree, made: &[Made]) -> Result<Vec<(Made, String)>, Error> {
    let mut places = Vec::new();
    for class in made.iter().filter(|made| !made.monitors) {
        if tree.inode(&class.name)?.is_some() {
            places.push((class.clone(), class.name.clone()));
        }
    }
    let mut above = vec![String::new()];
    above.extend(places.iter().map(|(_, path)| path.clone()));
    for parent in above {
        let below = of(&parent, "mon_groups");
        for name in tree.directories(&below)? {
            if let Some(made) = made.iter().find(|made| made.monitors && made.name == name) {
                places.push((made.clone(), format!("{below}/{name}")));
            }
        }
    }
    Ok(places)
}

/// Puts threads back that are still in groups of ours; those that could not be.
fn tasks(
    tree: &Tree,
    taken: &[Taken],
    groups: &[(Made, String)],
    proc: &Path,
    restored: &mut Restored,
) -> Result<Vec<Taken>, Error> {
    let mut failed = Vec::new();
    if taken.is_empty() {
        return Ok(failed);
    }
    // A program that can't be monitored and has no place is in the root's group itself.
    let mut ours: HashSet<i32> = members(tree, "")?.into_iter().collect();
    for (_, path) in groups {
        ours.extend(members(tree, path)?);
    }
    for task in taken {
        if started(proc, task.thread) != Some(task.started) {
            continue;
        }
        let thing = Thing::Task(task.thread, task.group.clone());
        let there = members(tree, &task.group)?.contains(&task.thread);
        // In the class of that group, it was half put back.
        let (class, _) = apart(&task.group);
        if there || !ours.contains(&task.thread) && !members(tree, class)?.contains(&task.thread) {
            if !there {
                restored.left.push((thing, "it was moved to another group since".to_owned()));
            }
            continue;
        }
        match give_back(tree, task) {
            Ok(true) => restored.done.push(thing),
            Ok(false) => restored.left.push((thing, "that group is gone".to_owned())),
            Err(error) => {
                restored.left.push((thing, error.to_string()));
                failed.push(task.clone());
            }
        }
    }
    Ok(failed)
}

/// Puts a thread back into the group that it was taken from; whether that is still there.
pub(super) fn give_back(tree: &Tree, task: &Taken) -> Result<bool, Error> {
    if tree.inode(&task.group)? != Some(task.inode) {
        return Ok(false);
    }
    enter(tree, &task.group, [task.thread], &mut Vec::new())?;
    Ok(true)
}

/// Puts threads into a group, by way of its class if it is a MON group: into one, threads of another class can't be moved
/// (`__rdtgroup_move_task`).
pub(super) fn enter(
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
fn apart(group: &str) -> (&str, bool) {
    match group.rsplit_once("mon_groups/") {
        Some((class, _)) => (class.trim_end_matches('/'), true),
        None => (group, false),
    }
}

/// When a thread started, in clock ticks since boot; `None` if there is none (proc_pid_stat(5), field 22).
pub(super) fn started(proc: &Path, thread: i32) -> Option<u64> {
    let stat = fs::read_to_string(proc.join(format!("{thread}/stat"))).ok()?;
    // The name may hold blanks and brackets; what follows the last bracket is field 3.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(22 - 3)?.parse().ok()
}

/// Writes one of the root's masks back, if it is still one of ours; or why not, which is nothing where it is as it was.
fn mask(tree: &Tree, value: &Changed) -> Result<Option<String>, Error> {
    let Changed { line, domain, before, ours } = value;
    let text = tree.read("schemata")?;
    let schemata = Schemata::parse(&text).map_err(|why| tree.misread("schemata", why))?;
    let now = schemata.line(line).and_then(|line| line.value(*domain));
    let Some(Value::Mask(now)) = now else {
        return Ok(Some("there is no such domain now".to_owned()));
    };
    if now.bits() == *before {
        return Ok(Some(String::new()));
    }
    if !ours.contains(&now.bits()) {
        return Ok(Some(format!("it is {now}, which others wrote")));
    }
    tree.write("schemata", &format!("{line}:{domain}={before:x}\n"))?;
    Ok(None)
}
