//! Carrying out requests.

use std::io;

use fairways_core::{AppId, CpuSet};
use fairways_perf::switches::now;

use super::super::ledger::Change;
use super::Affinity;

/// What is to be changed in a thread.
struct Due {
    app: AppId,
    cpus: Option<CpuSet>,
    nice: Option<i32>,
}

impl Affinity {
    /// Releases the threads that have left, and changes the others as far as that is due.
    pub(super) fn carry_out(&mut self) -> io::Result<()> {
        let left = self.let_go();
        left.and(self.do_what_is_due())
    }

    /// Puts back the threads that have left. Failures are logged.
    pub(super) fn let_go(&mut self) -> io::Result<()> {
        let leaving = std::mem::take(&mut self.leaving);
        if leaving.is_empty() {
            return Ok(());
        }
        self.ledger.end_those(&leaving).map(drop).map_err(io::Error::other)
    }

    /// Records all changes that are due, and makes them.
    fn do_what_is_due(&mut self) -> io::Result<()> {
        let new: Vec<AppId> =
            self.pending.iter().copied().filter(|app| self.is_new(*app)).collect();
        let due = self.due();
        if due.is_empty() && new.is_empty() {
            return Ok(());
        }
        let known = new.iter().filter_map(|app| self.threads.get(app));
        let mut changes: Vec<_> = known.map(|managed| (managed.thread, Change::Nothing)).collect();
        for Due { app, cpus, nice } in &due {
            let Some(managed) = self.threads.get(app) else { continue };
            let (owners, thread) = (&managed.owners, managed.thread);
            // What it inherited is to be put back as well.
            let has = Some(&managed.cpus).filter(|has| managed.is_ours && **has != owners.cpus);
            for cpus in cpus.iter().flat_map(|due| has.into_iter().chain([due])) {
                let change = Change::Affinity(owners.cpus.clone(), owners.all, cpus.clone());
                changes.push((thread, change));
            }
            let has = Some(managed.nice).filter(|&has| has != owners.nice);
            for nice in nice.iter().flat_map(|&due| has.into_iter().chain([due])) {
                changes.push((thread, Change::Nice(owners.nice, nice)));
            }
            if nice.is_some_and(|due| managed.is_raised_by(due))
                && let Some((before, ours)) = self.enforcement.change_for_children(thread, true)
            {
                changes.push((thread, Change::Policy(before, ours)));
            }
        }
        self.ledger.record(&changes).map_err(io::Error::other)?;
        for app in new {
            self.threads.get_mut(&app).into_iter().for_each(|managed| managed.known = true);
        }
        let mut done = Ok(());
        for Due { app, cpus, nice } in due {
            done = done.and(cpus.map_or(Ok(()), |cpus| self.give_cpus(app, cpus)));
            done = done.and(nice.map_or(Ok(()), |nice| self.give_nice(app, nice)));
        }
        done
    }

    fn is_new(&self, app: AppId) -> bool {
        self.threads.get(&app).is_some_and(|managed| !managed.known)
    }

    /// The changes that are due for threads with requests, by their state now: what an owner has
    /// changed since the last check counts already.
    fn due(&mut self) -> Vec<Due> {
        let (quantum, now) = (self.quantum_nanos(), now());
        let mut pending = self.pending.iter().filter_map(|app| self.threads.get(app));
        if pending.all(|managed| managed.due(&self.online, quantum, now) == (None, None)) {
            self.pending.clear();
            return Vec::new();
        }
        // The kernel moves threads when CPUs go off line; the owner has not done that.
        self.find_cpus();
        let (proc, sysfs, online) = (&self.settings.proc, &self.settings.sysfs, &self.online);
        let mut due = Vec::new();
        for app in std::mem::take(&mut self.pending) {
            let Some(managed) = self.threads.get_mut(&app) else { continue };
            let differs = managed.due(online, quantum, now) != (None, None);
            if differs && self.enforcement.look(managed, proc, sysfs, online) {
                let (cpus, nice) = managed.due(online, quantum, now);
                due.push(Due { app, cpus, nice });
            }
        }
        due.retain(|due| due.cpus.is_some() || due.nice.is_some());
        due
    }

    fn give_cpus(&mut self, app: AppId, cpus: CpuSet) -> io::Result<()> {
        let Some(managed) = self.threads.get_mut(&app) else { return Ok(()) };
        let (thread, owners) = (managed.thread, &managed.owners);
        let everywhere = owners.all && cpus == owners.cpus;
        match self.enforcement.set_affinity(thread, &cpus, everywhere) {
            Ok(true) => {
                self.ledger.has(managed.key(), &cpus);
                managed.cpus = cpus;
                managed.is_ours = managed.cpus != managed.owners.cpus;
                managed.is_remembered = false;
                managed.cpus_retry.done();
                Ok(())
            }
            Ok(false) => Ok(()),
            Err(error) => {
                managed.cpus_retry.refused(now());
                managed.read_cpuset_again(&self.settings.proc, &self.settings.sysfs);
                let why =
                    format!("can't set CPUs of thread {thread} to {}: {error}", cpus.to_list());
                Err(io::Error::new(error.kind(), why))
            }
        }
    }

    fn give_nice(&mut self, app: AppId, nice: i32) -> io::Result<()> {
        let Some(managed) = self.threads.get_mut(&app) else { return Ok(()) };
        let (thread, enforcement) = (managed.thread, self.enforcement);
        // Before it is raised, and after it no longer is: no child has its priority.
        if managed.is_raised_by(nice)
            && let Some((_, policy)) = enforcement.change_for_children(thread, true)
        {
            managed.resets = enforcement.set_policy(thread, policy).is_ok();
        }
        match enforcement.set_nice(thread, nice) {
            Ok(true) => {
                managed.nice = nice;
                managed.nice_retry.done();
            }
            Ok(false) => return Ok(()),
            Err(error) => {
                managed.nice_retry.refused(now());
                managed.turns.as_usual();
                let why = format!("can't set nice value of thread {thread} to {nice}: {error}");
                return Err(io::Error::new(error.kind(), why));
            }
        }
        if !managed.is_raised_by(nice)
            && std::mem::take(&mut managed.resets)
            && let Some((_, policy)) = enforcement.change_for_children(thread, false)
        {
            enforcement.set_policy(thread, policy)?;
        }
        Ok(())
    }
}
