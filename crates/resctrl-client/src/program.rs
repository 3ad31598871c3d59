//! One program: its groups, and what they count.

use std::collections::{BTreeMap, BTreeSet};

use fairways_core::AppId;
use fairways_resctrl::language::Reading;

use super::adopted::Adopted;
use super::counter_turns::HeldCounters;
use super::events::Events;
use super::packages::PackageFiles;
use super::places::CountedPlace;
use super::tree::{Tree, monitor_in};

/// The longest name of a group that a program's name becomes part of; the kernel's is 255 bytes.
const LONGEST: usize = 64;

/// A program that is managed.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// Its MON group's name.
    pub(super) name: String,
    /// The CTRL_MON group that it is in; the root's is empty.
    pub(super) class: String,
    pub(super) monitored: bool,
    /// How often another group has taken its MON group's place.
    replaced: u32,
    events: Events,
    /// The events of domains that could not be read when they were last read: the file can't be
    /// opened, or has no number.
    unreadable: BTreeSet<(&'static str, u32)>,
    /// Its counters of memory traffic, where they are assigned to groups.
    pub(super) counters: HeldCounters,
    /// What packages count for it.
    pub(super) packages: PackageFiles,
    /// Monitoring groups of others that came along.
    pub(super) adopted: Vec<Adopted>,
    /// The bytes that adopted groups counted which are gone, by place.
    counted: BTreeMap<CountedPlace, u64>,
    /// Threads that were put into its group, as long as they are the program's.
    pub(super) placed: BTreeSet<i32>,
    /// Threads that were left in other managers' groups when they were last looked at.
    pub(super) others: BTreeMap<i32, String>,
}

impl Program {
    pub(super) fn new(app: AppId, name: &str) -> Self {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        let name: String = format!("fairways.{}-{name}", app.0).chars().take(LONGEST).collect();
        Self { name: name.replace(|letter| !plain(letter), "_"), ..Self::default() }
    }

    /// The program whose MON group would have this name.
    pub(super) fn owner(name: &str) -> Option<AppId> {
        let (app, _) = name.strip_prefix("fairways.")?.split_once('-')?;
        app.parse().ok().map(AppId)
    }

    /// The group that its tasks are in.
    pub(super) fn group(&self) -> String {
        if self.monitored { monitor_in(&self.class, &self.name) } else { self.class.clone() }
    }

    /// Whether a thread was placed in its group, or left in another manager's.
    pub(super) fn knows(&self, thread: i32) -> bool {
        self.placed.contains(&thread) || self.others.contains_key(&thread)
    }

    /// Its class is gone, and its tasks are in the root's group.
    pub(super) fn lost(&mut self) {
        self.class.clear();
        self.unmonitored();
        self.placed.clear();
    }

    /// Another manager's MON group has its name now.
    pub(super) fn take_another_name(&mut self) {
        self.replaced += 1;
        let (first, _) = self.name.split_once('~').unwrap_or((&self.name, ""));
        self.name = format!("{first}~{}", self.replaced + 1);
    }

    /// Its MON group is gone.
    pub(super) fn unmonitored(&mut self) {
        self.monitored = false;
        self.counters = HeldCounters::default();
        self.packages.restart();
        self.events.restart();
    }

    /// Closes the files of its groups, which are about to go.
    pub(super) fn close(&mut self) {
        self.packages.close();
        self.events.close();
        self.adopted.clear();
    }

    /// The bytes that it occupies in a place, with those of adopted groups.
    pub(super) fn occupancy(&mut self, tree: &Tree, place: CountedPlace) -> Reading {
        let Self { name, class, events, adopted, .. } = self;
        let own = events.occupancy(tree, || monitor_in(class, name), place);
        let along = adopted.iter_mut().map(|of| of.occupancy(tree, class, place));
        let along = sum(0, along);
        sum(0, [own, along].into_iter())
    }

    /// The bytes that it has moved through a place, with those of adopted groups since they came.
    pub(super) fn memory(&mut self, tree: &Tree, place: CountedPlace) -> Reading {
        let Self { name, class, events, adopted, counted, counters, .. } = self;
        let own = events.memory(tree, || monitor_in(class, name), place);
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
        let along = sum(counted.get(&place).copied().unwrap_or(0), along);
        let bytes = sum(0, [own, along].into_iter());
        if is_interrupted {
            self.interrupt(place.cache);
        }
        bytes
    }

    /// Notes how the last reading of an event went.
    pub(super) fn read(&mut self, event: &'static str, domain: u32, reading: Reading) {
        match reading {
            Reading::Error => _ = self.unreadable.insert((event, domain)),
            _ => _ = self.unreadable.remove(&(event, domain)),
        }
    }

    /// Whether an event could not be read in some domain.
    pub(super) fn is_unreadable(&self, event: &str) -> bool {
        self.unreadable.iter().any(|(of, _)| *of == event)
    }

    /// What is counted has changed everywhere: the windows under way have no whole counts.
    pub(super) fn distrust_windows(&mut self) {
        self.events.distrust();
    }

    /// Its counts in a domain have a gap: the window under way has no whole ones.
    pub(super) fn interrupt(&mut self, domain: u32) {
        self.events.interrupt(CountedPlace { cache: domain, node: None });
    }

    /// Keeps an adopted group's count when the group goes.
    pub(super) fn let_go(&mut self, tree: &Tree, name: &str) {
        let Some(at) = self.adopted.iter().position(|of| of.name == name) else { return };
        let mut gone = self.adopted.remove(at);
        for place in gone.places() {
            if let Reading::Value(bytes) = gone.memory(tree, &self.class, place) {
                *self.counted.entry(place).or_default() += bytes;
            }
        }
    }
}

/// The sum of the readings and `first`. A missing reading leaves no sum.
pub(super) fn sum(first: u64, readings: impl Iterator<Item = Reading>) -> Reading {
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
