//! Restores what was changed, as far as Fairways' changes are still in place.

use std::collections::BTreeSet;

use fairways_core::WayMask;
use fairways_ledger::{Restored, Thing};
use fairways_resctrl::language::{Line, Schemata, Value};

use super::leftover::{others_in, vacate, widen};
use super::{ChangedMask, Ledger, MadeGroup, State, borrowed_groups, taken_threads};
use crate::error::Error;
use crate::settings::Settings;
use crate::tree::io_alloc::{self, IoMasks};
use crate::tree::lock::{Kept, Lock};
use crate::tree::{Tree, monitor_in, of};

/// Restores what the ledger records. Whatever could not be restored stays in the ledger, and is
/// tried again the next time. This can be interrupted and repeated at any point: what is already
/// restored is no longer ours.
pub(crate) fn put_back(
    tree: &Tree,
    state: &mut State,
    settings: &Settings,
) -> Result<Restored, Error> {
    let _lock = Lock::take(tree, &settings.proc, settings.patience, Kept::GoOn)?;
    let mut restored = Restored::default();
    let ledger = state.ledger.clone();
    let mut failed = Ledger::default();
    let classes = ledger.groups.iter().filter(|made| !made.monitors);
    let classes = classes.map(|made| made.name.as_str());
    failed.borrowed = borrowed_groups::put_back(tree, &ledger.borrowed, classes, &mut restored);
    let groups = places(tree, &ledger.groups, &mut failed, &mut restored);
    // Another manager's group of that name is treated as any other; that manager moved its threads.
    let (replaced, known): (Vec<_>, Vec<_>) = groups
        .iter()
        .cloned()
        .partition(|(made, path)| is_another(tree, made, path).unwrap_or(false));
    for (made, path) in &known {
        if let Some(inode) = made.inode {
            tree.keep(path, inode);
        }
    }
    failed.tasks = taken_threads::put_back(tree, &ledger.tasks, &known, settings, &mut restored);
    // A class in which others monitor stays, and would keep the threads of MON groups that are
    // removed.
    let mut ours: BTreeSet<String> = known.iter().map(|(_, path)| path.clone()).collect();
    for (_, class) in known.iter().filter(|(made, _)| !made.monitors) {
        // If that could not be determined, its name says that it is ours.
        let unsure = failed.groups.iter().filter(|made| made.monitors);
        ours.extend(unsure.map(|made| monitor_in(class, &made.name)));
    }
    for (_, class) in known.iter().filter(|(made, _)| !made.monitors) {
        let others = others_in(tree, class, &ours);
        if others.is_ok_and(|others| others.is_empty()) {
            continue;
        }
        if let Err(error) = vacate(tree, class, &ours) {
            tracing::error!(target: "fairways::actuate", group = class, %error, "threads not moved");
        }
    }
    for (_, path) in &replaced {
        let thing = Thing::Group(path.clone());
        restored.left.push((thing, "another group of that name is there".to_owned()));
    }
    let mut stay = Vec::new();
    // MON groups first: removing a class would remove those in it.
    for (made, path) in known.iter().rev() {
        let thing = Thing::Group(path.clone());
        match remove(tree, made, path) {
            Ok(monitors) if monitors.is_empty() => restored.done.push(thing),
            Ok(monitors) => {
                let others = monitors.iter().any(|name| !ours.contains(&monitor_in(path, name)));
                let into = if others { &mut restored.left } else { &mut restored.failed };
                let who = if others { "others monitor" } else { "there are groups" };
                into.push((thing, format!("{who} in it: {}", monitors.join(", "))));
                stay.push(made);
            }
            Err(error) => {
                tracing::error!(target: "fairways::actuate", group = path, %error, "not removed");
                restored.failed.push((thing, error.to_string()));
                stay.push(made);
            }
        }
    }
    for value in &ledger.values {
        let thing = Thing::Mask(value.line.clone(), value.domain);
        if !is_done(&mut restored, thing, mask(tree, value)) {
            failed.values.push(value.clone());
        }
    }
    for change in &ledger.io {
        let thing = Thing::IoMask(change.line.clone(), change.domain);
        if !is_done(&mut restored, thing, io_mask(tree, change)) {
            failed.io.push(change.clone());
        }
    }
    for made in &stay {
        let done = if made.monitors {
            Ok(())
        } else {
            vacate(tree, &made.name, &ours).and_then(|()| widen(tree, &made.name))
        };
        if let Err(error) = done {
            tracing::error!(target: "fairways::actuate", group = made.name, %error, "still confined");
            restored.failed.push((Thing::Group(made.name.clone()), error.to_string()));
        }
    }
    failed.groups.extend(stay.into_iter().cloned());
    unknown(tree, &mut restored);
    state.record(|ledger| {
        (ledger.groups, ledger.values, ledger.tasks) = (failed.groups, failed.values, failed.tasks);
        (ledger.borrowed, ledger.io) = (failed.borrowed, failed.io);
    })?;
    Ok(restored)
}

/// Records the outcome for a mask: that it is restored, why it was left, or why it failed; nothing
/// if it had its old value already. Returns false if it has to be tried again.
fn is_done(restored: &mut Restored, thing: Thing, done: Result<Option<String>, Error>) -> bool {
    match done {
        Ok(None) => restored.done.push(thing),
        Ok(Some(why)) if why.is_empty() => {}
        Ok(Some(why)) => restored.left.push((thing, why)),
        Err(error) => {
            tracing::error!(target: "fairways::actuate", %error, "not restored");
            restored.failed.push((thing, error.to_string()));
            return false;
        }
    }
    true
}

/// Reports groups with names like ours that no ledger knows.
pub(crate) fn unknown(tree: &Tree, restored: &mut Restored) {
    // If the classes can't be listed, the rest is reported nevertheless.
    for name in tree.classes().unwrap_or_default() {
        let thing = Thing::Group(name.clone());
        let mut listed = restored.left.iter().chain(&restored.failed).map(|(thing, _)| thing);
        if name.starts_with("fairways.") && !listed.any(|listed| *listed == thing) {
            restored.left.push((thing, "it is not in the ledger".to_owned()));
        }
    }
}

/// Whether the path has another group than the one that was made; false if it has none.
pub(crate) fn is_another(tree: &Tree, made: &MadeGroup, path: &str) -> Result<bool, Error> {
    let now = tree.inode(path)?;
    Ok(made.inode.is_some() && now.is_some() && now != made.inode)
}

/// Removes a group, unless it contains MON groups, which are returned.
fn remove(tree: &Tree, made: &MadeGroup, path: &str) -> Result<Vec<String>, Error> {
    // Ours are removed already, as far as possible.
    let monitors =
        if made.monitors { Vec::new() } else { tree.directories(&of(path, "mon_groups"))? };
    if monitors.is_empty() {
        tree.rmdir(path)?;
    }
    Ok(monitors)
}

/// The paths of these groups, classes first; those that are gone are left out. If a path can't be
/// determined, its group counts as failed.
pub(crate) fn places(
    tree: &Tree,
    made: &[MadeGroup],
    failed: &mut Ledger,
    restored: &mut Restored,
) -> Vec<(MadeGroup, String)> {
    let mut places = Vec::new();
    for class in made.iter().filter(|made| !made.monitors) {
        match tree.find(&class.name) {
            Ok(None) => {}
            Ok(Some(_)) => places.push((class.clone(), class.name.clone())),
            Err(error) => {
                restored.failed.push((Thing::Group(class.name.clone()), error.to_string()));
                failed.groups.push(class.clone());
            }
        }
    }
    let (mut there, mut is_whole) = (Vec::new(), true);
    let mut own = BTreeSet::from([String::new()]);
    own.extend(places.iter().map(|(_, path)| path.clone()));
    // A class that can't be listed may contain any of them.
    own.extend(failed.groups.iter().map(|made| made.name.clone()));
    let (mut above, mut of_others) = (own.clone(), Vec::new());
    // Also below the classes of others.
    match tree.classes() {
        Ok(classes) => above.extend(classes),
        Err(error) => {
            restored.failed.push((Thing::Group("fairways.*".to_owned()), error.to_string()));
            is_whole = false;
        }
    }
    let mut rest: Vec<&MadeGroup> = made.iter().filter(|made| made.monitors).collect();
    for parent in above {
        let below = of(&parent, "mon_groups");
        if let Err(error) = list_named(tree, &below, &rest, &mut there) {
            let all = if own.contains(&parent) { &mut restored.failed } else { &mut of_others };
            all.push((Thing::Group(below), error.to_string()));
            is_whole = false;
        }
    }
    // First those with known inodes. Any other group of such a name is one whose inode was not
    // recorded yet, or has replaced ours.
    for pass in 0..3 {
        rest.retain(|made| {
            let found = there.iter().position(|(name, _, inode)| {
                let fits = match pass {
                    0 => made.inode == Some(*inode),
                    1 => made.inode.is_none(),
                    _ => true,
                };
                fits && *name == made.name
            });
            let place = found.map(|at| there.swap_remove(at).1);
            let is_found = place.is_some();
            places.extend(place.map(|path| ((*made).clone(), path)));
            !is_found
        });
    }
    // Once all are found, any other group in classes of others is theirs.
    if !rest.is_empty() {
        restored.failed.extend(of_others);
    }
    if !is_whole {
        failed.groups.extend(rest.into_iter().cloned());
    }
    places
}

/// Lists the MON groups in a directory whose names are among these: name, path and inode.
fn list_named(
    tree: &Tree,
    below: &str,
    made: &[&MadeGroup],
    there: &mut Vec<(String, String, u64)>,
) -> Result<(), Error> {
    for name in tree.directories(below)? {
        let path = format!("{below}/{name}");
        if made.iter().any(|made| made.name == name)
            && let Some(inode) = tree.find(&path)?
        {
            there.push((name, path, inode));
        }
    }
    Ok(())
}

/// The present value of one of the root's masks; `None` if there is no such domain.
pub(crate) fn read_mask(tree: &Tree, value: &ChangedMask) -> Result<Option<WayMask>, Error> {
    let text = tree.read("schemata")?;
    let schemata = Schemata::parse(&text).map_err(|why| tree.misread("schemata", why))?;
    match schemata.line(&value.line).and_then(|line| line.value(value.domain)) {
        Some(Value::Mask(now)) => Ok(Some(now)),
        _ => Ok(None),
    }
}

/// Restores one of the root's masks, if its value is still one of ours. Returns why not, if so; an
/// empty reason means that it has its old value already.
fn mask(tree: &Tree, value: &ChangedMask) -> Result<Option<String>, Error> {
    let ChangedMask { line, domain, before, ours } = value;
    let Some(now) = read_mask(tree, value)? else {
        return Ok(Some("there is no such domain now".to_owned()));
    };
    if now.bits() == *before {
        return Ok(Some(String::new()));
    }
    if !ours.contains(&now.bits()) {
        return Ok(Some(format!("it is {now}, which others wrote")));
    }
    let domains = vec![(*domain, Value::Mask(WayMask::from_bits(*before)))];
    let lines = vec![Line { resource: line.clone(), domains }];
    tree.write("schemata", &Schemata::from(lines).to_string())?;
    Ok(None)
}

/// Restores the ways that devices may fill, if Fairways' value is still in place. Returns why not,
/// if so; an empty reason means that they have their old value already.
fn io_mask(tree: &Tree, change: &ChangedMask) -> Result<Option<String>, Error> {
    let ChangedMask { line, domain, before, ours } = change;
    let now = io_alloc::read(tree, line)?.and_then(|masks| masks.get(domain).copied());
    let Some(now) = now else {
        return Ok(Some("devices have no class of their own there now".to_owned()));
    };
    if now.bits() == *before {
        return Ok(Some(String::new()));
    }
    if !ours.contains(&now.bits()) {
        return Ok(Some(format!("it is {now}, which others wrote")));
    }
    io_alloc::write(tree, line, &IoMasks::from([(*domain, WayMask::from_bits(*before))]))?;
    Ok(None)
}
