//! Putting back what was changed, as far as it is still as Fairways left it.

use fairways_core::WayMask;
use fairways_resctrl::language::{Line, Schemata, Value};

use super::borrowed_groups;
use super::error::Error;
use super::foreign;
use super::io_fills;
use super::ledger::{ChangedMask, Ledger, MadeGroup, State};
use super::leftover::{vacate, widen};
use super::lock::{Kept, Lock};
use super::restored::{Restored, Thing};
use super::settings::Settings;
use super::taken_threads;
use super::tree::{Tree, of};

/// Restores what the ledger records. What could not be restored stays in it, and is tried again the
/// next time. It can be broken off anywhere and done again: what is restored already is not ours
/// any more.
pub(super) fn put_back(
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
    for (made, path) in &groups {
        if let Some(inode) = made.inode {
            tree.keep(path, inode);
        }
    }
    // A foreign group of that name is treated as any other, and its threads were moved by others.
    let (replaced, known): (Vec<_>, Vec<_>) = groups
        .iter()
        .cloned()
        .partition(|(made, path)| is_another(tree, made, path).unwrap_or(false));
    failed.tasks = taken_threads::put_back(tree, &ledger.tasks, &known, settings, &mut restored);
    // Where others monitor in a class it stays, and threads of MON groups that go would stay in it.
    let ours = |name: &str| {
        let is_it = |made: &MadeGroup| made.monitors && made.name == name;
        ledger.groups.iter().any(is_it) && !replaced.iter().any(|(made, _)| is_it(made))
    };
    for (made, class) in groups.iter().filter(|(made, _)| !made.monitors) {
        let others = tree.directories(&of(class, "mon_groups"));
        let is_free = others.is_ok_and(|others| others.iter().all(|name| ours(name)));
        if is_free || is_another(tree, made, class).unwrap_or(true) {
            continue;
        }
        if let Err(error) = vacate(tree, class, &ours) {
            tracing::error!(target: "fairways::actuate", group = class, %error, "threads not moved");
        }
    }
    let mut stay = Vec::new();
    // MON groups first: a class takes those in it along.
    for (made, path) in groups.iter().rev() {
        let thing = Thing::Group(path.clone());
        match remove(tree, made, path) {
            Ok(Removed::Gone) => restored.done.push(thing),
            Ok(Removed::Another) => {
                restored.left.push((thing, "another group of that name is there".to_owned()));
            }
            Ok(Removed::Used(by)) => {
                let others = by.iter().any(|name| !ours(name));
                let into = if others { &mut restored.left } else { &mut restored.failed };
                let who = if others { "others monitor" } else { "there are groups" };
                into.push((thing, format!("{who} in it: {}", by.join(", "))));
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
        if !is_done(&mut restored, thing, io_fills::give_back(tree, change)) {
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

/// Notes what became of a mask: nothing if it is as it was, or why it was left. False if it has to
/// be tried again.
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
pub(super) fn unknown(tree: &Tree, restored: &mut Restored) {
    // If the classes can't be listed, what was to be restored is reported all the same.
    for name in foreign::classes(tree).unwrap_or_default() {
        let thing = Thing::Group(name.clone());
        let mut listed = restored.left.iter().chain(&restored.failed).map(|(thing, _)| thing);
        if name.starts_with("fairways.") && !listed.any(|listed| *listed == thing) {
            restored.left.push((thing, "it is not in the ledger".to_owned()));
        }
    }
}

/// The outcome for a group.
enum Removed {
    Gone,
    /// It is not the one that was made.
    Another,
    /// There are MON groups in it, of these names.
    Used(Vec<String>),
}

/// Whether it is not the group that was made.
pub(super) fn is_another(tree: &Tree, made: &MadeGroup, path: &str) -> Result<bool, Error> {
    Ok(made.inode.is_some() && tree.inode(path)? != made.inode)
}

fn remove(tree: &Tree, made: &MadeGroup, path: &str) -> Result<Removed, Error> {
    if is_another(tree, made, path)? {
        return Ok(Removed::Another);
    }
    // Those of ours are removed already, as far as they could be.
    let monitors =
        if made.monitors { Vec::new() } else { tree.directories(&of(path, "mon_groups"))? };
    if !monitors.is_empty() {
        return Ok(Removed::Used(monitors));
    }
    tree.rmdir(path).map(|_| Removed::Gone)
}

/// Where the groups are, classes first; those that are gone are left out. What can't be found out
/// has failed.
pub(super) fn places(
    tree: &Tree,
    made: &[MadeGroup],
    failed: &mut Ledger,
    restored: &mut Restored,
) -> Vec<(MadeGroup, String)> {
    let mut places = Vec::new();
    for class in made.iter().filter(|made| !made.monitors) {
        match tree.inode(&class.name) {
            Ok(None) => {}
            Ok(Some(_)) => places.push((class.clone(), class.name.clone())),
            Err(error) => {
                restored.failed.push((Thing::Group(class.name.clone()), error.to_string()));
                failed.groups.push(class.clone());
            }
        }
    }
    let mut errors = Vec::new();
    // Below the classes of others, too.
    let classes = foreign::classes(tree).unwrap_or_else(|error| {
        errors.push((Thing::Group("fairways.*".to_owned()), error.to_string()));
        Vec::new()
    });
    for parent in std::iter::once(String::new()).chain(classes) {
        let below = of(&parent, "mon_groups");
        let names = tree.directories(&below);
        for name in names.unwrap_or_else(|error| {
            errors.push((Thing::Group(below.clone()), error.to_string()));
            Vec::new()
        }) {
            if let Some(made) = made.iter().find(|made| made.monitors && made.name == name) {
                places.push((made.clone(), format!("{below}/{name}")));
            }
        }
    }
    if !errors.is_empty() {
        let found = |made: &MadeGroup| places.iter().any(|(place, _)| place.name == made.name);
        let lost = made.iter().filter(|made| made.monitors && !found(made));
        failed.groups.extend(lost.cloned());
        restored.failed.extend(errors);
    }
    places
}

/// One of the root's masks now; `None` where there is no such domain.
pub(super) fn read_mask(tree: &Tree, value: &ChangedMask) -> Result<Option<WayMask>, Error> {
    let text = tree.read("schemata")?;
    let schemata = Schemata::parse(&text).map_err(|why| tree.misread("schemata", why))?;
    match schemata.line(&value.line).and_then(|line| line.value(value.domain)) {
        Some(Value::Mask(now)) => Ok(Some(now)),
        _ => Ok(None),
    }
}

/// Writes one of the root's masks back, if it is still one of ours. Returns why it was not written,
/// if so; that is empty where the mask is as it was.
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
    tree.write("schemata", &Schemata { lines }.to_string())?;
    Ok(None)
}
