//! A class of ours that can't be removed, and no longer confines any program.

use std::collections::HashSet;

use fairways_resctrl::language::{Line, Schemata};

use super::error::Error;
use super::foreign::members;
use super::threads::enter;
use super::tree::{Tree, of};

/// How many times to look for threads that are forked meanwhile.
const PASSES: usize = 8;

/// Moves a class's threads to the root's group, except those in MON groups of others (not `ours`):
/// these stay where the others put them.
pub(super) fn vacate(tree: &Tree, class: &str, ours: &dyn Fn(&str) -> bool) -> Result<(), Error> {
    let below = of(class, "mon_groups");
    for _ in 0..PASSES {
        let mut theirs = HashSet::new();
        for monitor in tree.directories(&below)?.into_iter().filter(|name| !ours(name)) {
            theirs.extend(members(tree, &format!("{below}/{monitor}"))?);
        }
        let mut threads = members(tree, class)?;
        threads.retain(|thread| !theirs.contains(thread));
        if threads.is_empty() {
            break;
        }
        enter(tree, "", threads, &mut Vec::new())?;
    }
    Ok(())
}

/// Lets a class fill what the root's group may, which is where its threads would be without it.
pub(super) fn widen(tree: &Tree, class: &str) -> Result<(), Error> {
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
    if text.is_empty() { Ok(()) } else { tree.write(&path, &text) }
}
