//! One program: the groups that its threads are in, and what they count.

use std::collections::{BTreeMap, BTreeSet};

use fairways_core::AppId;
use fairways_resctrl::language::Reading;

use crate::counts::counter_turns::HeldCounters;
use crate::counts::events::{AddedCounts, Events};
use crate::counts::packages::PackageFiles;
use crate::tree::mon_data::CountedPlace;
use crate::tree::{Tree, monitor_in};

/// The longest name of a group that a program's name becomes part of; the kernel's is 255 bytes.
const LONGEST: usize = 64;

/// A program that is managed.
#[derive(Debug, Default)]
pub(crate) struct Program {
    /// Its MON group's name.
    pub(crate) name: String,
    /// The CTRL_MON group that it is in; the root's is empty.
    pub(crate) class: String,
    pub(crate) monitored: bool,
    /// How often its lines had to be counted from zero again, all or some.
    pub(crate) groups_before: u32,
    /// How often another group has taken its MON group's place.
    replaced: u32,
    events: Events,
    /// The events of domains that could not be read when they were last read: the file can't be
    /// opened, or has no number.
    unreadable: BTreeSet<(&'static str, u32)>,
    /// Its counters of memory traffic, where they are assigned to groups.
    pub(crate) counters: HeldCounters,
    /// What packages count for it.
    pub(crate) packages: PackageFiles,
    /// Monitoring groups of others that came along.
    pub(crate) adopted: Vec<Adopted>,
    /// What counts its threads that stay in groups of others.
    pub(crate) stays: Vec<StayingThreads>,
    /// The bytes that groups counted which are not read any longer, by place.
    counted: BTreeMap<CountedPlace, u64>,
    /// Threads that were put into its group, as long as they are the program's.
    pub(crate) placed: BTreeSet<i32>,
    /// Threads that were left in other managers' groups when they were last looked at.
    pub(crate) others: BTreeMap<i32, String>,
    /// Threads of its that nothing counts, as far as is known: as long as there is one, what is
    /// counted of the others is not the program's.
    pub(crate) uncounted: BTreeSet<i32>,
}

impl Program {
    pub(crate) fn new(app: AppId, name: &str) -> Self {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        let name: String = format!("fairways.{}-{name}", app.0).chars().take(LONGEST).collect();
        Self { name: name.replace(|letter| !plain(letter), "_"), ..Self::default() }
    }

    /// The program whose MON group would have this name.
    pub(crate) fn owner(name: &str) -> Option<AppId> {
        let (app, _) = name.strip_prefix("fairways.")?.split_once('-')?;
        app.parse().ok().map(AppId)
    }

    /// The group that its tasks are in.
    pub(crate) fn group(&self) -> String {
        if self.monitored { monitor_in(&self.class, &self.name) } else { self.class.clone() }
    }

    /// Whether a thread was placed in its group, or left in another manager's.
    pub(crate) fn knows(&self, thread: i32) -> bool {
        self.placed.contains(&thread) || self.others.contains_key(&thread)
    }

    /// Its class is gone, and its tasks are in the root's group.
    pub(crate) fn lost(&mut self) {
        self.class.clear();
        self.unmonitored();
        self.lose_placed();
    }

    /// Its placed threads are elsewhere, and nothing counts them until they are found.
    pub(crate) fn lose_placed(&mut self) {
        let placed = std::mem::take(&mut self.placed);
        self.lose(placed);
    }

    /// Nothing counts these threads of its now.
    pub(crate) fn lose(&mut self, threads: impl IntoIterator<Item = i32>) {
        let before = self.uncounted.len();
        self.uncounted.extend(threads);
        if self.uncounted.len() > before {
            // What they bring in meanwhile counts for another group.
            self.groups_before += 1;
            self.distrust_windows();
        }
    }

    /// Whether all its threads are counted, and by groups that are read.
    fn is_counted(&self) -> bool {
        let is_elsewhere = self.placed.is_empty() && !self.stays.is_empty();
        self.uncounted.is_empty() && (self.monitored || is_elsewhere)
    }

    /// Whether its own group counts all its threads.
    pub(crate) fn is_in_one_group(&self) -> bool {
        self.monitored
            && self.uncounted.is_empty()
            && self.stays.is_empty()
            && self.adopted.is_empty()
    }

    /// Another MON group has its name.
    pub(crate) fn take_another_name(&mut self) {
        self.replaced += 1;
        let (first, _) = self.name.split_once('~').unwrap_or((&self.name, ""));
        self.name = format!("{first}~{}", self.replaced + 1);
    }

    /// Its MON group is gone.
    pub(crate) fn unmonitored(&mut self) {
        self.monitored = false;
        self.groups_before += 1;
        self.counters = HeldCounters::default();
        self.packages.restart();
        self.events.restart();
    }

    /// Closes the files of its groups, which are about to go.
    pub(crate) fn close(&mut self) {
        self.packages.close();
        self.events.close();
        self.adopted.clear();
        self.stays.clear();
    }

    /// The bytes that it occupies in a place: those of all groups that its threads are in.
    pub(crate) fn occupancy(&mut self, tree: &Tree, place: CountedPlace) -> Reading {
        if !self.is_counted() {
            return Reading::Unassigned;
        }
        let Self { name, class, monitored, events, adopted, stays, .. } = self;
        let own = if *monitored {
            events.occupancy(tree, || monitor_in(class, name), place)
        } else {
            Reading::Value(0)
        };
        let along = adopted.iter_mut().map(|of| of.occupancy(tree, class, place));
        let staying = stays.iter_mut().map(|of| of.occupancy(tree, place));
        sum(0, [own].into_iter().chain(along).chain(staying))
    }

    /// The bytes that it has moved through a place, with those of other groups since these were
    /// first read.
    pub(crate) fn memory(&mut self, tree: &Tree, place: CountedPlace) -> Reading {
        if !self.is_counted() {
            return Reading::Unassigned;
        }
        let Self { name, class, monitored, events, adopted, stays, counted, counters, .. } = self;
        let own = if *monitored {
            events.memory(tree, || monitor_in(class, name), place)
        } else {
            Reading::Value(0)
        };
        let mut is_interrupted = false;
        // Where counters are assigned, no nodes share a cache.
        if let Some(turn) = counters.held.get_mut(&place.cache) {
            turn.readings = turn.readings.saturating_add(1);
            if own == Reading::Unassigned && !events.has_resumed(place) {
                // Somebody freed it.
                counters.held.remove(&place.cache);
                is_interrupted = true;
            }
        }
        let along = adopted.iter_mut().map(|of| of.memory(tree, class, place));
        let staying = stays.iter_mut().map(|of| of.memory(tree, place));
        // All are read, even if one is missing: each takes in its own gap.
        let others: Vec<Reading> = along.chain(staying).collect();
        let before = counted.get(&place).copied().unwrap_or(0);
        let bytes = sum(before, [own].into_iter().chain(others));
        if is_interrupted {
            self.interrupt(place.cache);
        }
        bytes
    }

    /// Notes how the last reading of an event went.
    pub(crate) fn read(&mut self, event: &'static str, domain: u32, reading: Reading) {
        match reading {
            Reading::Error => _ = self.unreadable.insert((event, domain)),
            _ => _ = self.unreadable.remove(&(event, domain)),
        }
    }

    /// Whether an event could not be read in some domain.
    pub(crate) fn is_unreadable(&self, event: &str) -> bool {
        self.unreadable.iter().any(|(of, _)| *of == event)
    }

    /// What is counted has changed everywhere: the windows under way have no whole counts.
    pub(crate) fn distrust_windows(&mut self) {
        self.events.distrust();
        self.stays.iter_mut().for_each(|of| of.counts.distrust());
    }

    /// Its counts in a domain have a gap: the window under way has no whole ones.
    pub(crate) fn interrupt(&mut self, domain: u32) {
        self.events.interrupt(CountedPlace { cache: domain, node: None });
    }

    /// Keeps an adopted group's count when the group goes.
    pub(crate) fn let_go(&mut self, tree: &Tree, name: &str) {
        let Some(at) = self.adopted.iter().position(|of| of.name == name) else { return };
        let Adopted { name, counts, .. } = self.adopted.remove(at);
        self.groups_before += 1;
        let class = &self.class;
        let counted = counts.end(tree, || monitor_in(class, &name));
        self.keep_counts(counted);
    }

    /// Keeps what a group has counted that is not read any longer.
    pub(crate) fn keep_counts(&mut self, counted: BTreeMap<CountedPlace, u64>) {
        for (place, bytes) in counted {
            let kept = self.counted.entry(place).or_default();
            *kept = kept.saturating_add(bytes);
        }
    }
}

/// A monitoring group of others that came along, and its counts.
#[derive(Debug, Default)]
pub(crate) struct Adopted {
    /// Its name here.
    pub(crate) name: String,
    /// Its maker's name for it.
    pub(crate) theirs: String,
    pub(crate) counts: AddedCounts,
    /// Threads in it at the last look that are none of the program's. A child is, until it is
    /// listed.
    pub(crate) strangers: BTreeSet<i32>,
}

impl Adopted {
    pub(crate) fn new(name: String, theirs: String) -> Self {
        Self { name, theirs, ..Self::default() }
    }

    /// The bytes that it occupies in a place, where it is in this class.
    pub(crate) fn occupancy(&mut self, tree: &Tree, class: &str, place: CountedPlace) -> Reading {
        let Self { name, counts, .. } = self;
        counts.occupancy(tree, || monitor_in(class, name), place)
    }

    /// The bytes that it has moved through a place since it came, or was first read there.
    pub(crate) fn memory(&mut self, tree: &Tree, class: &str, place: CountedPlace) -> Reading {
        let Self { name, counts, .. } = self;
        counts.memory(tree, || monitor_in(class, name), place)
    }
}

/// Threads of a program that stay in one group of others, and the group that counts them.
#[derive(Debug)]
pub(crate) struct StayingThreads {
    /// The path of that group: a class, or a monitoring group.
    pub(crate) theirs: String,
    /// The name of our monitoring group in it; none where theirs is a monitoring group, which is
    /// read.
    pub(crate) ours: Option<String>,
    /// `st_ino` of the group that counts them.
    pub(crate) inode: u64,
    pub(crate) counts: AddedCounts,
    /// The threads, as last listed.
    pub(crate) threads: BTreeSet<i32>,
    /// Threads in the group that counts them which were none of the program's when it was last
    /// looked at. A child is, until it is listed.
    pub(crate) strangers: BTreeSet<i32>,
}

impl StayingThreads {
    pub(crate) fn new(theirs: String, ours: Option<String>, inode: u64) -> Self {
        let (threads, strangers) = (BTreeSet::new(), BTreeSet::new());
        Self { theirs, ours, inode, counts: AddedCounts::default(), threads, strangers }
    }

    /// The path of the group that counts them.
    pub(crate) fn counting_group(&self) -> String {
        counting_group(&self.theirs, self.ours.as_deref())
    }

    /// The bytes that they occupy in a place.
    pub(crate) fn occupancy(&mut self, tree: &Tree, place: CountedPlace) -> Reading {
        let Self { theirs, ours, counts, .. } = self;
        counts.occupancy(tree, || counting_group(theirs, ours.as_deref()), place)
    }

    /// The bytes that they have moved through a place since they were first counted there.
    pub(crate) fn memory(&mut self, tree: &Tree, place: CountedPlace) -> Reading {
        let Self { theirs, ours, counts, .. } = self;
        counts.memory(tree, || counting_group(theirs, ours.as_deref()), place)
    }
}

fn counting_group(theirs: &str, ours: Option<&str>) -> String {
    ours.map_or_else(|| theirs.to_owned(), |name| monitor_in(theirs, name))
}

/// The sum of the readings and `first`. A missing reading leaves no sum.
pub(crate) fn sum(first: u64, readings: impl Iterator<Item = Reading>) -> Reading {
    let mut all = first;
    for reading in readings {
        match reading {
            Reading::Value(bytes) => all = all.saturating_add(bytes),
            missing => return missing,
        }
    }
    Reading::Value(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_becomes_part_of_a_groups() {
        for (name, group) in [
            ("redis", "fairways.7-redis"),
            ("mlr:8M/../x\n", "fairways.7-mlr_8M_.._x_"),
            ("käse", "fairways.7-k_se"),
            ("", "fairways.7-"),
        ] {
            assert_eq!(Program::new(AppId(7), name).name, group);
            assert_eq!(Program::owner(group), Some(AppId(7)));
        }
        assert_eq!(Program::new(AppId(7), &"x".repeat(300)).name.len(), LONGEST);
    }
}
