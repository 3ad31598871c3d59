//! The programs that are managed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Instant;

use fairways_core::AppId;

use super::program::Program;
use super::staying_counts::StayingThreads;
use crate::backoff::Backoff;
use crate::error::Error;
use crate::tree::mon_data::COUNTED;
use crate::tree::mon_data::OCCUPANCY;
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
}
