//! Handles a class of ours that can't be removed and no longer confines any program.

use std::collections::{BTreeSet, HashSet};

use fairways_resctrl::language::{Line, Schemata};

use crate::error::Error;
use crate::tree::{Tree, monitor_in, of};

/// How many times to look for threads that are forked meanwhile.
const PASSES: usize = 8;

/// The MON groups in a class that are not among `ours`, by their paths.
pub(crate) fn others_in(
    tree: &Tree,
    class: &str,
    ours: &BTreeSet<String>,
) -> Result<Vec<String>, Error> {
    let mut monitors = tree.directories(&of(class, "mon_groups"))?;
    monitors.retain(|name| !ours.contains(&monitor_in(class, name)));
    Ok(monitors)
}

/// Moves a class's threads to the root's group, except those in MON groups of others (not `ours`,
/// which are paths): these stay where the others put them.
pub(crate) fn vacate(tree: &Tree, class: &str, ours: &BTreeSet<String>) -> Result<(), Error> {
    for _ in 0..PASSES {
        let mut theirs = HashSet::new();
        for monitor in others_in(tree, class, ours)? {
            theirs.extend(tree.members(&monitor_in(class, &monitor))?);
        }
        let mut threads = tree.members(class)?;
        threads.retain(|thread| !theirs.contains(thread));
        if threads.is_empty() {
            break;
        }
        tree.enter("", threads, &mut Vec::new())?;
    }
    Ok(())
}

/// Lets a class fill what the root's group may fill, as its threads would be there without it.
pub(crate) fn widen(tree: &Tree, class: &str) -> Result<(), Error> {
    let read =
        |path: &str| Schemata::parse(&tree.read(path)?).map_err(|why| tree.misread(path, why));
    let path = of(class, "schemata");
    let (root, now) = (read("schemata")?, read(&path)?);
    let lines = now.lines.iter().map(|line| {
        let wider = line.domains.iter().filter_map(|&(domain, value)| {
            let all = root.line(&line.resource)?.value(domain)?;
            (all != value).then_some((domain, all))
        });
        Line { resource: line.resource.clone(), domains: wider.collect() }
    });
    let text = Schemata::from(lines.collect::<Vec<Line>>()).to_string();
    if !text.is_empty() {
        tree.write(&path, &text)?;
    }
    // An unknown line may be a limit that a program had before.
    for line in root.unknown.iter().filter(|line| !now.unknown.contains(line)) {
        match tree.write(&path, &format!("{line}\n")) {
            Err(error) if !error.is_refused_value() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
