//! The programs that are managed: the groups that their threads are in, and what these count.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Instant;

use fairways_core::AppId;
use fairways_linux::stat::started;
use fairways_resctrl::language::Reading;

use super::counted_groups::{Adopted, StayingThreads};
use crate::backoff::Backoff;
use crate::counts::events::Events;
use crate::counts::packages::{PackageCounts, PackageFiles};
use crate::counts::traffic::HeldCounters;
use crate::error::Error;
use crate::ledger::TakenThread;
use crate::ledger::mount::Mount;
use crate::ledger::taken_threads::{give_back, is_still};
use crate::tree::mon_data::{COUNTED, CountedPlace, OCCUPANCY};
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
    /// How often its lines, or some of them, had to be counted from zero again.
    pub(crate) groups_before: u32,
    /// How often its MON group was replaced by another one.
    replaced: u32,
    events: Events,
    /// The events, by domain, that could not be read the last time: the file can't be opened, or
    /// has no number.
    unreadable: BTreeSet<(&'static str, u32)>,
    /// Its counters of memory traffic, where they are assigned to groups.
    pub(crate) counters: HeldCounters,
    /// What packages count for it.
    pub(crate) packages: PackageFiles,
    /// Monitoring groups of others that came along.
    pub(crate) adopted: Vec<Adopted>,
    /// The groups that count its threads in groups of others.
    pub(crate) stays: Vec<StayingThreads>,
    /// The bytes counted by groups that are no longer read, by place.
    counted: BTreeMap<CountedPlace, u64>,
    /// Threads that were put into its group, as long as they are the program's.
    pub(crate) placed: BTreeSet<i32>,
    /// Threads that stay in other managers' groups, as of the last look.
    pub(crate) others: BTreeMap<i32, String>,
    /// Threads that no group counts, as far as known. While there are any, the counts of the other
    /// threads are not the program's.
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

    /// Records that its class is gone, and that its tasks are in the root's group.
    pub(crate) fn lost(&mut self) {
        self.class.clear();
        self.unmonitored();
        self.lose_placed();
    }

    /// Records that its placed threads are elsewhere; no group counts them until they are found.
    pub(crate) fn lose_placed(&mut self) {
        let placed = std::mem::take(&mut self.placed);
        self.lose(placed);
    }

    /// Records that no group counts these threads now.
    pub(crate) fn lose(&mut self, threads: impl IntoIterator<Item = i32>) {
        let before = self.uncounted.len();
        self.uncounted.extend(threads);
        if self.uncounted.len() > before {
            // Until then, another group counts the lines that they bring in.
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

    /// Chooses another name, as another MON group has its present one.
    pub(crate) fn take_another_name(&mut self) {
        self.replaced += 1;
        let (first, _) = self.name.split_once('~').unwrap_or((&self.name, ""));
        self.name = format!("{first}~{}", self.replaced + 1);
    }

    /// Records that its MON group is gone.
    pub(crate) fn unmonitored(&mut self) {
        self.monitored = false;
        self.groups_before += 1;
        self.counters = HeldCounters::default();
        self.packages.restart();
        self.events.restart();
    }

    /// Closes the files of its groups, which will be removed.
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

    /// The bytes that it has moved through a place, with those that other groups counted since they
    /// were first read.
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
        // If counters are assigned, no nodes share a cache.
        if let Some(turn) = counters.held.get_mut(&place.cache) {
            turn.readings = turn.readings.saturating_add(1);
            if own == Reading::Unassigned && !events.has_resumed(place) {
                // Another process freed it.
                counters.held.remove(&place.cache);
                is_interrupted = true;
            }
        }
        let along = adopted.iter_mut().map(|of| of.memory(tree, class, place));
        let staying = stays.iter_mut().map(|of| of.memory(tree, place));
        // Reads all of them, even if one is missing: each has to notice its own gap.
        let others: Vec<Reading> = along.chain(staying).collect();
        let before = counted.get(&place).copied().unwrap_or(0);
        let bytes = sum(before, [own].into_iter().chain(others));
        if is_interrupted {
            self.interrupt(place.cache);
        }
        bytes
    }

    /// Records whether the last reading of an event succeeded.
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

    /// Marks the open windows as incomplete everywhere, as what is counted has changed.
    pub(crate) fn distrust_windows(&mut self) {
        self.events.distrust();
        self.stays.iter_mut().for_each(|of| of.counts.distrust());
    }

    /// Records a gap in its counts in a domain: the open window is incomplete.
    pub(crate) fn interrupt(&mut self, domain: u32) {
        self.events.interrupt(CountedPlace { cache: domain, node: None });
    }

    /// Adds up an adopted group's counts when the group leaves.
    pub(crate) fn let_go(&mut self, tree: &Tree, name: &str) {
        let Some(at) = self.adopted.iter().position(|of| of.name == name) else { return };
        let Adopted { name, counts, .. } = self.adopted.remove(at);
        self.groups_before += 1;
        let class = &self.class;
        let counted = counts.end(tree, || monitor_in(class, &name));
        self.keep_counts(counted);
    }

    /// Adds up the counts of a group that is no longer read.
    pub(crate) fn keep_counts(&mut self, counted: BTreeMap<CountedPlace, u64>) {
        for (place, bytes) in counted {
            let kept = self.counted.entry(place).or_default();
            *kept = kept.saturating_add(bytes);
        }
    }
}

/// All managed programs.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    pub(crate) by_id: BTreeMap<AppId, Program>,
    /// How often counters of memory traffic were distributed.
    pub(crate) round: u64,
    /// Whether it was logged that counts are lost where groups can't be renamed.
    pub(crate) is_loss_logged: bool,
    /// `st_ino` of monitoring groups of others that the kernel refused to move.
    pub(crate) unmovable: BTreeSet<u64>,
    /// The program whose threads were checked last.
    pub(crate) checked: Option<AppId>,
    /// When no monitoring group could be made below a class of others, by its `st_ino`.
    pub(crate) refused_below: BTreeMap<u64, Instant>,
    /// Attempts to monitor the remaining programs, and the number of groups at the last look: if
    /// some were removed, ids may have become free.
    pub(crate) monitoring: Backoff,
    pub(crate) ids_used: usize,
}

impl Programs {
    pub(crate) fn get(&self, app: AppId) -> Result<&Program, Error> {
        self.by_id.get(&app).ok_or(Error::Unknown(app))
    }

    pub(crate) fn ids(&self) -> Vec<AppId> {
        self.by_id.keys().copied().collect()
    }

    /// Each program, with the threads that were put into its group.
    pub(crate) fn placed(&self) -> impl Iterator<Item = (AppId, &BTreeSet<i32>)> {
        self.by_id.iter().map(|(&app, program)| (app, &program.placed))
    }

    /// The programs of a class.
    pub(crate) fn in_class(&self, class: &str) -> Vec<AppId> {
        let of = self.by_id.iter().filter(|(_, program)| program.class == class);
        of.map(|(&app, _)| app).collect()
    }

    /// How many have a MON group of their own.
    pub(crate) fn monitored(&self) -> usize {
        self.by_id.values().filter(|program| program.monitored).count()
    }

    /// How many MON groups were made for them: their own, and those below classes of others.
    pub(crate) fn made_monitors(&self) -> usize {
        let stays = self.by_id.values().flat_map(|program| &program.stays);
        self.monitored() + stays.filter(|stay| stay.ours.is_some()).count()
    }

    /// Records that no group counts these threads of a program now.
    pub(crate) fn lose(&mut self, app: AppId, threads: &[i32]) {
        if let Some(program) = self.by_id.get_mut(&app) {
            let lost = threads.iter().copied().filter(|&thread| !program.knows(thread));
            let lost: Vec<i32> = lost.collect();
            program.lose(lost);
        }
    }

    /// Whether a thread was put into the group of any program.
    pub(crate) fn have_placed(&self, thread: i32) -> bool {
        self.by_id.values().any(|program| program.placed.contains(&thread))
    }

    /// Whether a MON group of this name belongs to a program, or was adopted with one.
    pub(crate) fn have_group(&self, name: &str) -> bool {
        let is_it = |program: &Program| {
            let is_below = |stay: &StayingThreads| stay.ours.as_deref() == Some(name);
            program.monitored && program.name == name || program.stays.iter().any(is_below)
        };
        self.have_adopted(name)
            || Program::owner(name).and_then(|app| self.by_id.get(&app)).is_some_and(is_it)
    }

    fn have_adopted(&self, name: &str) -> bool {
        let app = name.strip_prefix("fairways.").and_then(|rest| rest.split_once('+'));
        let app = app.and_then(|(app, _)| app.parse().ok()).map(AppId);
        let program = app.and_then(|app| self.by_id.get(&app));
        program.is_some_and(|program| program.adopted.iter().any(|of| of.name == name))
    }

    /// Adds a line for each event that can't be read for some programs. Their counts are missing.
    pub(crate) fn unreadable(&self, lines: &mut Vec<String>) {
        for event in [OCCUPANCY, COUNTED] {
            let programs = self.by_id.values().filter(|program| program.is_unreadable(event));
            let names: Vec<&str> = programs.map(|program| program.name.as_str()).collect();
            if let [first, others @ ..] = &names[..] {
                let others = match others.len() {
                    0 => String::new(),
                    more => format!(" and {more} other groups"),
                };
                lines.push(format!(
                    "{event} can't be read of {first}{others}: the counts are missing, and the log has the error"
                ));
            }
        }
    }

    /// The threads in groups that were adopted with a program.
    pub(crate) fn adopted_threads(&self, tree: &Tree, app: AppId) -> Result<HashSet<i32>, Error> {
        let mut threads = HashSet::new();
        let Some(program) = self.by_id.get(&app) else { return Ok(threads) };
        for adopted in &program.adopted {
            threads.extend(tree.members(&monitor_in(&program.class, &adopted.name))?);
        }
        Ok(threads)
    }

    /// Reads what packages count for each program.
    pub(crate) fn count_packages(&mut self, mount: &Mount, events: &[String], names: &[String]) {
        for program in self.by_id.values_mut().filter(|program| program.monitored) {
            if !program.is_in_one_group() {
                // The counts of its own group are not the program's in the meantime.
                program.packages.restart();
                continue;
            }
            let group = program.group();
            program.packages.read(&mount.tree, &group, events, names);
        }
    }

    /// What packages have counted of a program.
    pub(crate) fn package_counts(&self, app: AppId) -> PackageCounts {
        let program = self.by_id.get(&app).filter(|program| program.is_in_one_group());
        program.map(|program| program.packages.counts()).unwrap_or_default()
    }

    /// Puts back threads that no longer belong to a program, if they are still in its group: into
    /// the group that they came from, or the root's. The ledger keeps the origin of threads that
    /// are in another program's group.
    pub(crate) fn release(
        &mut self,
        mount: &mut Mount,
        app: AppId,
        threads: &[i32],
    ) -> Result<(), Error> {
        let Some(program) = self.by_id.get_mut(&app) else { return Ok(()) };
        program.placed.retain(|thread| !threads.contains(thread));
        if !program.adopted.is_empty() {
            self.give_back_with(mount, app, Some(threads))?;
        }
        let Some(program) = self.by_id.get(&app) else { return Ok(()) };
        let (group, monitored) = (program.group(), program.monitored);
        let proc = &mount.settings.proc;
        // Nearly all of them have ended, and their ids may belong to other threads now.
        let ended = |task: &TakenThread| threads.contains(&task.thread) && !is_still(proc, task);
        if mount.state.ledger.tasks.iter().any(ended) {
            mount.state.note(|ledger| ledger.tasks.retain(|task| !ended(task)));
        }
        let alive: Vec<i32> = threads
            .iter()
            .copied()
            .filter(|thread: &i32| started(proc, *thread).is_some())
            .collect();
        if alive.is_empty() {
            return Ok(());
        }
        let _lock = mount.lock()?;
        let inside: HashSet<i32> = mount.tree.members(&group)?.into_iter().collect();
        let mut known = Vec::new();
        let mut free = Vec::new();
        for thread in alive {
            // Threads in the class itself may belong to any program in it.
            let is_here = inside.contains(&thread) && (monitored || !self.have_placed(thread));
            if !is_here {
                known.extend((!self.have_placed(thread)).then_some(thread));
                continue;
            }
            let taken = mount.state.ledger.tasks.iter().find(|task| task.thread == thread);
            let back = match taken {
                Some(task) => give_back(&mount.tree, task)?,
                None => false,
            };
            known.push(thread);
            if !back {
                free.push(thread);
            }
        }
        if !group.is_empty() {
            mount.tree.enter("", free, &mut Vec::new())?;
        }
        // Another program that had the thread, too, may fetch it.
        for program in self.by_id.values_mut() {
            let had: Vec<i32> =
                known.iter().copied().filter(|thread| program.placed.remove(thread)).collect();
            program.lose(had);
        }
        if mount.state.ledger.tasks.iter().any(|task| known.contains(&task.thread)) {
            mount.state.note(|ledger| ledger.tasks.retain(|task| !known.contains(&task.thread)));
        }
        Ok(())
    }
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
