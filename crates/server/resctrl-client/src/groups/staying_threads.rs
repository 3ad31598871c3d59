//! Counts threads that stay in groups of others, without changing these groups:
//!
//! - Threads in a class's default monitoring are put into a monitoring group of ours below that
//!   class. They keep the class, and the class's own counts include those of the groups below it.
//!
//! - Threads that others monitor stay in their monitoring group. It is read as long as it has only
//!   threads of this program.
//!
//! All other threads are not counted, nor are those that have a class because of their CPUs. While
//! a program has one such thread, it has no counts: they would be a part that looks like the whole.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use fairways_core::AppId;
use fairways_linux::stat::started;
use fairways_linux::topology::listed;
use rustix::io::Errno;

use super::counted_groups::StayingThreads;
use super::monitoring_groups::make_monitor;
use super::programs::{Program, Programs};
use super::traffic_counters::count_traffic_of;
use crate::error::Error;
use crate::ledger::mount::Mount;
use crate::offer::findings::Findings;
use crate::tree::{apart, monitor_in, of};

impl Programs {
    /// Counts the threads of a program that stay with others, as far as possible, and records those
    /// that no group counts. The caller has the lock.
    pub(crate) fn count_staying(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        app: AppId,
    ) -> Result<(), Error> {
        let mut groups: BTreeMap<String, BTreeSet<i32>> = BTreeMap::new();
        for (&thread, group) in &self.get(app)?.others {
            groups.entry(group.clone()).or_default().insert(thread);
        }
        let mut failed = None;
        for (theirs, threads) in groups {
            let (_, is_monitor) = apart(&theirs);
            let counted = if is_monitor {
                self.read_theirs(mount, app, &theirs, &threads)
            } else {
                self.monitor_below(mount, found, app, &theirs, &threads)
            };
            let program = self.by_id.get_mut(&app).ok_or(Error::Unknown(app))?;
            let counted = counted.unwrap_or_else(|error| {
                failed.get_or_insert(error);
                BTreeSet::new()
            });
            program.uncounted.retain(|thread| !counted.contains(thread));
            let proc = &mount.settings.proc;
            let rest = threads.difference(&counted).copied();
            program.lose(rest.filter(|&thread| started(proc, thread).is_some()));
            if let Some(stay) = program.stays.iter_mut().find(|stay| stay.theirs == theirs) {
                stay.threads.extend(counted);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Reads another manager's monitoring group, if only these threads are in it, and it has no
    /// CPUs. Returns the threads that are counted.
    fn read_theirs(
        &mut self,
        mount: &mut Mount,
        app: AppId,
        theirs: &str,
        threads: &BTreeSet<i32>,
    ) -> Result<BTreeSet<i32>, Error> {
        let program = self.by_id.get_mut(&app).ok_or(Error::Unknown(app))?;
        let inside: BTreeSet<i32> = mount.tree.members(theirs)?.into_iter().collect();
        let counted: BTreeSet<i32> = inside.intersection(threads).copied().collect();
        let cpus = match mount.tree.read(&of(theirs, "cpus_list")) {
            Err(error) if error.is_gone() => return Ok(BTreeSet::new()),
            cpus => listed(&cpus?),
        };
        let known = program.stays.iter().position(|stay| stay.theirs == theirs);
        if let Some(known) = known {
            if cpus.is_empty() {
                return Ok(counted);
            }
            program.end_stay(mount, known);
        }
        let is_alone = !counted.is_empty() && counted.len() == inside.len();
        let inode = mount.tree.inode(theirs)?.filter(|_| is_alone && cpus.is_empty());
        let Some(inode) = inode else { return Ok(BTreeSet::new()) };
        program.groups_before += 1;
        program.stays.push(StayingThreads::new(theirs.to_owned(), None, inode));
        Ok(counted)
    }

    /// Puts those of these threads that are in another manager's class into a monitoring group of
    /// ours below it. Returns the threads that it counts.
    fn monitor_below(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        app: AppId,
        class: &str,
        threads: &BTreeSet<i32>,
    ) -> Result<BTreeSet<i32>, Error> {
        let mut here: BTreeSet<i32> = mount.tree.members(class)?.into_iter().collect();
        here.retain(|thread| threads.contains(thread));
        let known = self.get(app)?.stays.iter().find(|stay| stay.theirs == class);
        let group = match known.map(StayingThreads::counting_group) {
            Some(group) => group,
            None if here.is_empty() => return Ok(here),
            None => match self.make_below(mount, found, app, class)? {
                Some(group) => group,
                None => return Ok(BTreeSet::new()),
            },
        };
        let mut counted: BTreeSet<i32> = mount.tree.members(&group)?.into_iter().collect();
        counted.retain(|thread| here.contains(thread));
        // Writes to the group and not to the class: the kernel then refuses a thread that has left
        // the class.
        let tasks = of(&group, "tasks");
        for &thread in &here {
            if counted.contains(&thread) {
                continue;
            }
            let mut moved = Vec::new();
            match mount.tree.write_threads(&tasks, [thread], &mut moved) {
                Err(error) if error.errno() != Some(Errno::INVAL) && !error.is_gone() => {
                    return Err(error);
                }
                _ => counted.extend(moved),
            }
        }
        Ok(counted)
    }

    /// Makes a monitoring group for a program below another manager's class, if a monitoring id is
    /// free. Returns its path. After a failure it is not tried again at once.
    fn make_below(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        app: AppId,
        class: &str,
    ) -> Result<Option<String>, Error> {
        let Some(above) = mount.tree.inode(class)? else { return Ok(None) };
        let pause = mount.settings.try_again;
        self.refused_below.retain(|_, at| at.elapsed() < pause);
        let is_refused = self.refused_below.contains_key(&above);
        if is_refused || self.free_monitors(found, &mount.settings) == 0 {
            return Ok(None);
        }
        let program = self.by_id.get_mut(&app).ok_or(Error::Unknown(app))?;
        let mut used = mount.tree.directories(&of(class, "mon_groups"))?;
        used.extend(mount.state.ledger.groups.iter().map(|of| of.name.clone()));
        let mut names = (1..).map(|number: u32| format!("{}@{number}", program.name));
        let name = names.find(|name| !used.contains(name)).unwrap_or_default();
        if !make_monitor(mount, class, &name)? {
            self.refused_below.insert(above, Instant::now());
            return Ok(None);
        }
        let group = monitor_in(class, &name);
        let Some(inode) = mount.tree.inode(&group)? else {
            self.refused_below.insert(above, Instant::now());
            return Ok(None);
        };
        count_traffic_of(mount, &found.traffic, &group);
        tracing::info!(
            target: "fairways::actuate", app = app.0, group, "threads monitored in a class of others"
        );
        program.groups_before += 1;
        program.stays.push(StayingThreads::new(class.to_owned(), Some(name), inode));
        Ok(Some(group))
    }

    /// Stops counting if no thread of a program stays any longer, or if others' threads are
    /// counted, too. The program's threads were just listed. The caller has no lock.
    pub(crate) fn settle_staying(&mut self, mount: &mut Mount, app: AppId) -> Result<(), Error> {
        let Some(program) = self.by_id.get_mut(&app).filter(|of| !of.stays.is_empty()) else {
            return Ok(());
        };
        let _lock = mount.lock()?;
        for at in (0..program.stays.len()).rev() {
            let Program { stays, others, placed, .. } = &mut *program;
            let stay = &mut stays[at];
            stay.threads.retain(|thread| others.contains_key(thread));
            if !others.values().any(|group| *group == stay.theirs) {
                program.end_stay(mount, at);
                continue;
            }
            let group = stay.counting_group();
            let mut now: BTreeSet<i32> = mount.tree.members(&group)?.into_iter().collect();
            now.retain(|thread| !placed.contains(thread) && !others.contains_key(thread));
            let known: Vec<i32> = now.intersection(&stay.strangers).copied().collect();
            stay.strangers = now;
            if known.is_empty() {
                continue;
            }
            // Removes our group; the kernel then returns its threads to the class. Writing their
            // numbers to the class could move a thread that has left it. The next look counts the
            // rest.
            let threads = std::mem::take(&mut stay.threads);
            program.end_stay(mount, at);
            program.lose(threads);
        }
        Ok(())
    }

    /// Finds the groups that counted staying threads and are gone, and the threads that were moved
    /// out of such groups. The caller has the lock.
    pub(crate) fn see_staying(&mut self, mount: &mut Mount) -> Result<(), Error> {
        for program in self.by_id.values_mut() {
            for at in (0..program.stays.len()).rev() {
                let stay = &mut program.stays[at];
                let group = stay.counting_group();
                let is_gone = mount.tree.inode(&group)? != Some(stay.inode);
                let inside = if is_gone { Vec::new() } else { mount.tree.members(&group)? };
                let mut left = stay.threads.clone();
                left.retain(|thread| !inside.contains(thread));
                stay.threads.retain(|thread| !left.contains(thread));
                if is_gone {
                    program.end_stay(mount, at);
                }
                let proc = &mount.settings.proc;
                left.retain(|&thread| started(proc, thread).is_some());
                program.lose(left);
            }
        }
        Ok(())
    }
}

/// The number of programs to check in a look: reading a file of threads walks over all threads of
/// the host.
const CHECKED: usize = 8;

impl Programs {
    /// Checks for a few programs, in turn, whether their threads are still where they were put.
    /// Others may have moved them to the root's group, or they belong to another program, too. Such
    /// threads stay there, and no group counts them.
    pub(crate) fn see_strays(&mut self, mount: &Mount) -> Result<(), Error> {
        let mut ids = self.ids();
        let next = ids.iter().position(|app| Some(*app) > self.checked).unwrap_or(0);
        ids.rotate_left(next);
        for app in ids.into_iter().take(CHECKED) {
            self.checked = Some(app);
            let along = self.adopted_threads(&mount.tree, app)?;
            let program = self.by_id.get_mut(&app).filter(|program| program.monitored);
            let Some(program) = program else { continue };
            let mut inside: BTreeSet<i32> =
                mount.tree.members(&program.group())?.into_iter().collect();
            inside.extend(along);
            let strays = program.placed.difference(&inside).copied();
            let mut strays: Vec<i32> = strays.collect();
            strays.retain(|&thread| started(&mount.settings.proc, thread).is_some());
            let Program { placed, uncounted, .. } = &mut *program;
            uncounted.retain(|thread| !(placed.contains(thread) && inside.contains(thread)));
            program.lose(strays);
        }
        Ok(())
    }
}

impl Program {
    /// Stops reading the group that counts staying threads, and removes it if it is ours.
    fn end_stay(&mut self, mount: &mut Mount, at: usize) {
        let stay = self.stays.remove(at);
        // What it counted is not read any longer.
        self.groups_before += 1;
        let group = stay.counting_group();
        let StayingThreads { ours, inode, counts, .. } = stay;
        let is_there = mount.tree.inode(&group).is_ok_and(|now| now == Some(inode));
        self.keep_counts(match is_there {
            true => counts.end(&mount.tree, || group.clone()),
            false => counts.so_far(),
        });
        let Some(name) = ours else { return };
        match mount.tree.rmdir(&group) {
            Ok(_) => mount.strike_group(&name, Some(inode)),
            Err(Error::Replaced { .. }) => {
                mount.tree.forget(&group);
                mount.strike_group(&name, Some(inode));
            }
            Err(error) => {
                // It is tried again on exit.
                tracing::error!(target: "fairways::actuate", group, %error, "not removed");
                mount.errors.came(&error);
            }
        }
    }

    /// Ends all counting of threads that stay with others.
    pub(crate) fn end_stays(&mut self, mount: &mut Mount) {
        while let Some(last) = self.stays.len().checked_sub(1) {
            self.end_stay(mount, last);
        }
    }
}
