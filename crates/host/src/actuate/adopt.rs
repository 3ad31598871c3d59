//! Monitoring groups that others made in the root's group, with nobody in them but a program of ours. They come along into its class by
//! rename(2), with their monitoring id and what it counted, and are given back in the end, to where they were.
//!
//! While we have one, it has a name of ours: its maker may make another of its own meanwhile.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use fairways_core::AppId;
use fairways_resctrl::language::Reading;
use rustix::io::Errno;

use super::actuator::Actuator;
use super::borrowed::{NAMES, to_root};
use super::error::Error;
use super::events::Events;
use super::foreign::members;
use super::ledger::Borrowed;
use super::program::Program;
use super::tree::Tree;

/// The kernel's longest name of a group.
const LONGEST: usize = 255;

/// A group that came along.
#[derive(Debug, Default)]
pub(super) struct Adopted {
    /// Its name here.
    pub(super) name: String,
    /// Its maker's name for it.
    theirs: String,
    events: Events,
    /// What had been counted when it was first read, by domain.
    before: BTreeMap<u32, u64>,
    /// Threads in it at the last look that are none of the program's. A child is, until it is listed.
    strangers: BTreeSet<i32>,
}

/// Bytes that a program's adopted groups count.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// Of groups that were given back, by domain.
    gone: BTreeMap<u32, u64>,
}

impl Program {
    /// Where a group is that came along.
    fn place(&self, adopted: &Adopted) -> String {
        Self::monitor_in(&self.class, &adopted.name)
    }

    /// The bytes that its adopted groups hold in a domain.
    pub(super) fn adopted_occupancy(&mut self, tree: &Tree, domain: u32) -> Reading {
        let Self { class, adopted, .. } = self;
        let read = |of: &mut Adopted| {
            let Adopted { name, events, .. } = of;
            events.occupancy(tree, || Self::monitor_in(class, name), domain)
        };
        sum(0, adopted.iter_mut().map(read))
    }

    /// The bytes that its adopted groups have moved through a domain since they came.
    pub(super) fn adopted_memory(&mut self, tree: &Tree, domain: u32) -> Reading {
        let Self { class, adopted, counted, .. } = self;
        let read = |of: &mut Adopted| {
            let Adopted { name, events, before, .. } = of;
            match events.memory(tree, || Self::monitor_in(class, name), domain) {
                Reading::Value(bytes) => {
                    let before = *before.entry(domain).or_insert(bytes);
                    Reading::Value(bytes.saturating_sub(before))
                }
                missing => missing,
            }
        };
        sum(counted.gone.get(&domain).copied().unwrap_or(0), adopted.iter_mut().map(read))
    }

    /// What its group counted is kept when it goes.
    fn let_go(&mut self, tree: &Tree, name: &str) {
        let Some(at) = self.adopted.iter().position(|of| of.name == name) else { return };
        let domains: Vec<u32> = self.adopted[at].before.keys().copied().collect();
        for domain in domains {
            let place = self.place(&self.adopted[at]);
            let Adopted { events, before, .. } = &mut self.adopted[at];
            if let Reading::Value(bytes) = events.memory(tree, || place.clone(), domain) {
                let since = bytes.saturating_sub(before.get(&domain).copied().unwrap_or(bytes));
                *self.counted.gone.entry(domain).or_default() += since;
            }
        }
        self.adopted.remove(at);
    }
}

/// One that is missing leaves nothing to be told.
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

impl Actuator {
    /// Whether a MON group of this name came along.
    pub(super) fn is_adopted(&self, name: &str) -> bool {
        let app = name.strip_prefix("fairways.").and_then(|rest| rest.split_once('+'));
        let app = app.and_then(|(app, _)| app.parse().ok()).map(AppId);
        let program = app.and_then(|app| self.programs.get(&app));
        program.is_some_and(|program| program.adopted.iter().any(|of| of.name == name))
    }

    /// The threads in groups that came along with a program.
    pub(super) fn adopted_threads(&self, app: AppId) -> Result<HashSet<i32>, Error> {
        let mut threads = HashSet::new();
        let Some(program) = self.programs.get(&app) else { return Ok(threads) };
        for adopted in &program.adopted {
            threads.extend(members(&self.tree, &program.place(adopted))?);
        }
        Ok(threads)
    }

    /// Adopts the groups that threads of a program are in, if nobody else is in them and the kernel lets groups be moved; the threads that
    /// came along. `theirs` tells where threads are that are in groups of others. Who calls it has the lock.
    pub(super) fn adopt(
        &mut self,
        app: AppId,
        theirs: &HashMap<i32, String>,
        tasks: &[i32],
    ) -> Result<BTreeSet<i32>, Error> {
        let mut came = BTreeSet::new();
        if !self.settings.adopt_monitors || self.settings.dry_run {
            return Ok(came);
        }
        let groups: BTreeSet<&str> =
            tasks.iter().filter_map(|thread| theirs.get(thread)).map(String::as_str).collect();
        let tasks: HashSet<i32> = tasks.iter().copied().collect();
        for path in groups {
            let Some(name) = path.strip_prefix("mon_groups/") else { continue };
            let inside = members(&self.tree, path)?;
            let program = self.programs.get(&app).ok_or(Error::Unknown(app))?;
            let is_its = |thread: &i32| {
                tasks.contains(thread)
                    || program.placed.contains(thread)
                    || program.others.contains_key(thread)
            };
            if inside.iter().all(is_its) && self.bring(app, name)? {
                came.extend(inside);
            }
        }
        if let Some(program) = self.programs.get_mut(&app) {
            program.others.retain(|thread, _| !came.contains(thread));
        }
        Ok(came)
    }

    /// Renames a group into a program's class; whether that can be done.
    fn bring(&mut self, app: AppId, theirs: &str) -> Result<bool, Error> {
        let path = format!("mon_groups/{theirs}");
        let inode = self.tree.inode(&path)?.filter(|inode| !self.unmovable.contains(inode));
        let Some(inode) = inode else { return Ok(false) };
        let program = self.programs.get(&app).ok_or(Error::Unknown(app))?;
        let class = program.class.clone();
        let names = (1..=NAMES).map(|number| match number {
            1 => format!("fairways.{}+{theirs}", app.0),
            _ => format!("fairways.{}+{theirs}~{number}", app.0),
        });
        let is_free = |name: &String| program.adopted.iter().all(|of| of.name != *name);
        let Some(name) = names.into_iter().find(is_free).filter(|name| name.len() <= LONGEST)
        else {
            return Ok(false);
        };
        let borrowed = Borrowed { name: name.clone(), theirs: theirs.to_owned(), inode };
        self.state.record(|ledger| ledger.borrowed.push(borrowed))?;
        self.tree.keep(&path, inode);
        let done = self.tree.rename(&path, &Program::monitor_in(&class, &name));
        if done.is_err() {
            self.tree.forget(&path);
            self.state.note(|ledger| ledger.borrowed.retain(|of| of.name != name));
        }
        match done {
            Ok(()) => {}
            Err(error) if cant_be(&error) => {
                self.is_unmovable(theirs, inode);
                return Ok(false);
            }
            Err(error) if error.is_gone() => return Ok(false),
            Err(error) => return Err(error),
        }
        tracing::info!(
            target: "fairways::actuate", app = app.0, group = path, class, name, "monitoring group adopted"
        );
        if let Some(program) = self.programs.get_mut(&app) {
            let theirs = theirs.to_owned();
            program.adopted.push(Adopted { name, theirs, ..Adopted::default() });
        }
        Ok(true)
    }

    /// It is not tried again, which is said of the first: it is so of all, or nearly.
    fn is_unmovable(&mut self, group: &str, inode: u64) {
        self.unmovable.insert(inode);
        if self.unmovable.len() == 1 {
            tracing::warn!(
                target: "fairways::actuate", group,
                "monitoring groups of others can't be adopted: expected Linux 6.5 or later, ids that are not of their class (Arm), and groups \
                 that monitor no CPUs"
            );
        }
    }

    /// Takes adopted groups along into another class; those that the kernel does not let go along are given back. Where one fails, the
    /// others go back.
    pub(super) fn move_adopted(&mut self, app: AppId, from: &str, to: &str) -> Result<(), Error> {
        let Some(program) = self.programs.get(&app) else { return Ok(()) };
        let names: Vec<String> = program.adopted.iter().map(|of| of.name.clone()).collect();
        let mut moved: Vec<&String> = Vec::new();
        for name in &names {
            let (old, new) = (Program::monitor_in(from, name), Program::monitor_in(to, name));
            let error = match self.tree.rename(&old, &new) {
                Ok(()) => {
                    moved.push(name);
                    continue;
                }
                Err(error) if cant_be(&error) => {
                    if let Some(inode) = self.tree.inode(&old)? {
                        self.is_unmovable(name, inode);
                    }
                    self.give_back(app, name).err()
                }
                Err(error) if error.is_gone() && self.tree.inode(&old)?.is_none() => {
                    self.lose_adopted(app, name);
                    None
                }
                Err(error) => Some(error),
            };
            if let Some(error) = error {
                for name in moved {
                    let (old, new) =
                        (Program::monitor_in(from, name), Program::monitor_in(to, name));
                    if let Err(error) = self.tree.rename(&new, &old) {
                        tracing::error!(target: "fairways::actuate", group = new, %error, "not moved back");
                        self.erred(&error);
                    }
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Forgets an adopted group that somebody removed; where its threads are now is found out anew.
    fn lose_adopted(&mut self, app: AppId, name: &str) {
        let Some(program) = self.programs.get_mut(&app) else { return };
        program.let_go(&self.tree, name);
        program.placed.clear();
        self.tree.forget(&Program::monitor_in(&program.class, name));
        self.state.note(|ledger| ledger.borrowed.retain(|of| of.name != name));
    }

    /// Forgets what was adopted into a class that is gone.
    pub(super) fn lose_all_adopted(&mut self, app: AppId) {
        let names = self.programs.get(&app).into_iter().flat_map(|program| &program.adopted);
        let names: Vec<String> = names.map(|of| of.name.clone()).collect();
        names.iter().for_each(|name| self.lose_adopted(app, name));
    }

    /// Gives a group back to where it was, whose threads are not the program's any longer. Who calls it has the lock.
    fn give_back(&mut self, app: AppId, name: &str) -> Result<(), Error> {
        let Some(program) = self.programs.get_mut(&app) else { return Ok(()) };
        let Some(adopted) = program.adopted.iter().find(|of| of.name == name) else {
            return Ok(());
        };
        let (place, theirs) = (program.place(adopted), adopted.theirs.clone());
        let inside = members(&self.tree, &place)?;
        let back = to_root(&self.tree, &place, &theirs)?;
        program.let_go(&self.tree, name);
        program.placed.retain(|thread| !inside.contains(thread));
        self.state.note(|ledger| ledger.borrowed.retain(|of| of.name != name));
        tracing::info!(target: "fairways::actuate", app = app.0, group = back, "monitoring group given back");
        Ok(())
    }

    /// Gives the groups back that any of these threads are in, or, where the whole program goes, all.
    pub(super) fn give_back_with(
        &mut self,
        app: AppId,
        threads: Option<&[i32]>,
    ) -> Result<(), Error> {
        let Some(program) = self.programs.get(&app) else { return Ok(()) };
        let mut names = Vec::new();
        for adopted in &program.adopted {
            let inside = members(&self.tree, &program.place(adopted))?;
            if threads.is_none_or(|threads| inside.iter().any(|thread| threads.contains(thread))) {
                names.push(adopted.name.clone());
            }
        }
        if names.is_empty() {
            return Ok(());
        }
        let _lock = self.lock()?;
        names.iter().try_for_each(|name| self.give_back(app, name))
    }

    /// Which adopted groups are gone, and which others have come into, for longer than from one look to the next: those are given back.
    pub(super) fn see_adopted(&mut self) -> Result<(), Error> {
        let apps: Vec<AppId> = self.programs.keys().copied().collect();
        for app in apps {
            let (mut gone, mut shared) = (Vec::new(), Vec::new());
            let Some(program) = self.programs.get_mut(&app) else { continue };
            let Program { class, adopted, placed, .. } = program;
            for of in adopted {
                let place = Program::monitor_in(class, &of.name);
                if self.tree.inode(&place)?.is_none() {
                    gone.push(of.name.clone());
                    continue;
                }
                let mut now: BTreeSet<i32> = members(&self.tree, &place)?.into_iter().collect();
                now.retain(|thread| !placed.contains(thread));
                if now.intersection(&of.strangers).next().is_some() {
                    shared.push(of.name.clone());
                }
                of.strangers = now;
            }
            gone.iter().for_each(|name| self.lose_adopted(app, name));
            shared.iter().try_for_each(|name| self.give_back(app, name))?;
        }
        Ok(())
    }
}

/// Whether the kernel does not rename so.
fn cant_be(error: &Error) -> bool {
    error.errno() == Some(Errno::PERM)
}
