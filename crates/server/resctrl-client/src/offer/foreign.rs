//! Groups of other managers, which stay as they are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::Path;

use fairways_core::{CpuSet, WayMask};
use fairways_linux::status;
use fairways_linux::topology::listed;
use fairways_resctrl::language::{Mode, Schemata};

use crate::error::Error;
use crate::tree::schemata::{SIDES, masks_in, schemata};
use crate::tree::{Tree, of};

/// Another manager's CTRL_MON group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    pub(crate) name: String,
    /// The ways that it may fill, by domain; with CDP, those of code and data.
    pub(crate) masks: BTreeMap<u32, WayMask>,
    /// Whether no other group may fill them: its mode is not `shareable`.
    pub(crate) exclusive: bool,
    /// Whether it limits no threads except those to be taken over: it has no other threads and no
    /// CPUs. Known only if threads are taken over.
    pub(crate) is_idle: bool,
    /// All of its `schemata`.
    pub(crate) schemata: Schemata,
}

impl Foreign {
    /// A group with this `schemata`; `mode` is `None` if unknown. It counts as in use.
    #[must_use]
    pub fn new(name: &str, schemata: &Schemata, mode: Option<Mode>) -> Self {
        let mut sides = SIDES.into_iter();
        let sides = sides.find(|sides| sides.iter().all(|side| schemata.line(side).is_some()));
        let mut masks: BTreeMap<u32, WayMask> = BTreeMap::new();
        for ((_, domain), mask) in masks_in(schemata, sides.unwrap_or_default()) {
            let all = masks.entry(domain).or_default();
            *all = WayMask::from_bits(all.bits() | mask.bits());
        }
        Self {
            name: name.to_owned(),
            masks,
            exclusive: mode.is_some_and(|mode| mode != Mode::Shareable),
            is_idle: false,
            schemata: schemata.clone(),
        }
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let masks = self.masks.iter().map(|(domain, mask)| format!("{domain}={mask}"));
        write!(f, "{} (L3:{})", self.name, masks.collect::<Vec<_>>().join(";"))
    }
}

/// The groups that exist, except our classes.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Other managers'.
    pub(crate) foreign: Vec<Foreign>,
    /// The paths of their MON groups.
    pub(crate) monitors: Vec<String>,
    /// The paths of our MON groups.
    pub(crate) ours: BTreeSet<String>,
}

/// Finds groups, and whether they are `ours`. A group that is removed meanwhile is left out. With
/// `taken`, the threads to be taken over, also finds which groups are idle.
pub(crate) fn groups(
    tree: &Tree,
    ours: &dyn Fn(&str) -> bool,
    taken: Option<&BTreeSet<i32>>,
) -> Result<Groups, Error> {
    let mut groups = Groups::default();
    for name in std::iter::once(String::new()).chain(tree.classes()?) {
        let below = of(&name, "mon_groups");
        for monitor in tree.directories(&below)? {
            let path = format!("{below}/{monitor}");
            if ours(&monitor) {
                groups.ours.insert(path);
            } else {
                groups.monitors.push(path);
            }
        }
        if name.is_empty() || ours(&name) {
            continue;
        }
        let Some(schemata) = schemata(tree, &name)? else { continue };
        let Some(mode) = tree.read_of(&name, "mode")? else { continue };
        let mut group = Foreign::new(&name, &schemata, mode.parse().ok());
        group.is_idle = taken.map_or(Ok(false), |taken| is_idle(tree, &name, taken))?;
        groups.foreign.push(group);
    }
    Ok(groups)
}

/// Whether a group limits no threads but these.
fn is_idle(tree: &Tree, group: &str, taken: &BTreeSet<i32>) -> Result<bool, Error> {
    let Some(cpus) = tree.read_of(group, "cpus_list")? else { return Ok(true) };
    let threads = tree.members(group)?;
    Ok(listed(&cpus).is_empty() && threads.iter().all(|thread| taken.contains(thread)))
}

/// The threads in groups that are not `ours`, each with the path of its group, or of its MON group.
/// Groups are listed again, as one may have appeared since the last look.
pub(crate) fn residents(
    tree: &Tree,
    ours: &dyn Fn(&str) -> bool,
) -> Result<HashMap<i32, String>, Error> {
    let mut threads = HashMap::new();
    for group in paths(tree, ours)? {
        threads.extend(tree.members(&group)?.into_iter().map(|thread| (thread, group.clone())));
    }
    Ok(threads)
}

/// Of these threads, those that are not `ours` and may run only on CPUs that others assigned to
/// groups which are not ours either, each with the path of one of these groups. A thread of the
/// root's group has the class, and the monitoring id, of the CPU that it runs on (resctrl.rst,
/// "Resource allocation rules").
pub(crate) fn residents_by_cpu(
    tree: &Tree,
    proc: &Path,
    threads: &[i32],
    ours: &dyn Fn(&str) -> bool,
) -> Result<HashMap<i32, String>, Error> {
    let mut given: Vec<(String, CpuSet)> = Vec::new();
    for group in paths(tree, ours)? {
        let Some(cpus) = tree.read_of(&group, "cpus_list")? else { continue };
        let cpus = listed(&cpus);
        if !cpus.is_empty() {
            given.push((group, cpus));
        }
    }
    let mut residents = HashMap::new();
    if given.is_empty() {
        return Ok(residents);
    }
    let all = given.iter().fold(CpuSet::new(), |all, (_, cpus)| all.union(cpus));
    for &thread in threads {
        let Some(may) = status::text(proc, thread)
            .and_then(|text| status::cpus(&text))
            .filter(|may| !may.is_empty() && may.is_subset(&all))
        else {
            continue;
        };
        let of = given.iter().find(|(_, cpus)| !cpus.intersection(&may).is_empty());
        residents.extend(of.map(|(group, _)| (thread, group.clone())));
    }
    Ok(residents)
}

/// The paths of the groups that are not `ours`: CTRL_MON groups except the root, then MON groups.
fn paths(tree: &Tree, ours: &dyn Fn(&str) -> bool) -> Result<Vec<String>, Error> {
    let (mut groups, mut monitors) = (Vec::new(), Vec::new());
    for name in std::iter::once(String::new()).chain(tree.classes()?) {
        let below = of(&name, "mon_groups");
        let others = tree.directories(&below)?.into_iter().filter(|monitor| !ours(monitor));
        monitors.extend(others.map(|monitor| format!("{below}/{monitor}")));
        if !name.is_empty() && !ours(&name) {
            groups.push(name);
        }
    }
    groups.append(&mut monitors);
    Ok(groups)
}
