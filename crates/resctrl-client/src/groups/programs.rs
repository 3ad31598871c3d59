//! The programs that are managed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Instant;

use fairways_core::AppId;
use fairways_linux::stat::started;

use super::program::{Program, StayingThreads};
use crate::backoff::Backoff;
use crate::counts::packages::PackageCounts;
use crate::error::Error;
use crate::ledger::TakenThread;
use crate::ledger::mount::Mount;
use crate::ledger::taken_threads::{give_back, is_still};
use crate::tree::mon_data::{COUNTED, OCCUPANCY};
use crate::tree::{Tree, monitor_in};

/// All managed programs.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    pub(crate) by_id: BTreeMap<AppId, Program>,
    /// How often counters of memory traffic were shared out.
    pub(crate) round: u64,
    /// Whether it was logged that counts are lost where groups can't be renamed.
    pub(crate) is_loss_logged: bool,
    /// `st_ino` of monitoring groups of others that the kernel did not let be adopted.
    pub(crate) unmovable: BTreeSet<u64>,
    /// The program whose threads were checked last.
    pub(crate) checked: Option<AppId>,
    /// When no monitoring group could be made below a class of others, by its `st_ino`.
    pub(crate) refused_below: BTreeMap<u64, Instant>,
    /// Attempts to monitor programs that are not monitored, and how many groups there were at the
    /// last look: where some have gone, ids may have become free.
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

    /// Nothing counts these threads of a program now.
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

    /// Whether a MON group of this name is a program's, or came along with one.
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

    /// Adds a line for each event that can't be read of some programs. Their counts are missing.
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

    /// The threads in groups that came along with a program.
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
                // What its own group counts meanwhile is not the program's.
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

    /// Puts back threads that the program gives up, if they are still in its group: into the group
    /// that they were taken from, or the root's. The ledger keeps where threads came from that are
    /// in another program's group.
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
        // Nearly all have ended, and another thread may have the id.
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
            // A class's own threads may be those of any program in it.
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
        // Another program that had the thread too may fetch it.
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
